"""The result tables in a terminal."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from mi_attention.report import format_interval, format_number, format_p
from mi_attention.study.explanations import CAUSAL_CHECK
from mi_attention.study.summary import ERASURE, RANK_HEADERS, SUMMARY_HEADERS, rank_headers, rank_summary, summary
from mi_attention.study.tables import GROUP_COLUMNS, StudyTables

__all__ = ["print_summary"]

FIRST = (
    "n_seeds",
    "accuracy",
    "majority",
    "tau",
    "p",
    "partner",
    "permuted",
    "excess",
    "label",
    "uniform",
    "embedding",
)
BESIDE = ("skew", "head", "random", "reliability", "ceiling", "undefined_share")

# What each printed column means: a reader must not need another page to read the table.
FIRST_LEGEND = (
    "majority: accuracy of always saying the most frequent class of the training split. tau-b: order of attention "
    "against pointwise informativeness of the states about the output, inside an instance, with its interval; p: "
    "one-sided share of partner maps (every instance gets the attention of another one of its length; mean tau: "
    "partner null) that reach it, about these runs and instances where the interval is about new ones. permuted "
    "attention: the mechanical baseline, about 0 inside an instance; excess: what is left of tau-b after it. gold "
    "label, uniform attention: the same about the label, and about the prediction that uniform weights "
    "would give. input embedding: from the input vectors instead of the states."
)
BESIDE_LEGEND = (
    "skew: of the weights, 1 when all is on one position. |w·h|, random: tau-b of attention with the linear head's "
    "evidence, and with a random order. reliability: tau-b of the informativeness orders of two probes with no common "
    "training instance; ceiling: tau-b that an attention in the true order would reach. undefined: share of instances "
    "without an order in some seed. Agreement is not faithfulness."
)
ERASURE_LEGEND = f"{CAUSAL_CHECK} Under permuted attention it is arithmetic alone."
RANK_LEGEND = (
    "H(Y): the most there can be. With the prediction as output part of the fall is arithmetic: compare it with "
    "permuted attention, where weights were shuffled and the prediction recomputed."
)


def print_summary(tables: StudyTables, console: Console) -> None:
    """Print pointwise agreement, what stands beside it, the causal check, and information by rank, each explained.

    Args:
        tables: The study's tables.
        console: Where to.
    """
    first = summary(tables)
    if not len(first):
        console.print("No cell has finished.")
        return
    labels, constant = _labels(first)
    console.print(f"\n[bold]Does attention rank states as their information does?[/bold] {constant}")
    console.print(f"Output: {tables.output}.", style="dim")
    _print(console, first, [*labels, *FIRST], SUMMARY_HEADERS, FIRST_LEGEND)
    _print(console, first, [*labels, *BESIDE], SUMMARY_HEADERS, BESIDE_LEGEND)
    if any(name in first and first[name].notna().any() for name in ERASURE):
        _print(console, first, [*labels, *ERASURE], SUMMARY_HEADERS, ERASURE_LEGEND)
    ranks = rank_summary(tables)
    if len(ranks):
        console.print("[bold]Information (nats) of the most attended state, the second, and so on[/bold]")
        shown = [name for name in ranks.columns if name not in GROUP_COLUMNS or name in labels]
        _print(console, ranks, [str(name) for name in shown], rank_headers(tables.output), RANK_LEGEND)


def _labels(frame: pd.DataFrame) -> tuple[list[str], str]:
    """Settings that differ between rows, as columns, and those that do not, as one line."""
    present = [name for name in GROUP_COLUMNS if name in frame]
    varying = [name for name in present if frame[name].nunique() > 1] or present[:1]
    fixed = [f"{frame[name].iloc[0]}" for name in present if name not in varying]
    return varying, f"({', '.join(fixed)})" if fixed else ""


def _print(
    console: Console, frame: pd.DataFrame, names: Sequence[str], headers: Mapping[str, str], legend: str
) -> None:
    table = Table(show_edge=False, pad_edge=False)
    shown = [name for name in names if name in frame and not frame[name].isna().all()]
    for name in shown:
        text = name in GROUP_COLUMNS or (name in RANK_HEADERS and name not in SUMMARY_HEADERS)
        table.add_column(headers[name], justify="left" if text else "right", overflow="fold")
    for row in frame.to_dict("records"):
        table.add_row(*(_cell(name, row) for name in shown))
    console.print(table)
    console.print(legend + "\n", style="dim")


def _cell(name: str, row: Mapping[Hashable, Any]) -> str:
    value = row[name]
    if isinstance(value, str):
        return value
    number = float(value)
    if np.isnan(number):
        return "–"
    if name == "n_seeds":
        return f"{number:.0f}"
    low, high = row.get(f"{name}_low"), row.get(f"{name}_high")
    if isinstance(low, float) and isinstance(high, float) and not (pd.isna(low) or pd.isna(high)):
        return format_interval(number, low, high)
    return format_p(number) if name == "p" else format_number(number)
