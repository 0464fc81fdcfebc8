"""The table of accuracy as a page: means over designs, a cell a design, detection limits."""

from __future__ import annotations

import math

import pandas as pd

from mi_attention.report import to_markdown
from tests.benchmarks.designs import DESIGNS

__all__ = ["by_design", "digest", "limits_by_design", "page"]

ROWS = ["d", "n", "classes", "balance", "estimator"]
UNDEFINED = "–"


def digest(summary: pd.DataFrame) -> pd.DataFrame:
    """Means of ``nats`` over the designs with information and no variant; ``designs`` says over how many of them."""
    plain = summary[(summary.value == "nats") & summary.design.isin(set(DESIGNS) - {"independent"})]
    by = plain.groupby(ROWS, sort=False)
    found = by[["tau", "rmse", "bias", "coverage", "above_entropy"]].mean()
    found.insert(0, "designs", by.design.nunique())
    return found.reset_index().sort_values(
        ["d", "n", "classes", "balance", "designs", "tau"],
        ascending=[True, True, True, False, False, False],
        ignore_index=True,
    )


def by_design(summary: pd.DataFrame, variants: bool) -> pd.DataFrame:
    """``tau / rmse / coverage`` of ``nats``, a line an estimator of a size, a column a design; empty where not run.

    Args:
        summary: As ``accuracy.summarise`` gives it.
        variants: The variants of designs instead of the designs themselves.
    """
    chosen = summary[(summary.value == "nats") & (summary.design.str.contains(":") == variants)]
    text = [
        f"{_number(line.tau)} / {_number(line.rmse)} / {_number(line.coverage, 2)}"
        for line in chosen.itertuples(index=False)
    ]
    return _wide(chosen.assign(text=text, column=chosen.design))


def limits_by_design(limits: pd.DataFrame) -> pd.DataFrame:
    """Smallest information found in nats, a column a design and kind of position, of designs that are no variants.

    ``none`` where not even the largest was found; empty where not run.
    """
    chosen = limits[~limits.design.str.contains(":")]
    text = ["none" if math.isinf(limit) else _number(limit) for limit in chosen.limit]
    column = chosen.design.where(chosen.design == chosen.kind, chosen.design + ", " + chosen.kind)
    return _wide(chosen.assign(text=text, column=column))


def page(summary: pd.DataFrame, limits: pd.DataFrame, stem: str) -> str:
    """The Markdown of all.

    Args:
        summary: As ``accuracy.summarise`` gives it.
        limits: As ``accuracy.detection`` gives it.
        stem: Name of the tables beside the page.
    """
    parts = [
        "# Accuracy against known information\n",
        "Estimates in nats of 20 positions of known information a cell, from 0 to .75 H(Y). What the designs are: "
        "`tests/benchmarks/designs.py`; what the columns mean: `tests/benchmarks/accuracy.py`, which made this. "
        f"[{stem}.csv]({stem}.csv) has a line a cell with all columns (`lower_bound`, spread over draws, ties, "
        f"seconds, draws), [{stem}_detection.csv]({stem}_detection.csv) the detection limits. The oracle knows the "
        "densities: no estimate from the same rows passes it.\n",
        "## Means over designs\n",
        "Of `nats`, over the designs with information and without variant that were run (`designs`).\n",
        to_markdown(digest(summary), digits=3, intervals=()),
        "## By design\n",
        f"Kendall's tau / RMSE / coverage of the 95 % interval; {UNDEFINED} undefined (no order in the truth, no "
        "interval), empty: not run.\n",
        to_markdown(by_design(summary, variants=False), intervals=()),
    ]
    if (summary.design.str.contains(":")).any():
        parts += [
            "## Variants\n",
            "The same with a nonlinear map of every coordinate (`warped`), redundant copies, rows in groups.\n",
            to_markdown(by_design(summary, variants=True), intervals=()),
        ]
    parts += [
        "## Detection\n",
        "Smallest information in nats from which on half of the draws or more found every position (raw value more "
        "than 1.645 standard errors above 0); `none`: not the largest either, empty: not run or no standard error.\n",
        to_markdown(limits_by_design(limits), intervals=()),
    ]
    return "\n".join(parts)


def _wide(lines: pd.DataFrame) -> pd.DataFrame:
    """A column a value of ``column`` with the ``text`` of each line, sizes and estimators in order."""
    wide = lines.pivot(index=ROWS, columns="column", values="text").fillna("")
    names = sorted(wide.columns, key=_place)
    wide = wide[names].reset_index().rename_axis(columns=None)
    return wide.sort_values(ROWS, ascending=[True, True, True, False, True], ignore_index=True)


def _place(column: str) -> tuple[int, str]:
    """Columns in the order of ``DESIGNS``."""
    return list(DESIGNS).index(column.partition(":")[0].partition(",")[0]), column


def _number(value: float, digits: int = 3) -> str:
    if math.isnan(value):
        return UNDEFINED
    text = f"{value:.{digits}f}"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text
