"""Signs of all pairs of positions, and the counts every rank correlation is made of.

Two routes give the same integers: sign vectors of all T(T − 1)/2 pairs, which many short instances share
in one array operation, and scipy's O(T log T) Kendall for long instances, one at a time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from mi_attention.interface import FloatArray, IntArray
from mi_attention.measures.layout import buckets

__all__ = ["PAIRWISE_LIMIT", "PairCounts", "pair_counts", "pair_signs"]

# Above this length sorting beats enumerating pairs; both are exact. At most 32,640 pairs also keep the
# float32 sums of ±1 far below 2^24, up to which they are exact integers.
PAIRWISE_LIMIT = 256

# Signs held at once: 8 MB of float32, and as much again in temporaries.
_BLOCK_SIGNS = 2**21


@dataclass(frozen=True, eq=False)
class PairCounts:
    """Pairs of positions of each instance, all arrays ``(N,)`` float64 holding integers.

    Attributes:
        score: Concordant minus discordant pairs (Kendall's S).
        pairs: All pairs, T(T − 1)/2.
        untied_left: Pairs the left vector separates.
        untied_right: Pairs the right vector separates.
    """

    score: FloatArray
    pairs: FloatArray
    untied_left: FloatArray
    untied_right: FloatArray


def pair_signs(values: FloatArray) -> FloatArray:
    """Signs of value differences over all pairs of positions.

    Args:
        values: ``(n, T)`` finite.

    Returns:
        ``(n, T(T − 1)/2)`` float32, sign(values[:, p] − values[:, q]) for p < q in the order of
        ``np.triu_indices(T, 1)``. Memory is that of the result: call it in blocks of rows.
    """
    n, length = values.shape
    signs = np.empty((n, length * (length - 1) // 2), dtype=np.float32)
    start = 0
    for p in range(length - 1):
        stop = start + length - 1 - p
        here, later = values[:, p, None], values[:, p + 1 :]
        np.subtract((here > later).view(np.int8), (here < later).view(np.int8), out=signs[:, start:stop])
        start = stop
    return signs


def pair_counts(left: FloatArray, right: FloatArray, offsets: IntArray) -> PairCounts:
    """Count concordant, discordant and tied pairs within each instance.

    Args:
        left: ``(M,)`` finite.
        right: ``(M,)`` finite.
        offsets: ``(N + 1,)``.

    Returns:
        Exact counts; instances of one position have zero pairs.
    """
    lengths = np.diff(offsets).astype(np.float64)
    score, untied_left, untied_right = (np.zeros(len(lengths)) for _ in range(3))
    for instances, rows in buckets(offsets):
        length = rows.shape[1]
        if length > PAIRWISE_LIMIT:
            for instance, own in zip(instances, rows, strict=True):
                counts = _sorted_counts(left[own], right[own])
                score[instance], untied_left[instance], untied_right[instance] = counts
            continue
        step = max(1, _BLOCK_SIGNS // max(1, length * (length - 1) // 2))
        for start in range(0, len(instances), step):
            block = slice(start, start + step)
            signs_left, signs_right = pair_signs(left[rows[block]]), pair_signs(right[rows[block]])
            score[instances[block]] = np.einsum("np,np->n", signs_left, signs_right)
            untied_left[instances[block]] = np.einsum("np,np->n", signs_left, signs_left)
            untied_right[instances[block]] = np.einsum("np,np->n", signs_right, signs_right)
    return PairCounts(score, lengths * (lengths - 1) / 2, untied_left, untied_right)


def _untied(values: FloatArray) -> float:
    ties = np.unique(values, return_counts=True)[1].astype(np.float64)
    return float(values.size * (values.size - 1) / 2 - (ties * (ties - 1) / 2).sum())


def _sorted_counts(left: FloatArray, right: FloatArray) -> tuple[float, float, float]:
    untied_left, untied_right = _untied(left), _untied(right)
    if untied_left == 0 or untied_right == 0:
        return 0.0, untied_left, untied_right
    tau = stats.kendalltau(left, right, variant="b", method="asymptotic").statistic
    # S is an integer and tau carries 16 digits, so rounding restores it exactly up to T of about 10^7.
    return float(np.rint(tau * np.sqrt(untied_left * untied_right))), untied_left, untied_right
