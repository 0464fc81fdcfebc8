"""A ratio of two sums over clusters, such as a share of pairs that come in runs, with errors by cluster."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mi_attention.interface import FloatArray
from mi_attention.statistics.seeds import t_bounds

__all__ = ["ClusteredRatio", "clustered_ratio"]


@dataclass(frozen=True)
class ClusteredRatio:
    """A ratio of sums and its t interval.

    Attributes:
        estimate: The ratio, NaN where nothing is counted.
        ci_low: Lower end, NaN where ``reason`` is not empty.
        ci_high: Upper end, NaN where ``reason`` is not empty.
        standard_error: Of the ratio, NaN for fewer than two clusters.
        clusters: Clusters in which anything is counted.
        reason: Empty, or why there is no interval.
    """

    estimate: float
    ci_low: float
    ci_high: float
    standard_error: float
    clusters: int
    reason: str


def clustered_ratio(
    score: ArrayLike,
    count: ArrayLike,
    other: ArrayLike | None = None,
    *,
    level: float = 0.95,
    within: tuple[float, float] = (-np.inf, np.inf),
) -> ClusteredRatio:
    """Sum of scores over the sum of counts, or over the root of two such sums (tau-b), each cluster's error its own.

    Everything counted weighs alike. The mean over clusters of each cluster's own ratio is another number, biased
    wherever a cluster's ratio depends on its count: of pairs whose two gaps are both large, one position of a run
    makes all of them large, and is concordant with many others or discordant with one.

    The error is that of a ratio estimator by linearisation, with the factor S/(S − 1) and t of S − 1 degrees of
    freedom for S clusters (Cochran 1977, Sampling Techniques, sections 6.3 and 9A.2; Liang and Zeger 1986). It assumes
    independent clusters and is somewhat too small where very few of them hold most of the count.

    Args:
        score: ``(S,)`` sum of scores of each cluster; a cluster without count is left out.
        count: ``(S,)`` what is counted in it, not negative.
        other: ``(S,)`` the second sum of the denominator √(Σ count · Σ other); ``count`` itself where None.
        level: Coverage of the interval in (0, 1).
        within: Range of the ratio, at which the interval is cut.

    Returns:
        The ratio; without an interval, and with the reason, for fewer than two clusters and for clusters that agree.

    Raises:
        ValueError: for shapes that differ, values that are not finite, or negative counts.
    """
    columns = [np.asarray(column, dtype=np.float64) for column in (score, count, count if other is None else other)]
    if any(column.ndim != 1 or column.shape != columns[0].shape for column in columns):
        raise ValueError(f"score, count and other must be (S,) alike, got {[column.shape for column in columns]}")
    if not all(np.isfinite(column).all() for column in columns) or any((column < 0).any() for column in columns[1:]):
        raise ValueError("score, count and other must be finite, and counts not negative; leave undefined clusters out")
    scores, counts, others = (column[columns[1] > 0] for column in columns)
    n, nan = len(counts), float("nan")
    if n == 0 or others.sum() == 0:
        return ClusteredRatio(nan, nan, nan, nan, n, "nothing to count" if n == 0 else "zero denominator")
    root = float(np.sqrt(counts.sum() * others.sum()))
    estimate = float(scores.sum() / root)
    if n == 1:
        return ClusteredRatio(estimate, nan, nan, nan, n, "one run: no spread between runs")
    error = float(np.sqrt(n / (n - 1) * (_influence(estimate, root, scores, counts, others) ** 2).sum()))
    if error < 1e-12:
        return ClusteredRatio(estimate, nan, nan, 0.0, n, "no spread between runs: all agree")
    low, high = t_bounds(estimate, error, n - 1, level)
    return ClusteredRatio(estimate, max(low, within[0]), min(high, within[1]), error, n, "")


def _influence(estimate: float, root: float, scores: FloatArray, counts: FloatArray, others: FloatArray) -> FloatArray:
    """What each cluster adds to the error of Σ scores / √(Σ counts · Σ others), to first order; it sums to 0."""
    return np.asarray(scores / root - estimate / 2 * (counts / counts.sum() + others / others.sum()))
