"""Sparsemax: the point of the simplex nearest to the logits."""

from __future__ import annotations

import entmax as entmax_library
from torch import Tensor

from mi_attention.models.normalizers.masking import finish, prepare
from mi_attention.models.normalizers.registry import register_normalizer

__all__ = ["sparsemax"]

# A logit more than 1 below the largest has weight 0, so raising it to this changes nothing.
_LOWEST = -2.0


@register_normalizer("sparsemax")
def sparsemax(logits: Tensor, mask: Tensor, temperature: float = 1.0) -> Tensor:
    """Normalise by a = argmin over the simplex of ‖a − z / τ‖² on the real positions.

    Martins and Astudillo (2016), "From softmax to sparsemax", equation 2; computed by the library
    entmax, in double precision. Most weights are exactly 0, and there the gradient is 0 as well.

    Args:
        logits: ``(B, T)``.
        mask: ``(B, T)`` bool.
        temperature: τ > 0.

    Returns:
        ``(B, T)`` weights; a fully masked row is all zeros.

    Raises:
        ValueError: On a temperature that is not positive, a NaN logit, or wrong shapes.
    """
    scaled, _ = prepare(logits, mask, temperature, lowest=_LOWEST)
    weights: Tensor = entmax_library.sparsemax(scaled, dim=1)
    return finish(weights, mask, logits.dtype)
