r"""``\newcommand`` lines, so that no number of the running text of a paper is typed by hand."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from mi_attention.report.cells import INTERVALS, P_VALUES, lay_out
from mi_attention.report.latex import escape_latex, latex_number
from mi_attention.report.numbers import format_count, format_number, format_p, format_setting

__all__ = ["newcommands", "number_commands"]


def newcommands(values: Mapping[str, float | int | str], digits: int = 2) -> str:
    r"""``\newcommand`` lines, so that no number of the running text is typed by hand.

    Args:
        values: Macro name → value. Floats get ``digits`` decimals, whole numbers thousands separators,
            strings are escaped; NaN reads ``undefined``. ``number_commands`` names the numbers of a frame itself.
        digits: Decimals of floats.

    Returns:
        One line a macro. In the text write ``\name{}``, since LaTeX eats a space after ``\name``.

    Raises:
        ValueError: if a name has anything but ASCII letters, which LaTeX would read as the end of the name.
    """
    lines = []
    for name, value in values.items():
        if not re.fullmatch(r"[A-Za-z]+", name):
            raise ValueError(f"macro name {name!r} must consist of letters only; spell digits out, as in tauTwo")
        if isinstance(value, str):
            text = escape_latex(value)
        elif isinstance(value, bool | np.bool_):
            text = "yes" if value else "no"
        elif isinstance(value, int | np.integer):
            text = latex_number(format_count(int(value)))
        else:
            text = latex_number(format_number(value, digits))
        lines.append(f"\\newcommand{{\\{name}}}{{{text}}}\n")
    return "".join(lines)


def number_commands(
    frame: pd.DataFrame,
    *,
    keys: Sequence[str],
    values: Sequence[str] | None = None,
    prefix: str = "mi",
    digits: int | Mapping[str, int] = 2,
    intervals: Sequence[tuple[str, str, str]] = INTERVALS,
) -> str:
    r"""``\newcommand`` lines for every number of a frame, named by its row and its column.

    The row with ``encoder`` ``"mlp"`` and ``score`` ``"scaled_dot"`` gives its ``estimate`` as
    ``\miMlpScaledDotEstimate`` under ``keys=("encoder", "score")``; digits of a name are spelled
    (``temperature`` 0.5: ``ZeroPointFive``). The numbers are the strings of the tables. An interval gives the three
    numbers and ``...Interval``, ``0.31 [0.28, 0.34]``; a p-value reads ``= .012`` or ``< .001``, to stand after
    ``$p$``.

    Args:
        frame: Tidy frame.
        keys: Columns that tell its rows apart.
        values: Columns to give commands for; by default all other numeric columns.
        prefix: How all names begin, so that they meet no command of LaTeX.
        digits: Decimals, for all columns or by name.
        intervals: Triples (estimate, low, high).

    Returns:
        The lines, each with a command of its own.

    Raises:
        ValueError: if columns are missing, two numbers would have one name, the prefix has other signs than
            letters, or a row's keys leave no letter or digit to name it by.
    """
    chosen = [c for c in frame.columns if c not in keys and _is_numeric(frame[c])] if values is None else list(values)
    missing = [name for name in [*keys, *chosen] if name not in frame.columns]
    if missing:
        raise ValueError(f"frame has no columns {missing}; it has {list(frame.columns)}")
    if not re.fullmatch(r"[A-Za-z]+", prefix):
        raise ValueError(f"prefix must consist of letters only, got {prefix!r}")
    # Every column for itself, in the format its table has.
    layout = lay_out(frame, columns=chosen, digits=digits, intervals=())
    joined = {triple[0]: triple for triple in intervals if set(triple) <= set(chosen)}
    whole = lay_out(frame, columns=chosen, digits=digits, intervals=list(joined.values())) if joined else layout
    labels = list(frame[list(keys)].itertuples(index=False, name=None))
    rows = [prefix + "".join(_spelled(value) for value in row) for row in labels]
    named: dict[str, tuple[str, int, str]] = {}

    def origin(row: int, column: str) -> str:
        return f"{column} of " + ", ".join(f"{key} {value!r}" for key, value in zip(keys, labels[row], strict=True))

    def put(row: int, column: str, spelled: str, text: str) -> None:
        name = rows[row] + spelled
        if name in named:
            raise ValueError(
                f"two numbers would be \\{name}: {origin(*named[name][1:])} and {origin(row, column)}; "
                "give keys that tell the rows apart, or rename what differs in signs that are no letters"
            )
        named[name] = (text, row, column)

    for column in layout.columns:
        spelled, values_of = _spelled(column.name), list(frame[column.name])
        for row, cell in enumerate(column.cells):
            put(row, column.name, spelled, _running(column.name, cell, values_of[row]))
    for column in whole.columns:
        for row, cell in enumerate(column.cells if column.kind == "interval" else ()):
            text = "undefined" if not cell else latex_number(cell[0])
            bounds = f" [{latex_number(cell[1])}, {latex_number(cell[2])}]" if cell[1:] else ""
            put(row, f"{column.name} interval", _spelled(f"{column.name} interval"), text + bounds)
    return "".join(f"\\newcommand{{\\{name}}}{{{text}}}\n" for name, (text, *_) in named.items())


def _is_numeric(column: pd.Series[Any]) -> bool:
    return pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)


def _running(name: str, cell: tuple[str, ...], value: object) -> str:
    if not cell:
        return "undefined"
    if name in P_VALUES and isinstance(value, float):
        return format_p(value, equals=True).replace("<", "$<$").replace("=", "$=$")
    return latex_number(cell[0]) if _is_number_text(cell[0]) else escape_latex(cell[0])


def _is_number_text(text: str) -> bool:
    return re.fullmatch(r"<?-?(inf|[\d.,]+(e[+-]?\d+)?)", text) is not None


_DIGITS = ("Zero", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")


def _spelled(value: object) -> str:
    """A name in letters: words begin with a capital, digits are spelled, every other sign divides words.

    Raises:
        ValueError: if nothing is left.
    """
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool | np.bool_)
    text = format_setting(float(value)) if number else str(value)  # type: ignore[arg-type]
    text = re.sub(r"(?<=\d)\.(?=\d)", " point ", text)
    text = re.sub(r"(?<![\w.])-(?=\d)", " minus ", text)
    text = re.sub(r"\d", lambda found: f" {_DIGITS[int(found[0])]} ", text)
    words = re.findall(r"[A-Za-z]+", text)
    if not words:
        raise ValueError(f"{value!r} has no letter or digit to name a command by; rename it")
    return "".join(word[0].upper() + word[1:] for word in words)
