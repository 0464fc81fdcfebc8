"""Radii and counts of the estimators of Kraskov et al. and of Frenzel and Pompe, in the maximum norm."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from mi_attention.estimators.boxes import box_counts
from mi_attention.estimators.neighbour_groups import GroupedColumns, Spread, spread_correction
from mi_attention.estimators.neighbours import BLOCK_NUMBERS, chebyshev, closed, has_duplicates, opened
from mi_attention.estimators.threads import in_threads, thread_budget
from mi_attention.estimators.ties import local_information
from mi_attention.interface import IntArray

__all__ = ["TREE_WIDTH", "JointValues", "Sides", "joint_values"]

# Up to this joint width trees are faster than blocks of all distances.
TREE_WIDTH = 8
# From so many rows on threads gain more than it takes to ask how many there may be.
MANY_ROWS = 10_000


@dataclass(frozen=True, eq=False)
class Sides:
    """What a nearest-neighbour information is between.

    Attributes:
        x: ``(n, dx)`` of about unit scale.
        y: ``(n, dy)`` of about unit scale.
        z: ``(n, dz)`` the condition; None for none.
    """

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    z: NDArray[np.float64] | None = None

    @property
    def n(self) -> int:
        """Rows."""
        return len(self.x)

    def spaces(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Joint space, and the spaces of x and of y, each with the condition."""
        condition = [] if self.z is None else [self.z]
        x, y = np.hstack([self.x, *condition]), np.hstack([self.y, *condition])
        return np.hstack([self.x, self.y, *condition]), x, y


@dataclass(frozen=True, eq=False)
class JointValues:
    """Pointwise values and what they rest on.

    Attributes:
        local: ``(n,)`` nats whose mean is the estimate.
        tied: ``(n,)`` rows with more than one row on a rim, which took the tie-aware form.
        spread: Rows per group in the joint balls; None without groups.
    """

    local: NDArray[np.float64]
    tied: NDArray[np.bool_]
    spread: Spread | None = None


def joint_values(sides: Sides, k: int, groups: IntArray | None = None) -> JointValues:
    """Pointwise information of x and y, given z where there is one.

    Without a condition and ties this is equation 8 of Kraskov et al. (2004), with a condition that of Frenzel and
    Pompe (2007). With groups the counts are of groups; see ``neighbour_groups``.

    Args:
        sides: What the information is between.
        k: Neighbours.
        groups: ``(n,)`` numbered from 0; rows of one group are no candidates of each other.
    """
    if groups is None and sum(s.shape[1] for s in (sides.x, sides.y, sides.z) if s is not None) <= TREE_WIDTH:
        return _by_tree(sides, k)
    return _by_block(sides, k, np.arange(sides.n) if groups is None else groups)


def _by_tree(sides: Sides, k: int) -> JointValues:
    n = sides.n
    joint, x, y = sides.spaces()
    more = min(k + 2, n)
    tree = cKDTree(joint)
    # Rows near each other one after another find the tree's nodes in the cache.
    order = np.asarray(tree.indices)
    distance = np.empty((n, more))
    with thread_budget() if n >= MANY_ROWS else nullcontext(1) as workers:
        distance[order] = tree.query(joint[order], k=more, p=np.inf, workers=workers)[0]
    radius = distance[:, k]
    everyone = np.full(n, n - 1)
    marginal = [x, y] if sides.z is None else [x, y, sides.z]
    inner = _side_by_side(marginal, radius, inside=True)
    untied = not has_duplicates(joint) and not (distance[:, -1] <= closed(radius)).any()
    if untied or more == k + 1:
        rim = [inner[0] + 1, inner[1], *inner[2:]]
        found = np.full(n, k - 1), np.full(n, k)
    else:
        rim = _side_by_side(marginal, radius)
        found = _ball_counts(tree, joint, radius, inside=True), _ball_counts(tree, joint, radius)
    counts = list(zip(inner, rim, strict=True))
    condition = counts[2] if len(counts) > 2 else (everyone, everyone)
    return _local(k, radius, found, counts[0], counts[1], condition)


def _side_by_side(
    spaces: Sequence[NDArray[np.float64]], radius: NDArray[np.float64], *, inside: bool = False
) -> list[IntArray]:
    """Counts in the boxes of every space."""
    if len(radius) < MANY_ROWS:
        return [box_counts(space, radius, inside=inside) for space in spaces]
    return in_threads(lambda space: box_counts(space, radius, inside=inside), spaces)


def _ball_counts(
    tree: cKDTree, joint: NDArray[np.float64], radius: NDArray[np.float64], *, inside: bool = False
) -> IntArray:
    reach = opened(radius) if inside else closed(radius)
    counts = np.zeros(len(joint), dtype=np.int64)
    some = reach >= 0
    if some.any():
        counts[some] = tree.query_ball_point(joint[some], reach[some], p=np.inf, return_length=True) - 1
    return counts


def _local(
    k: int,
    radius: NDArray[np.float64],
    joint: tuple[IntArray, IntArray],
    x: tuple[IntArray, IntArray],
    y: tuple[IntArray, IntArray],
    z: tuple[IntArray, IntArray],
) -> JointValues:
    at_zero = closed(radius) <= closed(np.zeros(1))
    tied = (joint[1] > k) | at_zero | ((x[1] - x[0]) + (y[1] - y[0]) - (z[1] - z[0]) != 1)
    return JointValues(local_information(k, at_zero, joint, x, y, z), tied)


def _by_block(sides: Sides, k: int, groups: IntArray) -> JointValues:
    n = sides.n
    columns = GroupedColumns.of(groups)
    alone = columns.number == n
    parts = [sides.x, sides.y] if sides.z is None else [sides.x, sides.y, sides.z]
    ordered = [part[columns.order] for part in parts]
    counts = np.empty((4, 2, n), dtype=np.int64)
    counts[3] = columns.number - 1
    radii = np.empty(n)
    spreads = [Spread() for _ in range(4)]
    size = max(1, BLOCK_NUMBERS // n)
    for start in range(0, n, size):
        stop = min(start + size, n)
        apart = [chebyshev(part[start:stop], values) for part, values in zip(parts, ordered, strict=True)]
        columns.exclude_own(apart[0], start, stop)
        columns.exclude_own(apart[1], start, stop)
        if len(apart) == 3:
            columns.exclude_own(apart[2], start, stop)
            np.maximum(apart[0], apart[2], out=apart[0])
            np.maximum(apart[1], apart[2], out=apart[1])
        spaces = [np.maximum(apart[0], apart[1]), *apart]
        nearest = spaces if alone else [columns.nearest(distance) for distance in spaces]
        second = min(max(k, 2), columns.number - 1)
        part = np.partition(nearest[0], sorted({k - 1, second - 1}), axis=1)
        radius = radii[start:stop] = part[:, k - 1]
        for space, distance in enumerate(nearest):
            for rim, reach in enumerate((opened(radius), closed(radius))):
                counts[space, rim, start:stop] = (distance <= reach[:, None]).sum(axis=1)
            if not alone:
                # At k = 1 no group is strictly inside the joint ball, but one is inside that of the second.
                inner = opened(part[:, second - 1] if space == 0 else radius)
                spreads[space].add(spaces[space], distance, inner)
    joint, x, y, z = ((c[0], c[1]) for c in counts)
    values = _local(k, radii, joint, x, y, z)
    if alone:
        return values
    whole = float(np.log(n / columns.number)) if sides.z is None else spreads[3].typical_log or 0.0
    correction = spread_correction(spreads[0], spreads[1], spreads[2], whole)
    return JointValues(values.local + correction, values.tied, spreads[0])
