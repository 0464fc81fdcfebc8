"""Frames as GitHub Markdown tables."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import pandas as pd

from mi_attention.report.cells import INTERVALS, Column, lay_out

__all__ = ["escape_markdown", "to_markdown"]

UNDEFINED_MARK = "–"
SPECIAL = re.compile(r"([\\`*_\[\]~|$#])")


def escape_markdown(text: str) -> str:
    """``text`` so that a Markdown table cell shows it literally: no markup, no HTML, one line."""
    one_line = re.sub(r"\s*[\r\n\v\f\x85\u2028\u2029]+\s*", " ", text)
    return SPECIAL.sub(r"\\\1", one_line).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def to_markdown(
    frame: pd.DataFrame,
    *,
    columns: Sequence[str] | None = None,
    headers: Mapping[str, str] | None = None,
    digits: int | Mapping[str, int] = 2,
    intervals: Sequence[tuple[str, str, str]] = INTERVALS,
    signature: str = "",
) -> str:
    """A GitHub Markdown table, padded so that the source reads as a table too.

    Args:
        frame: Tidy frame.
        columns: Which columns, in this order; by default all.
        headers: Column name → header.
        digits: Decimals, for all columns or by name.
        intervals: Triples (estimate, low, high) shown as ``0.31 [0.28, 0.34]``.
        signature: How the numbers were made, printed below.

    Returns:
        The table, ending in a newline. Undefined numbers are ``–``, and a note below says so and why.

    Raises:
        ValueError: as ``lay_out`` does, or if the frame has no columns.
    """
    layout = lay_out(frame, columns=columns, headers=headers, digits=digits, intervals=intervals)
    if not layout.columns:
        raise ValueError("frame has no columns; a table needs at least one")
    texts = [
        [escape_markdown(column.header), *(_cell(column, cell) for cell in column.cells)] for column in layout.columns
    ]
    widths = [max(3, *map(len, column)) for column in texts]
    right = [column.kind != "text" for column in layout.columns]
    lines = [_line([column[0] for column in texts], widths, right)]
    rules = ["-" * (width - 1) + ":" if r else "-" * width for width, r in zip(widths, right, strict=True)]
    lines.append(f"| {' | '.join(rules)} |")
    lines += [_line([column[row + 1] for column in texts], widths, right) for row in range(layout.n_rows)]
    if layout.undefined:
        lines += ["", f"{UNDEFINED_MARK} {escape_markdown(layout.undefined_note())}"]
    if signature:
        lines += ["", f"Signature: {escape_markdown(signature)}"]
    return "\n".join(lines) + "\n"


def _cell(column: Column, cell: tuple[str, ...]) -> str:
    if not cell:
        return UNDEFINED_MARK
    if column.kind == "text":
        return escape_markdown(cell[0])
    return cell[0] if len(cell) == 1 else f"{cell[0]} [{cell[1]}, {cell[2]}]"


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    padded = [c.rjust(w) if r else c.ljust(w) for c, w, r in zip(cells, widths, right, strict=True)]
    return f"| {' | '.join(padded)} |"
