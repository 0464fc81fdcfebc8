"""The second algorithm of Kraskov et al.: the smallest rectangle that holds the k nearest rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from scipy.special import digamma

from mi_attention.estimators.boxes import box_counts
from mi_attention.estimators.joint_neighbours import TREE_WIDTH
from mi_attention.estimators.neighbour_groups import GroupedColumns, Spread, spread_correction
from mi_attention.estimators.neighbours import BLOCK_NUMBERS, chebyshev, closed, opened
from mi_attention.interface import IntArray

__all__ = ["rectangle_local"]


def rectangle_local(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    k: int,
    groups: IntArray | None = None,
    joint: Spread | None = None,
) -> NDArray[np.float64]:
    """``(n,)`` psi(k) − 1/k + psi(N) − psi(n_x) − psi(n_y) in nats: equation 9, for rows without ties.

    Counts are of the closed intervals that the k nearest rows span; with groups, of groups and their nearest rows.

    Args:
        x: ``(n, d)`` of about unit scale.
        y: ``(n, dy)`` of about unit scale.
        k: Neighbours.
        groups: ``(n,)`` numbered from 0; rows of one group are no candidates of each other.
        joint: Rows per group in the joint balls, with groups.
    """
    correction = 0.0
    if groups is None and x.shape[1] + y.shape[1] <= TREE_WIDTH:
        total, counts = len(x), _by_tree(x, y, k)
    else:
        columns = GroupedColumns.of(np.arange(len(x)) if groups is None else groups)
        spreads = Spread(), Spread()
        total, counts = columns.number, _by_block(x, y, k, columns, spreads)
        if joint is not None:
            correction = spread_correction(joint, *spreads, float(np.log(len(x) / total)))
    within = [digamma(np.maximum(count, 1)) for count in counts]
    return np.asarray(digamma(k) - 1 / k + digamma(total) - within[0] - within[1] + correction)


def _by_tree(x: NDArray[np.float64], y: NDArray[np.float64], k: int) -> tuple[IntArray, IntArray]:
    joint = np.hstack([x, y])
    # Among duplicates the row itself can stand anywhere; those rows are tied and do not come here.
    near = np.asarray(cKDTree(joint).query(joint, k=k + 1, p=np.inf)[1])[:, 1:]
    reach = (np.abs(side[near] - side[:, None]).max(axis=(1, 2)) for side in (x, y))
    found = [box_counts(side, radius) for side, radius in zip((x, y), reach, strict=True)]
    return found[0], found[1]


def _by_block(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    k: int,
    columns: GroupedColumns,
    spreads: tuple[Spread, Spread],
) -> tuple[IntArray, IntArray]:
    n = len(x)
    counts = np.empty((2, n), dtype=np.int64)
    lengths = np.diff(np.append(columns.starts, n))
    size = max(1, BLOCK_NUMBERS // n)
    for start in range(0, n, size):
        stop = min(start + size, n)
        apart = [chebyshev(side[start:stop], side[columns.order]) for side in (x, y)]
        for distance in apart:
            columns.exclude_own(distance, start, stop)
        joint = np.maximum(apart[0], apart[1])
        nearest = columns.nearest(joint)
        radius = closed(np.partition(nearest, k - 1, axis=1)[:, k - 1])
        # The one row of each group by which it is among the k nearest.
        chosen = (joint <= radius[:, None]) & (joint == np.repeat(nearest, lengths, axis=1))
        for side, distance in enumerate(apart):
            reach = np.where(chosen, distance, 0.0).max(axis=1)
            closest = columns.nearest(distance)
            counts[side, start:stop] = (closest <= closed(reach)[:, None]).sum(axis=1)
            spreads[side].add(distance, closest, opened(reach))
    return counts[0], counts[1]
