"""What one application of attention gives."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

__all__ = ["AttentionOutput"]


@dataclass(frozen=True, eq=False)
class AttentionOutput:
    """Attention of a batch.

    Attributes:
        context: ``(B, H)`` the weighted sum of the states; zeros where ``undefined``.
        weights: ``(B, T)`` ≥ 0, exactly 0 on masked positions, each row summing to 1; a row that is
            ``undefined`` is all zeros.
        logits: ``(B, T)`` scores before the normaliser (and before the temperature), exactly 0 on masked
            positions, where they mean nothing.
        undefined: ``(B,)`` bool: True where there was no position to attend to, or nothing to make the
            query from. Such a row is no result: count it and leave it out.
    """

    context: Tensor
    weights: Tensor
    logits: Tensor
    undefined: Tensor
