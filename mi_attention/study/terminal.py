"""The result table in a terminal."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from mi_attention.report import format_interval, format_number, format_p
from mi_attention.study.summary import RANK_HEADERS, SUMMARY_HEADERS, rank_summary, summary
from mi_attention.study.tables import StudyTables

__all__ = ["print_summary"]

# What each printed column means, in a line: a reader must not need another page to read the table.
LEGEND = (
    "tau-b: order of attention against pointwise informativeness of the states about the prediction, inside an "
    "instance, with its interval and p against the attention of other instances (partner null). excess: what is left "
    "of it after the mechanical baseline (permuted attention). gold label, uniform attention: the same about the "
    "label, and about the prediction under uniform weights. input embedding: from the input vectors. |w·h|, random: "
    "orders of the linear head's evidence, and of nothing. reliability: of the informativeness order itself. "
    "Agreement is not faithfulness."
)


def print_summary(tables: StudyTables, console: Console) -> None:
    """Print the pointwise summary and the information by rank, with what the columns mean.

    Args:
        tables: The study's tables.
        console: Where to.
    """
    first = summary(tables)
    if not len(first):
        console.print("No cell has finished.")
        return
    table = Table(title="Does attention rank states as their information does?")
    names = [name for name in SUMMARY_HEADERS if name in first and not first[name].isna().all()]
    for name in names:
        table.add_column(SUMMARY_HEADERS[name], justify="left" if first[name].dtype.kind in "OSU" else "right")
    for row in first.to_dict("records"):
        table.add_row(*(_cell(name, row) for name in names))
    console.print(table)
    console.print(LEGEND, style="dim")
    ranks = rank_summary(tables)
    if len(ranks):
        table = Table(title="Information (nats) of the most attended state, the second, and so on")
        for name in ranks.columns:
            table.add_column(RANK_HEADERS[name], justify="left")
        for row in ranks.to_dict("records"):
            table.add_row(*(_cell(str(name), row) for name in ranks.columns))
        console.print(table)


def _cell(name: str, row: Mapping[Hashable, Any]) -> str:
    value = row[name]
    if isinstance(value, str):
        return value
    number = float(value)
    if np.isnan(number):
        return "–"
    low, high = row.get(f"{name}_low"), row.get(f"{name}_high")
    if isinstance(low, float) and isinstance(high, float) and not (pd.isna(low) or pd.isna(high)):
        return format_interval(number, low, high)
    return format_p(number) if name == "p" else format_number(number)
