r"""The page as one string: everything escaped, the style and the script inside, and a policy that allows no more.

Data reach the page in two ways. Text goes through Jinja's escaping. The texts to browse are JSON in a data block, in
which ``<``, ``>``, ``&`` and the line separators are written as ``\u003c`` and so on, so that no token can end the
block; the script only ever sets text content from it. The Content Security Policy (W3C, CSP Level 3, section 2.3)
allows the one script and the one style by their SHA-256, images from ``data:`` addresses, and nothing from anywhere.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from mi_attention.report.atomic import write_text
from mi_attention.report.page.model import HtmlFigure, HtmlPage
from mi_attention.report.page.table import page_table
from mi_attention.report.style import TWO_COLUMNS

__all__ = ["render_html", "write_html"]

SCRIPTS = ("tables.js", "instances.js")
# Pixels of a figure across both columns, as the style has it, and points of an inch.
FIGURE, POINTS = 928, 72
# As wide as any size it is replaced by, so that stating the size does not change it.
SIZE_MARK = "@@@@@@@@@"
_UNSAFE = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


def render_html(page: HtmlPage) -> str:
    """The page as HTML.

    Args:
        page: What to show.

    Returns:
        One self-contained document. It states its own size.

    Raises:
        ValueError: as ``lay_out`` does for a table.
    """
    style, script = _asset("page.css"), "\n".join(_asset(name) for name in SCRIPTS)
    environment = Environment(
        loader=PackageLoader("mi_attention.report.page", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["minus"] = _minus
    text = environment.get_template("page.html.jinja").render(
        page=page,
        tables=[page_table(table) for table in page.tables],
        figures=[(figure, _image(figure), _width(figure)) for figure in page.figures],
        policy=_policy(style, script),
        style=Markup(style),
        script=Markup(script),
        data=Markup(_json([one.packed() for one in page.instances])),
        n_instances=sum(one.n_instances for one in page.instances),
        n_words=sum(one.n_words for one in page.instances),
        size=SIZE_MARK,
    )
    # Half of a surrogate pair, which a broken tokenizer may leave, is no Unicode text.
    encoded = text.encode("utf-8", "replace")
    text, size = encoded.decode("utf-8"), _megabytes(len(encoded))
    # The mark stands once in what is ours, at the foot; a token that spells it stays as it is.
    head, mark, tail = text.rpartition(SIZE_MARK)
    return head + size.ljust(len(mark)) + tail


def write_html(page: HtmlPage, path: str | Path) -> Path:
    """Write ``render_html(page)`` to a file, atomically, as UTF-8; returns its path.

    Raises:
        ValueError: as ``render_html`` does.
    """
    text = render_html(page)
    return write_text(text, path)


def _minus(text: str) -> str:
    """The numbers of a sentence with the sign that they have in the tables."""
    return re.sub(r"(?<![\w.)])-(?=\.?\d)", "−", text)


def _asset(name: str) -> str:
    return files("mi_attention.report.page").joinpath(name).read_text(encoding="utf-8").rstrip("\n")


def _policy(style: str, script: str) -> str:
    def digest(text: str) -> str:
        return base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")

    return "; ".join(
        (
            "default-src 'none'",
            f"script-src 'sha256-{digest(script)}'",
            f"style-src 'sha256-{digest(style)}'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            # Not even our own script could turn a string into markup.
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).translate(_UNSAFE)


def _image(figure: HtmlFigure) -> str:
    """The SVG as the address of an image; a reader without the font of the figures gets one as wide."""
    svg = figure.svg.replace("'DejaVu Sans'", "'DejaVu Sans', Verdana")
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode('utf-8')).decode('ascii')}"


def _width(figure: HtmlFigure) -> int:
    """Pixels, so that the type of all figures is of one size; one that does not state its width has all the room."""
    found = re.search(r'<svg[^>]*\swidth="([\d.]+)pt"', figure.svg)
    share = min(1.0, float(found[1]) / (POINTS * TWO_COLUMNS)) if found else 1.0
    return round(FIGURE * share)


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{max(1, round(size / 1e3))} kB"
