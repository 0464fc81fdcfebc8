"""Uniform weights: the control that reads nothing of the states."""

from __future__ import annotations

from torch import Tensor

from mi_attention.models.normalizers.masking import prepare
from mi_attention.models.normalizers.registry import register_normalizer

__all__ = ["uniform"]


@register_normalizer("uniform")
def uniform(logits: Tensor, mask: Tensor, temperature: float = 1.0) -> Tensor:
    """Give every real position 1 / (number of real positions).

    The control of Wiegreffe and Pinter (2019), "Attention is not not explanation", section 3.1. Logits
    and temperature are checked like everywhere else and have no influence, so no gradient reaches the
    score.

    Args:
        logits: ``(B, T)``.
        mask: ``(B, T)`` bool.
        temperature: τ > 0.

    Returns:
        ``(B, T)`` weights without gradient; a fully masked row is all zeros.

    Raises:
        ValueError: On a temperature that is not positive, a NaN logit, or wrong shapes.
    """
    prepare(logits.detach(), mask, temperature)
    real = mask.to(logits.dtype)
    return real / real.sum(dim=1, keepdim=True).clamp(min=1.0)
