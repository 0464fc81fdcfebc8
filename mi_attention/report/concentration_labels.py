"""Words of the concentration figures: names of the measures with their range, and what is undefined."""

from __future__ import annotations

import pandas as pd

from mi_attention.report.numbers import format_share
from mi_attention.report.panels import undefined_reasons

__all__ = ["MEASURES", "undefined_note"]

MEASURES = {
    "normalized_skew": "normalised skew\n(−1 to 1)",
    "normalized_entropy": "norm. entropy\n(1 = uniform)",
    "gini": "Gini\n(0 = uniform)",
    "effective_support": "effective support\n(positions)",
    "max_weight": "largest weight\n(0 to 1)",
    "zero_share": "exact zeros\n(share of weights)",
}
"""Measure → its axis label, with range or unit."""


def undefined_note(part: pd.DataFrame) -> str:
    """What of a panel is undefined: whole points, and the largest share of instances behind the drawn ones."""
    missing = int(part["estimate"].isna().sum())
    notes = [f"{missing} of {len(part)} undefined"] if missing else []
    share = part.loc[part["estimate"].notna(), "undefined_share"].max()
    if not pd.isna(share) and share > 0:
        notes.append(f"{format_share(float(share))} of instances undefined at most")
    because = undefined_reasons(part[part["estimate"].isna() | (part["undefined_share"] > 0)])
    return "; ".join(notes) + (f" ({because})" if notes and because else "")
