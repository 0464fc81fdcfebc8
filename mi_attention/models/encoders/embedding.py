"""Pass-through encoder: the states are the input vectors."""

from __future__ import annotations

from torch import Tensor

from mi_attention.models.encoders.registry import Encoder, register_encoder

__all__ = ["EmbeddingEncoder"]


@register_encoder("embedding")
class EmbeddingEncoder(Encoder):
    """No encoder: H = E, and a state knows its own token only.

    Args:
        embedding_size: E.
        units: Not used; H is E.
    """

    positionwise = True

    def __init__(self, embedding_size: int, units: int) -> None:
        super().__init__()
        self.hidden = embedding_size

    def forward(self, embedded: Tensor, mask: Tensor) -> Tensor:
        """The input, zeros where masked."""
        return embedded.masked_fill(~mask[..., None], 0.0)

    def extra_repr(self) -> str:
        """Sizes."""
        return f"hidden={self.hidden}"
