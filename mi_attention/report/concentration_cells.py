"""Figure: how concentrated attention is where there is nothing to sweep, one row a cell and one column a measure."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from mi_attention.report.concentration_labels import MEASURES, undefined_note
from mi_attention.report.panels import (
    CHARACTER,
    cells_of,
    common_settings,
    panel_grid,
    plain_name,
    undefined_reasons,
    wrap,
)
from mi_attention.report.style import look, styled

__all__ = ["concentration_cells"]

SIGNED = frozenset({"normalized_skew"})
"""Measures of either sign, whose panels show where 0 is."""


def concentration_cells(rows: pd.DataFrame, measures: list[str], width: float) -> Figure:
    """Dots and intervals: one row a cell (data · encoder + score), one panel a measure, all with the same rows.

    A bar is the frame's interval, also where it leaves the range of the measure; a hollow dot has no interval.
    A cell without a value says ``undefined`` in its row. The note below the panel says why.

    Args:
        rows: Rows of a concentration frame with one normaliser and one temperature, one row a cell and measure.
        measures: Which measures, left to right; each has at least one row.
        width: Inches.

    Returns:
        The figure.
    """
    cells = cells_of(rows, ("data", "encoder", "score"))
    titles = [cell.title.replace("\n", " · ") for cell in cells]
    label_width = CHARACTER * 7 * max(map(len, titles)) + 0.05
    if label_width > 0.34 * width:
        label_width = 0.34 * width
        titles = [wrap(cell.title, label_width) for cell in cells]
    blocks, n_columns = panel_grid(len(measures), width - label_width, 0.95)
    panel_width = (width - label_width) / n_columns - 0.15
    notes = {measure: wrap(_note(rows[rows["measure"] == measure]), panel_width, 6.5) for measure in measures}
    row_height = 0.05 + 0.115 * max(title.count("\n") + 1 for title in titles)
    foot = 0.42 + 0.11 * max(note.count("\n") + 1 if note else 0 for note in notes.values())
    with styled():
        height = 0.25 + blocks * (foot + row_height * max(len(cells), 3))
        figure = Figure(figsize=(width, height), layout="constrained")
        shared: Axes | None = None
        for number, measure in enumerate(measures):
            axes = figure.add_subplot(blocks, n_columns, number + 1, sharey=shared)
            shared = shared or axes
            if measure in SIGNED:
                axes.axvline(0.0, color="0.6", linewidth=0.6, zorder=1)
            for place, cell in enumerate(cells):
                if place:
                    # Data sets are read apart, cells of one data set against each other.
                    same = cells[place - 1].settings["data"] == cell.settings["data"]
                    axes.axhline(place - 0.5, color="0.92" if same else "0.65", linewidth=0.5, zorder=0)
                _draw_row(axes, cell.rows[cell.rows["measure"] == measure], place)
            label = MEASURES.get(measure, plain_name(measure))
            axes.set_xlabel("\n".join(text for text in (label, notes[measure]) if text))
            axes.xaxis.set_major_locator(MaxNLocator(nbins=4))
            axes.set_ylim(len(cells) - 0.5, -0.5)
            axes.set_yticks(range(len(cells)), titles)
            axes.tick_params(axis="y", length=0, labelleft=number % n_columns == 0)
        figure.suptitle(wrap(common_settings(rows), width, 7.5))
    return figure


def _note(part: pd.DataFrame) -> str:
    """What a panel lacks, values and intervals, and why."""
    bare = part[part["estimate"].notna() & (part["ci_low"].isna() | part["ci_high"].isna())]
    because = undefined_reasons(bare)
    without = f"{len(bare)} without interval, hollow" + (f" ({because})" if because else "") if len(bare) else ""
    return "\n".join(text for text in (undefined_note(part), without) if text)


def _draw_row(axes: Axes, part: pd.DataFrame, place: int) -> None:
    """The dot and the interval of one cell, or the words that stand in their place."""
    estimates, lows, highs = (part[name].to_numpy(dtype=np.float64) for name in ("estimate", "ci_low", "ci_high"))
    if not len(part) or np.isnan(estimates[0]):
        axes.text(
            0.5,
            place,
            "undefined" if len(part) else "not computed",
            transform=axes.get_yaxis_transform(),
            ha="center",
            va="center",
            style="italic",
            fontsize=6.0,
        )
        return
    known = not (np.isnan(lows[0]) or np.isnan(highs[0]))
    style = replace(look(0), filled=known)
    if known:
        axes.hlines(place, lows[0], highs[0], color=style.color, linewidth=1.0, zorder=2)
    axes.plot(estimates[0], place, zorder=3, **style.line() | {"linestyle": "none"})
