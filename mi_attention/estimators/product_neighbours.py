"""Ross's counts in high dimension at the price of a float32 matrix product, equal to those of float64."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mi_attention.estimators.class_neighbours import ClassBalls, balls_by_block
from mi_attention.interface import IntArray

__all__ = ["balls_by_product"]

# Distances in memory together, 4 MiB: fewer make products slow, more leave the cache.
BLOCK = 2**20
# A class's columns are folded so many times before its k smallest are looked for.
FOLDS = 16


def balls_by_product(x: NDArray[np.float64], codes: IntArray, k: int) -> ClassBalls:
    """Counts of ``balls_by_block``, found in float32 and found again in float64 where float32 cannot tell.

    Squared distances less |x_i|², which moves a whole row alike, are one product of (−2x, |x|²) and (x, 1). Of each row
    an upper bound of the k-th smallest of its class comes from the minima of folded columns, so that only the few
    entries below it are sorted. A row is settled where no other entry lies within the rounding error of its radius;
    else (near copies, rounded data, long tails) its distances are computed again in float64. Memory O(block · n).

    Args:
        x: ``(n, d)`` centred, of about unit scale.
        codes: ``(n,)`` classes of at least two rows.
        k: Neighbours.
    """
    n, width = x.shape
    order = np.argsort(codes, kind="stable")
    sizes = np.bincount(codes)
    stops = np.cumsum(sizes)
    single = x[order].astype(np.float32)
    squares = np.einsum("nd,nd->n", x[order], x[order])
    left = np.hstack([single, np.ones((n, 1), dtype=np.float32)])
    right = np.ascontiguousarray(np.hstack([-2 * single, squares[:, None].astype(np.float32)]).T)
    # Rounding of both factors and of a sum of width + 1 products (Higham 2002, equation 3.5).
    unit = (width + 8) * np.finfo(np.float32).eps / 2
    buffer = np.empty((max(1, min(n, BLOCK // n)), n), dtype=np.float32)
    inside = np.zeros(n, dtype=np.int64)
    settled = np.zeros(n, dtype=bool)
    for size, stop in zip(sizes, stops, strict=True):
        begin, near = stop - size, min(k, size - 1)
        for start in range(begin, stop, len(buffer)):
            rows = np.arange(start, min(start + len(buffer), stop))
            block = np.matmul(left[rows[0] : rows[-1] + 1], right, out=buffer[: len(rows)])
            block[np.arange(len(rows)), rows] = np.inf
            bound = _kth_bound(block[:, begin:stop], near)
            reach = np.sqrt(np.maximum(bound + squares[rows], 0.0)) + 2 * np.sqrt(squares[rows])
            # |x_j| is at most |x_i| + radius for whatever lies near the rim.
            error = (unit * np.square(reach)).astype(np.float32)
            inside[rows], settled[rows] = _count(block, bound, error, begin, stop, near)
    counts = np.empty((4, n), dtype=np.int64)
    near_all = np.minimum(k, sizes - 1)[codes]
    back = np.empty_like(order)
    back[order] = np.arange(n)
    inside, settled = inside[back], settled[back]
    counts[:] = near_all - 1, near_all, inside - 1, inside
    unsettled = np.flatnonzero(~settled)
    if len(unsettled):
        again = balls_by_block(x, codes, k, unsettled)
        counts[:, unsettled] = again.own + again.every
    return ClassBalls(
        wanted=near_all,
        own=(counts[0], counts[1]),
        every=(counts[2], counts[3]),
        own_candidates=sizes[codes] - 1,
        candidates=np.full(n, n - 1),
    )


def _kth_bound(own: NDArray[np.float32], near: int) -> NDArray[np.float32]:
    """``(b,)`` at least the ``near``-th smallest of each row, and not far above it."""
    folded = own.shape[1] // FOLDS
    if folded >= 4 * near:
        whole = folded * FOLDS
        minima = own[:, :whole].reshape(len(own), FOLDS, folded).min(axis=1)
        own = np.hstack([minima, own[:, whole:]])
    return np.asarray(np.partition(own, near - 1, axis=1)[:, near - 1])


def _count(
    block: NDArray[np.float32],
    bound: NDArray[np.float32],
    error: NDArray[np.float32],
    begin: int,
    stop: int,
    near: int,
) -> tuple[IntArray, NDArray[np.bool_]]:
    """``(b,)`` rows with the rim, and ``(b,)`` whether float32 is sure of that."""
    b, n = block.shape
    below = np.flatnonzero(block <= (bound + 2 * error)[:, None])
    row, column = below // n, below % n
    value = block.ravel()[below]
    own = (column >= begin) & (column < stop)
    # The near-th smallest of the class in each row: entries by row, then by value.
    own_row, own_value = row[own], value[own]
    by_value = np.lexsort((own_value, own_row))
    first = np.concatenate([[0], np.cumsum(np.bincount(own_row, minlength=b))[:-1]])
    radius = own_value[by_value][first + near - 1]
    certain = np.bincount(row[value < (radius - 2 * error)[row]], minlength=b)
    possible = np.bincount(row[value <= (radius + 2 * error)[row]], minlength=b)
    # Between the two is the near-th row of the class itself, and nothing else in a settled row.
    return possible, possible - certain == 1
