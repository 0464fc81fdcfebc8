"""Padded batches of packed sequences, as torch tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mi_attention.data.batches import pad
from mi_attention.data.dataset import Sequences
from mi_attention.interface import IntArray

__all__ = ["Batch", "delete_positions", "make_batch"]


@dataclass(frozen=True, eq=False)
class Batch:
    """B sequences side by side, padded at the end to T positions.

    Attributes:
        mask: ``(B, T)`` bool, True where a position is real; real positions come first.
        token_ids: ``(B, T)`` int64, 0 on padding, or None for vector sequences.
        vectors: ``(B, T, E)``, zeros on padding, or None for token sequences.
        segment: ``(B, T)`` int64, 0 for the first text, 1 for the second, or None.
        label: ``(B,)`` int64 gold classes, or None.
    """

    mask: Tensor
    token_ids: Tensor | None = None
    vectors: Tensor | None = None
    segment: Tensor | None = None
    label: Tensor | None = None

    def __post_init__(self) -> None:
        """Check that exactly one input exists and shapes agree."""
        if (self.token_ids is None) == (self.vectors is None):
            raise ValueError("a batch has token_ids or vectors, exactly one of them")
        for name in ("token_ids", "vectors", "segment"):
            column = getattr(self, name)
            if column is not None and column.shape[:2] != self.mask.shape:
                raise ValueError(f"{name} has shape {tuple(column.shape)} but the mask {tuple(self.mask.shape)}")


def make_batch(sequences: Sequences, indices: IntArray, device: str | torch.device = "cpu") -> Batch:
    """Pad the chosen sequences to the longest of them.

    Args:
        sequences: Packed sequences.
        indices: ``(B,)`` which of them, in this order.
        device: Where the tensors go.

    Returns:
        The batch, as wide as the longest of them.

    Raises:
        ValueError: If ``indices`` is empty or out of range.
    """
    padded = pad(sequences, indices)

    def tensor(column: NDArray[Any] | None) -> Tensor | None:
        return None if column is None else torch.from_numpy(column).to(device)

    return Batch(
        mask=torch.from_numpy(padded.mask).to(device),
        token_ids=tensor(padded.token_ids),
        vectors=tensor(padded.vectors),
        segment=tensor(padded.segment),
        label=torch.from_numpy(padded.label.astype(np.int64)).to(device),
    )


def delete_positions(batch: Batch, positions: Tensor) -> Batch:
    """The batch with some positions truly removed and the rest moved together.

    Args:
        batch: B sequences.
        positions: ``(B, T)`` bool, True where a position goes; on padding it means nothing.

    Returns:
        A batch of the same rows, as wide as the longest that is left (at least 1). A row of which
        nothing is left is fully masked.

    Raises:
        ValueError: If ``positions`` is not bool or has another shape than the mask.
    """
    if positions.dtype != torch.bool or positions.shape != batch.mask.shape:
        raise ValueError(
            f"positions must be bool {tuple(batch.mask.shape)}, got {positions.dtype} {tuple(positions.shape)}"
        )
    kept = batch.mask & ~positions
    lengths = kept.sum(dim=1)
    width = max(1, int(lengths.max())) if len(lengths) else 1
    # A stable sort that brings kept positions to the front in their order.
    order = torch.argsort((~kept).to(torch.int8), dim=1, stable=True)[:, :width]
    mask = torch.arange(width, device=kept.device) < lengths[:, None]
    rows = torch.arange(kept.shape[0], device=kept.device)[:, None]

    def packed(column: Tensor | None) -> Tensor | None:
        if column is None:
            return None
        moved = column[rows, order]
        return moved.masked_fill(~(mask if moved.dim() == 2 else mask[..., None]), 0)

    return Batch(mask, packed(batch.token_ids), packed(batch.vectors), packed(batch.segment), batch.label)
