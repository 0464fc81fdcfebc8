"""Radii and counts of the estimators of Kraskov et al. and of Frenzel and Pompe, in the maximum norm."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from scipy.special import digamma

from mi_attention.estimators.boxes import box_counts
from mi_attention.estimators.neighbour_groups import GroupedColumns, SpaceBalls, in_steps
from mi_attention.estimators.neighbours import BLOCK_NUMBERS, chebyshev, closed, has_duplicates, is_zero, opened
from mi_attention.estimators.threads import in_threads, thread_budget
from mi_attention.estimators.ties import local_information
from mi_attention.interface import IntArray

__all__ = ["TREE_WIDTH", "JointValues", "Sides", "joint_values"]

# Open and closed counts ``(n,)``.
Counts: TypeAlias = tuple[NDArray[Any], NDArray[Any]]

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
class GroupedJoint:
    """The joint balls of rows that share groups.

    Attributes:
        found: ``(n,)`` rows up to and with the k-th group, over their design effect: k of near copies.
        level: ``(n,)`` psi of all candidates over the same, the row with them.
    """

    found: NDArray[np.float64]
    level: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class JointValues:
    """Pointwise values and what they rest on.

    Attributes:
        local: ``(n,)`` nats whose mean is the estimate.
        tied: ``(n,)`` rows with more than one row on a rim, which took the tie-aware form.
        grouped: What an estimate by rectangles needs besides; None without groups.
    """

    local: NDArray[np.float64]
    tied: NDArray[np.bool_]
    grouped: GroupedJoint | None = None


def joint_values(sides: Sides, k: int, groups: IntArray | None = None) -> JointValues:
    """Pointwise information of x and y, given z where there is one.

    Without a condition and ties this is equation 8 of Kraskov et al. (2004), with a condition that of Frenzel and
    Pompe (2007). With groups the counts are of rows of other groups over their design effects, which
    ``neighbour_groups`` explains.

    Args:
        sides: What the information is between.
        k: Neighbours.
        groups: ``(n,)`` numbered from 0; rows of one group are no candidates of each other.
    """
    if groups is not None and groups.max() + 1 < sides.n:
        return _by_group(sides, k, GroupedColumns.of(groups))
    if groups is None and sum(s.shape[1] for s in (sides.x, sides.y, sides.z) if s is not None) <= TREE_WIDTH:
        return _by_tree(sides, k)
    return _by_block(sides, k)


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
    joint: Counts,
    x: Counts,
    y: Counts,
    z: Counts,
) -> JointValues:
    at_zero = is_zero(radius)
    tied = (joint[1] > k) | at_zero | ((x[1] - x[0]) + (y[1] - y[0]) - (z[1] - z[0]) != 1)
    return JointValues(local_information(k, at_zero, joint, x, y, z), tied)


def _apart(sides: Sides, columns: GroupedColumns, start: int, stop: int) -> list[NDArray[np.float64]]:
    """Distances ``(b, n)`` in the joint space, in those of x and y with the condition, and in that of the condition."""
    parts = [sides.x, sides.y] if sides.z is None else [sides.x, sides.y, sides.z]
    apart = [chebyshev(part[start:stop], part[columns.order]) for part in parts]
    for distance in apart:
        columns.exclude_own(distance, start, stop)
    if len(apart) == 3:
        np.maximum(apart[0], apart[2], out=apart[0])
        np.maximum(apart[1], apart[2], out=apart[1])
    return [np.maximum(apart[0], apart[1]), *apart]


def _by_block(sides: Sides, k: int) -> JointValues:
    n = sides.n
    columns = GroupedColumns.of(np.arange(n))
    counts = np.full((4, 2, n), n - 1)
    radii = np.empty(n)
    size = max(1, BLOCK_NUMBERS // n)
    for start in range(0, n, size):
        stop = min(start + size, n)
        spaces = _apart(sides, columns, start, stop)
        radius = radii[start:stop] = np.partition(spaces[0], k - 1, axis=1)[:, k - 1]
        for space, distance in enumerate(spaces):
            for rim, reach in enumerate((opened(radius), closed(radius))):
                counts[space, rim, start:stop] = (distance <= reach[:, None]).sum(axis=1)
    joint, x, y, z = ((c[0], c[1]) for c in counts)
    return _local(k, radii, joint, x, y, z)


def _by_group(sides: Sides, k: int, columns: GroupedColumns) -> JointValues:
    """The k-th group at its nearest row sets the radius; rows are counted, in each space over their design effect."""
    n = sides.n
    second = min(max(k, 2), columns.number - 1)
    spaces = [SpaceBalls(columns) for _ in range(3 if sides.z is None else 4)]
    radii, hit = np.empty(n), np.empty(n)
    size = max(1, BLOCK_NUMBERS // n)
    for start in range(0, n, size):
        stop = min(start + size, n)
        apart = _apart(sides, columns, start, stop)
        nearest = columns.nearest(apart[0])
        part = np.partition(nearest, sorted({k - 1, second - 1}), axis=1)
        radius = radii[start:stop] = part[:, k - 1]
        hit[start:stop] = np.count_nonzero(nearest <= opened(radius)[:, None], axis=1)
        for space, distance in zip(spaces, apart, strict=True):
            # At k = 1 no group is strictly inside the joint ball, but one is inside that of the second.
            space.add(distance, radius, part[:, second - 1] if k == 1 and distance is apart[0] else None)
    at_zero, wanted = is_zero(radii), k - hit
    effects = np.ones((4, n))
    for index, space in enumerate(spaces):
        effects[index] = space.effects(at_zero, columns.chance, wanted if index == 0 else 0.0)[1]
    everyone = np.broadcast_to(columns.candidates, (4 - len(spaces), n))
    rows = np.vstack([*(space.rows() for space in spaces), everyone])
    every = np.vstack([*(space.rows_with_rim() for space in spaces), everyone])
    # Several rows on a rim may be worth less than one, but never a row alone.
    rims = in_steps(np.where(every > rows, np.maximum((every - rows) / effects, 1.0), 0.0))
    rims[0] = np.maximum(rims[0], wanted)
    first = in_steps(rows / effects)
    found = first[0] + wanted
    # The share of a rim goes by how many groups are still wanted, whatever the rows inside are worth.
    first[0] = hit
    last = np.where(at_zero, in_steps(every / effects), first + rims)
    joint, x, y, z = ((first[space], last[space]) for space in range(4))
    values = _local(k, radii, joint, x, y, z)
    level = digamma(columns.candidates / effects + 1)
    local = values.local + (level[1] + level[2] - level[0] - level[3])
    local += np.where(at_zero, 0.0, digamma(found) - digamma(k))
    return JointValues(local, values.tied, GroupedJoint(found, level[0]))
