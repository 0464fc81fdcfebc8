"""The nearest-neighbour estimators of Kraskov, Stögbauer and Grassberger for a continuous output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import cKDTree
from scipy.special import digamma

from mi_attention.estimators.labels import as_continuous
from mi_attention.estimators.neighbours import (
    BLOCK_NUMBERS,
    chebyshev,
    closed,
    rescale,
    sorted_counts,
    tree_counts,
)
from mi_attention.estimators.samples import (
    as_groups,
    as_states,
    check_finite,
    cluster_standard_error,
    count_independent,
    run_each,
    warn_if_small,
)
from mi_attention.interface import FloatArray, IntArray, MIEstimate, Unit

__all__ = ["KSG", "ksg_local"]

TREE_WIDTH = 8


@dataclass(frozen=True)
class KSG:
    """k-nearest-neighbour estimate of I(x; y) in nats for continuous y of any dimension: exact, signed, never clipped.

    Columns of x and y are centred and scaled to unit variance (constant ones are left out), so that offset and scale
    do not matter; distances are Chebyshev. The value fluctuates round 0 at independence and has no ceiling: a state
    that determines a continuous output has unbounded information about it.

    Ties: where more than k rows lie in the closed joint ball, or more than one row on the rim of a marginal ball
    (rounded data, duplicates, ReLU zeros), both algorithms use counts of closed balls: psi(N) + psi(k_i) minus the
    mean of psi(n) and psi(n + 1) of each marginal count, and where the radius is 0, psi(N) + psi(k_i + 1) − psi(n_x +
    1) − psi(n_y + 1), in the spirit of Gao et al. (2017). No noise is added. Rounding to
    between 0.01 and 1 standard deviations moved the mean of 20 samples by 0.06 nats at most from 1000 rows on (0.09
    at 300), beside what the rounding itself loses.

    Biased low where the dependence is strong or d is above about 5; check with the other algorithm and other k. With
    ``groups``, rows of one group are no neighbours of each other; where rows of a group nearly coincide, take k above
    twice a group's rows. ``lower_bound`` is None: an estimate, not a bound.

    Time: k-d trees and sorted scans up to 8 joint dimensions, else (and with groups) O(n² d) in blocks of memory
    O(block · n).

    Attributes:
        k: Neighbours, at least 1.
        algorithm: 1 (cubes) or 2 (rectangles).

    References:
        Kraskov, Stögbauer, Grassberger (2004), Estimating mutual information, equations 8 and 9.
        Gao, Kannan, Oh, Viswanath (2017), Estimating mutual information for discrete-continuous mixtures.
    """

    k: int = 3
    algorithm: Literal[1, 2] = 1

    def __post_init__(self) -> None:
        """Check hyper-parameters."""
        if self.k < 1:
            raise ValueError(f"k must be at least 1, got {self.k}")
        if self.algorithm not in (1, 2):
            raise ValueError(f"algorithm must be 1 or 2, got {self.algorithm}")

    @property
    def signature(self) -> str:
        """Name, algorithm and k."""
        return f"ksg{self.algorithm}|k={self.k}"

    def estimate(self, x: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> MIEstimate:
        """Estimate I(x; y) in nats from ``x (n, d)`` or ``(n,)`` and continuous ``y (n,)`` or ``(n, dy)``.

        Returns:
            Exactly 0 where x or y is constant, flagged in ``reason``; undefined where a row has fewer than k
            candidates in other groups.

        Raises:
            ValueError: bad input, and k ≥ n.
        """
        states = as_states(x)
        n = len(states)
        output = as_continuous(y, n)
        instances = as_groups(groups, n)
        check_finite(states)
        if self.k >= n:
            raise ValueError(f"k={self.k} needs more than {self.k} rows but x has {n}; lower k or add rows")
        scaled, target = rescale(states), rescale(output)
        for values, reason in ((scaled, "constant state"), (target, "constant output")):
            if values.shape[1] == 0:
                return self._result(np.zeros(n), 0.0, reason, instances)
        if instances is not None and n - int(np.bincount(instances).max()) < self.k:
            return MIEstimate.undefined("fewer than k rows in other groups", n=n, signature=self.signature)
        warn_if_small(count_independent(n, instances))
        local = ksg_local(scaled, target, self.k, self.algorithm, instances)
        return self._result(local, cluster_standard_error(local, instances), "", instances)

    @overload
    def estimate_many(self, units: Sequence[Unit]) -> list[MIEstimate]: ...

    @overload
    def estimate_many(self, units: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> list[MIEstimate]: ...

    def estimate_many(self, units: Any, y: Any = None, groups: Any = None) -> list[MIEstimate]:
        """Estimate a sequence of ``Unit``, or states ``(U, n, d)`` with one ``y``, one after another."""
        return run_each(self.estimate, units, y, groups)

    def _result(self, local: FloatArray, standard_error: float, reason: str, groups: IntArray | None) -> MIEstimate:
        return MIEstimate(
            nats=float(local.mean()),
            lower_bound=None,
            local=local,
            standard_error=standard_error,
            n=len(local),
            ceiling=None,
            status="ok",
            reason=reason,
            signature=self.signature,
            groups=groups,
        )


def ksg_local(
    x: NDArray[np.float64], y: NDArray[np.float64], k: int, algorithm: int, groups: IntArray | None = None
) -> NDArray[np.float64]:
    """Pointwise values in nats whose mean is the estimate.

    Args:
        x: ``(n, d)`` of about unit scale.
        y: ``(n, dy)`` of about unit scale.
        k: Neighbours.
        algorithm: 1 or 2.
        groups: ``(n,)``; rows of one group are no candidates of each other.
    """
    if groups is None and x.shape[1] + y.shape[1] <= TREE_WIDTH:
        return _local_by_tree(x, y, k, algorithm)
    return _local_by_block(x, y, k, algorithm, np.arange(len(x)) if groups is None else groups)


def _local_by_tree(x: NDArray[np.float64], y: NDArray[np.float64], k: int, algorithm: int) -> NDArray[np.float64]:
    n = len(x)
    joint = np.hstack([x, y])
    tree = cKDTree(joint)
    more = min(k + 2, n)
    distance, index = (np.asarray(found) for found in tree.query(joint, k=more, p=np.inf))
    radius = distance[:, k]
    tied = distance[:, more - 1] <= closed(radius) if more > k + 1 else np.zeros(n, dtype=bool)
    candidates = np.full(n, n - 1)
    count_x, count_y = _Counter(x), _Counter(y)
    closed_x, closed_y = count_x(radius) - 1, count_y(radius) - 1
    open_x, open_y = (np.maximum(count(radius, inside=True) - 1, 0) for count in (count_x, count_y))
    tied |= closed_x - open_x + closed_y - open_y > 1
    if algorithm == 1:
        plain = _first(k, open_x, open_y, candidates)
    else:
        # The row itself can stand anywhere among its duplicates; those rows are tied and leave this formula.
        near = index[:, 1 : k + 1]
        reach_x = np.abs(x[near] - x[:, None]).max(axis=(1, 2))
        reach_y = np.abs(y[near] - y[:, None]).max(axis=(1, 2))
        within = []
        for count, reach in ((count_x, reach_x), (count_y, reach_y)):
            within.append(count(reach) - 1)
            tied |= within[-1] - np.maximum(count(reach, inside=True) - 1, 0) > 1
        plain = _second(k, within[0], within[1], candidates)
    if not tied.any():
        return plain
    local = plain.copy()
    inside = tree_counts(tree, joint[tied], radius[tied], norm=np.inf) - 1
    local[tied] = _tied(radius[tied], inside, closed_x[tied], closed_y[tied], candidates[tied])
    return local


def _local_by_block(
    x: NDArray[np.float64], y: NDArray[np.float64], k: int, algorithm: int, groups: IntArray
) -> NDArray[np.float64]:
    n = len(x)
    local = np.empty(n)
    rows = max(1, BLOCK_NUMBERS // n)
    for start in range(0, n, rows):
        stop = min(start + rows, n)
        apart_x, apart_y = chebyshev(x[start:stop], x), chebyshev(y[start:stop], y)
        own = groups[start:stop, None] == groups[None]
        apart_x[own] = np.inf
        apart_y[own] = np.inf
        joint = np.maximum(apart_x, apart_y)
        candidates = n - own.sum(axis=1)
        radius = np.partition(joint, k - 1, axis=1)[:, k - 1]
        reach = closed(radius)[:, None]
        inside = joint <= reach
        found = inside.sum(axis=1)
        tied = found > k
        closed_x, closed_y = (apart_x <= reach).sum(axis=1), (apart_y <= reach).sum(axis=1)
        open_reach = (2 * radius - closed(radius))[:, None]
        open_x, open_y = (apart_x <= open_reach).sum(axis=1), (apart_y <= open_reach).sum(axis=1)
        tied |= closed_x - open_x + closed_y - open_y > 1
        if algorithm == 1:
            plain = _first(k, open_x, open_y, candidates)
        else:
            within = []
            for apart in (apart_x, apart_y):
                side = np.where(inside, apart, 0.0).max(axis=1)
                within.append((apart <= closed(side)[:, None]).sum(axis=1))
                tied |= within[-1] - (apart <= (2 * side - closed(side))[:, None]).sum(axis=1) > 1
            plain = _second(k, within[0], within[1], candidates)
        local[start:stop] = np.where(tied, _tied(radius, found, closed_x, closed_y, candidates), plain)
    return local


class _Counter:
    """Counts rows within a radius of each row in one marginal space, itself included."""

    def __init__(self, values: NDArray[np.float64]) -> None:
        self.values = values
        self.ordered = np.sort(values[:, 0])
        self.tree = cKDTree(values) if values.shape[1] > 1 else None

    def __call__(self, radius: NDArray[np.float64], *, inside: bool = False) -> IntArray:
        if self.tree is not None:
            return tree_counts(self.tree, self.values, radius, norm=np.inf, inside=inside)
        return sorted_counts(self.ordered, self.values[:, 0], radius, inside=inside)


def _first(k: int, within_x: IntArray, within_y: IntArray, candidates: IntArray) -> NDArray[np.float64]:
    """Equation 8: counts strictly inside the cube, the row left out."""
    value = digamma(k) + digamma(candidates + 1) - digamma(np.maximum(within_x, 0) + 1)
    return np.asarray(value - digamma(np.maximum(within_y, 0) + 1))


def _second(k: int, within_x: IntArray, within_y: IntArray, candidates: IntArray) -> NDArray[np.float64]:
    """Equation 9: counts inside the closed rectangle that holds the k neighbours, the row left out."""
    value = digamma(k) - 1 / k + digamma(candidates + 1) - digamma(np.maximum(within_x, 1))
    return np.asarray(value - digamma(np.maximum(within_y, 1)))


def _tied(
    radius: NDArray[np.float64], inside: IntArray, within_x: IntArray, within_y: IntArray, candidates: IntArray
) -> NDArray[np.float64]:
    """Closed counts, where the rim holds more than the one row that equations 8 and 9 expect there."""
    # At distance 0 the row is one of the points that coincide, as in a table of counts (Grassberger 1988).
    table = digamma(inside + 1) - digamma(within_x + 1) - digamma(within_y + 1)
    # Elsewhere one marginal ball has the rim row beyond its open count and one has not: halfway between.
    ball = digamma(inside)
    for within in (within_x, within_y):
        ball = ball - (digamma(within) + digamma(within + 1)) / 2
    return np.asarray(np.where(closed(radius) <= closed(np.zeros(1)), table, ball) + digamma(candidates + 1))
