"""Does attention follow the information of its own instance? Null: the attention of another one.

Pointwise information and attention both belong to one instance, and both carry what all instances share
(a favoured position, the first token). Handing every instance the attention of another instance of the
same length keeps all that and breaks only what belongs to the instance. One partner map for all seeds:
runs on one data set share their instances.

The maps are permutations within the instances of one length, drawn evenly from all of them, those that
leave some instances in place included. Only such a group of maps makes the one seen exchangeable with the
drawn ones and the test exact; maps that move everything (derangements) look stricter and reject far too
often where few instances share a length (with two there is a single one).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mi_attention.interface import FloatArray, IntArray
from mi_attention.measures.layout import buckets, constant
from mi_attention.statistics.permutation import Alternative, permutation_p
from mi_attention.statistics.table import Tabular

__all__ = ["PartnerNull", "partner_null"]

# Signs of a block of pairs for all instances of a length (float32), and rows of the matrix of all taus
# (float64) held at once: 16 MB and 64 MB. A block's sums of ±1 stay below 2^24, where float32 is exact.
_BLOCK_SIGNS = 2**22
_BLOCK_TAUS = 2**21


@dataclass(frozen=True)
class PartnerNull(Tabular):
    """Agreement within instances, against the attention of other instances.

    Attributes:
        statistic: Mean tau-b of own information and own attention, over instances with a partner and runs.
        null_mean: The same with the attention of another instance of the same length, mean over all others
            (exact, no draws).
        excess: ``statistic − null_mean``: what belongs to the instance.
        null_low: 2.5 % quantile of the statistic over partner maps.
        null_high: 97.5 % quantile.
        p: (1 + maps at least as extreme) / (1 + maps); NaN where ``reason`` is not empty.
        smallest_p: 1 / (1 + maps).
        n_resamples: Partner maps drawn.
        alternative: ``"greater"`` or ``"two-sided"``.
        n_runs: S.
        n_instances: Instances in the statistic.
        n_undefined: Instances without an order of information or attention in at least one run (constant,
            or a single position).
        n_without_partner: Defined instances that are alone with their length.
        n_sampled: Instances of the statistic whose taus come from a sample of pairs, being very long.
        reason: Empty, or why there is no test.
    """

    statistic: float
    null_mean: float
    excess: float
    null_low: float
    null_high: float
    p: float
    smallest_p: float
    n_resamples: int
    alternative: Alternative
    n_runs: int
    n_instances: int
    n_undefined: int
    n_without_partner: int
    n_sampled: int
    reason: str

    def row(self) -> dict[str, Any]:
        """Entries of ``RESULT_COLUMNS``: the agreement within instances and its test."""
        return {
            "quantity": "mean tau-b within instances",
            "estimate": self.statistic,
            "n_seeds": self.n_runs,
            "n_instances": self.n_instances,
            "n_data": 1,
            "test": f"attention of another instance of its length, one map for all runs, {self.alternative}",
            "p": self.p,
            "smallest_p": self.smallest_p,
            "effect_unit": "tau",
            "degenerate_share": self.n_undefined / max(self.n_instances + self.n_undefined + self.n_without_partner, 1),
            "reason": self.reason,
        }


def partner_null(
    information: ArrayLike,
    attention: ArrayLike,
    offsets: ArrayLike,
    *,
    rng: np.random.Generator | int,
    n_resamples: int = 999,
    alternative: Alternative = "greater",
    max_pairs: int = 131_072,
) -> PartnerNull:
    """Test pointwise agreement against partners of the same length.

    For the n instances of one length all n² taus come from one product of sign matrices, and a partner map
    is a look-up. Cost O(S n² · pairs), memory bounded.

    Args:
        information: ``(M,)`` or ``(S, M)`` packed pointwise information, one row a run.
        attention: The same shape.
        offsets: ``(N + 1,)``, the same instances in all runs.
        rng: Generator, or a seed for one.
        n_resamples: Partner maps drawn.
        alternative: ``"greater"`` asks for agreement beyond partners'; ``"two-sided"`` compares absolute values.
        max_pairs: Instances with more pairs of positions are compared on a random sample of so many pairs
            (512 positions reach the default), the same for all instances of that length.

    Returns:
        The test; without p, and with the reason, where no two defined instances share a length.

    Raises:
        ValueError: for shapes that disagree, offsets that do not fit, NaN or infinite values, or
            ``n_resamples`` or ``max_pairs`` below 1.
    """
    informed, attended, bounds = _runs(information, attention, offsets)
    if n_resamples < 1 or max_pairs < 1:
        raise ValueError(f"n_resamples is {n_resamples} and max_pairs {max_pairs}; both must be at least 1")
    generator = np.random.default_rng(rng)
    runs = len(informed)
    usable = np.diff(bounds) > 1
    for column in (*informed, *attended):
        usable &= ~constant(column, bounds)
    own = partners = 0.0
    drawn = np.zeros(n_resamples)
    kept = alone = sampled = lost = 0
    for instances, rows in buckets(bounds):
        chosen = rows[usable[instances]]
        p, q, is_sample = _pairs(rows.shape[1], max_pairs, generator)
        scales = [_untied(column, chosen, p, q) for column in (*informed, *attended)]
        with_order = np.logical_and.reduce([scale > 0 for scale in scales])
        lost += int((~with_order).sum())  # a sample of pairs can miss all that a vector separates
        chosen, scales = chosen[with_order], [scale[with_order] for scale in scales]
        n = len(chosen)
        if n < 2:
            alone += n
            continue
        kept += n
        sampled += n if is_sample else 0
        maps = generator.permuted(np.tile(np.arange(n, dtype=np.int32), (n_resamples, 1)), axis=1)
        for start, taus in _tau_rows(informed, attended, chosen, p, q, scales):
            at = np.arange(len(taus))
            diagonal = taus[at, start + at]
            own += float(diagonal.sum())
            partners += float((taus.sum(axis=1) - diagonal).sum()) / (n - 1)
            drawn += taus[at, maps[:, start : start + len(taus)]].sum(axis=1)
    nan = float("nan")
    statistic, null_mean = (own / kept, partners / kept) if kept else (nan, nan)
    null = drawn / max(kept, 1)
    return PartnerNull(
        statistic=statistic,
        null_mean=null_mean,
        excess=statistic - null_mean,
        null_low=float(np.quantile(null, 0.025)) if kept else nan,
        null_high=float(np.quantile(null, 0.975)) if kept else nan,
        p=permutation_p(statistic, null, alternative) if kept else nan,
        smallest_p=1 / (1 + n_resamples),
        n_resamples=n_resamples,
        alternative=alternative,
        n_runs=runs,
        n_instances=kept,
        n_undefined=int((~usable).sum()) + lost,
        n_without_partner=alone,
        n_sampled=sampled,
        reason="" if kept else "no two defined instances of the same length",
    )


def _runs(
    information: ArrayLike, attention: ArrayLike, offsets: ArrayLike
) -> tuple[list[FloatArray], list[FloatArray], IntArray]:
    informed, attended = (np.atleast_2d(np.asarray(column, dtype=np.float64)) for column in (information, attention))
    if informed.shape != attended.shape or informed.ndim != 2:
        raise ValueError(f"information {informed.shape} and attention {attended.shape} must both be (M,) or (S, M)")
    for name, table in (("information", informed), ("attention", attended)):
        if not np.isfinite(table).all():
            raise ValueError(f"{name} holds NaN or infinite values; leave undefined instances out of both inputs")
    bounds = np.asarray(offsets)
    if (
        bounds.ndim != 1
        or bounds.size < 2
        or not np.issubdtype(bounds.dtype, np.integer)
        or bounds[0] != 0
        or bounds[-1] != informed.shape[1]
        or (np.diff(bounds) < 1).any()
    ):
        raise ValueError(f"offsets must be (N + 1,) integers that rise strictly from 0 to {informed.shape[1]}")
    return list(informed), list(attended), bounds.astype(np.int64)


def _pairs(length: int, max_pairs: int, generator: np.random.Generator) -> tuple[IntArray, IntArray, bool]:
    if length * (length - 1) // 2 <= max_pairs:
        p, q = np.triu_indices(length, 1)
        return p, q, False
    p = generator.integers(length, size=max_pairs)
    return p, (p + 1 + generator.integers(length - 1, size=max_pairs)) % length, True


def _signs(column: FloatArray, rows: IntArray, p: IntArray, q: IntArray) -> FloatArray:
    return np.sign(column[rows[:, p]] - column[rows[:, q]]).astype(np.float32)


def _pair_blocks(n: int, pairs: int) -> Iterator[slice]:
    step = max(1, _BLOCK_SIGNS // max(n, 1))
    for start in range(0, pairs, step):
        yield slice(start, start + step)


def _untied(column: FloatArray, rows: IntArray, p: IntArray, q: IntArray) -> FloatArray:
    total = np.zeros(len(rows))
    for block in _pair_blocks(len(rows), len(p)):
        total += np.count_nonzero(_signs(column, rows, p[block], q[block]), axis=1)
    return total


def _tau_rows(
    informed: list[FloatArray],
    attended: list[FloatArray],
    rows: IntArray,
    p: IntArray,
    q: IntArray,
    untied: list[FloatArray],
) -> Iterator[tuple[int, FloatArray]]:
    """Blocks of rows of the matrix of mean tau-b over runs: information of i against attention of j."""
    n, runs = len(rows), len(informed)
    step = max(1, _BLOCK_TAUS // n)
    for start in range(0, n, step):
        own = rows[start : start + step]
        taus = np.zeros((len(own), n))
        for s in range(runs):
            scores = np.zeros((len(own), n))
            for block in _pair_blocks(n, len(p)):
                left = _signs(informed[s], own, p[block], q[block])
                scores += left @ _signs(attended[s], rows, p[block], q[block]).T
            scale = np.sqrt(untied[s][start : start + step][:, None] * untied[runs + s])
            taus += scores / scale / runs
        yield start, taus
