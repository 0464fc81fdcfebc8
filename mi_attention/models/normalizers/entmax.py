"""α-entmax: between softmax (α = 1) and sparsemax (α = 2), and beyond."""

from __future__ import annotations

import math

import entmax as entmax_library
import torch
from torch import Tensor

from mi_attention.models.normalizers.masking import finish, prepare
from mi_attention.models.normalizers.registry import register_normalizer

__all__ = ["entmax"]

# Nearer to 1 than this, the power 1 / (α − 1) of a double-precision number has no correct digits to
# spare, while the weights differ from softmax by less than the logits' own rounding.
_SOFTMAX_WITHIN = 1e-7


@register_normalizer("entmax")
def entmax(logits: Tensor, mask: Tensor, temperature: float = 1.0, alpha: float = 1.5) -> Tensor:
    """Normalise by a = argmax over the simplex of a · z / τ + H_α(a), H_α the Tsallis entropy.

    Peters, Niculae and Martins (2019), "Sparse sequence-to-sequence models", equations 8 to 10; computed
    by the library entmax in double precision: exactly by sorting at α = 1.5 and α = 2, by bisection
    elsewhere.

    Args:
        logits: ``(B, T)``.
        mask: ``(B, T)`` bool.
        temperature: τ > 0.
        alpha: α ≥ 1.

    Returns:
        ``(B, T)`` weights; a fully masked row is all zeros.

    Raises:
        ValueError: On α below 1 or not finite, a temperature that is not positive, a NaN logit, or
            wrong shapes.
    """
    if not math.isfinite(alpha) or alpha < 1:
        raise ValueError(f"alpha is {alpha}; it must be at least 1 (1 is softmax, 2 is sparsemax)")
    if alpha - 1 < _SOFTMAX_WITHIN:
        scaled, _ = prepare(logits, mask, temperature)
        return finish(torch.softmax(scaled, dim=1), mask, logits.dtype)
    # A logit 1 / (α − 1) below the largest has weight 0, so raising it to one more than that changes nothing.
    scaled, _ = prepare(logits, mask, temperature, lowest=-1.0 / (alpha - 1) - 1.0)
    weights: Tensor
    if alpha == 1.5:
        weights = entmax_library.entmax15(scaled, dim=1)
    elif alpha == 2:
        weights = entmax_library.sparsemax(scaled, dim=1)
    else:
        weights = entmax_library.entmax_bisect(scaled, alpha=alpha, dim=1, n_iter=60)
    return finish(weights, mask, logits.dtype)
