"""What a study found, as its pages and its files for a paper read it: one place for what they all must agree on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from mi_attention.study.config import StudyConfig
from mi_attention.study.declared import Declaration
from mi_attention.study.run import Plan
from mi_attention.study.summary import BOUNDED, causal_rows, rank_summary, summary
from mi_attention.study.tables import GROUP_COLUMNS, StudyTables

__all__ = ["INTERVALS", "Findings"]

INTERVALS = (("estimate", "ci_low", "ci_high"), *((name, f"{name}_low", f"{name}_high") for name in BOUNDED))
"""Estimate and bounds that stand in one column."""


@dataclass(frozen=True, eq=False)
class Findings:
    """A study with its tables.

    Attributes:
        study: The study.
        plan: Its plan.
        tables: Its tables; may be of a study that is not finished.
        contrasts: What ``contrasts_of`` returned.
        declared: What its folder has written down.
        signature: The parts that the signatures of all rows share.
    """

    study: StudyConfig
    plan: Plan
    tables: StudyTables
    contrasts: pd.DataFrame
    declared: tuple[Declaration, ...]
    signature: str

    @cached_property
    def summary(self) -> pd.DataFrame:
        """The table of agreements, one group of seeds a row."""
        return summary(self.tables)

    @cached_property
    def ranks(self) -> pd.DataFrame:
        """The table of information by attention rank."""
        return rank_summary(self.tables)

    @cached_property
    def varying(self) -> list[str]:
        """Columns that tell the rows of the summary apart; the data where there is one row."""
        first = self.summary
        return [name for name in GROUP_COLUMNS if name in first and first[name].nunique() > 1] or ["data"]

    @property
    def setting(self) -> str:
        """What all rows share, in brackets; empty where nothing is left to say."""
        first = self.summary
        shared = [str(first[name].iloc[0]) for name in GROUP_COLUMNS if name in first and name not in self.varying]
        return f" ({', '.join(shared)})" if shared else ""

    @property
    def agreement(self) -> pd.DataFrame:
        """Rows of the agreement that the summary is about, one group of seeds each."""
        found = self.tables.agreement
        if not len(found):
            return found
        wanted = {"estimand": "pointwise", "measure": "kendall_tau_b", "order": "informativeness", "state": "hidden"}
        for name, value in (wanted | {"output": self.tables.output}).items():
            found = found[found[name] == value]
        return found

    @property
    def causal(self) -> pd.DataFrame:
        """The causal check beside each row of ``agreement``, in the same order; empty where nothing was erased."""
        found = causal_rows(self.tables) if len(self.tables.agreement) else self.tables.agreement
        return found if len(found) and found["estimate"].notna().any() else found.iloc[:0]

    @property
    def scope(self) -> str:
        """What the intervals are for: ``"3 seeds crossed with instances"``."""
        fewest, most = int(self.summary["n_seeds"].min()), int(self.summary["n_seeds"].max())
        if most == 1:
            return "instances of one run"
        if fewest < most:
            return f"{fewest} to {most} seeds crossed with instances (one seed: instances of that run)"
        return f"{most} seeds crossed with instances"

    @property
    def finished(self) -> int:
        """Cells that are done."""
        return int((self.tables.runs["status"] == "ok").sum())

    @property
    def failed(self) -> pd.DataFrame:
        """Cells that failed, and why."""
        failed = self.tables.runs[self.tables.runs["status"] == "failed"]
        return failed[["data", "encoder", "score", "normalizer", "temperature", "seed", "error"]]

    def notes(self) -> Sequence[str]:
        """What was left out or is arbitrary, in cells and on loading the data."""
        lines = []
        for row in self.tables.notes.to_dict("records"):
            share = f"{row['count']:.0f} of {row['total']:.0f} " if row["total"] else ""
            lines.append(f"{row['data']}: {share}{row['note']} (in {row['cells']} of the cells)")
        for data, reasons in self.plan.dropped.items():
            lines += [f"{data}: {count} sequences dropped on loading: {reason}" for reason, count in reasons.items()]
        return lines
