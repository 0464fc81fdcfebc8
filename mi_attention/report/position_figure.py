"""Figure: mutual information and attention by position, one above the other."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from mi_attention.report.curves import curve, draw_curve, series_look, series_of, undefined_line
from mi_attention.report.panels import (
    CELL,
    add_legend,
    cells_of,
    common_settings,
    panel_grid,
    require_columns,
    require_rows,
    say_undefined,
    wrap,
)
from mi_attention.report.position_axis import position_axis, relative_bins
from mi_attention.report.style import TWO_COLUMNS, styled

__all__ = ["PROFILE_COLUMNS", "position_figure"]

PROFILE_COLUMNS = (
    *CELL,
    "seed",
    "alignment",
    "unit",
    "unit_index",
    "output",
    "state",
    "nats",
    "standard_error",
    "attention",
    "reason",
)


def position_figure(profile: pd.DataFrame, *, width: float = TWO_COLUMNS) -> Figure:
    """Mutual information by position above the mean attention of the same positions, a pair of panels a cell.

    Lines are means over seeds of the signed estimates, bands are ± one standard error (over seeds; of the
    estimate itself where there is one seed). The controls are lines of their own. Units named as bins (``"0 to 0.1"``)
    are marked as bins of relative position, with their count.

    Args:
        profile: Tidy profile with ``PROFILE_COLUMNS``; rows of other alignments are ignored.
        width: Inches, ``ONE_COLUMN`` or ``TWO_COLUMNS``.

    Returns:
        The figure; save it with ``save_figure``.

    Raises:
        ValueError: if columns or rows of alignment ``"position"`` are missing, or a seed has two rows for
            one position of one series.
    """
    require_columns(profile, PROFILE_COLUMNS, "position")
    rows = require_rows(profile, "alignment", "position", "position")
    cells = cells_of(rows)
    keys = list(series_of(rows))
    n_rows, n_columns = panel_grid(len(cells), width, 1.55)
    panel_width = width / n_columns - 0.35
    with styled():
        figure = Figure(figsize=(width, 0.55 + 2.05 * n_rows), layout="constrained")
        grid = figure.add_gridspec(2 * n_rows, n_columns, height_ratios=[2.2, 1.0] * n_rows)
        handles: dict[str, Artist] = {}
        shared = None
        for number, cell in enumerate(cells):
            row, column = divmod(number, n_columns)
            above = figure.add_subplot(grid[2 * row, column], sharey=shared)
            below = figure.add_subplot(grid[2 * row + 1, column], sharex=above)
            if rows["data"].nunique() == 1:
                shared = shared or above
            series = series_of(cell.rows)
            lines = []
            for key, part in series.items():
                name, style = series_look(key, keys)
                line = curve(part, "nats", "standard_error")
                draw_curve(above, line, style, name, order=keys.index(key), count=len(keys))
                handles.setdefault(name, above.lines[-1])
                lines.append(line)
            above.set_title(wrap(cell.title, panel_width))
            above.tick_params(labelbottom=False)
            if all(np.isnan(line.mean).all() for line in lines):
                say_undefined(above, "; ".join(dict.fromkeys(r for line in lines for r in line.reasons)), panel_width)
            else:
                above.axhline(0.0, color="0.6", linewidth=0.5, zorder=1)
            # Attention belongs to the model, not to a control, so the first series speaks for all.
            weights = curve(next(iter(series.values())), "attention", None)
            low, high = (np.nan_to_num(weights.mean + s * np.nan_to_num(weights.error), nan=0.0) for s in (-1, 1))
            below.fill_between(weights.x, np.zeros_like(low), np.nan_to_num(weights.mean), color="0.8", linewidth=0)
            below.plot(weights.x, weights.mean, color="0.25", linewidth=0.9, marker=".", markersize=2.5)
            below.vlines(weights.x, low, high, color="0.25", linewidth=0.7)
            below.set_ylim(bottom=0.0)
            below.yaxis.set_major_locator(MaxNLocator(nbins=2))
            numbers = np.concatenate([line.x for line in lines])
            position_axis(below, numbers, relative_bins(cell.rows), panel_width, undefined_line(lines))
            if column == 0:
                above.set_ylabel("MI (nats)")
                # Over bins, instances of different lengths are averaged in multiples of uniform attention.
                below.set_ylabel(
                    "attention\n(weight)" if relative_bins(cell.rows) is None else "attention\n(× uniform)"
                )
        figure.align_ylabels()
        figure.suptitle(wrap(common_settings(rows), width, 7.5))
        add_legend(figure, list(handles.values()), list(handles), width)
    return figure
