"""Convolutional encoder: windows of 1, 3, 5 and 7 positions."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from mi_attention.models.encoders.registry import Encoder, register_encoder, require_prefix

__all__ = ["CnnEncoder"]

_KERNELS = (1, 3, 5, 7)


@register_encoder("cnn")
class CnnEncoder(Encoder):
    """ReLU of four convolutions with H / 4 filters each, side by side.

    The kernels are those of Jain and Wallace (2019). Input on padding is set to zero before every
    convolution, so that the end of a text looks the same with and without padding after it.

    Args:
        embedding_size: E.
        units: H, divisible by 4.

    Raises:
        ValueError: If H is not divisible by 4.
    """

    def __init__(self, embedding_size: int, units: int) -> None:
        super().__init__()
        if units % len(_KERNELS):
            raise ValueError(f"units is {units}; the cnn encoder has four kernels, so give a multiple of 4")
        self.hidden = units
        self.convolutions = nn.ModuleList(
            nn.Conv1d(embedding_size, units // len(_KERNELS), kernel, padding=kernel // 2) for kernel in _KERNELS
        )

    def forward(self, embedded: Tensor, mask: Tensor) -> Tensor:
        """States ``(B, T, H)`` ≥ 0, zeros where masked."""
        require_prefix(mask)
        channels_first = embedded.masked_fill(~mask[..., None], 0.0).transpose(1, 2)  # (B, E, T)
        features = [torch.relu(convolution(channels_first)) for convolution in self.convolutions]
        return torch.cat(features, dim=1).transpose(1, 2).masked_fill(~mask[..., None], 0.0)
