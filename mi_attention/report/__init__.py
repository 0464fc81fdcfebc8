"""Tables on disk, Markdown, LaTeX, BibTeX, figures, sentences and one HTML page from tidy frames.

Everything here formats and nothing estimates: a number enters as a cell of a frame and leaves as the same number in
every table, figure, sentence and command.
"""

from mi_attention.report.agreement_figure import AGREEMENT_COLUMNS, agreement_figure
from mi_attention.report.atomic import atomic_path, write_text
from mi_attention.report.concentration_figure import CONCENTRATION_COLUMNS, concentration_figure
from mi_attention.report.contrast_figure import CONTRAST_COLUMNS, contrast_figure
from mi_attention.report.erasure_figure import ERASURE_COLUMNS, erasure_figure
from mi_attention.report.frames import read_table, write_table
from mi_attention.report.latex import escape_latex, to_latex, write_latex
from mi_attention.report.latex_commands import newcommands, number_commands
from mi_attention.report.markdown import escape_markdown, to_markdown
from mi_attention.report.methods import METHODS, Method, Usage, cited, methods_paragraph
from mi_attention.report.near_tie_figure import NEAR_TIE_COLUMNS, near_tie_figure
from mi_attention.report.numbers import (
    format_count,
    format_interval,
    format_number,
    format_p,
    format_setting,
    format_share,
)
from mi_attention.report.page import (
    HtmlFigure,
    HtmlInstances,
    HtmlPage,
    HtmlSentence,
    HtmlTable,
    render_html,
    write_html,
)
from mi_attention.report.panels import CELL, split_cells
from mi_attention.report.planted_figure import PLANTED_COLUMNS, planted_figure
from mi_attention.report.position_figure import PROFILE_COLUMNS, position_figure
from mi_attention.report.ranges import range_sentence
from mi_attention.report.rank_figure import RANK_COLUMNS, rank_figure
from mi_attention.report.references import REFERENCES, bibtex, cite, reference_list
from mi_attention.report.sentences import TEMPLATES, sentence
from mi_attention.report.style import ONE_COLUMN, STYLE, TWO_COLUMNS, look, save_figure, styled, svg_text
from mi_attention.report.temperature_figure import TEMPERATURE_COLUMNS, temperature_figure
from mi_attention.report.verdicts import VERDICTS

__all__ = [
    "AGREEMENT_COLUMNS",
    "CELL",
    "CONCENTRATION_COLUMNS",
    "CONTRAST_COLUMNS",
    "ERASURE_COLUMNS",
    "METHODS",
    "NEAR_TIE_COLUMNS",
    "ONE_COLUMN",
    "PLANTED_COLUMNS",
    "PROFILE_COLUMNS",
    "RANK_COLUMNS",
    "REFERENCES",
    "STYLE",
    "TEMPERATURE_COLUMNS",
    "TEMPLATES",
    "TWO_COLUMNS",
    "VERDICTS",
    "HtmlFigure",
    "HtmlInstances",
    "HtmlPage",
    "HtmlSentence",
    "HtmlTable",
    "Method",
    "Usage",
    "agreement_figure",
    "atomic_path",
    "bibtex",
    "cite",
    "cited",
    "concentration_figure",
    "contrast_figure",
    "erasure_figure",
    "escape_latex",
    "escape_markdown",
    "format_count",
    "format_interval",
    "format_number",
    "format_p",
    "format_setting",
    "format_share",
    "look",
    "methods_paragraph",
    "near_tie_figure",
    "newcommands",
    "number_commands",
    "planted_figure",
    "position_figure",
    "range_sentence",
    "rank_figure",
    "read_table",
    "reference_list",
    "render_html",
    "save_figure",
    "sentence",
    "split_cells",
    "styled",
    "svg_text",
    "temperature_figure",
    "to_latex",
    "to_markdown",
    "write_html",
    "write_latex",
    "write_table",
    "write_text",
]
