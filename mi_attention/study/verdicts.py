"""Declared contrasts as sentences with a verdict, every number pulled from its row."""

from __future__ import annotations

from typing import Any

import pandas as pd

from mi_attention.report import HtmlSentence
from mi_attention.study.contrast_outputs import confirmatory_rows

__all__ = ["VERDICT_NOTE", "contrast_sentences"]

VERDICT_NOTE = (
    "A contrast of a family declared beforehand is supported where its test rejects after Holm's correction and its "
    "interval agrees, an equivalence contradicted where its whole interval lies outside the margin, and undecided "
    "otherwise. Whether that bears out what the family claims in words is for its reader to say."
)
_KEPT = ("measure", "estimate", "ci_low", "ci_high", "level", "n_seeds", "test", "p", "p_adjusted", "family")
# What stands in a column of settings where a contrast has no single one.
_NO_LEVEL = ("averaged", "contrasted")


def contrast_sentences(contrasts: pd.DataFrame) -> list[HtmlSentence]:
    """The confirmatory row of every contrast as a sentence.

    Args:
        contrasts: What ``contrasts_of`` returned.

    Returns:
        One sentence a contrast. Those of families that were not declared before the first cell was finished have no
        verdict, and their headings say why.
    """
    return [_sentence(row) for row in confirmatory_rows(contrasts).to_dict("records")] if len(contrasts) else []


def _sentence(row: dict[Any, Any]) -> HtmlSentence:
    shown = {name: row[name] for name in (*_KEPT, "effect_unit", "reason", "first", "second")}
    if row["data"] not in _NO_LEVEL:
        shown["data"] = row["data"]
    heading = f"{row['claim'] or row['contrast']} ({row['status']})"
    if row["status"] != "confirmatory":
        return HtmlSentence.from_row(shown, "contrast", heading=heading)
    equal = pd.notna(row["margin"])
    words = f"{row['contrast']}: " + (f"a difference below {row['margin']:g}" if equal else "a difference")
    judged = {"claim": words, "verdict": _verdict(row), "direction": "equivalent" if equal else "different"}
    if equal:
        judged["margin"] = row["margin"]
    return HtmlSentence.from_row(shown | judged, "claim", heading=heading)


def _verdict(row: dict[Any, Any]) -> str:
    low, high, margin = (float(row[name]) for name in ("ci_low", "ci_high", "margin"))
    if pd.isna(low) or pd.isna(high):
        return "undecided"
    if pd.isna(margin):
        return "supported" if row["rejected"] == "yes" and (low > 0 or high < 0) else "undecided"
    if row["rejected"] == "yes" and -margin < low and high < margin:
        return "supported"
    return "contradicted" if low >= margin or high <= -margin else "undecided"
