"""Figure: mutual information of the k-th most attended state, with the controls that make it readable."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from mi_attention.report.curves import curve, draw_curve, series_look, series_of, undefined_line
from mi_attention.report.numbers import format_number
from mi_attention.report.panels import (
    CELL,
    add_legend,
    cells_of,
    common_settings,
    integer_ticks,
    panel_grid,
    require_columns,
    require_rows,
    say_undefined,
    wrap,
)
from mi_attention.report.style import TWO_COLUMNS, styled

__all__ = ["RANK_COLUMNS", "rank_figure"]

RANK_COLUMNS = (
    *CELL,
    "seed",
    "alignment",
    "unit",
    "unit_index",
    "output",
    "state",
    "nats",
    "standard_error",
    "ceiling",
    "reason",
)

CEILING_LABEL = "ceiling, H(prediction)"


def rank_figure(profile: pd.DataFrame, *, width: float = TWO_COLUMNS) -> Figure:
    """Mutual information by attention rank, one panel a cell, one line an output.

    With the prediction as the output part of the fall is arithmetic, so the gold label, the prediction
    under uniform attention and the mechanical baseline (attention permuted, prediction recomputed) are
    drawn in the same panel; only the excess over the last speaks for the attention. Lines are means over
    seeds of signed estimates, bands ± one standard error. The ceiling H(Y) of the prediction is a thin line, or a
    note below the panel where drawing it would flatten the profile.

    Args:
        profile: Tidy profile with ``RANK_COLUMNS``; rows of other alignments are ignored.
        width: Inches, ``ONE_COLUMN`` or ``TWO_COLUMNS``.

    Returns:
        The figure; save it with ``save_figure``.

    Raises:
        ValueError: if columns or rows of alignment ``"rank"`` are missing, or a seed has two rows for one
            rank of one series.
    """
    require_columns(profile, RANK_COLUMNS, "rank")
    rows = require_rows(profile, "alignment", "rank", "rank")
    cells = cells_of(rows)
    keys = list(series_of(rows))
    n_rows, n_columns = panel_grid(len(cells), width, 1.5)
    panel_width = width / n_columns - 0.3
    highest = rows.groupby("data")["nats"].max()
    with styled():
        figure = Figure(figsize=(width, 0.65 + 1.65 * n_rows), layout="constrained")
        handles: dict[str, Artist] = {}
        shared = None
        for number, cell in enumerate(cells):
            axes = figure.add_subplot(n_rows, n_columns, number + 1, sharey=shared)
            if rows["data"].nunique() == 1:
                shared = shared or axes
            lines = []
            for key, part in series_of(cell.rows).items():
                name, style = series_look(key, keys)
                line = curve(part, "nats", "standard_error")
                draw_curve(axes, line, style, name, order=keys.index(key), count=len(keys))
                handles.setdefault(name, axes.lines[-1])
                lines.append(line)
            notes = [undefined_line(lines)]
            ceiling = _ceiling(cell.rows)
            if all(np.isnan(line.mean).all() for line in lines):
                say_undefined(axes, "; ".join(dict.fromkeys(r for line in lines for r in line.reasons)), panel_width)
            else:
                axes.axhline(0.0, color="0.6", linewidth=0.5, zorder=1)
                if ceiling <= 4 * float(highest[cell.settings["data"]]):
                    thin: dict[str, Any] = {"color": "0.35", "linewidth": 0.7, "linestyle": (0, (1, 1))}
                    axes.axhline(ceiling, zorder=1, **thin)
                    handles.setdefault(CEILING_LABEL, Line2D([], [], **thin))
                elif np.isfinite(ceiling):
                    notes.insert(0, f"H(prediction) = {format_number(ceiling)} nats, above the axis")
            axes.set_title(wrap(cell.title, panel_width))
            integer_ticks(axes, np.concatenate([line.x for line in lines]))
            said = [wrap(note, panel_width, 6.5) for note in notes if note]
            axes.set_xlabel(
                "\n".join(
                    ["attention rank (1 = most attended)" if width > 4 and n_columns < 4 else "attention rank", *said]
                )
            )
            if number % n_columns == 0:
                axes.set_ylabel("MI (nats)")
        figure.suptitle(wrap(common_settings(rows), width, 7.5))
        add_legend(figure, list(handles.values()), list(handles), width)
    return figure


def _ceiling(rows: pd.DataFrame) -> float:
    main = rows[(rows["output"] == "prediction") & (rows["state"] == "hidden")]
    values = main["ceiling"].dropna()
    return float(values.mean()) if len(values) else float("nan")
