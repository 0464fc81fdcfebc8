"""Softmax with temperature and mask."""

from __future__ import annotations

import torch
from torch import Tensor

from mi_attention.models.normalizers.masking import finish, prepare
from mi_attention.models.normalizers.registry import register_normalizer

__all__ = ["softmax"]


@register_normalizer("softmax")
def softmax(logits: Tensor, mask: Tensor, temperature: float = 1.0) -> Tensor:
    """Normalise by a_t = exp(z_t / τ) / Σ_s exp(z_s / τ) over the real positions.

    τ → 0 gives argmax with ties shared, τ → ∞ the uniform distribution. Between two temperatures the
    smaller one always gives the more concentrated weights (it majorises), with or without noise.

    Args:
        logits: ``(B, T)``.
        mask: ``(B, T)`` bool.
        temperature: τ > 0.

    Returns:
        ``(B, T)`` weights; a fully masked row is all zeros.

    Raises:
        ValueError: On a temperature that is not positive, a NaN logit, or wrong shapes.
    """
    scaled, _ = prepare(logits, mask, temperature)
    return finish(torch.softmax(scaled, dim=1), mask, logits.dtype)
