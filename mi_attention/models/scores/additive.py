"""Additive score: v · tanh(W h + b)."""

from __future__ import annotations

import torch
from torch import Tensor

from mi_attention.models.scores.registry import Shape, register_score

__all__ = ["additive"]


def _shapes(hidden: int, *, attention_size: int = 0, with_query: bool = False) -> dict[str, Shape]:
    """Shapes; ``attention_size`` 0 stands for H / 2."""
    if attention_size < 0:
        raise ValueError(f"attention_size is {attention_size}; give the rows of W, or 0 for half the hidden size")
    inner = attention_size or max(1, hidden // 2)
    shapes: dict[str, Shape] = {"projection": (inner, hidden), "bias": (inner,), "vector": (inner,)}
    if with_query:
        shapes["query_projection"] = (inner, hidden)
    return shapes


@register_score("additive", parameters=_shapes)
def additive(
    states: Tensor,
    projection: Tensor,
    bias: Tensor,
    vector: Tensor,
    query: Tensor | None = None,
    query_projection: Tensor | None = None,
) -> Tensor:
    """Score every state by a one-hidden-layer tanh network.

    e_t = v · tanh(W h_t + b), or v · tanh(W h_t + U q + b) with a query: the ``tanh`` attention of Jain
    and Wallace (2019), after Bahdanau, Cho and Bengio (2015), "Neural machine translation by jointly
    learning to align and translate", section A.1.2.

    Args:
        states: ``(B, T, H)``.
        projection: W, ``(inner, H)``.
        bias: b, ``(inner,)``.
        vector: v, ``(inner,)``.
        query: q, ``(B, H)``, or None.
        query_projection: U, ``(inner, H)``; given exactly when ``query`` is.

    Returns:
        ``(B, T)`` logits, within ±‖v‖₁.

    Raises:
        ValueError: If one of ``query`` and ``query_projection`` is missing.
    """
    if (query is None) != (query_projection is None):
        raise ValueError("additive takes query and query_projection together; one of them is None")
    inner = states @ projection.T + bias
    if query is not None and query_projection is not None:
        inner = inner + (query @ query_projection.T)[:, None, :]
    return torch.tanh(inner) @ vector
