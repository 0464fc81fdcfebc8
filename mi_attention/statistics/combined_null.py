"""Agreement over several data sets: a joint null within each, independent between them.

Profiles of one data set are moved together, because its seeds share them; different data sets have nothing in
common that a null would have to keep. The smallest p of one data set of T positions is 1/T by shifts; over K
data sets it is one over the product of their lengths.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mi_attention.interface import FloatArray
from mi_attention.statistics.attention_order import AttentionOrder
from mi_attention.statistics.permutation import Alternative, permutation_p
from mi_attention.statistics.shift_null import ShiftMethod, checked_runs, joint_null, make_transforms, null_name
from mi_attention.statistics.table import Tabular

__all__ = ["CombinedNull", "combined_shift_null"]


@dataclass(frozen=True)
class CombinedNull(Tabular):
    """Agreement between profiles and attention over data sets.

    Attributes:
        statistic: Mean over data sets of the mean over their runs and instances of tau-b.
        p: (1 + combinations of transforms at least as extreme) / (1 + combinations); NaN where ``reason`` is
            not empty.
        null_mean: Mean of the statistic over combinations.
        null_low: Its 2.5 % quantile.
        null_high: Its 97.5 % quantile.
        by_data: The statistic of each data set, NaN where undefined.
        n_transforms: Combinations compared with.
        smallest_p: The smallest p this null can give.
        test: How p was made.
        n_data: Data sets with a statistic.
        n_data_undefined: Data sets left out.
        n_runs: Runs with a statistic in all kept data sets.
        n_runs_undefined: Runs left out in all data sets.
        reason: Empty, or why there is no test.
    """

    statistic: float
    p: float
    null_mean: float
    null_low: float
    null_high: float
    by_data: tuple[float, ...]
    n_transforms: int
    smallest_p: float
    test: str
    n_data: int
    n_data_undefined: int
    n_runs: int
    n_runs_undefined: int
    reason: str

    def row(self) -> dict[str, Any]:
        """Entries of ``RESULT_COLUMNS``: the agreement and its test, no interval."""
        return {
            "quantity": "mean tau-b of profile and attention over data sets",
            "estimate": self.statistic,
            "n_data": self.n_data,
            "test": self.test,
            "p": self.p,
            "smallest_p": self.smallest_p,
            "effect_unit": "tau",
            "degenerate_share": self.n_runs_undefined / max(self.n_runs + self.n_runs_undefined, 1),
            "reason": self.reason,
        }


def combined_shift_null(
    data_sets: Sequence[tuple[ArrayLike, ArrayLike | Sequence[AttentionOrder]]],
    *,
    method: ShiftMethod = "shift",
    alternative: Alternative = "greater",
    n_resamples: int = 9999,
    block: int | None = None,
    rng: np.random.Generator | int = 0,
) -> CombinedNull:
    """Test agreement over data sets, each weighing the same, every one moved by a transform of its own.

    All combinations of circular shifts are compared where there are at most ``n_resamples + 1`` of them, else
    ``n_resamples`` drawn evenly from all of them, the identity included.

    Args:
        data_sets: One (information, attention) a data set, as in ``shift_null``; seeds and positions may differ
            in number between them.
        method: Which transforms, as in ``shift_null``.
        alternative: ``"greater"`` asks for agreement; ``"two-sided"`` also for its opposite.
        n_resamples: Combinations drawn.
        block: Length of blocks for ``method="blocks"``.
        rng: Generator or seed.

    Returns:
        The test; without p, and with the reason, where no data set has a statistic.

    Raises:
        ValueError: for an empty ``data_sets``, ``n_resamples`` below 1 and everything ``shift_null`` refuses.
    """
    if not data_sets:
        raise ValueError("data_sets is empty; give at least one (information, attention)")
    if n_resamples < 1:
        raise ValueError(f"n_resamples is {n_resamples}; it must be at least 1")
    generator = np.random.default_rng(rng)
    statistics: list[float] = []
    nulls: list[FloatArray] = []
    used_blocks, runs, lost = set(), 0, 0
    for information, attention in data_sets:
        profiles, orders = checked_runs(information, attention)
        transforms, used = make_transforms(profiles.shape[1], method, n_resamples, block, generator)
        kept, statistic, null = joint_null(profiles, orders, transforms)
        used_blocks.add(used)
        runs += len(kept)
        lost += len(profiles) - len(kept)
        statistics.append(statistic)
        if kept:
            # All shifts, the identity among them; drawn transforms are drawn from all there are.
            nulls.append(np.concatenate([[statistic], null]) if method == "shift" else null)
    seen = [value for value in statistics if not np.isnan(value)]
    statistic = float(np.mean(seen)) if seen else float("nan")
    null = _combinations(nulls, n_resamples, generator, every=method == "shift") if nulls else np.empty(0)
    nan = float("nan")
    return CombinedNull(
        statistic=statistic,
        p=permutation_p(statistic, null, alternative) if seen else nan,
        null_mean=float(null.mean()) if seen else nan,
        null_low=float(np.quantile(null, 0.025)) if seen else nan,
        null_high=float(np.quantile(null, 0.975)) if seen else nan,
        by_data=tuple(statistics),
        n_transforms=null.size,
        smallest_p=1 / (1 + null.size) if seen else nan,
        test=null_name(method, max(used_blocks), alternative) + ", another for each data set",
        n_data=len(seen),
        n_data_undefined=len(data_sets) - len(seen),
        n_runs=runs,
        n_runs_undefined=lost,
        reason="" if seen else "no data set with both an MI order and an attention order",
    )


def _combinations(
    nulls: list[FloatArray], n_resamples: int, generator: np.random.Generator, *, every: bool
) -> FloatArray:
    """Mean over data sets under combinations of their transforms ``(B,)``, the one seen not among them."""
    if not every:
        return np.asarray(np.mean(nulls, axis=0))
    count = float(np.prod([float(null.size) for null in nulls]))
    if count > n_resamples + 1:
        drawn = [null[generator.integers(null.size, size=n_resamples)] for null in nulls]
        return np.asarray(np.mean(drawn, axis=0))
    sums = np.zeros(1)
    for null in nulls:
        sums = (sums[:, None] + null).ravel()
    return np.asarray(sums[1:] / len(nulls))
