"""Columns of Python objects as native arrays: missing entries refused by row, equal numbers made one value."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["are_numbers", "is_missing", "is_number", "native"]

REMEDY = "remove that row or give it a class of its own"


def is_missing(value: Any) -> bool:
    """Whether an entry stands for no value: None, NaN, NaT, pandas.NA."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA is neither equal nor unequal to anything
        return True


def is_number(value: Any) -> bool:
    """Whether an entry is a real number or a boolean."""
    return isinstance(value, Real | np.bool_)


def are_numbers(array: NDArray[Any]) -> bool:
    """Whether every entry of an array of objects is a real number, a boolean or missing."""
    return all(is_number(entry) or is_missing(entry) for entry in array.ravel().tolist())


def native(array: NDArray[Any], name: str, remedy: str = REMEDY) -> NDArray[Any]:
    """The same entries as numbers, booleans or strings; arrays that hold no objects are passed on.

    Numbers of several types become one (1 and 1.0 are equal). Entries of other mixed types become their texts.

    Args:
        array: Of any shape.
        name: What it is, for the message.
        remedy: What to do about a missing entry, for the message.

    Returns:
        An array of the same shape; of dtype object where the entries are of a single type that is none of these.

    Raises:
        ValueError: a missing entry (its row is named), or different entries with one text (1 and "1").
    """
    if array.dtype.kind in "mM" and np.isnat(array).any():
        _refuse(name, tuple(np.argwhere(np.isnat(array))[0]), remedy)
    if array.dtype.kind != "O":
        return array
    entries = array.ravel().tolist()
    for index, entry in enumerate(entries):
        if is_missing(entry):
            _refuse(name, np.unravel_index(index, array.shape), remedy)
    kinds = {type(entry) for entry in entries}
    if len(kinds) > 1 and not all(issubclass(kind, Real | np.bool_) for kind in kinds):
        entries = _texts(entries, name)
    found = np.array(entries)
    return found.reshape(array.shape) if found.size == array.size else array


def _texts(entries: list[Any], name: str) -> list[str]:
    text: dict[Any, str] = {}
    for entry in entries:
        text.setdefault(entry, str(entry))
    owner: dict[str, Any] = {}
    for entry, shown in text.items():
        if shown in owner:
            raise ValueError(f"{name} holds both {owner[shown]!r} and {entry!r}; pass entries of one type")
        owner[shown] = entry
    return [text[entry] for entry in entries]


def _refuse(name: str, index: tuple[Any, ...], remedy: str) -> None:
    raise ValueError(f"{name} is missing at row {int(index[0])}; {remedy}")
