"""How alike two orders of the positions of an instance are: tau-b, weighted tau, Somers' d, Spearman.

Undefined, never 0: an instance of fewer than two positions, and a constant vector on either side (a
uniform attention orders nothing). Layouts as in ``mi_attention.measures.layout``.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from mi_attention.interface import BoolArray, FloatArray, IntArray, Measured
from mi_attention.measures.layout import buckets, constant, measured, packed
from mi_attention.measures.pair_signs import pair_counts, pair_signs

__all__ = ["kendall_tau_b", "smallest_p", "somers_d", "spearman", "tie_share", "weighted_tau"]

NAMES = ("attention", "information")

# Above this length scipy's weighted tau, O(T log T) and one instance at a time, is the faster one.
_WEIGHTED_LIMIT = 128

# Pairs of all instances of a block held at once by the weighted tau.
_BLOCK_PAIRS = 2**20


def kendall_tau_b(
    left: ArrayLike, right: ArrayLike, offsets: ArrayLike | None = None, *, names: tuple[str, str] = NAMES
) -> Measured:
    """Kendall's tau-b, S / sqrt(untied pairs left × untied pairs right), within each instance.

    Ties are exact equality and lower the value: a sparse attention that nowhere contradicts a strict
    order still scores below 1 (``[.7, .3, 0×6]`` against a falling reference gives .707); see
    ``tie_share`` and ``somers_d``.

    Args:
        left: ``(T,)``, ``(M,)`` or ``(N, T)``, finite.
        right: The same shape.
        offsets: ``(N + 1,)`` for packed vectors.
        names: What the two vectors are, for the reasons.

    Returns:
        ``(N,)`` in [−1, 1]; equal to ``scipy.stats.kendalltau(variant="b")``.

    Raises:
        ValueError: for shapes that disagree, empty instances, NaN or infinite values.

    Source: M. G. Kendall, The treatment of ties in ranking problems, Biometrika 33 (1945), 239-251.
    """
    columns, bounds = packed(offsets, {names[0]: left, names[1]: right})
    counts = pair_counts(columns[0], columns[1], bounds)
    # The root of the product, not the product of roots: it is exact for a perfect order, which gives exactly 1.
    scale = np.sqrt(counts.untied_left * counts.untied_right)
    values = np.divide(counts.score, scale, out=np.zeros_like(scale), where=scale > 0)
    return measured(values, *_undefined_orders(columns, bounds, names))


def somers_d(
    left: ArrayLike, right: ArrayLike, offsets: ArrayLike | None = None, *, names: tuple[str, str] = NAMES
) -> Measured:
    """Somers' d of ``right`` given ``left``: S / pairs that ``left`` separates.

    With attention left and information right it asks only about the pairs of positions that attention
    separates: concordant minus discordant, with pairs tied on the right counted as neither.
    By hand: left [1, 1, 1, 2], right [1, 2, 3, 4] gives 3/3 = 1; exchanged it gives 3/6 = .5.

    Args:
        left: The given (independent) vector, ``(T,)``, ``(M,)`` or ``(N, T)``, finite.
        right: The dependent vector, the same shape.
        offsets: ``(N + 1,)`` for packed vectors.
        names: What the two vectors are, for the reasons.

    Returns:
        ``(N,)`` in [−1, 1]; equal to ``scipy.stats.somersd(left, right)``, undefined too where either
        vector is constant.

    Raises:
        ValueError: for shapes that disagree, empty instances, NaN or infinite values.

    Source: R. H. Somers, A new asymmetric measure of association for ordinal variables, American
    Sociological Review 27 (1962), 799-811.
    """
    columns, bounds = packed(offsets, {names[0]: left, names[1]: right})
    counts = pair_counts(columns[0], columns[1], bounds)
    values = counts.score / np.maximum(counts.untied_left, 1)
    return measured(values, *_undefined_orders(columns, bounds, names))


def weighted_tau(
    left: ArrayLike, right: ArrayLike, offsets: ArrayLike | None = None, *, names: tuple[str, str] = NAMES
) -> Measured:
    """Vigna's weighted tau: exchanges near the top cost more.

    A pair weighs 1/(r + 1) + 1/(s + 1), with r and s its ranks from the top (0 first); the value is the
    mean of that with ranks from ``left`` and that with ranks from ``right``, ties ranked by the other vector.
    Give scores where larger means more important, not ranks: on ranks the bottom becomes the top.

    Args:
        left: ``(T,)``, ``(M,)`` or ``(N, T)``, finite scores.
        right: The same shape.
        offsets: ``(N + 1,)`` for packed vectors.
        names: What the two vectors are, for the reasons.

    Returns:
        ``(N,)`` in [−1, 1]; equal to ``scipy.stats.weightedtau(left, right)``.

    Raises:
        ValueError: for shapes that disagree, empty instances, NaN or infinite values.

    Source: S. Vigna, A weighted correlation index for rankings with ties, WWW 2015, section 4.
    """
    columns, bounds = packed(offsets, {names[0]: left, names[1]: right})
    undefined = _undefined_orders(columns, bounds, names)
    skip = np.logical_or.reduce([mask for mask, _ in undefined])
    values = np.zeros(len(bounds) - 1)
    for instances, rows in buckets(bounds):
        length, kept = rows.shape[1], ~skip[instances]
        chosen, own = instances[kept], rows[kept]
        if length > _WEIGHTED_LIMIT:
            for instance, row in zip(chosen, own, strict=True):
                values[instance] = stats.weightedtau(columns[0][row], columns[1][row]).statistic
            continue
        step = max(1, _BLOCK_PAIRS // max(1, length * (length - 1) // 2))
        for start in range(0, len(chosen), step):
            block = own[start : start + step]
            values[chosen[start : start + step]] = _weighted_tau_rows(columns[0][block], columns[1][block])
    return measured(values, *undefined)


def spearman(
    left: ArrayLike, right: ArrayLike, offsets: ArrayLike | None = None, *, names: tuple[str, str] = NAMES
) -> Measured:
    """Spearman's rank correlation with average ranks for ties; for comparison with published numbers.

    Args:
        left: ``(T,)``, ``(M,)`` or ``(N, T)``, finite.
        right: The same shape.
        offsets: ``(N + 1,)`` for packed vectors.
        names: What the two vectors are, for the reasons.

    Returns:
        ``(N,)`` in [−1, 1]; equal to ``scipy.stats.spearmanr``.

    Raises:
        ValueError: for shapes that disagree, empty instances, NaN or infinite values.
    """
    columns, bounds = packed(offsets, {names[0]: left, names[1]: right})
    values = np.zeros(len(bounds) - 1)
    for instances, rows in buckets(bounds):
        # Twice the centred average rank is an integer, so that sums are exact and a perfect order gives exactly 1.
        ranks = [2 * stats.rankdata(column[rows], axis=1) - (rows.shape[1] + 1) for column in columns]
        products = [np.einsum("nt,nt->n", ranks[i], ranks[j]) for i, j in ((0, 1), (0, 0), (1, 1))]
        scale = np.sqrt(products[1] * products[2])
        values[instances] = np.divide(products[0], scale, out=np.zeros_like(scale), where=scale > 0)
    return measured(values, *_undefined_orders(columns, bounds, names))


def tie_share(values: ArrayLike, offsets: ArrayLike | None = None, *, name: str = "attention") -> Measured:
    """Share of the pairs of positions that a vector does not separate.

    Args:
        values: ``(T,)``, ``(M,)`` or ``(N, T)``, finite.
        offsets: ``(N + 1,)`` for a packed vector.
        name: What the vector is, for errors.

    Returns:
        ``(N,)`` in [0, 1]: 0 for a strict order, 1 for a constant vector; undefined for one position.

    Raises:
        ValueError: for empty instances, NaN or infinite values.
    """
    (column,), bounds = packed(offsets, {name: values})
    instance = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    order = np.lexsort((column, instance))
    new_run = np.ones(column.size, dtype=bool)
    new_run[1:] = (np.diff(column[order]) != 0) | (np.diff(instance[order]) != 0)
    sizes = np.diff(np.append(np.flatnonzero(new_run), column.size)).astype(np.float64)
    tied = np.bincount(instance[order][new_run], weights=sizes * (sizes - 1) / 2, minlength=len(bounds) - 1)
    lengths = np.diff(bounds).astype(np.float64)
    return measured(tied / np.maximum(lengths * (lengths - 1) / 2, 1), (lengths < 2, "fewer than two positions"))


def smallest_p(n: int) -> float:
    """The smallest two-sided exact p that a perfect order of ``n`` untied positions can reach: 2 / n!.

    Three positions reach .333 and four .083: no order of so few can reach .05, five reach .017.

    Args:
        n: Positions, at least 1.

    Returns:
        The p in (0, 1].

    Raises:
        ValueError: if ``n`` is below 1.
    """
    if n < 1:
        raise ValueError(f"n is {n}; an order has at least one position")
    return min(1.0, 2 / math.factorial(n)) if n <= 170 else 0.0


def _undefined_orders(
    columns: list[FloatArray], offsets: IntArray, names: tuple[str, str]
) -> tuple[tuple[BoolArray, str], ...]:
    flat = [constant(column, offsets) for column in columns]
    return (
        (np.diff(offsets) < 2, "fewer than two positions"),
        (flat[0] & flat[1], f"constant {names[0]} and constant {names[1]}"),
        (flat[0], f"constant {names[0]}"),
        (flat[1], f"constant {names[1]}"),
    )


def _weighted_tau_rows(left: FloatArray, right: FloatArray) -> FloatArray:
    signs_left, signs_right = pair_signs(left).astype(np.float64), pair_signs(right).astype(np.float64)
    p, q = np.triu_indices(left.shape[1], 1)
    values = np.zeros(len(left))
    for first, second in ((left, right), (right, left)):
        order = np.lexsort((second, first), axis=-1)[:, ::-1]
        weight = np.empty_like(left)
        np.put_along_axis(weight, order, np.broadcast_to(1 / np.arange(1, left.shape[1] + 1), left.shape), axis=1)
        weights = weight[:, p] + weight[:, q]
        parts = [
            np.einsum("np,np,np->n", weights, one, other)
            for one, other in ((signs_left, signs_right), (signs_left, signs_left), (signs_right, signs_right))
        ]
        values += parts[0] / np.sqrt(parts[1]) / np.sqrt(parts[2]) / 2
    return np.clip(values, -1, 1)  # rounding of the roots only: |parts[0]| is at most both others
