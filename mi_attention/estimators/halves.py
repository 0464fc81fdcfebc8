"""The same estimate on two disjoint halves of the data: how far it repeats itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mi_attention.estimators.folds import stratified_folds
from mi_attention.estimators.labels import class_strata
from mi_attention.estimators.permutation import as_rows, statistic_of
from mi_attention.estimators.samples import as_array, as_groups, count_independent
from mi_attention.interface import BoolArray, MIEstimate, MIEstimator

__all__ = ["HalfValues", "split_half"]


@dataclass(frozen=True, eq=False)
class HalfValues:
    """One value from each half.

    Attributes:
        first: Raw value of the first half in nats: the bound, else the mean of ``local``. NaN where undefined.
        second: Of the other half.
        in_first: ``(n,)`` True for rows of the first half.
        estimates: The two refitted estimates; empty where the halves share one fit.
        reason: Why a value is missing, or empty.
    """

    first: float
    second: float
    in_first: BoolArray
    estimates: tuple[MIEstimate, ...]
    reason: str


def split_half(
    estimator: MIEstimator,
    x: ArrayLike,
    y: ArrayLike,
    groups: ArrayLike | None = None,
    *,
    seed: int,
    refit: bool = True,
) -> HalfValues:
    """Estimate twice, on two disjoint halves of the instances.

    Halves go by group and spread every class over both (classes are one column). The same y, groups and seed give the
    same halves for every x, so that an order of positions in one half can be compared with the order in the other. A
    refitted half has half the rows: its bias is that of n/2.

    Args:
        estimator: Any estimator.
        x: ``(n, d)`` or ``(n,)`` states, or symbols where the estimator takes them.
        y: ``(n,)`` outputs, or ``(n, dy)`` where the estimator takes them.
        groups: ``(n,)`` instance of each row where rows share instances.
        seed: Of the split.
        refit: Estimate each half by itself; else one estimate of all rows, whose ``local`` values are averaged by half.
            That costs one estimate, and does not see the error the halves share.

    Raises:
        ValueError: bad input, or fewer than two independent rows.
    """
    states, labels = as_rows(x), as_array("y", y)
    n = len(states)
    instances = as_groups(groups, n)
    if count_independent(n, instances) < 2:
        raise ValueError(
            "x has fewer than two independent rows; halves need at least two groups (rows, without groups)"
        )
    codes = class_strata(labels, n)
    in_first = stratified_folds(codes, instances, 2, np.random.default_rng(seed)) == 0
    halves = (in_first, ~in_first)
    if refit:
        found = tuple(
            estimator.estimate(states[rows], labels[rows], None if instances is None else instances[rows])
            for rows in halves
        )
        values = [statistic_of(each)[0] for each in found]
        reasons = [each.reason for each in found if each.status != "ok"]
    else:
        whole = estimator.estimate(states, labels, instances)
        found, values = (), [float(whole.local[rows].mean()) for rows in halves]
        reasons = [whole.reason] if np.isnan(values).any() else []
    return HalfValues(values[0], values[1], in_first, found, "; ".join(dict.fromkeys(reasons)))
