"""Exact nearest-neighbour radii and counts, in memory O(block · n), from one distance computation.

A radius and the count inside it always come from the same distances. *Closed* balls take in what lies on the rim, up to
a relative 1e-10, so that equal distances of rounded data count as equal whatever their last bits.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from mi_attention.interface import FloatArray, IntArray

__all__ = [
    "DIRECT_WIDTH",
    "chebyshev",
    "closed",
    "distance_blocks",
    "kth_smallest",
    "rescale",
    "sorted_counts",
    "sorted_radii",
    "tree_counts",
]

# Up to this width distances are sums of squared differences; above it a float64 matrix product is faster and exact
# enough.
DIRECT_WIDTH = 8

BLOCK_NUMBERS = 2**22
RELATIVE_RIM = 1e-10
ABSOLUTE_RIM = 1e-14


def rescale(x: FloatArray) -> NDArray[np.float64]:
    """``(n, d')`` float64 columns with mean 0 and standard deviation 1, constant columns left out.

    The result is invariant to offset and scale of each column as far as the input's own digits allow; it is a new
    array.
    """
    values = np.asarray(x, dtype=np.float64)
    varying = values.min(axis=0) != values.max(axis=0)
    moved = values[:, varying] - values[:, varying].mean(axis=0)
    return np.asarray(moved / moved.std(axis=0))


def closed(radius: NDArray[np.float64]) -> NDArray[np.float64]:
    """Radius that takes in the rim: rounding of equal distances stays inside, on data of unit scale."""
    return np.asarray(radius * (1 + RELATIVE_RIM) + ABSOLUTE_RIM)


def distance_blocks(x: NDArray[np.float64]) -> Iterator[tuple[int, int, NDArray[np.float64]]]:
    """Euclidean distances ``(b, n)`` of blocks of rows to all rows; exact duplicates are exactly 0 apart."""
    n, width = x.shape
    rows = max(1, BLOCK_NUMBERS // n)
    squares = np.einsum("nd,nd->n", x, x)
    for start in range(0, n, rows):
        block = x[start : start + rows]
        if width <= DIRECT_WIDTH:
            total = np.zeros((len(block), n))
            for column in range(width):
                total += np.square(block[:, column, None] - x[None, :, column])
        else:
            total = block @ x.T
            total *= -2.0
            level = squares[start : start + rows, None] + squares[None]
            total += level
            # What the product cannot tell from 0 is a duplicate.
            total[total < 1e-13 * level] = 0.0
        yield start, start + len(block), np.sqrt(total, out=total)


def chebyshev(block: NDArray[np.float64], x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Maximum-norm distances ``(b, n)``."""
    result = np.abs(block[:, 0, None] - x[None, :, 0])
    for column in range(1, x.shape[1]):
        np.maximum(result, np.abs(block[:, column, None] - x[None, :, column]), out=result)
    return result


def kth_smallest(distance: NDArray[np.float64], k: IntArray) -> NDArray[np.float64]:
    """``(b,)`` the ``k[i]``-th smallest (from 1) of row i; candidates that do not count are infinite."""
    wanted = np.unique(k)
    part = np.partition(distance, wanted - 1, axis=1)
    return np.asarray(part[np.arange(len(k)), k - 1])


def sorted_radii(ordered: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Distance of each value of a sorted vector to its k-th nearest other value: a window of k + 1 slides over it."""
    n = len(ordered)
    padded = np.concatenate([np.full(k, -np.inf), ordered, np.full(k, np.inf)])
    radius = np.full(n, np.inf)
    for left in range(k + 1):
        low, high = padded[k - left : k - left + n], padded[2 * k - left : 2 * k - left + n]
        np.minimum(radius, np.maximum(ordered - low, high - ordered), out=radius)
    return radius


def sorted_counts(
    ordered: NDArray[np.float64], values: NDArray[np.float64], radius: NDArray[np.float64], *, inside: bool = False
) -> IntArray:
    """How many of a sorted vector lie within ``radius`` of each value (itself included where it is one of them).

    Args:
        ordered: Sorted candidates.
        values: ``(n,)`` centres.
        radius: ``(n,)``.
        inside: Leave out the rim (open intervals) instead of taking it in.
    """
    reach = np.maximum(2 * radius - closed(radius), 0.0) if inside else closed(radius)
    first, last = ("right", "left") if inside else ("left", "right")
    low = np.searchsorted(ordered, values - reach, side="right" if first == "right" else "left")
    high = np.searchsorted(ordered, values + reach, side="left" if last == "left" else "right")
    return np.asarray(np.maximum(high - low, 0), dtype=np.int64)


def tree_counts(
    tree: cKDTree, values: NDArray[np.float64], radius: NDArray[np.float64], *, norm: float, inside: bool = False
) -> IntArray:
    """How many points of a tree lie within ``radius`` of each row; see ``sorted_counts``."""
    reach = 2 * radius - closed(radius) if inside else closed(radius)
    result = np.zeros(len(values), dtype=np.int64)
    some = reach >= 0
    if some.any():
        result[some] = tree.query_ball_point(values[some], reach[some], p=norm, return_length=True)
    return result
