"""Radii and counts of Ross's estimator: the ball of the k nearest rows of the same class, and all rows in it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from sklearn.neighbors import KDTree

from mi_attention.estimators.neighbour_groups import GroupedColumns, Spread
from mi_attention.estimators.neighbours import (
    BLOCK_NUMBERS,
    closed,
    euclidean,
    opened,
    sorted_counts,
    sorted_radii,
)
from mi_attention.interface import FloatArray, IntArray

__all__ = ["ClassBalls", "balls_by_block", "balls_by_tree", "balls_of_groups", "balls_on_a_line"]


@dataclass(frozen=True, eq=False)
class ClassBalls:
    """Counts of other rows (groups, where rows share groups) in the ball of each row.

    Attributes:
        wanted: ``(n,)`` neighbours of the class that set the radius: k, or all that the class has.
        own: Of the class, ``(n,)`` strictly inside and ``(n,)`` with the rim.
        every: Of all classes, the same.
        own_candidates: ``(n,)`` of the class altogether.
        candidates: ``(n,)`` altogether.
        correction: ``(n,)`` nats to add, for groups of unequal presence; 0 without groups.
    """

    wanted: IntArray
    own: tuple[IntArray, IntArray]
    every: tuple[IntArray, IntArray]
    own_candidates: IntArray
    candidates: IntArray
    correction: FloatArray


def balls_on_a_line(x: NDArray[np.float64], codes: IntArray, k: int) -> ClassBalls:
    """One column: a window slides over the sorted values of a class. O(n log n)."""
    order = np.argsort(x, kind="stable")
    ordered, labels = x[order], codes[order]
    radius = np.empty(len(x))
    own = np.empty(len(x), dtype=np.int64), np.empty(len(x), dtype=np.int64)
    for label in range(int(codes.max()) + 1):
        member = np.flatnonzero(labels == label)
        values = ordered[member]
        radius[member] = sorted_radii(values, min(k, len(member) - 1))
        for rim, counts in zip((True, False), own, strict=True):
            counts[member] = sorted_counts(values, values, radius[member], inside=rim)
    every = tuple(sorted_counts(ordered, ordered, radius, inside=rim) for rim in (True, False))
    back = np.empty_like(order)
    back[order] = np.arange(len(x))
    return _of_all_rows(codes, k, *(_others(counts[back]) for counts in (*own, *every)))


def balls_by_tree(x: NDArray[np.float64], codes: IntArray, k: int) -> ClassBalls:
    """A few columns: k-d trees, scipy's for radii and scikit-learn's for counts (the faster of the two each time)."""
    radius = np.empty(len(x))
    own = np.empty(len(x), dtype=np.int64), np.empty(len(x), dtype=np.int64)
    for label in range(int(codes.max()) + 1):
        member = np.flatnonzero(codes == label)
        near = min(k, len(member) - 1)
        radius[member] = np.asarray(cKDTree(x[member]).query(x[member], k=[near + 1])[0])[:, 0]
        for counts, found in zip(own, _tree_counts(x[member], radius[member]), strict=True):
            counts[member] = found
    return _of_all_rows(codes, k, *(_others(counts) for counts in (*own, *_tree_counts(x, radius))))


def _tree_counts(x: NDArray[np.float64], radius: NDArray[np.float64]) -> tuple[IntArray, IntArray]:
    tree = KDTree(x)
    order = np.asarray(tree.get_arrays()[1])
    counts = np.empty(len(x), dtype=np.int64), np.empty(len(x), dtype=np.int64)
    for found, reach in zip(counts, (np.maximum(opened(radius), 0.0), closed(radius)), strict=True):
        found[order] = tree.query_radius(x[order], reach[order], count_only=True)
    counts[0][opened(radius) < 0] = 0
    return counts


def balls_by_block(x: NDArray[np.float64], codes: IntArray, k: int, rows: IntArray | None = None) -> ClassBalls:
    """Any number of columns: float64 distances to all rows, block by block. O(n² d) in memory O(block · n).

    Args:
        x: ``(n, d)`` of about unit scale.
        codes: ``(n,)`` classes.
        k: Neighbours.
        rows: Centres wanted, default all; the result has one entry for each.
    """
    centres = np.arange(len(x)) if rows is None else rows
    squares = np.einsum("nd,nd->n", x, x)
    counts = np.empty((4, len(centres)), dtype=np.int64)
    size = max(1, BLOCK_NUMBERS // len(x))
    for start in range(0, len(centres), size):
        block = centres[start : start + size]
        distance = euclidean(x[block], x, squares[block], squares)
        distance[np.arange(len(block)), block] = np.inf
        for label in np.unique(codes[block]):
            here = np.flatnonzero(codes[block] == label)
            member = np.flatnonzero(codes == label)
            own = distance[np.ix_(here, member)]
            near = min(k, len(member) - 1)
            radius = np.partition(own, near - 1, axis=1)[:, near - 1]
            found = (_within(apart, radius, rim) for apart in (own, distance[here]) for rim in (False, True))
            counts[:, start + here] = np.stack(list(found))
    sizes = np.bincount(codes)[codes[centres]] - 1
    return _balls(np.minimum(k, sizes), counts, sizes, np.full(len(centres), len(x) - 1), np.zeros(len(centres)))


def balls_of_groups(x: NDArray[np.float64], codes: IntArray, k: int, groups: IntArray) -> ClassBalls:
    """Groups as neighbours, each at the distance of its nearest row (for its own class: nearest row of that class).

    The counts are of groups, so those of a class with few rows in many groups are weighed by the rows that a group
    shows in a ball: ``correction`` is log(rows per group hit) of the class less that of all rows, against the same of
    the whole sample. It is 0 where labels go by group and groups have equally many rows.
    """
    n = len(x)
    columns = GroupedColumns.of(groups)
    squares = np.einsum("nd,nd->n", x, x)
    classes = int(codes.max()) + 1
    pieces = np.unique(groups * classes + codes)
    groups_with = np.bincount(pieces % classes, minlength=classes)
    near = np.minimum(k, groups_with - 1)
    counts = np.empty((4, n), dtype=np.int64)
    spreads = [(Spread(), Spread()) for _ in range(classes)]
    size = max(1, BLOCK_NUMBERS // n)
    ordered, ordered_codes = x[columns.order], codes[columns.order]
    for start in range(0, n, size):
        stop = min(start + size, n)
        distance = euclidean(x[start:stop], ordered, squares[start:stop], squares[columns.order])
        columns.exclude_own(distance, start, stop)
        nearest = columns.nearest(distance)
        for label in np.unique(codes[start:stop]):
            here = np.flatnonzero(codes[start:stop] == label)
            own = np.where(ordered_codes == label, distance[here], np.inf)
            own_nearest = columns.nearest(own)
            radius = np.partition(own_nearest, near[label] - 1, axis=1)[:, near[label] - 1]
            found = (_within(apart, radius, rim) for apart in (own_nearest, nearest[here]) for rim in (False, True))
            counts[:, start + here] = np.stack(list(found))
            spreads[label][0].add(own, own_nearest, opened(radius))
            spreads[label][1].add(distance[here], nearest[here], opened(radius))
    sizes = groups_with[codes] - 1
    correction = np.zeros(classes)
    per_group = np.log(np.bincount(codes) / groups_with) - np.log(n / columns.number)
    for label, (own_spread, spread) in enumerate(spreads):
        if own_spread.log is not None and spread.log is not None:
            correction[label] = own_spread.log - spread.log - per_group[label]
    return _balls(np.minimum(k, sizes), counts, sizes, np.full(n, columns.number - 1), correction[codes])


def _within(apart: NDArray[np.float64], radius: NDArray[np.float64], rim: bool) -> IntArray:
    return np.asarray((apart <= (closed(radius) if rim else opened(radius))[:, None]).sum(axis=1))


def _others(counts: IntArray) -> IntArray:
    # A row is in its own ball unless the open ball is a point.
    return np.maximum(counts - 1, 0)


def _of_all_rows(
    codes: IntArray, k: int, own: IntArray, own_rim: IntArray, every: IntArray, every_rim: IntArray
) -> ClassBalls:
    sizes = np.bincount(codes)[codes] - 1
    counts = np.stack([own, own_rim, every, every_rim])
    return _balls(np.minimum(k, sizes), counts, sizes, np.full(len(codes), len(codes) - 1), np.zeros(len(codes)))


def _balls(
    wanted: IntArray, counts: IntArray, own_candidates: IntArray, candidates: IntArray, correction: FloatArray
) -> ClassBalls:
    return ClassBalls(
        wanted=wanted,
        own=(counts[0], counts[1]),
        every=(counts[2], counts[3]),
        own_candidates=own_candidates,
        candidates=candidates,
        correction=correction,
    )
