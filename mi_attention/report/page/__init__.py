"""Results as one HTML page that needs nothing but a browser: sentences, tables, figures and shaded texts."""

from mi_attention.report.page.instances import HtmlInstances
from mi_attention.report.page.model import HtmlFigure, HtmlPage, HtmlSentence, HtmlTable
from mi_attention.report.page.render import render_html, write_html

__all__ = ["HtmlFigure", "HtmlInstances", "HtmlPage", "HtmlSentence", "HtmlTable", "render_html", "write_html"]
