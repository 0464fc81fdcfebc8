"""From the runs of a grid to what a claim has come to: estimate, interval, corrected p, controls, verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from mi_attention.interface import FloatArray
from mi_attention.statistics import adjust_family, equivalence, paired_contrast, paired_differences, theil_sen_slope
from mi_attention.statistics.families import adjusted_p
from mi_attention.study.claim_contrasts import GROUPING, ClaimContrast, claim_contrasts, level_of
from mi_attention.study.claims import Claim, RowKey
from mi_attention.study.groups import ROW_KEY
from mi_attention.study.runs import Runs

__all__ = ["ANSWER_COLUMNS", "AS_CLAIMED", "CONFIRMATORY", "REVERSED", "answer", "apart", "verdict_of"]

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
    "p_against",
    "p_against_adjusted",
    "alpha",
    "direction",
    "reference",
    "matters",
    "verdict",
    "finding",
    "size",
    "effect_unit",
    "reliability",
    "ceiling",
    "ceiling_slope",
    "detection_limit",
    "degenerate_share",
    "signature",
    "reason",
)
"""Columns of the answers; those of the controls, ``control_NAME`` with ``_low`` and ``_high``, stand behind them."""

CONFIRMATORY = "claim"
AS_CLAIMED, REVERSED = "as claimed", "the other way round"
_SMALL, _APART = "no difference that matters", "differs by more than matters"
_NUMBERS = ("estimate", "ci_low", "ci_high", "level", "n_seeds", "p", "smallest_p")
# Both sides this near to the ceiling cannot differ by much, whatever the truth.
_AT_CEILING = 0.98


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
        claim, corrected together and judged; then, for every factor that it averages over, the same by level of that
        factor, neither corrected nor judged. ``p`` is of the claim, ``p_against`` of its contradiction (see
        ``_p_against``); both are corrected by Holm over the contrasts of the claim. ``finding`` is the verdict in other
        words, and of the parts what their uncorrected interval says. ``size`` says where an interval lies wholly inside
        ± ``matters`` (``"too small to matter"``): a difference can be supported and yet be that small.

    Raises:
        ValueError: if its studies have no finished run, or a level of a slope is no positive number.
    """
    kept = runs.of(claim.studies)
    rows = _rows(claim, kept, claim.average, CONFIRMATORY, level)
    for factor in claim.average:
        if len({level_of(combination, factor) for combination in kept.combinations}) > 1:
            rest = tuple(name for name in claim.average if name != factor)
            part = f"by {'data set' if factor == 'data' else factor} (exploratory)"
            rows += _rows(claim, kept, rest, part, level)
    columns = [*ANSWER_COLUMNS, *(f"control_{name}{end}" for name in claim.controls for end in ("", "_low", "_high"))]
    facts: dict[str, Any] = {
        "claim": claim.claim,
        "status": status,
        "direction": claim.direction,
        "matters": claim.matters,
    }
    facts |= {"reference": claim.reference, "alpha": claim.alpha}
    table = pd.DataFrame(rows).reindex(columns=columns).assign(**facts)
    numbers = (*_NUMBERS, "p_adjusted", "p_against", "p_against_adjusted", "ceiling_slope", "degenerate_share")
    table = table.astype(dict.fromkeys(numbers, np.float64))
    table["p_against"] = [_p_against(row) for row in table.to_dict("records")]
    table = _corrected(table, claim)
    judged = table.to_dict("records")
    verdicts = [_judged(row) for row in judged]
    findings = [_finding(row, verdict) for row, verdict in zip(judged, verdicts, strict=True)]
    return table.assign(verdict=verdicts, finding=findings, size=[_size(row) for row in judged])


def verdict_of(answers: pd.DataFrame) -> str:
    """What a claim has come to over its contrasts.

    Supported where all of them are, contradicted where none is supported and at least one contradicted, undecided
    otherwise; ``"on average"`` is added where a part (a data set, an encoder) says the opposite by its own interval.
    """
    verdicts = set(answers.loc[answers["part"] == CONFIRMATORY, "verdict"])
    opposite = {"supported": REVERSED, "contradicted": AS_CLAIMED}
    found = "undecided"
    if verdicts == {"supported"}:
        found = "supported"
    elif "contradicted" in verdicts and "supported" not in verdicts:
        found = "contradicted"
    parts = answers.loc[answers["part"] != CONFIRMATORY, "finding"]
    return f"{found} on average" if (parts == opposite.get(found, "nowhere")).any() else found


def apart(answers: pd.DataFrame) -> dict[str, dict[str, int]]:
    """Of the parts of a claim, how many say by their own interval what is claimed, and how many the opposite.

    Returns:
        ``"by encoder (exploratory)"`` and the like → numbers of ``AS_CLAIMED``, ``REVERSED`` and all (``"parts"``).
    """
    found = {}
    for part, rows in answers[answers["part"] != CONFIRMATORY].groupby("part", sort=False):
        counts = {name: int((rows["finding"] == name).sum()) for name in (AS_CLAIMED, REVERSED)}
        found[str(part)] = counts | {"parts": len(rows)}
    return found


def _rows(claim: Claim, runs: Runs, average: Sequence[str], part: str, level: float) -> list[dict[str, Any]]:
    rows = []
    for contrast in claim_contrasts(claim, runs.combinations, average):
        if contrast.sides:
            row = _measured(claim, contrast, runs, claim.row, level)
            for name, changes in claim.controls.items():
                beside = _measured(claim, contrast, runs, claim.row.replaced(changes), level)
                row[f"control_{name}"] = beside["estimate"]
                row |= {f"control_{name}_{end}": beside.get(f"ci_{end}", np.nan) for end in ("low", "high")}
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
    apart = [
        runs.facts([member for member, kept in zip(side, used, strict=True) if kept], row) for side in contrast.sides
    ]
    means = sides[:, used].mean(axis=1) if used.any() else np.full((len(sides), sides.shape[2]), np.nan)
    found = _tested(claim, contrast, means, str(facts.pop("effect_unit")), level)
    seeds = int(found.get("n_seeds", 0) or 0)
    reasons = [str(found.get("reason", ""))]
    reasons += [] if runs.has(row) else ["no run has such rows"]
    reasons += [f"undefined in {int((~used).sum())} of {used.size} combinations"] if not used.all() else []
    reasons += [f"{seeds} of {len(runs.seeds)} seeds"] if seeds < len(runs.seeds) else []
    reasons += _unlike(apart, means if row.measure == "kendall_tau_b" else None)
    if contrast.levels:
        facts["ceiling_slope"] = _slope(contrast.levels, [float(side["ceiling"]) for side in apart])
    named = row.model_dump() | facts | {"minus": ", ".join(claim.minus.values())}
    counts = {
        "combinations": f"{int(used.sum())} of {used.size}",
        "n_data": len({level_of(member, "data") for member in members}),
    }
    return named | counts | found | {"reason": "; ".join(reason for reason in reasons if reason)}


def _unlike(sides: Sequence[Mapping[str, Any]], taus: FloatArray | None) -> list[str]:
    """What makes sides hard to compare: other instances left out, or no room left below the ceiling."""
    reasons = []
    shares = [float(side["degenerate_share"]) for side in sides]
    if max(shares, default=0.0) - min(shares, default=0.0) > 1e-9:
        reasons.append(f"instances without an order: {', '.join(f'{share:.1%}' for share in shares)} by side")
    ceilings = [float(side["ceiling"]) for side in sides]
    if taus is not None and len(sides) > 1 and (taus.mean(axis=1) >= _AT_CEILING * np.array(ceilings)).all():
        reasons.append("all sides are at their ceiling")
    return reasons


def _slope(levels: Sequence[float], values: Sequence[float]) -> float:
    """Least-squares slope of means on log levels; NaN where one is missing."""
    if np.isnan(values).any():
        return float("nan")
    return float(np.polyfit(np.log(levels), values, 1)[0])


def _tested(claim: Claim, contrast: ClaimContrast, means: FloatArray, unit: str, level: float) -> dict[str, Any]:
    """The primary row of the statistics, of ``means (sides, S)``."""
    if contrast.levels:
        table = theil_sen_slope(contrast.levels, means.T, level=level, effect_unit=f"{unit} per log unit".strip())
        table["quantity"] = f"slope on log {'level' if claim.along == 'variant' else claim.along} (Theil-Sen)"
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
    against = members["p_against"]
    table.loc[own, "p_against_adjusted"] = pd.Series(
        adjusted_p(against.fillna(1.0).to_numpy(), "holm"), index=members.index
    ).where(against.notna())
    defined = members["p"].notna()
    members = members.assign(p=members["p"].fillna(1.0), smallest_p=members["smallest_p"].where(defined, 1.0))
    try:
        adjusted = adjust_family(members, claim.claim, alpha=claim.alpha)["p_adjusted"]
    except ValueError as error:
        table.loc[own, "reason"] = [f"{text}; {error}" if text else str(error) for text in members["reason"]]
        return table
    table.loc[own, "p_adjusted"] = adjusted.where(defined)
    return table


def _p_against(row: Mapping[Any, Any]) -> float:
    """P of the opposite of a claim, from its t interval; the claim is contradicted where it is small.

    Claimed to be greater (or less): the hypothesis that the difference is at least ``matters``, two-sided, so that
    alone it is below .05 where the 95 % interval excludes every difference that would matter. Claimed to differ: that
    it does so by ``matters``, likewise. Claimed to be alike: that the difference is at most ``matters``, one-sided, as
    the two tests of an equivalence are.
    """
    low, high = _bounds(row)
    seeds = row["n_seeds"]
    if np.isnan(low) or np.isnan(high) or not seeds > 1:
        return float("nan")
    freedom, centre, matters = seeds - 1, (low + high) / 2, float(row["matters"])
    error = (high - low) / 2 / stats.t.ppf(0.5 + float(row["level"]) / 2, freedom)
    if not error > 0:
        return float("nan")
    below, above = stats.t.cdf((centre - matters) / error, freedom), stats.t.sf((centre + matters) / error, freedom)
    if row["direction"] == "equivalent":
        return float(min(1 - below, 1 - above))
    return float(min(1.0, 2 * (max(below, above) if row["direction"] == "different" else below)))


def _bounds(row: Mapping[Any, Any]) -> tuple[float, float]:
    """Ends of the interval, from the reference on, in the direction claimed."""
    low, high = (float(row[name]) - float(row["reference"]) for name in ("ci_low", "ci_high"))
    return (-high, -low) if row["direction"] == "less" else (low, high)


def _judged(row: Mapping[Any, Any]) -> str:
    """Verdict of one contrast; empty for what is only looked at."""
    if row["part"] != CONFIRMATORY:
        return ""
    low, high = _bounds(row)
    if np.isnan(low) or np.isnan(high):
        return "undecided"
    matters = float(row["matters"])
    passed, excluded = (bool(row[name] <= row["alpha"]) for name in ("p_adjusted", "p_against_adjusted"))
    if row["direction"] in ("greater", "less"):
        # A difference on the side claimed contradicts nothing, however small it is.
        return "supported" if low > 0 and passed else "contradicted" if excluded and low <= 0 else "undecided"
    if row["direction"] == "equivalent":
        return (
            "supported" if -matters < low and high < matters and passed else "contradicted" if excluded else "undecided"
        )
    return "supported" if passed and (low > 0 or high < 0) else "contradicted" if excluded else "undecided"


def _finding(row: Mapping[Any, Any], verdict: str) -> str:
    """A verdict in other words; of a part, what its own interval says."""
    low, high = _bounds(row)
    matters, directed = float(row["matters"]), row["direction"] in ("greater", "less")
    if verdict == "supported":
        return AS_CLAIMED
    if verdict == "contradicted":
        if directed:
            return REVERSED if high < 0 and row["p_adjusted"] <= row["alpha"] else _SMALL
        return _APART if row["direction"] == "equivalent" else _SMALL
    if verdict or np.isnan(low) or np.isnan(high):
        return ""
    if directed:
        return AS_CLAIMED if low > 0 else REVERSED if high < 0 else ""
    if row["direction"] == "equivalent":
        return AS_CLAIMED if -matters < low and high < matters else REVERSED if low > matters or high < -matters else ""
    return AS_CLAIMED if low > 0 or high < 0 else ""


def _size(row: Mapping[Any, Any]) -> str:
    low, high = (float(row[name]) - float(row["reference"]) for name in ("ci_low", "ci_high"))
    return "too small to matter" if -row["matters"] < low and high < row["matters"] else ""
