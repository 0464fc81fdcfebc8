"""Reading human evidence: one number in [0, 1] for each token of a text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from mi_attention.interface import FloatArray

__all__ = ["parse_evidence"]


def parse_evidence(place: int, rationale: Any, rationale_b: Any, lengths: Sequence[int]) -> list[FloatArray] | None:
    """Evidence of a row, one float32 array for each of its texts, or None if it has none.

    Args:
        place: Row number, for messages.
        rationale: A list of numbers, or a string with them (``"[0, 1, 0]"`` or ``"0 1 0"``, as CSV files
            hold lists); None or empty if missing.
        rationale_b: The same for the second text; None if ``rationale`` covers both.
        lengths: Tokens of each text.

    Raises:
        ValueError: if lengths differ from the tokens or numbers are outside [0, 1].
    """
    first, second = _numbers(place, rationale), _numbers(place, rationale_b)
    if first is None and second is None:
        return None
    if len(lengths) == 1:
        parts = [first]
    elif second is not None:
        parts = [first, second]
    elif first is not None:
        _check_length(place, "rationale", len(first), sum(lengths), " of both texts together")
        parts = [first[: lengths[0]], first[lengths[0] :]]
    checked = []
    for name, part, length in zip(("rationale", "rationale_b"), parts, lengths, strict=False):
        if part is None:
            raise ValueError(f"row {place} has evidence for one of its two texts only; give {name} too")
        _check_length(place, name, len(part), length, "")
        checked.append(part)
    return checked


def _check_length(place: int, name: str, got: int, wanted: int, of_what: str) -> None:
    if got != wanted:
        raise ValueError(
            f"{name} of row {place} has {got} numbers but the tokeniser finds {wanted} tokens{of_what}; "
            'use the tokenizer the evidence was made with (tokenizer="whitespace" is exactly text.split(" ")), '
            f"or pass {name}=None to ignore it"
        )


def _numbers(place: int, value: Any) -> FloatArray | None:
    if isinstance(value, str):
        value = _from_string(place, value)
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return None
    try:
        numbers = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"rationale of row {place} must be a list of numbers, got {value!r}") from None
    if numbers.ndim != 1:
        raise ValueError(f"rationale of row {place} must be a flat list of numbers, got {value!r}")
    if not ((numbers >= 0) & (numbers <= 1)).all():
        raise ValueError(
            f"rationale of row {place} must be in [0, 1], got values from {numbers.min()} to {numbers.max()}"
        )
    return numbers.astype(np.float32)


def _from_string(place: int, text: str) -> list[float] | None:
    text = text.strip()
    if not text:
        return None
    try:
        return list(json.loads(text)) if text.startswith("[") else [float(part) for part in text.split()]
    except ValueError:
        raise ValueError(
            f"rationale of row {place} must be a list of numbers like '[0, 1, 0]' or '0 1 0', got {text!r}"
        ) from None
