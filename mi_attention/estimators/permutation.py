"""Label-permutation tests of any estimator: is there information at all, at these rows, groups and class shares?"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mi_attention.estimators.samples import as_array, as_groups, as_states
from mi_attention.interface import FloatArray, IntArray, MIEstimate, MIEstimator, Unit
from mi_attention.statistics.permutation import permutation_p

__all__ = [
    "FixedLabelsError",
    "PermutationTest",
    "Statistic",
    "as_rows",
    "label_permutations",
    "null_quantile",
    "permutation_test",
    "statistic_of",
]

Statistic = Literal["lower_bound", "nats"]

# Numbers of states in the units estimated at once (64 MiB as float64), and how many units at most.
CHUNK_NUMBERS = 2**23
CHUNK_UNITS = 64


class FixedLabelsError(ValueError):
    """No permitted permutation changes the labels."""


@dataclass(frozen=True, eq=False)
class PermutationTest:
    """One-sided test of the null that labels are exchangeable between groups (rows, without groups), given the states.

    Attributes:
        p: (1 + b)/(1 + B) with b of B null values at least as large as the observed; in (0, 1]. NaN where undefined.
        observed: The statistic of the labels as given, in nats.
        null: ``(B,)`` the statistic under permuted labels, in nats; draws without a value are left out.
        quantile: ``null_quantile(null)``: p ≤ .05 exactly where ``observed`` is above it.
        statistic: ``"lower_bound"``, ``"raw"`` (mean of ``local``, where the estimator has no bound) or ``"nats"``.
        reason: Why there is no p, or empty.
        estimate: The estimate with the labels as given.
    """

    p: float
    observed: float
    null: FloatArray
    quantile: float
    statistic: str
    reason: str
    estimate: MIEstimate


def permutation_test(
    estimator: MIEstimator,
    x: ArrayLike,
    y: ArrayLike,
    groups: ArrayLike | None = None,
    *,
    permutations: int = 199,
    seed: int,
    statistic: Statistic = "lower_bound",
    watch: Callable[[int, int], None] | None = None,
) -> PermutationTest:
    """Refit the estimator under permuted labels and compare; see ``label_permutations`` for what moves with groups.

    The level holds at any sample size and for any estimator whose result depends on x, y and groups alone, because the
    folds are drawn anew for permuted labels by the same rule. The same y, groups and seed give the same permutations
    for every x, so that positions may be compared draw by draw.

    Args:
        estimator: Any estimator. It should be deterministic given its seed.
        x: ``(n, d)`` or ``(n,)`` states, or symbols where the estimator takes them.
        y: ``(n,)`` outputs, or ``(n, dy)`` where the estimator takes them.
        groups: ``(n,)`` instance of each row where rows share instances.
        permutations: B, at least 1. The smallest p is 1/(1 + B).
        seed: Of the permutations.
        statistic: ``"lower_bound"`` (the mean of ``local`` where there is no bound), the signed held-out value, or
            ``"nats"``, whose gate and cap make ties and cost power.
        watch: Called with (done, B) after every batch of estimates.

    Raises:
        ValueError: bad input, or ``permutations`` below 1.
        FixedLabelsError: labels that no permitted permutation changes (a ValueError too).

    References:
        Phipson, Smyth (2010), Permutation p-values should never be zero.
    """
    if permutations < 1:
        raise ValueError(f"permutations is {permutations}; it must be at least 1 (199 gives p down to .005)")
    if statistic not in ("lower_bound", "nats"):
        raise ValueError(f"statistic is {statistic!r}; it must be 'lower_bound' or 'nats'")
    states, labels = as_rows(x), as_array("y", y)
    instances = as_groups(groups, len(states))
    estimate = estimator.estimate(states, labels, instances)
    observed, name = statistic_of(estimate, statistic)
    if estimate.status != "ok":
        nan = float("nan")
        return PermutationTest(nan, nan, np.empty(0), nan, name, estimate.reason, estimate)
    drawn = islice(label_permutations(labels, instances, seed=seed), permutations)
    null: list[float] = []
    size = int(np.clip(CHUNK_NUMBERS // states.size, 1, CHUNK_UNITS))
    while chunk := list(islice(drawn, size)):
        found = _estimates(estimator, states, [labels[index] for index in chunk], instances)
        null += [statistic_of(each, statistic)[0] for each in found]
        if watch is not None:
            watch(len(null), permutations)
    values = np.array(null)
    # Given that a value exists, the labels seen are still one of the equally likely arrangements that have one.
    values = values[~np.isnan(values)]
    return PermutationTest(
        p=permutation_p(observed, values, "greater"),
        observed=observed,
        null=values,
        quantile=null_quantile(values),
        statistic=name,
        reason="",
        estimate=estimate,
    )


def null_quantile(null: ArrayLike, level: float = 0.95) -> float:
    """The value an estimate must exceed for p = (1 + b)/(1 + B) ≤ 1 − ``level``.

    Args:
        null: ``(B,)`` values under permuted labels.
        level: In (0, 1).

    Returns:
        The j-th largest null value, j = ⌊(1 − level)(B + 1)⌋: .95 and B = 199 give the 10th largest. Infinite where
        B + 1 < 1/(1 − level): no value would be significant; draw more permutations.

    Raises:
        ValueError: values that are not ``(B,)`` numbers, or a level outside (0, 1).
    """
    values = np.asarray(null, dtype=np.float64)
    if values.ndim != 1 or np.isnan(values).any():
        raise ValueError(f"null must be (B,) numbers without NaN, got shape {values.shape}")
    if not 0 < level < 1:
        raise ValueError(f"level is {level}; it must lie between 0 and 1, for example 0.95")
    # 1 − .95 is not exactly .05: without the margin (B + 1)/20 would round down to one less.
    rank = int(np.floor((1 - level) * (len(values) + 1) + 1e-9))
    return float(np.sort(values)[-rank]) if rank > 0 else float("inf")


def label_permutations(y: ArrayLike, groups: ArrayLike | None, *, seed: int) -> Iterator[IntArray]:
    """Endless random orders: ``y[index]`` are labels permuted as the null allows.

    - Without groups: rows are exchanged freely.
    - Labels constant within every group: the labels of groups are exchanged, whatever their sizes. Valid where size and
      label are unrelated or size belongs to the state.
    - Else: groups of the same number of rows exchange their whole label vectors, row by row in the order of the rows.
      What the labels of an instance do among themselves stays as it is, and so does what its states do; groups of a
      size that no other group has keep their labels.

    Args:
        y: ``(n,)`` or ``(n, dy)`` labels.
        groups: ``(n,)`` integers or strings (the instance of each row), or None.
        seed: The first draws do not depend on how many follow.

    Yields:
        ``(n,)`` row indices.

    Raises:
        FixedLabelsError: where no permitted permutation changes the labels.
        ValueError: groups of another length than y, or a missing group (raised, as the other is, by the first draw).
    """
    rng = np.random.default_rng(seed)
    y = as_array("y", y)
    groups = as_groups(groups, len(y))
    if groups is None:
        while True:
            yield rng.permutation(len(y))
    order = np.argsort(groups, kind="stable")
    sizes = np.bincount(groups)
    first = order[np.cumsum(sizes) - sizes]
    if bool((y[first][groups] == y).all()):
        while True:
            yield first[rng.permutation(len(sizes))][groups]
    blocks = np.split(order, np.cumsum(sizes)[:-1])
    strata = [
        np.stack([blocks[group] for group in np.flatnonzero(sizes == size)]) for size in np.unique(sizes) if size > 0
    ]
    _check_exchangeable(y, strata)
    while True:
        index = np.arange(len(y))
        for rows in strata:
            index[rows] = rows[rng.permutation(len(rows))]
        yield index


def as_rows(x: Any) -> NDArray[Any]:
    """States, or symbols of any kind, as ``(n, d)`` of the type given; the estimator says what it takes."""
    array = as_array("x", x)
    array = array[:, None] if array.ndim == 1 else array
    return array if array.ndim == 2 and array.size else as_states(array)


def statistic_of(estimate: MIEstimate, statistic: Statistic = "lower_bound") -> tuple[float, str]:
    """Value in nats and its name: the bound, else the mean of ``local``, else ``nats``; NaN where undefined."""
    if statistic == "lower_bound" and estimate.lower_bound is not None:
        return estimate.lower_bound, "lower_bound"
    raw = float(estimate.local.mean())
    if statistic == "nats" or np.isnan(raw):
        return estimate.nats, "nats"
    return raw, "raw"


def _estimates(
    estimator: MIEstimator, states: NDArray[Any], labels: list[NDArray[Any]], groups: IntArray | None
) -> list[MIEstimate]:
    if labels[0].ndim > 1:  # a Unit holds one output column
        return [estimator.estimate(states, each, groups) for each in labels]
    return estimator.estimate_many([Unit(x=states, y=each, groups=groups) for each in labels])


def _check_exchangeable(y: NDArray[Any], strata: Sequence[IntArray]) -> None:
    """Refuse where every arrangement is the one seen, and warn where most rows cannot move."""
    if all(bool((y[rows] == y[rows[:1]]).all()) for rows in strata):
        raise FixedLabelsError(
            "groups cannot be permuted: labels vary within groups, and no two groups of the same number of rows have "
            "different labels; take the same number of rows from every group, or give every group one label"
        )
    alone = sum(rows.shape[1] for rows in strata if len(rows) == 1)
    if 2 * alone > len(y):
        warnings.warn(
            f"{alone} of {len(y)} rows are in groups of a size no other group has, and keep their labels: the test is "
            "valid but weak; take the same number of rows from every group",
            UserWarning,
            stacklevel=4,
        )
