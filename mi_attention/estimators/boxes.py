"""How many rows lie in the box round each row: exact, for few columns and many rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from mi_attention.estimators.neighbours import closed, opened, sorted_counts
from mi_attention.interface import IntArray

__all__ = ["box_counts"]

# Rows of a leaf: a compromise between calls and the candidates that all rows of a leaf share.
LEAF = 64


def box_counts(x: NDArray[np.float64], radius: NDArray[np.float64], *, inside: bool = False) -> IntArray:
    """``(n,)`` other rows within Chebyshev distance ``radius`` of each row.

    One column: two binary searches in the sorted values. More: rows are put in the order of a k-d tree, and all rows
    of a leaf are compared at once with the rows of those leaves that can reach them. Intervals of values become
    intervals of ranks first, which fit small integers and are compared exactly.

    Args:
        x: ``(n, d)`` of about unit scale.
        radius: ``(n,)``.
        inside: Leave out the rim instead of taking it in.
    """
    if x.shape[1] == 1:
        order = np.argsort(x[:, 0], kind="stable")
        counts = np.empty(len(x), dtype=np.int64)
        ordered = x[order, 0]
        counts[order] = sorted_counts(ordered, ordered, radius[order], inside=inside)
        return np.maximum(counts - 1, 0)
    order = np.asarray(cKDTree(x, leafsize=LEAF).indices)
    reach = (opened(radius) if inside else closed(radius))[order]
    rank, first, width = _ranks(x[order], reach)
    starts = _starts(len(x), LEAF)
    stops = np.append(starts[1:], len(x))
    leaf_low, leaf_high = np.minimum.reduceat(rank, starts, axis=1), np.maximum.reduceat(rank, starts, axis=1)
    need_low, need_high = (
        np.minimum.reduceat(first, starts, axis=1),
        np.maximum.reduceat(first + width, starts, axis=1),
    )
    # Ranks that no interval holds fill up the leaves.
    leaves = np.full((x.shape[1], len(starts), LEAF), np.iinfo(np.int32).max, dtype=np.int32)
    leaf_of = np.repeat(np.arange(len(starts)), stops - starts)
    leaves[:, leaf_of, np.arange(len(x)) - starts[leaf_of]] = rank
    counts = np.empty(len(x), dtype=np.int64)
    for leaf, start in enumerate(starts):
        stop = stops[leaf]
        base, span = need_low[:, leaf], need_high[:, leaf] - need_low[:, leaf]
        reached = (leaf_low < need_high[:, leaf, None]) & (leaf_high >= base[:, None])
        near = np.flatnonzero(reached.all(axis=0))
        # Unsigned differences wrap round below 0, so that one comparison holds both ends of an interval.
        candidates = leaves[:, near].reshape(x.shape[1], -1).view(np.uint32) - base[:, None].astype(np.uint32)
        possible = candidates[0] < span[0]
        for column in range(1, x.shape[1]):
            possible &= candidates[column] < span[column]
        number = np.uint16 if int(span.max()) <= np.iinfo(np.uint16).max else np.uint32
        candidates = candidates[:, np.flatnonzero(possible)].astype(number)
        within = np.ones((stop - start, candidates.shape[1]), dtype=np.bool_)
        for column, values in enumerate(candidates):
            low = (first[column, start:stop] - base[column]).astype(number)
            within &= (values - low[:, None]) < width[column, start:stop, None].astype(number)
        counts[order[start:stop]] = np.bitwise_count(np.packbits(within, axis=1)).sum(axis=1, dtype=np.int64)
    # A row is in its own box unless the open ball round it is a point.
    return np.maximum(counts - 1, 0)


def _starts(n: int, most: int) -> IntArray:
    """First rows of the leaves of a balanced tree, of at most ``most`` rows each."""
    starts, sizes = np.zeros(1, dtype=np.int64), np.array([n])
    while sizes.max() > most:
        half = np.where(sizes > most, sizes // 2, 0)
        starts, sizes = np.stack([starts, starts + half], axis=1), np.stack([half, sizes - half], axis=1)
        starts, sizes = starts[sizes > 0], sizes[sizes > 0]
    return starts


def _ranks(
    x: NDArray[np.float64], reach: NDArray[np.float64]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Rank ``(d, n)`` of each number in its column, and first rank and number of ranks within reach of it."""
    rank, first, width = np.empty((3, x.shape[1], len(x)), dtype=np.int32)
    for column, values in enumerate(x.T):
        by_value = np.argsort(values, kind="stable")
        rank[column, by_value] = np.arange(len(x))
        ordered = values[by_value]
        first[column] = np.searchsorted(ordered, values - reach, side="left")
        last = np.searchsorted(ordered, values + reach, side="right")
        width[column] = np.maximum(last - first[column], 0)
    return rank, first, width
