"""Deep score: two or more hidden layers of ReLU units."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import torch
from torch import Tensor

from mi_attention.models.scores.registry import Shape, register_score

__all__ = ["deep"]


def _shapes(hidden: int, *, depth: int = 2, attention_size: int = 0) -> dict[str, Shape | list[Shape]]:
    """Shapes; ``attention_size`` 0 stands for H / 2."""
    if depth < 2:
        raise ValueError(f"depth is {depth}; a deep score has two or more hidden layers, additive has one")
    if attention_size < 0:
        raise ValueError(f"attention_size is {attention_size}; give the width of the layers, or 0 for half of H")
    inner = attention_size or max(1, hidden // 2)
    sizes = [hidden, *[inner] * depth]
    return {
        "weights": [(after, before) for before, after in itertools.pairwise(sizes)],
        "biases": [(after,) for after in sizes[1:]],
        "vector": (inner,),
        "bias": (1,),
    }


@register_score("deep", parameters=_shapes)
def deep(states: Tensor, weights: Sequence[Tensor], biases: Sequence[Tensor], vector: Tensor, bias: Tensor) -> Tensor:
    """Score every state by a network of ``depth`` hidden ReLU layers.

    a_0 = h_t, a_l = ReLU(W_l a_{l-1} + b_l), e_t = v · a_depth + b. The form is that of Pavlopoulos,
    Malakasiotis and Androutsopoulos (2017), "Deeper attention to abusive user content moderation"; the
    widths are this package's choice. The last bias shifts all logits of a text alike, so the usual
    normalisers do not see it.

    Args:
        states: ``(B, T, H)``.
        weights: ``depth`` matrices, the first ``(inner, H)``, the others ``(inner, inner)``.
        biases: ``depth`` vectors ``(inner,)``.
        vector: v, ``(inner,)``.
        bias: ``(1,)``.

    Returns:
        ``(B, T)`` logits.
    """
    activation = states
    for weight, layer_bias in zip(weights, biases, strict=True):
        activation = torch.relu(activation @ weight.T + layer_bias)
    return activation @ vector + bias
