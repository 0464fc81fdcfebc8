"""The declared families of a study as one table of paired contrasts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from mi_attention.agreement.pooling import join_signatures
from mi_attention.interface import FloatArray
from mi_attention.statistics import (
    adjust_family,
    complete_pairs,
    contrast_table,
    equivalence,
    paired_differences,
    run_means,
)
from mi_attention.study.config import StudyConfig
from mi_attention.study.declared import Declaration, digest_of, family_content
from mi_attention.study.families import Contrast, Family, Level, expand
from mi_attention.study.groups import GROUP_COLUMNS, ROW_KEY
from mi_attention.study.instances import instance_values
from mi_attention.study.store import CellStore
from mi_attention.study.tables import StudyTables

__all__ = ["CONTRAST_COLUMNS", "contrasts_of"]

CONTRAST_COLUMNS = (
    "family",
    "status",
    "contrast",
    "first",
    "second",
    *GROUP_COLUMNS,
    *ROW_KEY,
    "quantity",
    "estimate",
    "ci_low",
    "ci_high",
    "level",
    "interval",
    "n_seeds",
    "n_instances",
    "n_data",
    "test",
    "p",
    "p_adjusted",
    "smallest_p",
    "alpha",
    "margin",
    "rejected",
    "effect_unit",
    "reliability",
    "ceiling",
    "degenerate_share",
    "signature",
    "reason",
    "claim",
)


def contrasts_of(
    study: StudyConfig, tables: StudyTables, declared: Sequence[Declaration], store: CellStore
) -> pd.DataFrame:
    """Every contrast of every declared family, paired by seed and, where instances have values, by instance.

    A quantity with a value of every instance (such as tau inside instances) is compared on the instances that are
    defined on both sides in every seed, so that a side without an order in some of them is not compared on easier or
    harder ones; on one data set ``degenerate_share`` is the share left out. Other quantities are compared by the
    estimates of the runs.

    Args:
        study: The study.
        tables: Its tables; may be of a study that is not finished: a contrast then has the seeds there are, and a
            family that cannot reject with them has no adjusted p, and says so.
        declared: What the folder of the study has written down.
        store: Its cells.

    Returns:
        ``CONTRAST_COLUMNS``, several rows a contrast by ``quantity``; the first, ``mean difference``, is the
        confirmatory one (exact sign flip, or two one-sided t for an equivalence) and the only one with an adjusted p.
        ``mean difference (new instances too)`` stands beside it where instances have values and both sides are on one
        data set. ``reliability`` and ``ceiling`` are means over the combinations compared. ``status`` says whether its
        family was declared before any cell was finished.

    Raises:
        ValueError: if a stored cell is damaged.
    """
    known = {found.digest: found for found in declared}
    parts = []
    for family in study.analysis.families:
        found = known.get(digest_of(family_content(study, family)))
        status = found.status if found is not None else "exploratory: not declared before this report"
        parts.append(_family_table(study, family, tables, store).assign(status=status))
    if not parts:
        return pd.DataFrame(columns=list(CONTRAST_COLUMNS))
    return pd.concat(parts, ignore_index=True).reindex(columns=list(CONTRAST_COLUMNS))


def _family_table(study: StudyConfig, family: Family, tables: StudyTables, store: CellStore) -> pd.DataFrame:
    key = family.row_key(tables.output)
    values, unit = _values(tables.seeds, key, study.seeds)
    contrasts = expand(family, study.grid())
    compared = [member for contrast in contrasts for member in (*contrast.first, *contrast.second)]
    instances = instance_values(tables.runs, store, key, study.seeds, compared)
    about = _beside(tables.agreement, key)
    frames: list[pd.DataFrame] = []
    heads: list[int] = []
    for contrast in contrasts:
        sides = _paired(contrast, instances)
        if sides is None:
            sides = [_mean(values, side, len(study.seeds)) for side in (contrast.first, contrast.second)]
        frame = _measure(family, contrast, sides, unit, study.analysis.confidence)
        beside = [about[group] for group in map(_group, (*contrast.first, *contrast.second)) if group in about]
        for name in ("reliability", "ceiling"):
            numbers = [row[name] for row in beside if not pd.isna(row[name])]
            frame[name] = float(np.mean(numbers)) if numbers else np.nan
        frame["signature"] = join_signatures(row["signature"] for row in beside) if beside else ""
        frame["n_data"] = len({member["data"] for member in contrast.first})
        heads.append(sum(len(other) for other in frames))
        frames.append(frame)
    table = pd.concat(frames, ignore_index=True)
    table = table.assign(
        family=family.name, claim=family.claim, alpha=family.alpha, **dict(zip(ROW_KEY, key, strict=True))
    )
    table["margin"] = np.nan if family.margin is None else family.margin
    table["p_adjusted"], table["rejected"] = np.nan, ""
    primary = table.loc[heads]
    seeds = primary["n_seeds"].fillna(0).to_numpy(dtype=np.int64)
    short = [f"{n} of {len(study.seeds)} seeds" if n < len(study.seeds) else "" for n in seeds]
    reasons = [_joined(reason, few) for reason, few in zip(primary["reason"].fillna(""), short, strict=True)]
    table.loc[heads, "reason"] = reasons
    defined = primary["p"].notna().to_numpy()
    # An undefined contrast stays a member that is never rejected: leaving it out would correct the others for less.
    members = primary.assign(p=primary["p"].fillna(1.0), smallest_p=primary["smallest_p"].where(defined, 1.0))
    try:
        adjusted = adjust_family(members, family.name, alpha=family.alpha)["p_adjusted"].to_numpy(dtype=np.float64)
    except ValueError as error:
        table.loc[heads, "reason"] = [_joined(reason, str(error)) for reason in reasons]
        return table
    adjusted = np.where(defined, adjusted, np.nan)
    table.loc[heads, "p_adjusted"] = adjusted
    verdicts = ["" if np.isnan(p) else "yes" if p <= family.alpha else "no" for p in adjusted]
    table.loc[heads, "rejected"] = verdicts
    return table


def _group(combination: Mapping[Any, Any]) -> tuple[Level, ...]:
    return tuple(combination[name] for name in GROUP_COLUMNS)


def _paired(contrast: Contrast, instances: Mapping[tuple[Any, ...], FloatArray]) -> list[FloatArray] | None:
    """Both sides on the instances that are defined on both, or None where not all have values of instances.

    On one data set ``(S, N)``, the means over the combinations of a side; on several ``(S,)``, the mean over data sets.
    """
    by_data: dict[Level, list[tuple[FloatArray, FloatArray]]] = {}
    for first, second in zip(contrast.first, contrast.second, strict=True):
        left, right = (instances.get(_group(side)) for side in (first, second))
        if left is None or right is None or left.shape != right.shape:
            return None
        by_data.setdefault(first["data"], []).append((left, right))
    sides = [[np.mean(side, axis=0) for side in zip(*pairs, strict=True)] for pairs in by_data.values()]
    if len(sides) == 1:
        return sides[0]
    means = [run_means(*complete_pairs(left, right)) for left, right in sides]
    return [np.mean(side, axis=0) for side in zip(*means, strict=True)]


def _beside(agreement: pd.DataFrame, key: Sequence[str]) -> dict[tuple[Any, ...], dict[Any, Any]]:
    """Combination → its row over seeds."""
    if not len(agreement):
        return {}
    chosen = np.logical_and.reduce([agreement[name] == value for name, value in zip(ROW_KEY, key, strict=True)])
    return {_group(row): row for row in agreement[chosen].to_dict("records")}


def _joined(*reasons: str) -> str:
    return "; ".join(reason for reason in reasons if reason)


def _values(
    runs: pd.DataFrame, key: tuple[str, ...], seeds: Sequence[int]
) -> tuple[dict[tuple[Any, ...], FloatArray], str]:
    """Combination → ``(S,)`` estimates of its runs, NaN where a run is missing or undefined; and their unit."""
    if not len(runs):
        return {}, ""
    chosen = runs[np.logical_and.reduce([runs[name] == value for name, value in zip(ROW_KEY, key, strict=True)])]
    place = {seed: s for s, seed in enumerate(seeds)}
    found: dict[tuple[Any, ...], FloatArray] = {}
    columns = [chosen[name].tolist() for name in (*GROUP_COLUMNS, "seed", "estimate")]
    for *group, seed, estimate in zip(*columns, strict=True):
        if seed in place:
            found.setdefault(tuple(group), np.full(len(seeds), np.nan))[place[seed]] = estimate
    units = chosen["unit"].dropna()
    return found, str(units.iloc[0]) if len(units) else ""


def _mean(values: Mapping[tuple[Any, ...], FloatArray], side: Sequence[Mapping[str, Level]], seeds: int) -> FloatArray:
    """Seed by seed the mean over combinations; undefined where any of them is."""
    undefined = np.full(seeds, np.nan)
    rows = [values.get(_group(combination), undefined) for combination in side]
    return np.asarray(np.mean(rows, axis=0))


def _measure(
    family: Family, contrast: Contrast, sides: Sequence[FloatArray], unit: str, confidence: float
) -> pd.DataFrame:
    first, second = sides
    frame = contrast_table(first, second, level=confidence, rng=0, effect_unit=unit)
    if family.margin is not None:
        means = run_means(*complete_pairs(first, second)) if first.ndim == 2 else (first, second)
        equal = equivalence(paired_differences(*means), family.margin, alpha=family.alpha, effect_unit=unit)
        # Its t tests have no smallest p, whatever that of the sign flips beside them.
        frame = pd.concat([equal.assign(smallest_p=np.nan), frame], ignore_index=True)
    levels = {name: contrast.shared.get(name, "averaged") for name in GROUP_COLUMNS}
    levels[family.factor] = "contrasted"
    return frame.assign(
        contrast=contrast.name,
        first=_show(contrast.first[0][family.factor]),
        second=_show(contrast.second[0][family.factor]),
        **{name: _show(level) for name, level in levels.items()},
    )


def _show(level: Level) -> str:
    return f"{level:g}" if isinstance(level, float) else str(level)
