"""A frame laid out as columns of text: what the Markdown and the LaTeX table have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from mi_attention.report.numbers import format_count, format_number, format_p, format_setting

__all__ = ["INTERVALS", "P_VALUES", "Column", "Layout", "lay_out"]

INTERVALS = (("estimate", "ci_low", "ci_high"),)
SETTINGS = frozenset({"temperature", "seed", "unit_index", "rank", "position", "k"})
P_VALUES = frozenset({"p", "p_adjusted"})


@dataclass(frozen=True)
class Column:
    """One column as text.

    Attributes:
        header: What stands above it, not escaped.
        kind: ``"text"``, ``"number"`` or ``"interval"``.
        cells: One tuple of strings a row: ``(text,)``, ``(number,)``, or ``(estimate, low, high)``; the
            empty tuple is an undefined value.
        name: The column of the frame; of an interval that of its estimate.
    """

    header: str
    kind: Literal["text", "number", "interval"]
    cells: tuple[tuple[str, ...], ...]
    name: str


@dataclass(frozen=True)
class Layout:
    """A table as text: its columns, and why values are undefined.

    Attributes:
        columns: From left to right.
        n_rows: Rows of the table.
        undefined: Number of undefined cells shown.
        reasons: Distinct reasons in the frame's ``reason`` column, in order of appearance.
    """

    columns: tuple[Column, ...]
    n_rows: int
    undefined: int
    reasons: tuple[str, ...]

    def undefined_note(self) -> str:
        """``"undefined"`` with the reasons where the frame gives them; empty if nothing is undefined."""
        if not self.undefined:
            return ""
        return "undefined" + (f" ({'; '.join(self.reasons)})" if self.reasons else "")


def lay_out(
    frame: pd.DataFrame,
    *,
    columns: Sequence[str] | None = None,
    headers: Mapping[str, str] | None = None,
    digits: int | Mapping[str, int] = 2,
    intervals: Sequence[tuple[str, str, str]] = INTERVALS,
) -> Layout:
    """Format every cell of a frame.

    Whole-number columns and those called ``n`` or ``n_...`` are counts, ``p`` and ``p_adjusted`` p-values,
    ``temperature`` and ``seed`` settings; every other number gets its digits.

    Args:
        frame: Tidy frame.
        columns: Which columns, in this order; by default all.
        headers: Column name → header; by default the name with spaces for underscores. The header of an
            interval goes by the name of its estimate.
        digits: Decimals, for all columns or by name (2 for the rest).
        intervals: Triples (estimate, low, high) shown as one column where all three are among ``columns``.

    Returns:
        The text.

    Raises:
        ValueError: if a column or the header of an absent column is named, or headers are not unique.
    """
    names = list(frame.columns) if columns is None else list(columns)
    missing = [name for name in [*names, *(headers or {})] if name not in frame.columns]
    if missing:
        raise ValueError(f"frame has no columns {missing}; it has {list(frame.columns)}")
    joined = {estimate: (low, high) for estimate, low, high in intervals if {estimate, low, high} <= set(names)}
    hidden = {bound for bounds in joined.values() for bound in bounds}
    built = []
    for name in names:
        if name in hidden:
            continue
        places = digits if isinstance(digits, int) else digits.get(name, 2)
        default = name.replace("_", " ") + (f" [{', '.join(joined[name])}]" if name in joined else "").replace("_", " ")
        header = (headers or {}).get(name, default)
        if name in joined:
            low, high = joined[name]
            built.append(_interval_column(header, name, frame[name], frame[low], frame[high], places))
        else:
            built.append(_plain_column(header, name, frame[name], places))
    repeated = sorted({c.header for c in built if [d.header for d in built].count(c.header) > 1})
    if repeated:
        raise ValueError(f"headers must be unique, got {repeated} more than once")
    undefined = sum(cell == () for column in built for cell in column.cells)
    reasons: dict[str, None] = {}
    if "reason" in frame.columns:
        reasons = dict.fromkeys(str(r) for r in frame["reason"] if isinstance(r, str) and r)
    return Layout(tuple(built), len(frame), undefined, tuple(reasons))


def _is_missing(value: Any) -> bool:
    return value is None or value is pd.NA or (isinstance(value, float | np.floating) and bool(np.isnan(value)))


def _interval_column(
    header: str, name: str, estimates: pd.Series[Any], lows: pd.Series[Any], highs: pd.Series[Any], places: int
) -> Column:
    cells: list[tuple[str, ...]] = []
    for estimate, low, high in zip(estimates, lows, highs, strict=True):
        if _is_missing(estimate):
            cells.append(())
        elif _is_missing(low) and _is_missing(high):
            cells.append((format_number(estimate, places),))
        elif _is_missing(low) or _is_missing(high) or low > high:
            raise ValueError(f"{header!r} has no interval [{low}, {high}]; give both bounds in order, or neither")
        else:
            cells.append(tuple(format_number(value, places) for value in (estimate, low, high)))
    return Column(header, "interval", tuple(cells), name)


def _plain_column(header: str, name: str, column: pd.Series[Any], places: int) -> Column:
    values = list(column)
    present = [value for value in values if not _is_missing(value)]
    numeric = all(isinstance(v, int | float | np.number) and not isinstance(v, bool | np.bool_) for v in present)
    if not numeric or (not present and column.dtype.kind not in "fiu"):
        return Column(header, "text", tuple((_text(value),) for value in values), name)
    whole = all(isinstance(value, int | np.integer) for value in present) or name == "n" or name.startswith("n_")

    def show(value: Any) -> tuple[str, ...]:
        if _is_missing(value):
            return ()
        if name in SETTINGS:
            return (format_setting(value),)
        if name in P_VALUES:
            return (format_p(value),)
        return (format_count(value) if whole else format_number(value, places),)

    return Column(header, "number", tuple(show(value) for value in values), name)


def _text(value: Any) -> str:
    if _is_missing(value):
        return ""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    return str(value)
