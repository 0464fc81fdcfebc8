"""What the figures share: columns checked, cells told apart and named, panels laid out, legends outside."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from mi_attention.interface import FloatArray
from mi_attention.report.numbers import format_setting

__all__ = [
    "CELL",
    "Cell",
    "add_legend",
    "cells_of",
    "common_settings",
    "integer_ticks",
    "name_setting",
    "panel_grid",
    "plain_name",
    "require_columns",
    "require_rows",
    "say_undefined",
    "split_cells",
    "temperature_axis",
    "undefined_reasons",
    "wrap",
]

CELL = ("data", "encoder", "score", "normalizer", "temperature")
"""The columns that tell one cell of a study from another, seeds aside."""

# Mean width of a character of the bundled font in inches at one point of size.
CHARACTER = 0.0078
ACRONYMS = {"mlp": "MLP", "cnn": "CNN", "bilstm": "BiLSTM", "lstm": "LSTM", "gru": "GRU", "bert": "BERT"}


@dataclass(frozen=True, eq=False)
class Cell:
    """The rows of one cell of a study.

    Attributes:
        title: Short name, from the settings that differ between the cells shown.
        settings: Value of each cell column.
        rows: The cell's rows.
    """

    title: str
    settings: dict[str, Any]
    rows: pd.DataFrame


def require_columns(frame: pd.DataFrame, columns: Iterable[str], figure: str) -> None:
    """Raise ValueError naming the columns that ``figure`` needs and ``frame`` lacks."""
    missing = [column for column in columns if column not in frame.columns]
    if missing:
        raise ValueError(f"the {figure} figure needs columns {missing}, frame has {list(frame.columns)}")


def require_rows(frame: pd.DataFrame, column: str, value: str, figure: str) -> pd.DataFrame:
    """The rows of ``frame`` with ``value`` in ``column``.

    Raises:
        ValueError: if there are none, naming what the column holds.
    """
    rows = frame[frame[column] == value]
    if rows.empty:
        raise ValueError(f"the {figure} figure needs rows with {column} {value!r}, got {sorted(set(frame[column]))}")
    return rows


def cells_of(frame: pd.DataFrame, keys: Sequence[str] = CELL) -> list[Cell]:
    """The cells of a frame in order of appearance, each with a title that tells it from the others."""
    varying = {key for key in keys if frame[key].nunique(dropna=False) > 1}
    groups = frame.groupby(list(keys), sort=False, dropna=False)
    cells = []
    for values, rows in groups:
        settings = dict(zip(keys, values if isinstance(values, tuple) else (values,), strict=True))
        cells.append(Cell(_title(settings, varying), settings, rows))
    return cells


def common_settings(frame: pd.DataFrame, keys: Sequence[str] = CELL) -> str:
    """The settings that all cells share and no title says, for the line above the panels."""
    shared = {key: frame[key].iloc[0] for key in keys if frame[key].nunique(dropna=False) == 1}
    for key in ("encoder", "score"):
        shared.pop(key, None)
    return ", ".join(name_setting(key, value) for key, value in shared.items() if not pd.isna(value) and value != "")


def split_cells(frame: pd.DataFrame, most: int = 12, keys: Sequence[str] = CELL) -> list[pd.DataFrame]:
    """Cut a frame of many cells into frames of at most ``most`` cells, one figure each.

    Raises:
        ValueError: if ``most`` is below 1.
    """
    if most < 1:
        raise ValueError(f"most must be at least 1, got {most}")
    cells = cells_of(frame, keys)
    return [pd.concat([cell.rows for cell in cells[i : i + most]]) for i in range(0, len(cells), most)]


def panel_grid(panels: int, width: float, narrowest: float) -> tuple[int, int]:
    """Rows and columns for ``panels`` panels of at least ``narrowest`` inches in a figure ``width`` inches wide."""
    most = max(1, int(width / narrowest))
    rows = math.ceil(panels / most)
    return rows, math.ceil(panels / rows)


def wrap(text: str, inches: float, points: float = 7.0) -> str:
    """Break the lines of ``text`` into lines that fit ``inches`` at a font size of ``points``."""
    characters = max(8, int(inches / (CHARACTER * points)))
    return "\n".join(part for line in text.split("\n") for part in textwrap.wrap(line, characters) or [""])


def say_undefined(axes: Axes, reason: str, inches: float) -> None:
    """Write ``undefined (reason)`` across a panel that has nothing to draw, in place of a scale."""
    text = f"undefined ({reason})" if reason else "undefined"
    axes.text(0.5, 0.5, wrap(text, inches), transform=axes.transAxes, ha="center", va="center", style="italic")
    axes.tick_params(axis="y", left=False, labelleft=False)


def add_legend(figure: Figure, handles: Sequence[Artist], labels: Sequence[str], width: float) -> None:
    """A legend below the panels, in as many columns as fit the width."""
    longest = max(map(len, labels))
    columns = max(1, min(len(labels), int((width - 0.1) / (longest * CHARACTER * 6.5 + 0.45))))
    # Few columns of equal height look calmer than one short last row.
    columns = math.ceil(len(labels) / math.ceil(len(labels) / columns))
    figure.legend(list(handles), list(labels), loc="outside lower center", ncols=columns, columnspacing=1.2)


def integer_ticks(axes: Axes, numbers: FloatArray) -> None:
    """Limits around all units, also undefined ones, and ticks at the first unit and at round numbers after it."""
    first, last = float(np.min(numbers)), float(np.max(numbers))
    step = next((s for s in (1, 2, 5, 10, 20, 50, 100, 200, 500) if (last - first) / s <= 8), 1000)
    ticks = sorted({first, *np.arange(np.ceil(first / step) * step, last + 1, step).tolist()})
    if len(ticks) > 2 and ticks[1] - ticks[0] < 0.6 * step:
        del ticks[1]
    pad = 0.04 * (last - first) or 0.5
    axes.set_xlim(first - pad, last + pad)
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: format_setting(value)))


def temperature_axis(axes: Axes, temperatures: Sequence[float]) -> None:
    """A logarithmic axis with these temperatures as its ticks, all of them or those far enough apart not to touch."""
    axes.set_xscale("log")
    span = np.log(temperatures[-1] / temperatures[0])
    kept = [temperatures[0]]
    for temperature in temperatures[1:]:
        if np.log(temperature / kept[-1]) > 0.18 * span:
            kept.append(temperature)
    axes.xaxis.set_major_locator(FixedLocator(kept))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: format_setting(value)))
    margin = (temperatures[-1] / temperatures[0]) ** 0.08
    axes.set_xlim(temperatures[0] / margin, temperatures[-1] * margin)


def undefined_reasons(rows: pd.DataFrame) -> str:
    """The distinct reasons of the rows in order of appearance, empty if the frame gives none."""
    if "reason" not in rows.columns:
        return ""
    return "; ".join(dict.fromkeys(r for r in rows["reason"] if isinstance(r, str) and r))


def plain_name(value: Any) -> str:
    """A name as a reader knows it: spaces for underscores, acronyms in capitals."""
    text = str(value)
    return ACRONYMS.get(text.lower(), text.replace("_", " "))


def _title(settings: dict[str, Any], varying: set[str]) -> str:
    lines = [plain_name(settings["data"])] if "data" in varying else []
    model = " + ".join(plain_name(settings[key]) for key in ("encoder", "score") if settings.get(key, "") != "")
    lines += [model] if model else []
    details = [
        name_setting(key, settings[key])
        for key in ("normalizer", "temperature")
        if key in varying and not pd.isna(settings[key])
    ]
    return "\n".join(lines + ([", ".join(details)] if details else []))


def name_setting(key: str, value: Any) -> str:
    """The value of a setting as a title shows it: ``temperature 0.5``, and a name by itself."""
    if key == "temperature":
        return f"temperature\u00a0{format_setting(value)}"
    return plain_name(value)
