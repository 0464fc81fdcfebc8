"""Radii and counts of Ross's estimator: the ball of the k nearest rows of the same class, and all rows in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from sklearn.neighbors import KDTree

from mi_attention.estimators.neighbour_groups import GroupedColumns, SpaceBalls, in_steps
from mi_attention.estimators.neighbours import (
    BLOCK_NUMBERS,
    closed,
    euclidean,
    is_zero,
    opened,
    sorted_counts,
    sorted_radii,
)
from mi_attention.interface import IntArray

__all__ = ["ClassBalls", "balls_by_block", "balls_by_tree", "balls_of_groups", "balls_on_a_line"]


@dataclass(frozen=True, eq=False)
class ClassBalls:
    """Counts of other rows in the ball of each row; where rows share groups, of rows over their design effects.

    Attributes:
        wanted: ``(n,)`` neighbours of the class up to and with the one that sets the radius: k, or all that the class
            has.
        own: Of the class, ``(n,)`` strictly inside and ``(n,)`` with the rim.
        every: Of all classes, the same.
        own_candidates: ``(n,)`` of the class altogether.
        candidates: ``(n,)`` altogether.
    """

    wanted: NDArray[Any]
    own: tuple[NDArray[Any], NDArray[Any]]
    every: tuple[NDArray[Any], NDArray[Any]]
    own_candidates: NDArray[Any]
    candidates: NDArray[Any]


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
    return _balls(np.minimum(k, sizes), counts, sizes, np.full(len(centres), len(x) - 1))


def balls_of_groups(x: NDArray[np.float64], codes: IntArray, k: int, groups: IntArray) -> ClassBalls:
    """Rows of other groups over their design effects, of a class and of all; the k-th group of the class sets radii.

    A group of the class is met at its nearest row of that class.
    """
    n = len(x)
    columns = GroupedColumns.of(groups)
    found = np.empty((7, n))
    for label in range(int(codes.max()) + 1):
        member = np.flatnonzero(codes == label)
        found[:, member] = _class_of_groups(x, codes, k, columns, member)
    return ClassBalls(
        wanted=found[0],
        own=(found[1], found[2]),
        every=(found[3], found[4]),
        own_candidates=found[5],
        candidates=found[6],
    )


def _class_of_groups(
    x: NDArray[np.float64], codes: IntArray, k: int, columns: GroupedColumns, member: IntArray
) -> NDArray[np.float64]:
    """``(7, m)`` the numbers of ``ClassBalls``, one after the other, for the rows of one class."""
    squares = np.einsum("nd,nd->n", x, x)
    ordered_groups = columns.group[columns.order]
    of_class = codes[columns.order] == codes[member[0]]
    present, numbered = np.unique(columns.group[member], return_inverse=True)
    own = GroupedColumns.of(numbered)
    near = min(k, own.number - 1)
    second = min(max(near, 2), own.number - 1)
    spaces = SpaceBalls(own), SpaceBalls(columns)
    radii, hit, beside = np.empty((3, len(member)))
    size = max(1, BLOCK_NUMBERS // len(x))
    for start in range(0, len(member), size):
        centres = member[start : start + size]
        block = slice(start, start + len(centres))
        distance = euclidean(x[centres], x[columns.order], squares[centres], squares[columns.order])
        distance[columns.group[centres, None] == ordered_groups] = np.inf
        own_distance = distance[:, of_class]
        nearest = own.nearest(own_distance)
        part = np.partition(nearest, sorted({near - 1, second - 1}), axis=1)
        radius = radii[block] = part[:, near - 1]
        hit[block] = np.count_nonzero(nearest <= opened(radius)[:, None], axis=1)
        # At k = 1 no group of the class is strictly inside, but one is inside the ball of the second.
        further = part[:, second - 1] if near == 1 else None
        for space, apart in zip(spaces, (own_distance, distance), strict=True):
            space.add(apart, radius, further)
        on_rim = (nearest > opened(radius)[:, None]) & (nearest <= closed(radius)[:, None])
        last = present[on_rim.argmax(axis=1)]
        beside[block] = ((distance <= opened(radius)[:, None]) & (ordered_groups == last[:, None])).sum(axis=1)
    at_zero, wanted = is_zero(radii), near - hit
    own_effect = spaces[0].effects(at_zero, own.chance, wanted)[1]
    alike, effect = spaces[1].effects(at_zero, columns.chance[member])
    if own.number == 2:
        # No ball stops short of the one other group, so that its rows are taken to be as alike as all rows are.
        own_effect = 1.0 + alike * (own.candidates - 1.0)
    own_open, own_rim = (v / own_effect for v in (spaces[0].rows(), spaces[0].rows_with_rim() - spaces[0].rows()))
    # Near copies of the row that sets the radius, of other classes, are one thing with it.
    every_open = (spaces[1].rows() - alike * beside) / effect
    every_rim = (spaces[1].rows_with_rim() - spaces[1].rows()) / effect
    own_open, every_open = in_steps(own_open), in_steps(every_open)
    return np.stack(
        [
            own_open + wanted,
            own_open,
            own_open + in_steps(np.maximum(own_rim, wanted)),
            every_open,
            every_open + in_steps(np.maximum(every_rim, 1.0)),
            own.candidates / own_effect,
            columns.candidates[member] / effect,
        ]
    )


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
    return _balls(np.minimum(k, sizes), counts, sizes, np.full(len(codes), len(codes) - 1))


def _balls(wanted: IntArray, counts: IntArray, own_candidates: IntArray, candidates: IntArray) -> ClassBalls:
    return ClassBalls(
        wanted=wanted,
        own=(counts[0], counts[1]),
        every=(counts[2], counts[3]),
        own_candidates=own_candidates,
        candidates=candidates,
    )
