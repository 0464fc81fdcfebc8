"""Which rows of the long tables of a comparison its figures show."""

from __future__ import annotations

import pandas as pd

from mi_attention.agreement.near_ties import CONCORDANCE

__all__ = ["drawn_rows"]


def drawn_rows(kind: str, profile: pd.DataFrame, curves: pd.DataFrame, ties: pd.DataFrame, output: str) -> pd.DataFrame:
    """The rows of one kind of figure.

    Args:
        kind: ``"rank"``, ``"position"``, ``"erasure"`` or ``"near ties"``.
        profile: Information of units.
        curves: Curves of erasure.
        ties: Concordance by gap.
        output: The output asked for.

    Returns:
        The rows; none where there is nothing to draw.

    Raises:
        ValueError: for another kind.
    """
    if kind in ("rank", "position"):
        return profile[profile["alignment"] == kind] if len(profile) else profile
    if kind == "erasure":
        if not len(curves):
            return curves
        main = curves["output"].isin([output, ""]) & (curves["state"] != "embedding")
        # The order of information by rank is nearly that of attention: their lines would cover each other.
        return curves[main & (curves["order"] != "mutual information by rank") & (curves["quantity"] == "change")]
    if kind == "near ties":
        if not len(ties):
            return ties
        about = ties[(ties["output"] == output) & (ties["quantity"] == CONCORDANCE)]
        pointwise = (about["estimand"] == "pointwise").any()
        return about[about["estimand"] == ("pointwise" if pointwise else "instance")]
    raise ValueError(f"kind is {kind!r}; use 'rank', 'position', 'erasure' or 'near ties'")
