"""What the attention is asked with: a summary of the encoded states."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["last_query", "mean_query"]


def mean_query(states: Tensor, mask: Tensor) -> Tensor:
    """Mean of the real states.

    Args:
        states: ``(B, T, H)``.
        mask: ``(B, T)`` bool, True where a position is real.

    Returns:
        ``(B, H)``; zeros for a row without a real position (the caller marks such rows undefined).
    """
    count = mask.sum(dim=1).clamp(min=1).to(states.dtype)
    return torch.where(mask[..., None], states, torch.zeros_like(states)).sum(dim=1) / count[:, None]


def last_query(states: Tensor, mask: Tensor, *, bidirectional: bool = False) -> Tensor:
    """State in which the encoder ends.

    For an encoder that reads one way (or does not read across positions) this is the state at the last
    real position. For a bidirectional one the first H / 2 features end at the last real position and the
    other H / 2 at the *first* one, where the backward reader has seen the whole text; at the last
    position it has seen one token only.

    Args:
        states: ``(B, T, H)``.
        mask: ``(B, T)`` bool.
        bidirectional: Whether the last H / 2 features were read backward.

    Returns:
        ``(B, H)``; zeros for a row without a real position.
    """
    positions = torch.arange(mask.shape[1], device=mask.device)
    last = torch.where(mask, positions, 0).amax(dim=1)
    first = torch.where(mask, positions, mask.shape[1] - 1).amin(dim=1)
    rows = torch.arange(mask.shape[0], device=mask.device)
    at_last = states[rows, last]
    if bidirectional:
        half = states.shape[-1] // 2
        at_last = torch.cat([at_last[:, :half], states[rows, first][:, half:]], dim=-1)
    return torch.where(mask.any(dim=1)[:, None], at_last, torch.zeros_like(at_last))
