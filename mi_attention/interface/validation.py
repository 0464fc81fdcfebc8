"""The checks every record passes once, in blocks, so that a memory-mapped one stays on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mi_attention.interface.arrays import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from mi_attention.interface.record import AttentionRecord

__all__ = ["BLOCK_NUMBERS", "PER_INSTANCE", "PER_ROW", "SUM_TOLERANCE", "first_true", "validate_record"]

# Float32 attention of a few thousand positions misses 1 by less than this; a forgotten mask or a
# missing sink misses it by far more.
SUM_TOLERANCE = 1e-3

# Numbers read at once where a column may be memory-mapped and larger than memory: 16 MB as float64.
BLOCK_NUMBERS = 2**21


PER_ROW = ("hidden", "attention", "token_ids", "segment", "rationale", "embedding")
PER_INSTANCE = ("output", "label", "query", "sink")


def first_true(mask: BoolArray) -> int:
    """Index of the first True."""
    return int(np.flatnonzero(mask)[0])


def validate_record(record: AttentionRecord) -> None:
    """Refuse a record that is not one, naming the column, the first offending place and the remedy."""
    offsets, hidden, attention, output = record.offsets, record.hidden, record.attention, record.output
    if offsets.ndim != 1 or len(offsets) < 2 or not np.issubdtype(offsets.dtype, np.integer):
        raise ValueError(f"offsets must be (N + 1,) integers with N >= 1, got {offsets.dtype} {offsets.shape}")
    lengths = np.diff(offsets)
    if offsets[0] != 0 or (lengths < 0).any():
        raise ValueError("offsets must start at 0 and never decrease")
    if (lengths == 0).any():
        raise ValueError(
            f"instance {first_true(lengths == 0)} has no positions (fully masked or empty): its attention is "
            'undefined; leave it out, or pass empty="exclude" to have such instances left out and counted'
        )
    n, m = len(offsets) - 1, int(offsets[-1])
    if hidden.ndim != 2:
        raise ValueError(f"hidden must be (M, H), got shape {hidden.shape}")
    for name, rows in [(name, m) for name in PER_ROW] + [(name, n) for name in PER_INSTANCE]:
        column = getattr(record, name)
        if column is not None and column.shape[0] != rows:
            what = "positions in all (the last offset)" if rows == m and name in PER_ROW else "instances"
            raise ValueError(f"{name} has {column.shape[0]} rows but there are {rows} {what}")
    if attention.ndim != 1:
        raise ValueError(f"attention must be (M,), one weight a position, got shape {attention.shape}")
    if output.ndim != 2 or output.shape[1] < 2:
        raise ValueError(f"output must be (N, C) probabilities with C >= 2, got shape {output.shape}")
    _validate_values(record, lengths)


def _validate_values(record: AttentionRecord, lengths: IntArray) -> None:
    attention, output = record.attention, record.output
    _require_finite("attention", attention, record)
    if (attention < 0).any():
        row = first_true(attention < 0)
        raise ValueError(
            f"attention is negative ({attention[row]:.4g}) at {_place(record, row)}; pass weights, not logits"
        )
    total = np.add.reduceat(np.asarray(attention, dtype=np.float64), record.offsets[:-1])
    sink = np.zeros(len(lengths)) if record.sink is None else np.asarray(record.sink, dtype=np.float64)
    if ((sink < 0) | (sink > 1) | ~np.isfinite(sink)).any():
        raise ValueError("sink must lie in [0, 1]")
    off = np.abs(total + sink - 1) > SUM_TOLERANCE
    if off.any():
        i = first_true(off)
        raise ValueError(
            f"attention of instance {i} sums to {total[i]:.4f}"
            + (f" with sink {sink[i]:.4f}" if record.sink is not None else "")
            + ", not 1; normalise it over the real positions, check the mask, or state the mass on positions "
            "outside the record as sink"
        )
    for name in ("hidden", "embedding", "rationale"):
        column = getattr(record, name)
        if column is not None:
            _require_finite(name, column, record)
    bad = ~np.isfinite(output).all(axis=1) | (output < 0).any(axis=1)
    bad |= ~(np.abs(output.sum(axis=1) - 1) <= SUM_TOLERANCE)
    if bad.any():
        i = first_true(bad)
        raise ValueError(
            f"output of instance {i} is {np.array2string(output[i], precision=4)}, not probabilities; "
            "pass logits=True to from_arrays if these are logits"
        )
    _validate_optional(record)


def _validate_optional(record: AttentionRecord) -> None:
    classes = record.output.shape[1]
    label = record.label
    if label is not None:
        if label.ndim != 1 or not np.issubdtype(label.dtype, np.integer):
            raise ValueError(f"label must be (N,) integers, got {label.dtype} of shape {label.shape}")
        if ((label < 0) | (label >= classes)).any():
            i = first_true((label < 0) | (label >= classes))
            raise ValueError(f"label of instance {i} is {label[i]}, outside the {classes} classes of output")
    if record.token_ids is not None:
        ids = record.token_ids
        if ids.size and (int(ids.min()) < 0 or int(ids.max()) >= len(record.vocabulary)):
            raise ValueError(f"token_ids must index the vocabulary of {len(record.vocabulary)} tokens")
    if record.rationale is not None and ((record.rationale < 0) | (record.rationale > 1)).any():
        raise ValueError("rationale must lie in [0, 1]")
    head = record.head
    if head is not None and head.weight.shape != (classes, record.hidden.shape[1]):
        raise ValueError(
            f"head weight has shape {head.weight.shape} but output has {classes} classes and hidden "
            f"{record.hidden.shape[1]} dimensions"
        )


def _require_finite(name: str, column: FloatArray, record: AttentionRecord) -> None:
    step = max(1, BLOCK_NUMBERS // max(1, int(np.prod(column.shape[1:]))))
    for start in range(0, len(column), step):
        block = np.asarray(column[start : start + step])
        finite = np.asarray(np.isfinite(block.reshape(len(block), -1)).all(axis=1))
        if not finite.all():
            row = start + first_true(~finite)
            raise ValueError(f"{name} is NaN or infinite at {_place(record, row)}; remove or repair that instance")


def _place(record: AttentionRecord, row: int) -> str:
    i = int(np.searchsorted(record.offsets, row, side="right")) - 1
    return f"instance {i}, position {row - int(record.offsets[i])}"
