"""Batches of sequences of similar length, and their padding with explicit masks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mi_attention.data.dataset import Sequences, Vocabulary
from mi_attention.interface import BoolArray, FloatArray, IntArray

__all__ = ["PaddedBatch", "pad", "plan_batches"]

# Batches that are sorted together when there is a generator: enough for little padding, few enough
# that a sequence meets other neighbours in every epoch.
POOL = 50


@dataclass(frozen=True, eq=False)
class PaddedBatch:
    """Sequences side by side, short ones filled up on the right.

    Attributes:
        indices: ``(B,)`` which sequences these are.
        mask: ``(B, T)`` True where a position is real.
        label: ``(B,)`` int64.
        token_ids: ``(B, T)`` int64, ``Vocabulary.PADDING`` where the mask is False; None for vectors.
        vectors: ``(B, T, E)`` float32, 0 where the mask is False; None for tokens.
        segment: ``(B, T)`` int64, 0 where the mask is False, or None.
        rationale: ``(B, T)`` float32, 0 where the mask is False, or None.
    """

    indices: IntArray
    mask: BoolArray
    label: IntArray
    token_ids: IntArray | None = None
    vectors: FloatArray | None = None
    segment: IntArray | None = None
    rationale: FloatArray | None = None


def plan_batches(
    lengths: ArrayLike,
    *,
    batch_size: int | None = None,
    token_budget: int | None = None,
    generator: np.random.Generator | None = None,
) -> list[IntArray]:
    """Which sequences form a batch: every index exactly once.

    Without a generator the sequences are sorted by length (ties by index) and cut, the plan for
    evaluation. With one they are shuffled, sorted within pools of 50 batches, cut, and the batches
    shuffled: the plan for training, the same for the same generator state.

    Args:
        lengths: ``(N,)`` positions of each sequence, ≥ 1.
        batch_size: At most so many sequences a batch.
        token_budget: At most so many positions a batch, padding included. A sequence longer than that
            is a batch of its own.
        generator: Source of randomness, or None.

    Returns:
        Arrays of indices, none empty; an empty list for no sequences.

    Raises:
        ValueError: if neither limit is given, a limit is below 1, or a length is below 1.
    """
    sizes = np.asarray(lengths)
    if sizes.ndim != 1 or (sizes.size and (not np.issubdtype(sizes.dtype, np.integer) or sizes.min() < 1)):
        raise ValueError(f"lengths must be a flat list of whole numbers of at least 1, got {lengths!r}")
    if batch_size is None and token_budget is None:
        raise ValueError("give batch_size, token_budget or both")
    for name, limit in (("batch_size", batch_size), ("token_budget", token_budget)):
        if limit is not None and limit < 1:
            raise ValueError(f"{name} must be at least 1, got {limit}")
    if not sizes.size:
        return []
    if generator is None:
        return _cut(np.argsort(sizes, kind="stable"), sizes, batch_size, token_budget)
    order = generator.permutation(len(sizes))
    typical = batch_size if batch_size is not None else max(1, int((token_budget or 1) / sizes.mean()))
    batches: list[IntArray] = []
    for start in range(0, len(order), POOL * typical):
        pool = order[start : start + POOL * typical]
        batches += _cut(pool[np.argsort(sizes[pool], kind="stable")], sizes, batch_size, token_budget)
    return [batches[place] for place in generator.permutation(len(batches))]


def pad(sequences: Sequences, indices: Sequence[int] | IntArray) -> PaddedBatch:
    """The chosen sequences as rectangular arrays with a mask.

    Args:
        sequences: A split.
        indices: ``(B,)`` at least one sequence number.

    Returns:
        Arrays as wide as the longest of them; nothing is cut.

    Raises:
        ValueError: if ``indices`` is empty or out of range.
    """
    chosen = np.asarray(indices, dtype=np.int64)
    if chosen.ndim != 1 or not chosen.size:
        raise ValueError(f"indices must be a flat list of at least one sequence number, got {indices!r}")
    if chosen.min() < 0 or chosen.max() >= len(sequences):
        raise ValueError(f"indices must be in [0, {len(sequences)}), got {chosen.min()} to {chosen.max()}")
    lengths = sequences.lengths[chosen]
    mask = np.arange(lengths.max()) < lengths[:, None]
    rows = sequences.rows(chosen)
    ids, vectors = sequences.token_ids, sequences.vectors
    segment, rationale = sequences.segment, sequences.rationale
    return PaddedBatch(
        indices=chosen,
        mask=mask,
        label=sequences.label[chosen],
        token_ids=None if ids is None else _spread(ids[rows], mask, np.dtype(np.int64), Vocabulary.PADDING),
        vectors=None if vectors is None else _spread(vectors[rows], mask, np.dtype(np.float32), 0),
        segment=None if segment is None else _spread(segment[rows], mask, np.dtype(np.int64), 0),
        rationale=None if rationale is None else _spread(rationale[rows], mask, np.dtype(np.float32), 0),
    )


def _cut(order: IntArray, sizes: IntArray, batch_size: int | None, token_budget: int | None) -> list[IntArray]:
    batches: list[IntArray] = []
    start = 0
    # Lengths rise along the order, so the last sequence of a batch sets its width.
    for stop in range(1, len(order) + 1):
        if stop < len(order):
            count = stop + 1 - start
            fits = batch_size is None or count <= batch_size
            if fits and (token_budget is None or count * int(sizes[order[stop]]) <= token_budget):
                continue
        batches.append(order[start:stop])
        start = stop
    return batches


def _spread(packed: NDArray[Any], mask: BoolArray, kind: np.dtype[Any], filler: float) -> NDArray[Any]:
    spread = np.full(mask.shape + packed.shape[1:], filler, dtype=kind)
    spread[mask] = packed
    return spread
