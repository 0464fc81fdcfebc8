"""Bootstrap over instances of anything computed from means over instances.

An MI profile is the mean of pointwise values over instances, so it is itself uncertain; a tau between
that profile and attention has to be recomputed from the pointwise values of the resampled instances, never
with the profile held fixed. All resampled means come from one product of multinomial weights and values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from mi_attention.interface import FloatArray
from mi_attention.statistics.table import Tabular

__all__ = ["BootstrapInterval", "bootstrap_means"]

# Weights held at once: 32 MB.
_BLOCK_WEIGHTS = 2**22


@dataclass(frozen=True, eq=False)
class BootstrapInterval(Tabular):
    """Three bootstrap intervals of one statistic.

    For smooth statistics (differences of means) all three cover about what they say. A tau between a
    noisy profile and attention is not smooth, and no interval here covers the tau of the true profile: noise
    lowers the estimate itself (see ``tau_ceiling``). For the expected tau of profiles estimated on so many
    instances (nominal .95; errors of .2 to 1 times the profile's spread, 8 and 20 positions, 6 profiles each)
    percentile covers .92 to .96 on average (.84 at the worst), normal .89 to .94 (.86), basic .69 to .83
    (.64). Never report the basic one for a tau, and take the interval over runs as the primary one.

    Attributes:
        estimate: The statistic of the means over all instances.
        percentile_low: Lower end of the percentile interval, NaN where ``reason`` is not empty.
        percentile_high: Its upper end.
        basic_low: Lower end of the basic interval, 2 · estimate − upper percentile.
        basic_high: Its upper end. It mirrors the percentile interval: where resampling shifts the statistic (a
            noisy order resampled is noisier), the two part, and ``bias`` says by how much.
        normal_low: estimate − z · standard_error.
        normal_high: estimate + z · standard_error.
        level: Nominal coverage.
        standard_error: Standard deviation over resamples.
        bias: Mean over resamples − estimate.
        n_resamples: Resamples drawn.
        n_undefined: Resamples in which the statistic is undefined, left out of all of the above.
        n_instances: N.
        reason: Empty, or why there is no interval.
        resampled: ``(n_resamples,)`` the statistic of each resample, NaN where undefined. Equal seeds and equal N
            draw equal instances, so that resamples of several runs on the same instances can be averaged draw by draw.
    """

    estimate: float
    percentile_low: float
    percentile_high: float
    basic_low: float
    basic_high: float
    normal_low: float
    normal_high: float
    level: float
    standard_error: float
    bias: float
    n_resamples: int
    n_undefined: int
    n_instances: int
    reason: str
    resampled: FloatArray

    def row(self) -> dict[str, Any]:
        """Entries of ``RESULT_COLUMNS``: statistic and percentile interval of one run."""
        return {
            "quantity": "statistic of means over instances",
            "estimate": self.estimate,
            "ci_low": self.percentile_low,
            "ci_high": self.percentile_high,
            "level": self.level,
            "interval": "percentile bootstrap, instances of one run",
            "n_seeds": 1,
            "n_instances": self.n_instances,
            "degenerate_share": self.n_undefined / self.n_resamples,
            "reason": self.reason,
        }


def bootstrap_means(
    statistic: Callable[..., FloatArray],
    *columns: ArrayLike,
    rng: np.random.Generator | int,
    n_resamples: int = 2000,
    level: float = 0.95,
) -> BootstrapInterval:
    """Bootstrap a function of means over instances, all means over the same resampled instances.

    For the tau between MI profile and mean attention: ``statistic = lambda m, a: kendall_tau_b(m, a).values``
    with columns ``local (T, N)`` and ``attention (T, N)``.

    Args:
        statistic: Takes one array ``(B, U)`` a column argument, the means of B resamples, and returns ``(B,)``;
            NaN where undefined.
        *columns: Each ``(U, N)``: values of U units in the same N instances; NaN where an instance has no
            value for a unit (a mean is over those that have one).
        rng: Generator, or a seed for one.
        n_resamples: At least 100.
        level: Coverage in (0, 1).

    Returns:
        The intervals; none, with the reason, for fewer than two instances, an undefined estimate, more
        than 5 % undefined resamples, or resamples that all agree.

    Raises:
        ValueError: for columns that are not ``(U, N)`` with one N, infinite values, bad ``n_resamples`` or
            ``level``, or a statistic that does not return one value a resample.

    Source: A. C. Davison, D. V. Hinkley, Bootstrap Methods and their Application, 1997, sections 5.2-5.3.
    """
    if not columns:
        raise ValueError("columns is empty; give at least one (U, N) array")
    if n_resamples < 100:
        raise ValueError(f"n_resamples is {n_resamples}; percentiles need at least 100")
    if not 0 < level < 1:
        raise ValueError(f"level is {level}; give a coverage between 0 and 1, such as .95")
    tables = [np.asarray(column, dtype=np.float64) for column in columns]
    n = tables[0].shape[-1] if tables[0].ndim == 2 else 0
    for position, table in enumerate(tables):
        if table.ndim != 2 or table.shape[1] != n or n == 0:
            raise ValueError(f"column {position} has shape {table.shape}; all must be (U, N) with the same N ≥ 1")
        if np.isinf(table).any():
            raise ValueError(f"column {position} holds an infinity; mark missing values by NaN")
    estimate = float(_evaluate(statistic, tables, np.ones((1, n)))[0])
    values = np.empty(n_resamples)
    generator, step = np.random.default_rng(rng), max(1, _BLOCK_WEIGHTS // n)
    for start in range(0, n_resamples, step):
        stop = min(start + step, n_resamples)
        weights = generator.multinomial(n, np.full(n, 1 / n), size=stop - start).astype(np.float64)
        values[start:stop] = _evaluate(statistic, tables, weights)
    defined = values[~np.isnan(values)]
    undefined = n_resamples - defined.size
    reason = ""
    if n < 2:
        reason = "fewer than two instances"
    elif np.isnan(estimate):
        reason = "the statistic is undefined on all instances"
    elif undefined > 0.05 * n_resamples:
        reason = "the statistic is undefined in more than 5 % of resamples"
    elif np.ptp(defined) == 0:
        reason = "no spread over resamples"
    low = high = half = float("nan")
    if not reason:
        half = float(stats.norm.ppf(0.5 + level / 2) * defined.std(ddof=1))
        low, high = (float(end) for end in np.quantile(defined, [0.5 - level / 2, 0.5 + level / 2]))
    return BootstrapInterval(
        estimate=estimate,
        percentile_low=low,
        percentile_high=high,
        basic_low=2 * estimate - high,
        basic_high=2 * estimate - low,
        normal_low=estimate - half,
        normal_high=estimate + half,
        level=level,
        standard_error=float(defined.std(ddof=1)) if defined.size > 1 else float("nan"),
        bias=float(defined.mean() - estimate) if defined.size else float("nan"),
        n_resamples=n_resamples,
        n_undefined=undefined,
        n_instances=n,
        reason=reason,
        resampled=values,
    )


def weighted_means(table: FloatArray, weights: FloatArray) -> FloatArray:
    """Means ``(B, U)`` of ``table (U, N)`` under ``weights (B, N)``, over the values that exist.

    NaN where the instances of positive weight have no value for a unit.
    """
    missing = np.isnan(table)
    if not missing.any():
        return np.asarray(weights @ table.T / weights.sum(axis=1, keepdims=True))
    sums = weights @ np.where(missing, 0.0, table).T
    counts = weights @ (~missing).T.astype(np.float64)
    return np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)


def _evaluate(statistic: Callable[..., FloatArray], tables: Sequence[FloatArray], weights: FloatArray) -> FloatArray:
    means = [weighted_means(table, weights) for table in tables]
    values, known = np.full(len(weights), np.nan), ~np.logical_or.reduce([np.isnan(m).any(axis=1) for m in means])
    if known.any():
        found = np.asarray(statistic(*(mean[known] for mean in means)), dtype=np.float64)
        if found.shape != (int(known.sum()),):
            raise ValueError(f"statistic returned shape {found.shape} for {int(known.sum())} resamples; return (B,)")
        values[known] = found
    return values
