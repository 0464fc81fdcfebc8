"""Registration of encoders, and what an encoder must have."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import torch
from torch import Tensor, nn

from mi_attention.models.registry import Registry

__all__ = ["ENCODERS", "Encoder", "register_encoder", "require_prefix"]


class Encoder(nn.Module):
    """From input vectors to hidden states.

    Attributes:
        hidden: H, features of a state.
        bidirectional: The second half of the features was read from the end to the beginning.
        positionwise: A state depends on the input at its own position only.
    """

    hidden: int
    bidirectional: bool = False
    positionwise: bool = False

    def forward(self, embedded: Tensor, mask: Tensor) -> Tensor:
        """States ``(B, T, H)``, zeros where masked, of ``embedded (B, T, E)`` under ``mask (B, T)``."""
        raise NotImplementedError(f"{type(self).__name__} must define forward(embedded, mask)")


EncoderFactory = Callable[[int, int], Encoder]
Factory = TypeVar("Factory", bound=EncoderFactory)

ENCODERS: Registry[EncoderFactory] = Registry("encoder")


def register_encoder(name: str) -> Callable[[Factory], Factory]:
    """Make an encoder available to configurations under ``name``.

    The registered class (or function) is called with ``(embedding_size, units)`` and gives a module with
    the attributes of ``Encoder``.

    Args:
        name: A new name.

    Returns:
        A decorator that returns the class unchanged.

    Raises:
        ValueError: If the name is taken.
    """

    def register(factory: Factory) -> Factory:
        ENCODERS.add(name, factory)
        return factory

    return register


def require_prefix(mask: Tensor) -> Tensor:
    """Lengths ``(B,)`` of rows whose real positions all come first.

    Raises:
        ValueError: If a real position follows a masked one: to an encoder that reads across positions a
            hole in the middle is not the same as a shorter text.
    """
    if mask.dtype != torch.bool:
        raise ValueError(f"mask has dtype {mask.dtype}; use mask.bool(), True where a position is real")
    if bool((mask[:, 1:] & ~mask[:, :-1]).any()):
        raise ValueError("mask has a real position after a masked one; remove positions with delete(batch, positions)")
    return mask.sum(dim=1)
