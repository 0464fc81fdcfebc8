"""Tables on disk, Markdown, LaTeX, figures and sentences from tidy frames."""

from mi_attention.report.agreement_figure import AGREEMENT_COLUMNS, agreement_figure
from mi_attention.report.atomic import atomic_path
from mi_attention.report.concentration_figure import CONCENTRATION_COLUMNS, concentration_figure
from mi_attention.report.frames import read_table, write_table
from mi_attention.report.latex import escape_latex, newcommands, to_latex, write_latex
from mi_attention.report.markdown import escape_markdown, to_markdown
from mi_attention.report.numbers import (
    format_count,
    format_interval,
    format_number,
    format_p,
    format_setting,
    format_share,
)
from mi_attention.report.panels import CELL, split_cells
from mi_attention.report.planted_figure import PLANTED_COLUMNS, planted_figure
from mi_attention.report.position_figure import PROFILE_COLUMNS, position_figure
from mi_attention.report.rank_figure import RANK_COLUMNS, rank_figure
from mi_attention.report.sentences import TEMPLATES, sentence
from mi_attention.report.style import ONE_COLUMN, STYLE, TWO_COLUMNS, look, save_figure, styled

__all__ = [
    "AGREEMENT_COLUMNS",
    "CELL",
    "CONCENTRATION_COLUMNS",
    "ONE_COLUMN",
    "PLANTED_COLUMNS",
    "PROFILE_COLUMNS",
    "RANK_COLUMNS",
    "STYLE",
    "TEMPLATES",
    "TWO_COLUMNS",
    "agreement_figure",
    "atomic_path",
    "concentration_figure",
    "escape_latex",
    "escape_markdown",
    "format_count",
    "format_interval",
    "format_number",
    "format_p",
    "format_setting",
    "format_share",
    "look",
    "newcommands",
    "planted_figure",
    "position_figure",
    "rank_figure",
    "read_table",
    "save_figure",
    "sentence",
    "split_cells",
    "styled",
    "to_latex",
    "to_markdown",
    "write_latex",
    "write_table",
]
