"""The second algorithm of Kraskov et al.: the smallest rectangle that holds the k nearest rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from scipy.special import digamma

from mi_attention.estimators.boxes import box_counts
from mi_attention.estimators.joint_neighbours import TREE_WIDTH
from mi_attention.estimators.neighbours import BLOCK_NUMBERS, chebyshev, closed
from mi_attention.interface import IntArray

__all__ = ["rectangle_local"]


def rectangle_local(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    k: int,
) -> NDArray[np.float64]:
    """``(n,)`` psi(k) − 1/k + psi(N) − psi(n_x) − psi(n_y) in nats: equation 9, for rows without ties.

    Counts are of the closed intervals that the k nearest rows span.

    Args:
        x: ``(n, d)`` of about unit scale.
        y: ``(n, dy)`` of about unit scale.
        k: Neighbours.
    """
    counts = (_by_tree if x.shape[1] + y.shape[1] <= TREE_WIDTH else _by_block)(x, y, k)
    within = [digamma(np.maximum(count, 1)) for count in counts]
    return np.asarray(digamma(k) - 1 / k + digamma(len(x)) - within[0] - within[1])


def _by_tree(x: NDArray[np.float64], y: NDArray[np.float64], k: int) -> tuple[IntArray, IntArray]:
    joint = np.hstack([x, y])
    # Among duplicates the row itself can stand anywhere; those rows are tied and do not come here.
    near = np.asarray(cKDTree(joint).query(joint, k=k + 1, p=np.inf)[1])[:, 1:]
    reach = (np.abs(side[near] - side[:, None]).max(axis=(1, 2)) for side in (x, y))
    found = [box_counts(side, radius) for side, radius in zip((x, y), reach, strict=True)]
    return found[0], found[1]


def _by_block(x: NDArray[np.float64], y: NDArray[np.float64], k: int) -> tuple[IntArray, IntArray]:
    n = len(x)
    counts = np.empty((2, n), dtype=np.int64)
    size = max(1, BLOCK_NUMBERS // n)
    for start in range(0, n, size):
        stop = min(start + size, n)
        apart = [chebyshev(side[start:stop], side) for side in (x, y)]
        for distance in apart:
            distance[np.arange(stop - start), np.arange(start, stop)] = np.inf
        joint = np.maximum(apart[0], apart[1])
        radius = closed(np.partition(joint, k - 1, axis=1)[:, k - 1])
        for side, distance in enumerate(apart):
            reach = np.max(distance, axis=1, where=joint <= radius[:, None], initial=0.0)
            counts[side, start:stop] = (distance <= closed(reach)[:, None]).sum(axis=1)
    return counts[0], counts[1]
