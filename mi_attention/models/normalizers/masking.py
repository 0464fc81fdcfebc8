"""Masks and temperature, treated alike for every normaliser."""

from __future__ import annotations

import math

import torch
from torch import Tensor

__all__ = ["check_shapes", "check_temperature", "finish", "prepare"]

# Outside this range a single-precision number times 1 / temperature overflows or vanishes.
_SINGLE_RANGE = (1e-30, 1e30)
# Below this 1 / temperature overflows in double precision too.
_SMALLEST = 1e-300


def check_temperature(temperature: float) -> float:
    """The temperature as a float.

    Raises:
        ValueError: If it is NaN, infinite, not positive, or so small (< 1e-300) that its inverse is not
            a number; the limits are reached long before.
    """
    value = float(temperature)
    if not math.isfinite(value) or value <= 0:
        raise ValueError(
            f"temperature is {temperature}; it must be a finite number above 0 "
            "(small values approach argmax, large ones the uniform distribution)"
        )
    if value < _SMALLEST:
        raise ValueError(f"temperature is {temperature}; the smallest that can be divided by is {_SMALLEST}")
    return value


def check_shapes(logits: Tensor, mask: Tensor) -> None:
    """Raise ValueError unless both are ``(B, T)`` and the mask is bool."""
    if logits.dim() != 2 or mask.shape != logits.shape:
        raise ValueError(f"logits and mask must both be (B, T), got {tuple(logits.shape)} and {tuple(mask.shape)}")
    if mask.dtype != torch.bool:
        raise ValueError(f"mask has dtype {mask.dtype}; use mask.bool(), True where a position is real")


def prepare(logits: Tensor, mask: Tensor, temperature: float, *, lowest: float = -math.inf) -> tuple[Tensor, Tensor]:
    """Logits over temperature, shifted so that the largest of each row is 0.

    Every normaliser here is unchanged when a constant is added to all logits, so the shift only
    protects from overflow: at temperature 1e-40 equal logits stay exactly equal and all others go to
    −inf. Extreme temperatures and sparse maps are computed in double precision.

    Args:
        logits: ``(B, T)``; masked positions may hold anything.
        mask: ``(B, T)`` bool, True where a position is real.
        temperature: Above 0.
        lowest: What masked positions get, and what smaller values are raised to. A sparse map gives its
            masked positions a finite value, below the one at which its weights vanish.

    Returns:
        ``(scaled, support)``, both ``(B, T)``: ``support`` is the mask, with fully masked rows set to
        True (and their ``scaled`` to 0) so that no row divides by zero; ``finish`` zeroes them again.

    Raises:
        ValueError: If shapes differ, the mask is not bool, the temperature is not positive, or a real
            position has a NaN or infinite logit.
    """
    temperature = check_temperature(temperature)
    check_shapes(logits, mask)
    clean = logits.detach().masked_fill(~mask, 0.0)
    if not bool(torch.isfinite(clean).all()):
        row, position = (int(index) for index in (~torch.isfinite(clean)).nonzero()[0])
        raise ValueError(
            f"logits[{row}, {position}] is {float(clean[row, position])} at a position that is not masked; "
            "mask the position or look for a diverged model"
        )
    support = mask | ~mask.any(dim=1, keepdim=True)
    values = logits.masked_fill(~mask, 0.0)
    if lowest != -math.inf or not _SINGLE_RANGE[0] <= temperature <= _SINGLE_RANGE[1]:
        values = values.double()
    if values.shape[1] > 0:
        largest = values.detach().masked_fill(~support, -math.inf).amax(dim=1, keepdim=True)
        values = (values - largest) / temperature
    if lowest != -math.inf:
        values = values.clamp(min=lowest)
    return values.masked_fill(~support, lowest), support


def finish(weights: Tensor, mask: Tensor, dtype: torch.dtype) -> Tensor:
    """Weights in ``dtype``, exactly 0 where masked; no gradient passes through masked positions."""
    return weights.masked_fill(~mask, 0.0).to(dtype)
