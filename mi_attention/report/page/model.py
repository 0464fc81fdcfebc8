"""What a page is made of: sentences, tables, figures and texts, all of them data and never markup."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from mi_attention.report.cells import INTERVALS
from mi_attention.report.page.instances import HtmlInstances
from mi_attention.report.sentences import sentence
from mi_attention.report.style import svg_text
from mi_attention.report.verdicts import VERDICTS

__all__ = ["HtmlFigure", "HtmlPage", "HtmlSentence", "HtmlTable"]


@dataclass(frozen=True)
class HtmlSentence:
    """A result in words.

    Attributes:
        text: The sentence; make it with ``from_row``, so that its numbers are the table's.
        verdict: ``"supported"``, ``"contradicted"``, ``"undecided"``, or empty where nothing was claimed.
        heading: What it is about, set before it; may be empty.
    """

    text: str
    verdict: str = ""
    heading: str = ""

    def __post_init__(self) -> None:
        """Check the verdict."""
        if self.verdict not in ("", *VERDICTS):
            raise ValueError(f"verdict must be one of {VERDICTS} or empty, got {self.verdict!r}")

    @classmethod
    def from_row(
        cls, row: pd.Series[Any] | Mapping[str, Any], kind: str = "agreement", *, heading: str = "", digits: int = 2
    ) -> HtmlSentence:
        """The sentence of one row of a result table, by the template ``kind`` of ``sentence``.

        Raises:
            ValueError: as ``sentence`` does.
        """
        verdict = {str(name): value for name, value in row.items()}.get("verdict", "") if kind == "claim" else ""
        return cls(sentence(row, kind, digits), str(verdict), heading)


@dataclass(frozen=True, eq=False)
class HtmlTable:
    """A table of the page.

    Attributes:
        frame: Tidy frame.
        title: Heading of the table.
        note: What its reader must know, shown below.
        columns: Which columns, in this order; by default all.
        headers: Column name → header.
        explain: Column name → what the column is, shown below the table and on the header.
        digits: Decimals, for all columns or by name.
        intervals: Triples (estimate, low, high) shown as one column, with a small drawing of the interval.
        signature: How the numbers were made.
        short: Name in the contents of the page; by default the title.
    """

    frame: pd.DataFrame
    title: str
    note: str = ""
    columns: Sequence[str] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    explain: Mapping[str, str] = field(default_factory=dict)
    digits: int | Mapping[str, int] = 2
    intervals: Sequence[tuple[str, str, str]] = INTERVALS
    signature: str = ""
    short: str = ""


@dataclass(frozen=True, eq=False)
class HtmlFigure:
    """A figure of the page.

    Attributes:
        svg: The SVG image as text. It is shown as an image, in which browsers run no script and load no file.
        title: Heading of the figure.
        caption: What it shows, below it.
    """

    svg: str
    title: str
    caption: str = ""

    def __post_init__(self) -> None:
        """Check that it is an SVG."""
        if "<svg" not in self.svg:
            raise ValueError(f"svg of figure {self.title!r} has no <svg> element; save the figure as SVG")

    @classmethod
    def draw(cls, figure: Figure, title: str, caption: str = "", *, signature: str = "") -> HtmlFigure:
        """A figure that no file holds yet."""
        return cls(svg_text(figure, signature=signature, title=title), title, caption)

    @classmethod
    def read(cls, path: str | Path, title: str, caption: str = "") -> HtmlFigure:
        """A figure that ``save_figure`` wrote; ``path`` is the ``.svg`` file.

        Raises:
            ValueError: if the file holds no SVG.
            FileNotFoundError: if there is no such file.
        """
        return cls(Path(path).read_text(encoding="utf-8"), title, caption)


@dataclass(frozen=True, eq=False)
class HtmlPage:
    """A whole page, top to bottom.

    Attributes:
        title: Its name.
        description: What was asked, a paragraph.
        facts: What a reader should know before any number, a few words each: cells, seeds, data.
        sentences: The answer in words, above everything else.
        tables: Tables.
        details: Further results in words, below the tables, folded where there are many.
        figures: Figures.
        instances: Sets of texts to browse, one a data set or a model.
        methods: How everything was made, a paragraph (``methods_paragraph``).
        references: Works it cites, as text (``reference_list``).
        bibtex: The same as BibTeX (``bibtex``).
        notes: What was left out, is arbitrary or failed.
        signature: How the numbers were made, at the foot.
    """

    title: str
    description: str = ""
    facts: Sequence[str] = ()
    sentences: Sequence[HtmlSentence] = ()
    tables: Sequence[HtmlTable] = ()
    details: Sequence[HtmlSentence] = ()
    figures: Sequence[HtmlFigure] = ()
    instances: Sequence[HtmlInstances] = ()
    methods: str = ""
    references: Sequence[str] = ()
    bibtex: str = ""
    notes: Sequence[str] = ()
    signature: str = ""

    def __post_init__(self) -> None:
        """Check that there is something to show, under a name."""
        if not self.title.strip():
            raise ValueError("title is empty; give the page a name")
        names = [one.title for one in self.instances]
        if len(set(names)) < len(names):
            raise ValueError(f"titles of instances must differ, since readers choose by them; got {names}")
