"""All that one pair of arrays says: the estimate with interval, test and detection limit, as lines to print."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mi_attention.estimators.detection import DetectionLimit, detection_limit
from mi_attention.estimators.intervals import Interval, interval
from mi_attention.estimators.ksg import KSG
from mi_attention.estimators.mixture import Mixture
from mi_attention.estimators.permutation import FixedLabelsError, PermutationTest, as_rows, permutation_test
from mi_attention.estimators.ross import Ross
from mi_attention.estimators.samples import as_array, as_groups
from mi_attention.estimators.subsamples import subsample_interval
from mi_attention.interface import IntArray, MIEstimate, MIEstimator

__all__ = ["EstimateSummary", "summarise"]


@dataclass(frozen=True, eq=False)
class EstimateSummary:
    """One estimate and what stands beside it.

    Attributes:
        estimate: The estimate.
        interval: 95 % interval of ``nats``.
        error_source: What the error of neighbours, or of an estimator without one of its own, comes from; else empty.
        test: Permutation test, None where none was asked for or none exists.
        limit: Detection limit, None likewise.
        missing: Why there is no test, or empty.
        no_limit: Why there is no detection limit beside a test, or empty.
        independent: Groups, or rows without groups.
    """

    estimate: MIEstimate
    interval: Interval
    error_source: str
    test: PermutationTest | None
    limit: DetectionLimit | None
    missing: str
    no_limit: str
    independent: int

    def lines(self) -> dict[str, str]:
        """Name and text of every number, in the order of printing."""
        found, lines = self.estimate, {}
        if found.status != "ok":
            lines["mutual information"] = f"undefined: {found.reason}"
        else:
            lines["mutual information"] = f"{found.nats:.4f} nats"
            bounds = self.interval
            lines["95 % interval"] = bounds.reason or f"{bounds.low:.4f} to {bounds.high:.4f} nats"
            if not bounds.reason and self.limit is not None and found.nats < self.limit.nats:
                lines["95 % interval"] += ", of what the estimator sees: below the detection limit more may be there"
            if found.lower_bound is not None:
                lines["held-out lower bound"] = f"{found.lower_bound:.4f} nats"
            error = bounds.standard_error if self.error_source else found.standard_error
            if np.isfinite(error):
                source = f", {self.error_source}" if self.error_source else ""
                lines["standard error"] = f"{error:.4f} nats{source}"
            if self.test is not None:
                by = "" if found.groups is None else " by group"
                lines["p-value"] = f"{self.test.p:.3g} ({self.test.null.size} label permutations{by})"
            elif self.missing:
                lines["p-value"] = f"undefined: {self.missing}"
            if found.reason:
                lines["note"] = found.reason
        if found.ceiling is not None:
            lines["ceiling H(Y)"] = f"{found.ceiling:.4f} nats"
        if self.limit is not None:
            lines["detection limit"] = self._limit_line(self.limit)
        elif self.no_limit:
            lines["detection limit"] = f"undefined: {self.no_limit}"
        grouped = found.groups is not None or self.independent != found.n
        lines["rows"] = f"{found.n}" + (f" in {self.independent} independent groups" if grouped else ", independent")
        return lines | {"signature": found.signature}

    def _limit_line(self, limit: DetectionLimit) -> str:
        if limit.reason:
            return f"undefined: {limit.reason}"
        if not np.isfinite(limit.nats):
            return "none: even the largest planted information is missed in half the draws"
        return f"{limit.nats:.2g} nats (linear dependence, seen in half of {limit.per_draw.size} planted draws)"


def summarise(
    estimator: MIEstimator,
    x: ArrayLike,
    y: ArrayLike,
    groups: ArrayLike | None = None,
    *,
    permutations: int = 199,
    seed: int,
    draws: int = 20,
    watch: Callable[[str, int, int], None] | None = None,
) -> EstimateSummary:
    """Estimate, and put interval, permutation test and detection limit beside it.

    Args:
        estimator: Any estimator.
        x: ``(n, d)`` or ``(n,)`` states, or symbols where the estimator takes them.
        y: ``(n,)`` outputs, or ``(n, dy)`` where the estimator takes them.
        groups: ``(n,)`` instance of each row where rows share instances.
        permutations: Of the test; 0 leaves out test and detection limit. Below 19 there is no limit, since no p can
            reach .05.
        seed: Of permutations and planted draws.
        draws: Planted data sets of the detection limit.
        watch: Called with (stage, done, all).

    Raises:
        ValueError: bad input, or a negative ``permutations``.
    """
    if permutations < 0:
        raise ValueError(f"permutations is {permutations}; give a count, or 0 for no test")
    states, labels = as_rows(x), as_array("y", y)
    instances = as_groups(groups, len(states))
    independent = len(states) if instances is None else int(instances.max()) + 1

    def told(stage: str) -> Callable[[int, int], None] | None:
        return None if watch is None else lambda done, of: watch(stage, done, of)

    test, limit, missing, no_limit = None, None, "", ""
    if permutations:
        try:
            test = permutation_test(
                estimator,
                states,
                labels,
                instances,
                permutations=permutations,
                seed=seed,
                watch=told("label permutations"),
            )
        except FixedLabelsError as error:
            missing = no_limit = str(error)
    estimate = estimator.estimate(states, labels, instances) if test is None else test.estimate
    if test is not None and not test.reason and np.ptp(test.null) > 0:
        if labels.size != len(states):
            no_limit = f"y has {labels.size // len(states)} columns; ask for it column by column"
        else:
            limit = detection_limit(
                estimator,
                states,
                labels,
                instances,
                seed=seed,
                threshold=test.quantile,
                draws=draws,
                watch=told("planted draws"),
            )
    bounds, source = _interval(estimator, estimate, states, labels, instances, seed)
    return EstimateSummary(
        estimate=estimate,
        interval=bounds,
        error_source=source,
        test=test,
        limit=limit,
        missing=missing,
        no_limit=no_limit,
        independent=independent,
    )


def _interval(
    estimator: MIEstimator, estimate: MIEstimate, x: ArrayLike, y: ArrayLike, groups: IntArray | None, seed: int
) -> tuple[Interval, str]:
    """Interval, and what its error comes from: thirds of the rows where the terms of rows say too little of it."""
    plain = interval(estimate)
    constant = estimate.status != "ok" or (estimate.nats == 0 and estimate.standard_error == 0)
    if constant or not (isinstance(estimator, Ross | KSG | Mixture) or np.isnan(estimate.standard_error)):
        return plain, ""
    with warnings.catch_warnings():
        # All that is to be said of columns and rows the whole has said.
        warnings.simplefilter("ignore")
        try:
            found = subsample_interval(estimator, estimate, x, y, groups, seed=seed)
        except ValueError as error:
            return plain, f"too small, rows taken for independent: {error}"
    if found.reason:
        return plain, f"too small, rows taken for independent: {found.reason}"
    return found, "from disjoint thirds of the rows"
