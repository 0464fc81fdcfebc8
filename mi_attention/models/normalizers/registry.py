"""Registration of normalisers: one function in one file, and one decorator."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from torch import Tensor

from mi_attention.models.registry import Registry

__all__ = ["NORMALIZERS", "NormalizerEntry", "NormalizerFunction", "register_normalizer"]

NormalizerFunction: TypeAlias = Callable[..., Tensor]
Function = TypeVar("Function", bound=NormalizerFunction)


@dataclass(frozen=True)
class NormalizerEntry:
    """A registered normaliser.

    Attributes:
        name: What configurations call it.
        function: ``function(logits, mask, temperature, [generator], **options) -> (B, T)``.
        random: It takes a ``generator``, which is given in training and is None at evaluation.
        options: Names of its options, with their defaults.
    """

    name: str
    function: NormalizerFunction
    random: bool
    options: Mapping[str, Any]


NORMALIZERS: Registry[NormalizerEntry] = Registry("normalizer")


def register_normalizer(name: str) -> Callable[[Function], Function]:
    """Make a normaliser available to configurations under ``name``.

    The function takes ``logits (B, T)``, ``mask (B, T)`` bool and ``temperature``, then options with
    defaults, and returns weights ``(B, T)``: ≥ 0, exactly 0 where masked, summing to 1 in each row, and a
    fully masked row all zeros (``masking.prepare`` and ``masking.finish`` see to the masks). If it draws
    random numbers it takes ``generator``: a ``torch.Generator`` in training, None at evaluation.

    Args:
        name: A new name.

    Returns:
        A decorator that returns the function unchanged.

    Raises:
        ValueError: If the name is taken or the function does not start with the three parameters.
    """

    def register(function: Function) -> Function:
        signature = inspect.signature(function).parameters
        if list(signature)[:3] != ["logits", "mask", "temperature"]:
            raise ValueError(
                f"normalizer {name!r} begins with parameters {list(signature)[:3]}; "
                "they must be logits, mask, temperature"
            )
        options = {key: parameter.default for key, parameter in list(signature.items())[3:] if key != "generator"}
        NORMALIZERS.add(name, NormalizerEntry(name, function, "generator" in signature, options))
        return function

    return register
