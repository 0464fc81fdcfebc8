"""The second algorithm of Kraskov et al.: the smallest rectangle that holds the k nearest rows.

Its sides end at rows that are among the k nearest. Where other rows lie just as far (an atom, a lattice), counting all
of them takes a side for longer than it is, and where a side has no length, all its rows coincide. The mean over random
orders of the rows on a rim repairs both: of M rows that coincide the furthest of k has psi = psi(M + 1) − 1/k in the
mean, which takes back the −1/k that a side without length does not owe.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from scipy.special import digamma

from mi_attention.estimators.boxes import box_counts
from mi_attention.estimators.joint_neighbours import TREE_WIDTH
from mi_attention.estimators.neighbours import BLOCK_NUMBERS, chebyshev, closed, opened
from mi_attention.estimators.ties import expected_digamma_of_rank
from mi_attention.interface import IntArray

__all__ = ["rectangle_local"]


@dataclass(frozen=True, eq=False)
class _Extent:
    """The rectangles of all rows on one side.

    Attributes:
        inside: ``(n,)`` other rows within the open interval.
        rim: ``(n,)`` other rows on its rim.
        own: ``(n,)`` how many of these are among the k nearest.
    """

    inside: IntArray
    rim: IntArray
    own: IntArray

    def level(self) -> NDArray[np.float64]:
        """``(n,)`` psi of the rows up to and with the furthest of the k nearest."""
        # More than the rim holds are counted only among duplicates, whose value is not taken from here.
        own = np.clip(self.own, 1, self.rim)
        return expected_digamma_of_rank(self.inside, own, own, self.rim)


def rectangle_local(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    k: int,
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """``(n,)`` psi(k) − 1/k + psi(N) − psi(n_x) − psi(n_y) in nats and ``(n,)`` whether a rim holds several rows.

    This is equation 9, for rows that share their joint radius with no other row. Counts are of the closed intervals
    that the k nearest rows span, as far as the furthest of these; psi is its mean where several rows are on a rim.

    Args:
        x: ``(n, d)`` of about unit scale.
        y: ``(n, dy)`` of about unit scale.
        k: Neighbours.
    """
    sides = (_by_tree if x.shape[1] + y.shape[1] <= TREE_WIDTH else _by_block)(x, y, k)
    levels = [side.level() for side in sides]
    tied = (sides[0].rim > 1) | (sides[1].rim > 1)
    return np.asarray(digamma(k) - 1 / k + digamma(len(x)) - levels[0] - levels[1]), tied


def _by_tree(x: NDArray[np.float64], y: NDArray[np.float64], k: int) -> tuple[_Extent, _Extent]:
    joint = np.hstack([x, y])
    # Among duplicates the row itself can stand anywhere; those rows are tied and do not come here.
    near = np.asarray(cKDTree(joint).query(joint, k=k + 1, p=np.inf)[1])[:, 1:]

    def extent(side: NDArray[np.float64]) -> _Extent:
        apart = np.abs(side[near] - side[:, None]).max(axis=2)
        reach = apart.max(axis=1)
        inside = box_counts(side, reach, inside=True)
        return _Extent(inside, box_counts(side, reach) - inside, (apart > opened(reach)[:, None]).sum(axis=1))

    return extent(x), extent(y)


def _by_block(x: NDArray[np.float64], y: NDArray[np.float64], k: int) -> tuple[_Extent, _Extent]:
    n = len(x)
    counts = np.empty((2, 3, n), dtype=np.int64)
    size = max(1, BLOCK_NUMBERS // n)
    for start in range(0, n, size):
        stop = min(start + size, n)
        apart = [chebyshev(side[start:stop], side) for side in (x, y)]
        for distance in apart:
            distance[np.arange(stop - start), np.arange(start, stop)] = np.inf
        joint = np.maximum(apart[0], apart[1])
        near = joint <= closed(np.partition(joint, k - 1, axis=1)[:, k - 1])[:, None]
        for side, distance in enumerate(apart):
            reach = np.max(distance, axis=1, where=near, initial=0.0)
            beyond = distance > opened(reach)[:, None]
            inside = n - np.count_nonzero(beyond, axis=1)
            within = np.count_nonzero(distance <= closed(reach)[:, None], axis=1)
            counts[side, :, start:stop] = inside, within - inside, np.count_nonzero(beyond & near, axis=1)
    return _Extent(*counts[0]), _Extent(*counts[1])
