"""How the columns of a measure are laid out, and how its results are named when they do not exist.

Every measure of this room takes its vectors in one of three layouts and returns a ``Measured`` with
one value an instance:

- one vector ``(T,)`` without ``offsets``: one instance, ``Measured`` of length 1;
- packed ``(M,)`` with ``offsets (N + 1,)``: instance ``i`` owns ``offsets[i]:offsets[i + 1]``;
- rows ``(N, T)`` without ``offsets``: one instance a row.

Two vectors compared come in the same layout.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from mi_attention.interface import BoolArray, FloatArray, IntArray, Measured

__all__ = ["buckets", "constant", "measured", "packed", "reduce_sum"]


def packed(offsets: ArrayLike | None, columns: dict[str, ArrayLike]) -> tuple[list[FloatArray], IntArray]:
    """Bring columns of any of the three layouts into packed float64 form.

    Args:
        offsets: ``(N + 1,)`` for packed columns, else None.
        columns: Argument name → ``(T,)``, ``(M,)`` or ``(N, T)``, all of one shape.

    Returns:
        The columns as float64 ``(M,)`` in the order given, and ``offsets (N + 1,)`` int64.

    Raises:
        ValueError: if shapes differ, an instance is empty, offsets do not fit, or a value is NaN or
            infinite (ranks of undefined values do not exist).
    """
    arrays = {name: np.asarray(column, dtype=np.float64) for name, column in columns.items()}
    first_name, first = next(iter(arrays.items()))
    for name, array in arrays.items():
        if array.shape != first.shape:
            raise ValueError(f"{name} has shape {array.shape} but {first_name} has {first.shape}; they must agree")
        if not np.isfinite(array).all():
            place = tuple(int(index) for index in np.argwhere(~np.isfinite(array))[0])
            raise ValueError(f"{name} is {array[place]} at {place}; leave undefined positions out before measuring")
    if first.ndim not in (1, 2) or (first.ndim == 2 and offsets is not None):
        raise ValueError(
            f"{first_name} has shape {first.shape}: give (T,), (N, T), or packed (M,) with offsets (N + 1,)"
        )
    if first.size == 0:
        raise ValueError(f"{first_name} is empty (shape {first.shape}); an instance has at least one position")
    if offsets is not None:
        bounds = np.asarray(offsets)
        if bounds.ndim != 1 or bounds.size < 2 or not np.issubdtype(bounds.dtype, np.integer):
            raise ValueError(f"offsets must be (N + 1,) integers, got shape {bounds.shape} of {bounds.dtype}")
        if bounds[0] != 0 or bounds[-1] != first.size or (np.diff(bounds) < 1).any():
            raise ValueError(
                f"offsets must rise strictly from 0 to {first.size}, the rows of {first_name}; "
                f"they start at {bounds[0]} and end at {bounds[-1]}"
            )
    elif first.ndim == 2:
        bounds = np.arange(first.shape[0] + 1) * first.shape[1]
    else:
        bounds = np.array([0, first.size])
    return [array.reshape(-1) for array in arrays.values()], bounds.astype(np.int64)


def buckets(offsets: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
    """Instances of equal length together.

    Args:
        offsets: ``(N + 1,)``.

    Yields:
        ``(n,)`` the instances of one length ``T``, and ``(n, T)`` the packed rows they own.
    """
    lengths = np.diff(offsets)
    for length in np.unique(lengths):
        instances = np.flatnonzero(lengths == length)
        yield instances, offsets[:-1][instances][:, None] + np.arange(length)


def reduce_sum(values: FloatArray, offsets: IntArray) -> FloatArray:
    """Sum of packed ``values (M,)`` within each instance, ``(N,)``."""
    return np.asarray(np.add.reduceat(values, offsets[:-1]))


def constant(values: FloatArray, offsets: IntArray) -> BoolArray:
    """``(N,)``: True where all values of an instance are equal (also where there is only one)."""
    starts = offsets[:-1]
    return np.asarray(np.maximum.reduceat(values, starts) == np.minimum.reduceat(values, starts))


def measured(values: FloatArray, *undefined: tuple[BoolArray, str]) -> Measured:
    """Attach reasons to the values that do not exist.

    Args:
        values: ``(N,)``; whatever stands where a condition holds is replaced by NaN.
        *undefined: ``((N,) mask, reason)``; where several hold the first one is the reason.

    Returns:
        The values with their reasons.
    """
    reasons = np.full(values.shape, "", dtype=object)
    for mask, reason in reversed(undefined):
        reasons[mask] = reason
    return Measured(
        values=np.where(reasons != "", np.nan, values).astype(np.float64), reasons=tuple(map(str, reasons.tolist()))
    )
