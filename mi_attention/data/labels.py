"""From the labels a file holds to class numbers and names."""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Sequence
from typing import Any

__all__ = ["encode_labels"]

INTEGER = re.compile(r"[+-]?\d+")


def encode_labels(
    values: Sequence[Any], *, classes: Sequence[str] | None, missing_label: int | str | None
) -> tuple[list[int | None], tuple[str, ...]]:
    """Class numbers of raw labels, None where there is no label.

    Null, NaN, the empty string and ``missing_label`` mean that a row has no label. Strings that are all
    whole numbers count as numbers. Without ``classes``, the classes are the sorted distinct labels; with
    ``classes``, strings are looked up in them and whole numbers index them.

    Args:
        values: One raw label a row.
        classes: Class names in order, or None.
        missing_label: See ``TextOptions``.

    Returns:
        The numbers, and the class names.

    Raises:
        ValueError: if numbers and strings are mixed, a label is not in ``classes``, or fewer than two
            classes are left.
    """
    plain = [_plain(value, row) for row, value in enumerate(values)]
    present = [None if _is_missing(value, missing_label) else value for value in plain]
    known = [value for value in present if value is not None]
    strings = [value for value in known if isinstance(value, str)]
    if classes is not None:
        names = tuple(str(name) for name in classes)
        return [None if value is None else _look_up(value, names, row) for row, value in enumerate(present)], names
    if strings and len(strings) < len(known):
        raise ValueError(f"labels mix strings ({strings[0]!r}) and numbers; write them one way")
    if strings and all(INTEGER.fullmatch(value) for value in strings):
        present = [None if value is None else int(value) for value in present]
    distinct: list[Any] = sorted({value for value in present if value is not None})
    if len(distinct) < 2:
        _refuse_single_class(distinct, plain, missing_label)
    place = {value: c for c, value in enumerate(distinct)}
    return [None if value is None else place[value] for value in present], tuple(str(value) for value in distinct)


def _plain(value: Any, row: int) -> int | str | None:
    if value is None or isinstance(value, str):
        return None if value is None else value.strip()
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        number = float(value)
        if math.isnan(number):
            return None
        if number.is_integer():
            return int(number)
    raise ValueError(f"label of row {row} must be a whole number or a string, got {value!r}")


def _is_missing(value: int | str | None, missing_label: int | str | None) -> bool:
    if value is None or value == "":
        return True
    return missing_label is not None and str(value) == str(missing_label)


def _look_up(value: int | str, names: tuple[str, ...], row: int) -> int:
    if isinstance(value, str) and value in names:
        return names.index(value)
    if isinstance(value, str) and not INTEGER.fullmatch(value):
        raise ValueError(f"label {value!r} of row {row} is not in classes {names!r}")
    number = int(value)
    if 0 <= number < len(names):
        return number
    raise ValueError(
        f"label {number} of row {row} is outside classes {names!r}, which have numbers 0 to {len(names) - 1}"
    )


def _refuse_single_class(distinct: Sequence[Any], plain: Sequence[Any], missing_label: int | str | None) -> None:
    marked = missing_label is not None and any(str(value) == str(missing_label) for value in plain)
    remedy = "name all classes with classes=[...] if the others are only missing here"
    if marked:
        remedy = f"rows with label {missing_label} were taken as unlabelled; pass missing_label=None if it is a class"
    if not distinct:
        raise ValueError(f"no row has a label; {remedy}")
    raise ValueError(f"all labelled rows have the label {distinct[0]!r}, but at least two classes are needed; {remedy}")
