"""Position-wise encoder: tanh(W x + b) at every position alone."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from mi_attention.models.encoders.registry import Encoder, register_encoder

__all__ = ["MlpEncoder"]


@register_encoder("mlp")
class MlpEncoder(Encoder):
    """One tanh layer shared by all positions, without any mixing of positions.

    h_t = tanh(W x_t + b): the encoder that Jain and Wallace (2019) call ``average``.

    Args:
        embedding_size: E.
        units: H.
    """

    positionwise = True

    def __init__(self, embedding_size: int, units: int) -> None:
        super().__init__()
        self.hidden = units
        self.linear = nn.Linear(embedding_size, units)

    def forward(self, embedded: Tensor, mask: Tensor) -> Tensor:
        """States ``(B, T, H)`` in [-1, 1], zeros where masked."""
        return torch.tanh(self.linear(embedded)).masked_fill(~mask[..., None], 0.0)
