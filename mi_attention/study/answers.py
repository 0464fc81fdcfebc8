"""From the runs of a grid to what a claim has come to: estimate, interval, corrected p, controls, verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from mi_attention.interface import FloatArray
from mi_attention.statistics import adjust_family, equivalence, paired_contrast, paired_differences, theil_sen_slope
from mi_attention.study.claim_contrasts import GROUPING, ClaimContrast, claim_contrasts, level_of
from mi_attention.study.claims import Claim, RowKey
from mi_attention.study.groups import ROW_KEY
from mi_attention.study.runs import Runs

__all__ = ["ANSWER_COLUMNS", "CONFIRMATORY", "EXPLORATORY", "answer", "verdict_of"]

ANSWER_COLUMNS = (
    "claim",
    "status",
    "part",
    "contrast",
    "pair",
    *GROUPING,
    *ROW_KEY,
    "minus",
    "quantity",
    "estimate",
    "ci_low",
    "ci_high",
    "level",
    "interval",
    "n_seeds",
    "n_instances",
    "n_data",
    "combinations",
    "test",
    "p",
    "p_adjusted",
    "smallest_p",
    "alpha",
    "direction",
    "reference",
    "matters",
    "verdict",
    "size",
    "effect_unit",
    "reliability",
    "ceiling",
    "detection_limit",
    "reason",
)
"""Columns of the answers; those of the controls, ``control_NAME``, stand behind them."""

CONFIRMATORY, EXPLORATORY = "claim", "by data set (exploratory)"
_NUMBERS = ("estimate", "ci_low", "ci_high", "level", "n_seeds", "p", "smallest_p")


def answer(claim: Claim, runs: Runs, *, status: str = "confirmatory", level: float = 0.95) -> pd.DataFrame:
    """Settle one claim.

    A combination without a value in some seed is left out of the mean over combinations in all seeds and on both sides;
    ``combinations`` says how many of how many are in.

    Args:
        claim: The claim.
        runs: Runs of its studies, or of more.
        status: What ``declare_claims`` said of it.
        level: Coverage of the intervals; those of an equivalence cover 1 − 2 alpha.

    Returns:
        One row a contrast with ``ANSWER_COLUMNS`` and controls, the same computed on their rows: first those of the
        claim, corrected together and judged; then, where it averages over data sets, the same by data set, neither
        corrected nor judged. ``size`` says where an interval lies wholly inside ± ``matters`` (``"too small to
        matter"``): a difference can be supported and yet be that small.

    Raises:
        ValueError: if its studies have no finished run, or a level of a slope is no positive number.
    """
    kept = runs.of(claim.studies)
    rows = _rows(claim, kept, claim.average, CONFIRMATORY, level)
    if "data" in claim.average:
        rows += _rows(claim, kept, tuple(name for name in claim.average if name != "data"), EXPLORATORY, level)
    columns = [*ANSWER_COLUMNS, *(f"control_{name}" for name in claim.controls)]
    facts: dict[str, Any] = {
        "claim": claim.claim,
        "status": status,
        "direction": claim.direction,
        "matters": claim.matters,
    }
    facts |= {"reference": claim.reference, "alpha": claim.alpha}
    table = pd.DataFrame(rows).reindex(columns=columns).assign(**facts)
    table = table.astype(dict.fromkeys((*_NUMBERS, "p_adjusted"), np.float64))
    table = _corrected(table, claim)
    judged = table.to_dict("records")
    return table.assign(verdict=[_judged(row) for row in judged], size=[_size(row) for row in judged])


def verdict_of(answers: pd.DataFrame) -> str:
    """What a claim has come to over its contrasts.

    Supported where all of them are, contradicted where none is supported and at least one contradicted, undecided
    otherwise.
    """
    verdicts = set(answers.loc[answers["part"] == CONFIRMATORY, "verdict"])
    if verdicts == {"supported"}:
        return "supported"
    return "contradicted" if "contradicted" in verdicts and "supported" not in verdicts else "undecided"


def _rows(claim: Claim, runs: Runs, average: Sequence[str], part: str, level: float) -> list[dict[str, Any]]:
    rows = []
    for contrast in claim_contrasts(claim, runs.combinations, average):
        if contrast.sides:
            row = _measured(claim, contrast, runs, claim.row, level)
            for name, changes in claim.controls.items():
                beside = _measured(claim, contrast, runs, claim.row.replaced(changes), level)
                row[f"control_{name}"] = beside["estimate"]
        elif part == CONFIRMATORY:
            row = claim.row.model_dump() | {"reason": "no run has these levels", "combinations": "0 of 0"}
        else:
            continue
        rows.append(row | contrast.labels | {"contrast": contrast.name, "pair": contrast.pair, "part": part})
    return rows


def _measured(claim: Claim, contrast: ClaimContrast, runs: Runs, row: RowKey, level: float) -> dict[str, Any]:
    """Estimate with interval and p of one contrast on one kind of row, and what stands beside it."""
    sides = np.array([[_values(runs, member, row, claim.minus) for member in side] for side in contrast.sides])
    used = ~np.isnan(sides).any(axis=(0, 2))
    if not used.any():
        # No combination is whole: the seeds that all of them have are better than nothing, and are counted.
        used = ~np.isnan(sides).all(axis=2).any(axis=0)
    members = [member for side in contrast.sides for member, kept in zip(side, used, strict=True) if kept]
    facts = runs.facts(members, row)
    means = sides[:, used].mean(axis=1) if used.any() else np.full((len(sides), sides.shape[2]), np.nan)
    found = _tested(claim, contrast, means, str(facts.pop("effect_unit")), level)
    seeds = int(found.get("n_seeds", 0) or 0)
    reasons = [str(found.get("reason", ""))]
    reasons += [] if runs.has(row) else ["no run has such rows"]
    reasons += [f"undefined in {int((~used).sum())} of {used.size} combinations"] if not used.all() else []
    reasons += [f"{seeds} of {len(runs.seeds)} seeds"] if seeds < len(runs.seeds) else []
    named = row.model_dump() | facts | {"minus": ", ".join(claim.minus.values())}
    counts = {
        "combinations": f"{int(used.sum())} of {used.size}",
        "n_data": len({level_of(member, "data") for member in members}),
    }
    return named | counts | found | {"reason": "; ".join(reason for reason in reasons if reason)}


def _tested(claim: Claim, contrast: ClaimContrast, means: FloatArray, unit: str, level: float) -> dict[str, Any]:
    """The primary row of the statistics, of ``means (sides, S)``."""
    if contrast.levels:
        table = theil_sen_slope(contrast.levels, means.T, level=level, effect_unit=f"{unit} per log unit".strip())
    else:
        second = means[1] if len(means) > 1 else np.full(means.shape[1], claim.reference)
        if claim.direction == "equivalent":
            # Of t tests, which have no smallest p.
            differences = paired_differences(means[0], second)
            table = equivalence(differences, claim.matters, alpha=claim.alpha, effect_unit=unit).assign(
                smallest_p=np.nan
            )
        else:
            table = paired_contrast(means[0], second, level).table(effect_unit=unit)
    first: dict[Any, Any] = table.iloc[0].to_dict()
    if len(means) == 1:
        # Against a constant a reader wants the estimate itself, not its distance.
        first |= {name: first[name] + claim.reference for name in ("estimate", "ci_low", "ci_high")} | {
            "quantity": "mean"
        }
    taken = (*_NUMBERS, "quantity", "interval", "test", "effect_unit", "reason")
    return {str(name): first[name] for name in taken if not pd.isna(first[name])} | {"estimate": first["estimate"]}


def _values(runs: Runs, combination: tuple[Any, ...], row: RowKey, minus: Mapping[str, str]) -> FloatArray:
    values = runs.values(combination, row)
    return values - runs.values(combination, row.replaced(minus)) if minus else values


def _corrected(table: pd.DataFrame, claim: Claim) -> pd.DataFrame:
    """Holm's correction of the claim's own contrasts; an undefined one stays a member that is never rejected."""
    own = table["part"] == CONFIRMATORY
    members = table[own]
    defined = members["p"].notna()
    members = members.assign(p=members["p"].fillna(1.0), smallest_p=members["smallest_p"].where(defined, 1.0))
    try:
        adjusted = adjust_family(members, claim.claim, alpha=claim.alpha)["p_adjusted"]
    except ValueError as error:
        table.loc[own, "reason"] = [f"{text}; {error}" if text else str(error) for text in members["reason"]]
        return table
    table.loc[own, "p_adjusted"] = adjusted.where(defined)
    return table


def _judged(row: Mapping[Any, Any]) -> str:
    """Verdict of one contrast; empty for what is only looked at."""
    if row["part"] != CONFIRMATORY:
        return ""
    low, high = (float(row[name]) - float(row["reference"]) for name in ("ci_low", "ci_high"))
    if np.isnan(low) or np.isnan(high):
        return "undecided"
    matters, passed = float(row["matters"]), bool(row["p_adjusted"] <= row["alpha"])
    if row["direction"] == "less":
        low, high = -high, -low
    if row["direction"] in ("greater", "less"):
        return "supported" if low > 0 and passed else "contradicted" if high < matters else "undecided"
    inside, outside = -matters < low and high < matters, low >= matters or high <= -matters
    if row["direction"] == "equivalent":
        return "supported" if inside and passed else "contradicted" if outside else "undecided"
    return "supported" if passed and (low > 0 or high < 0) else "contradicted" if inside else "undecided"


def _size(row: Mapping[Any, Any]) -> str:
    low, high = (float(row[name]) - float(row["reference"]) for name in ("ci_low", "ci_high"))
    return "too small to matter" if -row["matters"] < low and high < row["matters"] else ""
