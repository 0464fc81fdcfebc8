"""What a model must offer to the tests that run it again, and its linear decoder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from mi_attention.interface.arrays import FloatArray

__all__ = ["AttentionModel", "LinearHead"]


@runtime_checkable
class AttentionModel(Protocol):
    """What gradients, leave-one-out and adversaries need of a model (torch tensors throughout)."""

    def embed(self, batch: Any) -> Any:
        """Input vectors ``(B, T, E)`` of a batch."""
        ...

    def encode(self, embedded: Any, mask: Any) -> Any:
        """Hidden states ``(B, T, H)``."""
        ...

    def attend(self, states: Any, mask: Any, query: Any = None) -> Any:
        """Attention over the states."""
        ...

    def decode(self, states: Any, weights: Any) -> Any:
        """Class logits ``(B, C)`` when the states ``(B, T, H)`` are weighed by ``weights (B, T)``."""
        ...

    def delete(self, batch: Any, positions: Any) -> Any:
        """The batch without the positions where ``positions (B, T)`` is True."""
        ...


@dataclass(frozen=True, eq=False)
class LinearHead:
    """A linear decoder: logits = weight @ context + bias.

    Attributes:
        weight: ``(C, H)``.
        bias: ``(C,)``.
    """

    weight: FloatArray
    bias: FloatArray

    def __post_init__(self) -> None:
        """Check shapes and finiteness."""
        if self.weight.ndim != 2 or self.bias.shape != (self.weight.shape[0],):
            raise ValueError(
                f"head needs weight (C, H) and bias (C,), got {self.weight.shape} and {self.bias.shape}; "
                "a single-logit head is two rows: zeros and the logit's weights"
            )
        if not (np.isfinite(self.weight).all() and np.isfinite(self.bias).all()):
            raise ValueError("head has NaN or infinite weights")

    def logits(self, context: FloatArray) -> FloatArray:
        """Logits ``(..., C)`` of contexts ``(..., H)``."""
        return np.asarray(context @ self.weight.T + self.bias)
