"""Figure: how concentrated attention is, by temperature and normaliser."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from mi_attention.report.concentration_cells import concentration_cells
from mi_attention.report.concentration_labels import MEASURES, undefined_note
from mi_attention.report.panels import (
    CELL,
    add_legend,
    cells_of,
    common_settings,
    panel_grid,
    plain_name,
    require_columns,
    say_undefined,
    temperature_axis,
    undefined_reasons,
    wrap,
)
from mi_attention.report.style import TWO_COLUMNS, LineLook, look, styled

__all__ = ["CONCENTRATION_COLUMNS", "concentration_figure"]

CONCENTRATION_COLUMNS = (*CELL, "measure", "estimate", "ci_low", "ci_high", "undefined_share")


def concentration_figure(
    frame: pd.DataFrame,
    *,
    measures: tuple[str, ...] = ("normalized_skew", "normalized_entropy", "gini"),
    width: float = TWO_COLUMNS,
) -> Figure:
    """Concentration against temperature, one row of panels a measure, one line a normaliser.

    The temperature axis is logarithmic; with a single temperature the normalisers stand side by side instead.
    With a single normaliser as well there is nothing to sweep, and the cells are rows of dots and intervals,
    one column of panels a measure, and a hollow dot has no interval. Intervals are those of the frame. A
    normaliser without temperature (NaN) is a horizontal line.

    Args:
        frame: Tidy frame with ``CONCENTRATION_COLUMNS``, one row a cell and measure, and optionally ``reason``.
        measures: Which measures, top to bottom (without a sweep left to right); those absent from the frame
            are left out.
        width: Inches, ``ONE_COLUMN`` or ``TWO_COLUMNS``.

    Returns:
        The figure; save it with ``save_figure``.

    Raises:
        ValueError: if columns are missing, none of the measures is present, a temperature is not
            positive, or a cell has two rows for a measure.
    """
    require_columns(frame, CONCENTRATION_COLUMNS, "concentration")
    shown = [measure for measure in measures if measure in set(frame["measure"])]
    if not shown:
        raise ValueError(f"the concentration figure needs one of the measures {measures}, got {set(frame['measure'])}")
    rows = frame[frame["measure"].isin(shown)]
    if rows.duplicated([*CELL, "measure"]).any():
        raise ValueError("a cell has two rows for one measure; give the figure one row a cell and measure")
    temperatures = sorted(rows["temperature"].dropna().unique())
    if temperatures and temperatures[0] <= 0:
        raise ValueError(f"temperature must be positive, got {temperatures[0]}")
    normalizers = list(dict.fromkeys(rows["normalizer"]))
    if len(normalizers) == 1 and rows["temperature"].nunique(dropna=False) == 1:
        return concentration_cells(rows, shown, width)
    keys = ("data", "encoder", "score")
    cells = cells_of(rows, keys)
    blocks, n_columns = panel_grid(len(cells), width, 1.35)
    panel_width = width / n_columns - 0.25
    swept = len(temperatures) > 1
    with styled():
        foot = 0.25 if swept else 0.25 + (0.055 * max(map(len, normalizers)) if len(normalizers) > 2 else 0.0)
        figure = Figure(figsize=(width, 0.55 + blocks * (0.2 + foot + 0.95 * len(shown))), layout="constrained")
        grid = figure.add_gridspec(blocks * len(shown), n_columns)
        handles: dict[str, Artist] = {}
        first: dict[str, Axes] = {}
        for number, cell in enumerate(cells):
            block, column = divmod(number, n_columns)
            for line, measure in enumerate(shown):
                axes = figure.add_subplot(grid[block * len(shown) + line, column], sharey=first.get(measure))
                first.setdefault(measure, axes)
                part = cell.rows[cell.rows["measure"] == measure]
                for place, normalizer in enumerate(normalizers):
                    points = part[part["normalizer"] == normalizer].sort_values("temperature")
                    _draw(axes, points, look(place), None if swept else place)
                    shown_look = look(place).line()
                    if swept and rows.loc[rows["normalizer"] == normalizer, "temperature"].isna().all():
                        shown_look["marker"] = ""
                    handles.setdefault(plain_name(normalizer), Line2D([], [], **shown_look))
                if part["estimate"].isna().all():
                    say_undefined(axes, undefined_reasons(part), panel_width)
                last = line == len(shown) - 1
                _finish_x(axes, temperatures, [plain_name(name) for name in normalizers], labels=last)
                label = ("temperature (log scale)" if swept else "normaliser") if last else ""
                notes = wrap(undefined_note(part), panel_width, 6.5)
                axes.set_xlabel("\n".join(text for text in (label, notes) if text))
                axes.yaxis.set_major_locator(MaxNLocator(nbins=4))
                if line == 0:
                    axes.set_title(wrap(cell.title, panel_width))
                if column == 0:
                    axes.set_ylabel(MEASURES.get(measure, plain_name(measure)))
        figure.align_ylabels()
        shared = common_settings(rows, ("data",) if swept else ("data", "temperature"))
        figure.suptitle(wrap(shared, width, 7.5))
        if swept:
            add_legend(figure, list(handles.values()), list(handles), width)
    return figure


def _draw(axes: Axes, points: pd.DataFrame, style: LineLook, place: int | None) -> None:
    """Points of one normaliser, against temperature or (``place``) beside the other normalisers."""
    constant = points[points["temperature"].isna()] if place is None else points.iloc[:0]
    for value in constant["estimate"].dropna():
        axes.axhline(float(value), color=style.color, linestyle=style.linestyle, linewidth=0.9)
    curve = points[points["temperature"].notna()] if place is None else points
    x = curve["temperature"].to_numpy(dtype=np.float64) if place is None else np.full(len(curve), float(place))
    axes.plot(x, curve["estimate"].to_numpy(dtype=np.float64), zorder=3, **style.line())
    low, high = (curve[bound].to_numpy(dtype=np.float64) for bound in ("ci_low", "ci_high"))
    known = ~np.isnan(low) & ~np.isnan(high)
    axes.vlines(x[known], low[known], high[known], color=style.color, linewidth=0.9, zorder=2)


def _finish_x(axes: Axes, temperatures: list[float], normalizers: list[str], *, labels: bool) -> None:
    if len(temperatures) > 1:
        temperature_axis(axes, temperatures)
    else:
        axes.set_xlim(-0.6, len(normalizers) - 0.4)
        axes.set_xticks(range(len(normalizers)), normalizers, rotation=90 if len(normalizers) > 2 else 0)
    axes.tick_params(labelbottom=labels)
