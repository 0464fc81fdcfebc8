"""Scaled dot-product score: q · h / √H."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from mi_attention.models.scores.registry import register_score

__all__ = ["scaled_dot"]


@register_score("scaled_dot")
def scaled_dot(states: Tensor, query: Tensor) -> Tensor:
    """Score every state by its scaled inner product with a query.

    e_t = q · h_t / √H: Vaswani et al. (2017), "Attention is all you need", equation 1, with one query a
    text. A learned constant q is the ``dot`` attention of Jain and Wallace (2019).

    Args:
        states: ``(B, T, H)``.
        query: ``(B, H)``.

    Returns:
        ``(B, T)`` logits.
    """
    return torch.einsum("bth,bh->bt", states, query) / math.sqrt(states.shape[-1])
