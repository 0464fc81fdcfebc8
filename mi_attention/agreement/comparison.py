"""What a comparison found: tidy tables, and the views of them that a paper prints."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from mi_attention.agreement.drawn import drawn_rows
from mi_attention.agreement.headline import Headlined, headline_rows
from mi_attention.agreement.notes import Note
from mi_attention.agreement.pages import comparison_page
from mi_attention.interface import AttentionRecord
from mi_attention.report import (
    erasure_figure,
    near_tie_figure,
    position_figure,
    rank_figure,
    save_figure,
    write_html,
)

__all__ = ["Comparison", "PlotKind"]

PlotKind: TypeAlias = Literal["rank", "position", "erasure", "near ties"]


@dataclass(frozen=True, eq=False)
class Comparison(Headlined):
    """What ``compare`` found, as tidy tables.

    Attributes:
        table: One agreement a row; see ``AGREEMENT_COLUMNS`` and the README for every column.
        profile: The information of every unit with every output.
        concentration: How concentrated the attention is, one measure a row.
        instances: The values behind every mean over instances.
        positions: One row a position: attention and pointwise information.
        attention_order: What the joint null over several runs needs of the attention at aligned positions.
        profile_error: Bootstrap draws of the instance-level agreement, for its interval over several runs.
        resamples: Bootstrap draws of the taus of the whole run (by position, token and rank), for theirs.
        erasure_curves: Change of the prediction by the share of positions erased, one row an order and share.
        near_ties: Concordance of pairs of positions by the gaps of attention and information.
        notes: What was left out, is arbitrary or could not be computed, in words.
        signature: How all of this was made.
        output: The output asked for, as the tables name it.
        labels: Data, encoder, score, normaliser and temperature of the record, for figures.
    """

    table: pd.DataFrame
    profile: pd.DataFrame
    concentration: pd.DataFrame
    instances: pd.DataFrame
    positions: pd.DataFrame
    attention_order: pd.DataFrame
    profile_error: pd.DataFrame
    notes: tuple[Note, ...]
    signature: str
    resamples: pd.DataFrame = field(default_factory=pd.DataFrame)
    erasure_curves: pd.DataFrame = field(default_factory=pd.DataFrame)
    near_ties: pd.DataFrame = field(default_factory=pd.DataFrame)
    output: str = "prediction"
    labels: Mapping[str, Any] = field(default_factory=dict)

    _scope: ClassVar[str] = "with intervals"

    def headline(self) -> pd.DataFrame:
        """The rows a paper would print: tau-b of every order, output and state."""
        rows = headline_rows(self.table)
        columns = ["estimand", "order", "output", "state", "estimate", "ci_low", "ci_high", "null_mean", "p"]
        columns += ["reliability", "ceiling", "n_instances", "n_units", "tied_units", "undefined", "reason"]
        return rows[columns].reset_index(drop=True)

    def causal(self) -> pd.DataFrame:
        """Erasure: area under the curve of each order, what never flips, and differences from attention's area."""
        rows = self.table[self.table["estimand"] == "erasure"]
        columns = ["measure", "order", "output", "state", "estimate", "ci_low", "ci_high", "n_instances", "undefined"]
        return rows[[*columns, "unit", "reason"]].reset_index(drop=True)

    def absent(self) -> pd.DataFrame:
        """The controls that this record cannot have, and what they would need."""
        rows = self.table[(self.table["estimand"] == "control") & self.table["estimate"].isna()]
        return rows[["order", "output", "reason"]].reset_index(drop=True)

    def to_html(
        self, path: str | os.PathLike[str], record: AttentionRecord | None = None, *, title: str | None = None
    ) -> Path:
        """Write everything as one HTML page: sentences, sortable tables, figures, methods with references, notes.

        Args:
            path: The ``.html`` file; it needs no other file and no network.
            record: The record compared, if it has tokens: its texts are then there to browse, shaded by attention, by
                pointwise informativeness and by their difference. Texts that must not be passed on are left out by
                leaving out the record.
            title: Name of the page; by default the data and the model.

        Returns:
            The path.

        Raises:
            ValueError: if the record has no tokens, or is not the one that was compared.
        """
        return write_html(comparison_page(self, record, title), Path(path))

    def figures(self) -> dict[PlotKind, Figure]:
        """Every figure there is something to draw of, by kind."""
        kinds: tuple[PlotKind, ...] = ("rank", "position", "erasure", "near ties")
        found = {kind: self._figure(kind) for kind in kinds}
        return {kind: figure for kind, figure in found.items() if figure is not None}

    def plot(self, path: str | os.PathLike[str], kind: PlotKind | None = None) -> list[Path]:
        """Draw one figure.

        Args:
            path: A stem or a file name; a stem writes PDF, SVG and PNG.
            kind: ``"rank"`` or ``"position"`` (information with its controls), ``"erasure"`` or ``"near ties"``; by
                default by rank, or by position where ranks were not asked for.

        Returns:
            The files written.

        Raises:
            ValueError: if there is nothing of that kind to draw, or the ending is unknown.
        """
        target = Path(path)
        if target.suffix and target.suffix not in (".pdf", ".svg", ".png"):
            raise ValueError(f"path ends in {target.suffix!r}; use .pdf, .svg, .png, or no ending for all three")
        formats = (target.suffix[1:],) if target.suffix else ("pdf", "svg", "png")
        stem = target.with_suffix("") if len(formats) == 1 else target
        for wanted in ("rank", "position") if kind is None else (kind,):
            figure = self._figure(wanted)
            if figure is not None:
                return save_figure(figure, stem, formats=formats, signature=self.signature)
        what = "profile" if kind is None else kind
        raise ValueError(f"there is no {what} to draw; compare with alignments that include 'rank' or 'position'")

    def _figure(self, kind: str) -> Figure | None:
        chosen = drawn_rows(kind, self.profile, self.erasure_curves, self.near_ties, self.output)
        if not len(chosen):
            return None
        if kind in ("rank", "position"):
            return (rank_figure if kind == "rank" else position_figure)(chosen.assign(**self.labels, seed=0))
        return (erasure_figure if kind == "erasure" else near_tie_figure)(chosen.assign(**self.labels))

    def __str__(self) -> str:
        """The headline table in plain text."""
        counts = dict.fromkeys(("n_instances", "n_units", "tied_units", "undefined"), _count)
        tables = [self.headline(), *([self.causal()] if (self.table["estimand"] == "erasure").any() else [])]
        lines = [
            table.to_string(index=False, float_format="{:.3f}".format, na_rep="–", formatters=counts) + "\n"
            for table in tables
        ]
        absent = [f"absent: {order}: {reason}" for order, _, reason in self.absent().itertuples(index=False, name=None)]
        return "\n".join([*lines, *absent, *(f"note: {note}" for note in self.notes), self.signature])


def _count(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.0f}"
