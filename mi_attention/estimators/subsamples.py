"""Error of an estimate from its values on disjoint parts of the rows, where rows are no independent terms of it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t

from mi_attention.estimators.folds import stratified_folds
from mi_attention.estimators.intervals import Interval
from mi_attention.estimators.labels import class_strata
from mi_attention.estimators.permutation import as_rows
from mi_attention.estimators.samples import FEWEST_ROWS, as_array, as_groups, count_independent
from mi_attention.interface import MIEstimate, MIEstimator

__all__ = ["subsample_interval"]

PARTS = 3
REPEATS = 10
# The error scatters over data sets by .17 of itself, which is worth 17 degrees of freedom, and is up to a tenth too
# small in a few hundred rows, since parts hold fewer neighbours than the whole: eight make up for both.
DEGREES = 8


def subsample_interval(
    estimator: MIEstimator,
    estimate: MIEstimate,
    x: ArrayLike,
    y: ArrayLike,
    groups: ArrayLike | None = None,
    *,
    seed: int,
    level: float = 0.95,
) -> Interval:
    """Interval of ``nats`` whose error comes from estimates on disjoint thirds of the rows.

    ``standard_error`` of a nearest-neighbour estimate is that of independent rows, but rows share neighbours and the
    noise of their distances; other estimators have none at all. Here the standard error is √(V/3) with V the variance
    of ``nats`` over three disjoint parts, whole groups and about equal shares of every class each, averaged over ten
    splits: the variance falls as 1/n. It knows nothing of bias. The interval is Student's with 8 degrees of freedom.

    Args:
        estimator: What gave the estimate.
        estimate: Of all rows.
        x: ``(n, d)`` or ``(n,)`` states, or symbols where the estimator takes them.
        y: ``(n,)`` outputs, or ``(n, dy)`` where the estimator takes them.
        groups: ``(n,)`` instance of each row where rows share instances.
        seed: Of the splits.
        level: Nominal coverage in (0, 1).

    Returns:
        Without bounds, for a reason, where the estimate or that of a part is undefined, and in fewer than 30
        independent rows.

    Raises:
        ValueError: bad input, or a level outside (0, 1); what the estimator refuses of a part.

    References:
        Holmes, Nemenman (2019), Estimation of mutual information for real-valued data with error bars and controlled
        bias.
    """
    if not 0 < level < 1:
        raise ValueError(f"level is {level}; it must lie between 0 and 1, for example 0.95")
    nan = float("nan")
    if estimate.status != "ok":
        return Interval(nan, nan, level, nan, estimate.reason)
    states, labels = as_rows(x), as_array("y", y)
    n = len(states)
    instances = as_groups(groups, n)
    if count_independent(n, instances) < PARTS * FEWEST_ROWS:
        return Interval(nan, nan, level, nan, f"fewer than {PARTS * FEWEST_ROWS} independent rows to take apart")
    codes = class_strata(labels, n)
    rng = np.random.default_rng(seed)
    variances = []
    for _ in range(REPEATS):
        part = stratified_folds(codes, instances, PARTS, rng)
        found = [
            estimator.estimate(states[rows], labels[rows], None if instances is None else instances[rows])
            for rows in (part == index for index in range(PARTS))
        ]
        for each in found:
            if each.status != "ok":
                return Interval(nan, nan, level, nan, f"in a third of the rows: {each.reason}")
        variances.append(np.var([each.nats for each in found], ddof=1))
    error = float(np.sqrt(np.mean(variances) / PARTS))
    width = float(t.ppf(0.5 + level / 2, DEGREES)) * error
    return Interval(estimate.nats - width, max(estimate.nats + width, 0.0), level, error, "")
