"""How narrow a cone the states of an instance lie in: where all point the same way, no order of them can matter."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mi_attention.interface import BoolArray, FloatArray, IntArray, Measured
from mi_attention.measures.layout import measured

__all__ = ["conicity"]

# Numbers of a block of instances held as float64: 16 MB.
_BLOCK_NUMBERS = 2**21


def conicity(states: ArrayLike, offsets: ArrayLike | None = None) -> Measured:
    """Mean cosine between the states of an instance and their mean.

    It depends on the number of positions: T orthogonal states of one length have 1/√T. By hand: (1, 0) and (0, 1) have
    the mean (½, ½) and both cosines 1/√2 = .707; (1, 0) and (3, 0) have 1.

    Args:
        states: ``(T, H)`` one instance, ``(N, T, H)``, or packed ``(M, H)`` with ``offsets``; read in blocks, so it may
            be memory-mapped.
        offsets: ``(N + 1,)`` for packed states.

    Returns:
        ``(N,)`` in [−1, 1], in practice above 0. A state that is zero has no direction and is left out. Undefined where
        fewer than two states are left, and where they cancel, so that the mean has no direction.

    Raises:
        ValueError: for other shapes, offsets that do not fit, empty instances, NaN or infinite states.

    Source: A. K. Mohankumar, P. Nema, S. Narasimhan, M. M. Khapra, B. V. Srinivasan, B. Ravindran, Towards Transparent
    and Explainable Attention Models, ACL 2020, section 3.1 (alignment to mean, and its mean over positions).
    """
    rows, bounds = _packed_states(states, offsets)
    counts = len(bounds) - 1
    values, left, cancelling = np.zeros(counts), np.zeros(counts), np.zeros(counts, dtype=bool)
    step = max(1, _BLOCK_NUMBERS // max(1, rows.shape[1]))
    start = 0
    while start < counts:
        stop = max(start + 1, int(np.searchsorted(bounds, bounds[start] + step, side="right")) - 1)
        block = np.array(rows[bounds[start] : bounds[stop]], dtype=np.float64)
        own = bounds[start : stop + 1] - bounds[start]
        if not np.isfinite(block).all():
            row = int(np.flatnonzero(~np.isfinite(block).all(axis=1))[0]) + int(bounds[start])
            raise ValueError(
                f"states hold NaN or infinity in row {row}; leave undefined positions out before measuring"
            )
        values[start:stop], left[start:stop], cancelling[start:stop] = _of_block(block, own)
        start = stop
    return measured(values, (left < 2, "fewer than two states with a direction"), (cancelling, "states cancel"))


def _of_block(states: FloatArray, offsets: IntArray) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Conicity, number of states with a direction, and whether they cancel; ``states`` is written over."""
    lengths = np.diff(offsets)
    largest = np.maximum.reduceat(np.abs(states).max(axis=1), offsets[:-1])
    # Squares of very small or large states would leave the range of numbers.
    states /= np.repeat(np.where(largest > 0, largest, 1.0), lengths)[:, None]
    length = np.sqrt(np.einsum("mh,mh->m", states, states))
    mean = np.add.reduceat(states, offsets[:-1], axis=0) / lengths[:, None]
    norm = np.sqrt(np.einsum("nh,nh->n", mean, mean))
    # What rounding leaves of states that cancel is no direction.
    cancelling = norm <= 4 * np.finfo(np.float64).eps * np.sqrt(states.shape[1])
    direction = mean / np.where(cancelling, 1.0, norm)[:, None]
    has = length > 0
    cosine = np.einsum("mh,mh->m", states, np.repeat(direction, lengths, axis=0)) / np.where(has, length, 1.0)
    count = np.add.reduceat(has.astype(np.float64), offsets[:-1])
    return np.clip(np.add.reduceat(cosine, offsets[:-1]) / np.maximum(count, 1), -1, 1), count, cancelling


def _packed_states(states: ArrayLike, offsets: ArrayLike | None) -> tuple[FloatArray, IntArray]:
    rows = states if isinstance(states, np.ndarray) else np.asarray(states)
    if offsets is None and rows.ndim == 3:
        bounds = np.arange(rows.shape[0] + 1) * rows.shape[1]
        rows = rows.reshape(-1, rows.shape[2])
    elif rows.ndim == 2:
        bounds = np.array([0, len(rows)]) if offsets is None else np.asarray(offsets)
    else:
        raise ValueError(
            f"states has shape {rows.shape}: give (T, H), (N, T, H), or packed (M, H) with offsets (N + 1,)"
        )
    if rows.size == 0:
        raise ValueError(f"states is empty (shape {rows.shape}); an instance has at least one position")
    whole = bounds.ndim == 1 and bounds.size > 1 and np.issubdtype(bounds.dtype, np.integer)
    if not whole or bounds[0] != 0 or bounds[-1] != len(rows) or (np.diff(bounds) < 1).any():
        raise ValueError(
            f"offsets must be (N + 1,) integers that rise strictly from 0 to {len(rows)}, the rows of states"
        )
    return rows, bounds.astype(np.int64)
