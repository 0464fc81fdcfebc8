"""What every nearest-neighbour estimator shares: scaling, distances, and what counts as the rim of a ball.

A radius and the counts inside it always come from the same distances, or from two computations whose difference is far
below the rim's width. *Closed* balls take in what lies on the rim, *open* ones leave it out, up to a relative 1e-10, so
that equal distances of rounded data count as equal whatever their last bits.
"""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from mi_attention.interface import FloatArray, IntArray

__all__ = [
    "BLOCK_NUMBERS",
    "LOW_DIMENSION",
    "NEIGHBOURS",
    "HighDimensionWarning",
    "chebyshev",
    "check_neighbours",
    "closed",
    "euclidean",
    "has_duplicates",
    "is_zero",
    "opened",
    "refuse_few_rows",
    "rescale",
    "sorted_counts",
    "sorted_radii",
    "warn_if_wide",
]

# The k of the whole family, and of NPEET, scikit-learn and ennemi.
NEIGHBOURS = 3
# Up to this many columns neighbours are near enough for nearest-neighbour estimates.
LOW_DIMENSION = 5
# Up to this width distances are sums of squared differences; above it a float64 matrix product is faster and exact
# enough.
DIRECT_WIDTH = 8
# Numbers in one block of distances.
BLOCK_NUMBERS = 2**20
RELATIVE_RIM = 1e-10
ABSOLUTE_RIM = 1e-14


class HighDimensionWarning(UserWarning):
    """Too many columns for nearest neighbours: the value is far too low."""


def warn_if_wide(estimator: str, columns: int, remedy: str, *, stacklevel: int = 3) -> None:
    """Warn where neighbours are sought in more than ``LOW_DIMENSION`` columns: by default the caller's caller."""
    if columns > LOW_DIMENSION:
        warnings.warn(
            f"{estimator} in {columns} columns: nearest neighbours read far too little above {LOW_DIMENSION}; "
            f"use {remedy}",
            HighDimensionWarning,
            stacklevel=stacklevel,
        )


def check_neighbours(k: int) -> None:
    """Refuse a k that is no positive whole number."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise ValueError(f"k must be at least 1, got {k!r}; pass a whole number of neighbours")


def refuse_few_rows(k: int, n: int) -> None:
    """Refuse k ≥ n."""
    if k >= n:
        raise ValueError(f"k={k} needs more than {k} rows but x has {n}; lower k or add rows")


def rescale(x: FloatArray) -> NDArray[np.float64]:
    """``(n, d')`` float64 columns with mean 0 and standard deviation 1, constant columns left out.

    The result is invariant to offset and scale of each column as far as the input's own digits allow; it is a new
    array.
    """
    values = np.asarray(x, dtype=np.float64)
    varying = values.min(axis=0) != values.max(axis=0)
    # Twice: the mean of numbers near 1e8 carries an error that the second pass takes out.
    moved = values[:, varying] - values[:, varying].mean(axis=0)
    moved -= moved.mean(axis=0)
    # Of a column at the ends of the floating range the square over- or underflows; its largest entry does not.
    moved /= np.abs(moved).max(axis=0)
    return np.asarray(moved / moved.std(axis=0))


def has_duplicates(x: NDArray[np.float64]) -> bool:
    """Whether any column holds a value twice."""
    ordered = np.sort(x, axis=0)
    return bool((ordered[1:] == ordered[:-1]).any())


def closed(radius: NDArray[np.float64]) -> NDArray[np.float64]:
    """Radius that takes in the rim: rounding of equal distances stays inside, on data of unit scale."""
    return np.asarray(radius * (1 + RELATIVE_RIM) + ABSOLUTE_RIM)


def opened(radius: NDArray[np.float64]) -> NDArray[np.float64]:
    """Radius that leaves out the rim, negative where the ball is a point."""
    return np.asarray(radius * (1 - RELATIVE_RIM) - ABSOLUTE_RIM)


def is_zero(radius: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether what lies within a radius coincides with the centre."""
    return np.asarray(closed(radius) <= closed(np.zeros(1)))


def euclidean(
    block: NDArray[np.float64],
    x: NDArray[np.float64],
    block_squares: NDArray[np.float64],
    squares: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Euclidean distances ``(b, n)``; exact duplicates are exactly 0 apart.

    Args:
        block: ``(b, d)`` some rows of x.
        x: ``(n, d)`` centred rows.
        block_squares: ``(b,)`` squared lengths of ``block``.
        squares: ``(n,)`` squared lengths of ``x``.
    """
    if x.shape[1] <= DIRECT_WIDTH:
        total = np.zeros((len(block), len(x)))
        for column in range(x.shape[1]):
            total += np.square(block[:, column, None] - x[None, :, column])
        return np.sqrt(total, out=total)
    total = block @ x.T
    total *= -2.0
    level = block_squares[:, None] + squares[None]
    total += level
    # What the product cannot tell from 0 is a duplicate.
    total[total < 1e-13 * level] = 0.0
    return np.sqrt(total, out=total)


def chebyshev(block: NDArray[np.float64], x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Maximum-norm distances ``(b, n)``."""
    result = np.abs(block[:, 0, None] - x[None, :, 0])
    for column in range(1, x.shape[1]):
        np.maximum(result, np.abs(block[:, column, None] - x[None, :, column]), out=result)
    return result


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
        values: ``(n,)`` centres, fastest in sorted order.
        radius: ``(n,)``.
        inside: Leave out the rim (open intervals) instead of taking it in.
    """
    reach = np.maximum(opened(radius), 0.0) if inside else closed(radius)
    low = np.searchsorted(ordered, values - reach, side="right" if inside else "left")
    high = np.searchsorted(ordered, values + reach, side="left" if inside else "right")
    return np.asarray(np.maximum(high - low, 0), dtype=np.int64)
