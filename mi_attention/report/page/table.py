"""A frame as the cells of an HTML table: text, what it sorts by, and a small drawing of each interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mi_attention.report.cells import Column, lay_out
from mi_attention.report.page.model import HtmlTable

__all__ = ["Bar", "PageCell", "PageColumn", "PageTable", "page_table"]

UNDEFINED_MARK = "–"
BAR = 96.0
"""Width of the drawing of an interval in pixels."""


@dataclass(frozen=True)
class Bar:
    """An interval in pixels: where it starts and ends, where the estimate and where 0 stands (None if outside)."""

    low: float
    high: float
    at: float
    zero: float | None


@dataclass(frozen=True)
class PageCell:
    """One cell: its text, and the number or text it sorts by (empty: undefined, sorts last)."""

    text: str
    key: str
    bar: Bar | None = None


@dataclass(frozen=True)
class PageColumn:
    """One column: header, explanation, and whether it sorts by number."""

    header: str
    explain: str
    kind: str


@dataclass(frozen=True)
class PageTable:
    """A table ready for the template."""

    title: str
    short: str
    note: str
    undefined: str
    signature: str
    columns: tuple[PageColumn, ...]
    rows: tuple[tuple[PageCell, ...], ...]


def page_table(table: HtmlTable) -> PageTable:
    """Lay a table out.

    Raises:
        ValueError: as ``lay_out`` does; if ``explain`` names a column that is not shown, or there are none.
    """
    layout = lay_out(
        table.frame, columns=table.columns, headers=table.headers, digits=table.digits, intervals=table.intervals
    )
    shown = [column.name for column in layout.columns]
    if not shown:
        raise ValueError(f"table {table.title!r} has no columns; a table needs at least one")
    lost = [name for name in table.explain if name not in shown]
    if lost:
        raise ValueError(f"explain names columns {lost} that the table does not show; it shows {shown}")
    bounds = {estimate: (low, high) for estimate, low, high in table.intervals}
    cells = [_cells(column, table.frame, bounds.get(column.name)) for column in layout.columns]
    return PageTable(
        title=table.title,
        short=table.short or table.title,
        note=table.note,
        undefined=f"{UNDEFINED_MARK} {layout.undefined_note()}" if layout.undefined else "",
        signature=table.signature,
        columns=tuple(PageColumn(c.header, table.explain.get(c.name, ""), c.kind) for c in layout.columns),
        rows=tuple(zip(*cells, strict=True)),
    )


def _cells(column: Column, frame: pd.DataFrame, bounds: tuple[str, str] | None) -> list[PageCell]:
    if column.kind == "text":
        return [PageCell(text, text) for (text,) in column.cells]
    keys = [_number(value) for value in frame[column.name]]
    bars: list[Bar | None] = [None] * len(keys)
    if column.kind == "interval" and bounds is not None:
        bars = _bars(*(frame[name].to_numpy(dtype=np.float64, na_value=np.nan) for name in (column.name, *bounds)))
    return [PageCell(_text(cell), key, bar) for cell, key, bar in zip(column.cells, keys, bars, strict=True)]


def _number(value: Any) -> str:
    """Every digit of a number, so that rows sort by the value and not by what rounding left of it."""
    number = float("nan") if value is None or value is pd.NA else float(value)
    return "" if math.isnan(number) else repr(number)


def _text(cell: tuple[str, ...]) -> str:
    if not cell:
        return UNDEFINED_MARK
    cell = tuple(number.replace("-", "−") for number in cell)
    return cell[0] if len(cell) == 1 else f"{cell[0]} [{cell[1]}, {cell[2]}]"


def _bars(estimates: Any, lows: Any, highs: Any) -> list[Bar | None]:
    """The intervals of a column on one scale, which shows 0 too unless that would squeeze them to nothing."""
    known = np.isfinite(estimates) & np.isfinite(lows) & np.isfinite(highs)
    if not known.any():
        return [None] * len(known)
    left = float(min(lows[known].min(), estimates[known].min()))
    right = float(max(highs[known].max(), estimates[known].max()))
    if max(-left, right) <= 4 * (right - left):
        left, right = min(left, 0.0), max(right, 0.0)
    pad = 0.04 * (right - left) or 1.0
    left, right = left - pad, right + pad

    def place(value: float) -> float:
        return round(BAR * (value - left) / (right - left), 1)

    zero = place(0.0) if left <= 0 <= right else None
    return [
        Bar(place(low), place(high), place(at), zero) if ok else None
        for at, low, high, ok in zip(estimates, lows, highs, known, strict=True)
    ]
