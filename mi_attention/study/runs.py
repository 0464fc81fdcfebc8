"""The estimates of every run of several studies in one place, as claims ask for them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mi_attention.agreement.near_ties import CONCORDANCE
from mi_attention.agreement.pooling import join_signatures
from mi_attention.interface import FloatArray
from mi_attention.statistics import seed_interval
from mi_attention.study.claims import RowKey
from mi_attention.study.collection import Collection
from mi_attention.study.families import Level
from mi_attention.study.grid import Cell
from mi_attention.study.groups import GROUP_COLUMNS, ROW_KEY
from mi_attention.study.limits import LIMIT_COLUMNS
from mi_attention.study.run import Plan
from mi_attention.study.store import CellStore
from mi_attention.study.tables import collect

__all__ = ["NEAR_TIES", "TABLE_COLUMNS", "Runs", "gather_runs", "near_tie_rows"]

NEAR_TIES = "near ties, "
"""Beginning of the estimands of ``near_tie_rows``."""

_COMBINATION = ("variant", *GROUP_COLUMNS)
TABLE_COLUMNS = (
    *_COMBINATION,
    *ROW_KEY,
    "estimate",
    "ci_low",
    "ci_high",
    "interval",
    "unit",
    "n_seeds",
    "n_instances",
    "undefined_share",
    "null_mean",
    "p",
    "reliability",
    "ceiling",
    "detection_limit",
    "reason",
)
_LIMITED = ("variant", "data", "encoder")
_PAIRS = {(0.0, np.inf): "all pairs", (0.0, 2.0): "unresolved pairs", (2.0, np.inf): "resolved pairs"}
# Estimands without a reliability of their own, and the agreement whose profile they are made of.
_MADE_OF = {
    "preservation": ("position", "mutual information"),
    "contextualisation": ("position", "mutual information"),
    "rationale": ("pointwise", "informativeness"),
    f"{NEAR_TIES}position": ("position", "mutual information"),
    f"{NEAR_TIES}instance": ("position", "mutual information"),
    f"{NEAR_TIES}pointwise": ("pointwise", "informativeness"),
}


@dataclass(frozen=True, eq=False)
class Runs:
    """Estimates of runs, one row a measured quantity, combination and seed.

    Attributes:
        estimates: Columns ``study`` (its file's), ``variant``, ``GROUP_COLUMNS``, ``ROW_KEY``, ``seed``, ``estimate``,
            ``unit``, and ``main``, the name of the output that the study asked for.
        agreement: The same over seeds with intervals, reliability and ceiling, ``n_instances``.
        seeds: Seeds, in order.
        limits: Detection limits, see ``study_limits``.
    """

    estimates: pd.DataFrame
    agreement: pd.DataFrame
    seeds: tuple[int, ...]
    limits: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=list(LIMIT_COLUMNS)))

    def of(self, studies: Sequence[str]) -> Runs:
        """The runs of some study files; a combination that several of them have is taken from the first.

        Raises:
            ValueError: if there are none.
        """
        taken: dict[tuple[Any, ...], str] = {}
        for study in studies:
            own = self.estimates.loc[self.estimates["study"] == study, list(_COMBINATION)].drop_duplicates()
            for combination in own.itertuples(index=False, name=None):
                taken.setdefault(combination, study)
        if not taken:
            raise ValueError(f"no run of {', '.join(studies)} is finished")

        def kept(frame: pd.DataFrame) -> pd.DataFrame:
            columns = [frame[name].tolist() for name in (*_COMBINATION, "study")]
            return frame[[taken.get(tuple(key)) == study for *key, study in zip(*columns, strict=True)]]

        return replace(self, estimates=kept(self.estimates), agreement=kept(self.agreement))

    @cached_property
    def combinations(self) -> list[tuple[Level, ...]]:
        """Every combination that has a run."""
        return list(self._main)

    @cached_property
    def _main(self) -> dict[tuple[Level, ...], str]:
        found = self.estimates.drop_duplicates(list(_COMBINATION))
        return {tuple(row[name] for name in _COMBINATION): row["main"] for row in found.to_dict("records")}

    @cached_property
    def _values(self) -> dict[tuple[Any, ...], FloatArray]:
        place = {seed: at for at, seed in enumerate(self.seeds)}
        columns = [self.estimates[name].tolist() for name in (*ROW_KEY, *_COMBINATION, "seed", "estimate")]
        found: dict[tuple[Any, ...], FloatArray] = {}
        for *key, seed, estimate in zip(*columns, strict=True):
            if seed in place:
                found.setdefault(tuple(key), np.full(len(self.seeds), np.nan))[place[seed]] = estimate
        return found

    @cached_property
    def _kinds(self) -> set[tuple[str, ...]]:
        return {key[: len(ROW_KEY)] for key in self._values}

    @cached_property
    def _pooled(self) -> dict[tuple[Any, ...], dict[Any, Any]]:
        records = self.agreement.to_dict("records")
        return {tuple(row[name] for name in (*ROW_KEY, *_COMBINATION)): row for row in records}

    @cached_property
    def _units(self) -> dict[tuple[str, ...], str]:
        kinds = self.estimates.drop_duplicates(list(ROW_KEY))
        return {tuple(row[name] for name in ROW_KEY): str(row["unit"] or "") for row in kinds.to_dict("records")}

    @cached_property
    def _limits(self) -> dict[tuple[Any, ...], float]:
        return {tuple(row[name] for name in _LIMITED): float(row["nats"]) for row in self.limits.to_dict("records")}

    def values(self, combination: tuple[Level, ...], row: RowKey) -> FloatArray:
        """``(S,)`` estimates of a combination, NaN where a run is missing or undefined."""
        key = row.of(self._main[combination])
        return self._values.get((*key, *combination), np.full(len(self.seeds), np.nan))

    def has(self, row: RowKey) -> bool:
        """Whether any run has rows of this kind."""
        return any(row.of(main) in self._kinds for main in set(self._main.values()))

    def table(self, keys: Sequence[RowKey], level: float = 0.95) -> pd.DataFrame:
        """Estimates over seeds, one row a combination and kind of row.

        Args:
            keys: Kinds of rows; each is taken once.
            level: Coverage of the intervals made here.

        Returns:
            ``TABLE_COLUMNS``. Where a study has pooled a row itself, its interval (for new instances too, where it can
            be), null, reliability and ceiling are taken; else there is a t interval over seeds on these instances.
        """
        rows, done = [], set()
        for combination, main in self._main.items():
            for key in (row.of(main) for row in keys):
                whole = (*key, *combination)
                if whole in done or whole not in self._values:
                    continue
                done.add(whole)
                found = seed_interval(self._values[whole], level)
                row = {name: getattr(found, name) for name in ("estimate", "ci_low", "ci_high", "n_seeds", "reason")}
                row |= {"interval": "" if found.reason else "seeds, on the instances given", "unit": self._units[key]}
                row |= self._pooled.get(whole, {})
                place = tuple(combination[_COMBINATION.index(name)] for name in _LIMITED)
                labels = dict(zip((*ROW_KEY, *_COMBINATION), whole, strict=True))
                rows.append(row | labels | {"detection_limit": self._limits.get(place, np.nan)})
        return pd.DataFrame(rows).reindex(columns=list(TABLE_COLUMNS))

    def facts(self, members: Sequence[tuple[Level, ...]], row: RowKey) -> dict[str, Any]:
        """What stands beside an estimate.

        Args:
            members: The combinations it is the mean over.
            row: Its kind.

        Returns:
            Mean ``reliability`` and ``ceiling`` of the profiles it is made of, ``n_instances`` of all data sets
            together, the largest ``detection_limit`` and share of instances left out (``degenerate_share``),
            ``effect_unit``, ``signature``, and ``output`` as all members call it.
        """
        outputs = {row.of(self._main[member])[3] for member in members}
        found: dict[str, Any] = {"output": outputs.pop() if len(outputs) == 1 else row.output}
        found |= {name: self._mean_over(members, row, name) for name in ("reliability", "ceiling")}
        instances: dict[Any, float] = {}
        for member in members:
            whole = self._pooled.get((*row.of(self._main[member]), *member), {})
            data = member[_COMBINATION.index("data")]
            instances[data] = max(instances.get(data, 0.0), float(whole.get("n_instances", 0) or 0))
        found["n_instances"] = sum(instances.values()) or np.nan
        pooled = [self._pooled.get((*row.of(self._main[member]), *member), {}) for member in members]
        shares = [float(one["undefined_share"]) for one in pooled if not pd.isna(one.get("undefined_share", np.nan))]
        found["degenerate_share"] = max(shares, default=0.0)
        found["signature"] = (
            join_signatures(one["signature"] for one in pooled if "signature" in one) if any(pooled) else ""
        )
        units = {self._units.get(row.of(self._main[member]), "") for member in members}
        found["effect_unit"] = units.pop() if len(units) == 1 else ""
        wanted = {
            tuple(member[_COMBINATION.index(name)] for name in ("variant", "data", "encoder")) for member in members
        }
        limits = [
            float(limit["nats"])
            for limit in self.limits.to_dict("records")
            if (limit["variant"], limit["data"], limit["encoder"]) in wanted
        ]
        found["detection_limit"] = max(limits, default=np.nan)
        return found

    def _mean_over(self, members: Sequence[tuple[Level, ...]], row: RowKey, name: str) -> float:
        values = []
        for member in members:
            key = row.of(self._main[member])
            value = self._pooled.get((*key, *member), {}).get(name, np.nan)
            if (value is None or np.isnan(value)) and row.estimand in _MADE_OF:
                estimand, order = _MADE_OF[row.estimand]
                about = key[3] or "label"
                other = (estimand, "kendall_tau_b", order, about, "hidden")
                value = self._pooled.get((*other, *member), {}).get(name, np.nan)
            values.append(float(value))
        known = [value for value in values if not np.isnan(value)]
        return float(np.mean(known)) if known else float("nan")


def gather_runs(
    collection: Collection,
    plans: Mapping[str, Plan],
    directory: str | os.PathLike[str],
    *,
    near_ties: bool = False,
    more: Sequence[pd.DataFrame] = (),
    workers: int = 1,
) -> Runs:
    """Put the finished runs of a collection together.

    Args:
        collection: The studies.
        plans: What ``plan_collection`` returned.
        directory: Folder of the runs.
        near_ties: Add the rows of ``near_tie_rows``.
        more: Further estimates, with the columns of ``Runs.estimates``.
        workers: Processes that compute missing summaries.

    Returns:
        The runs.

    Raises:
        ValueError: if studies have different seeds, or nothing is finished.
    """
    store = CellStore(Path(directory) / "cells")
    seeds = {member.study.seeds for member in collection.members}
    if len(seeds) != 1:
        raise ValueError(f"the studies have different seeds: {sorted(map(list, seeds))}; runs are paired by seed")
    estimates, agreement = [], []
    for member in collection.members:
        cells = plans[member.study.name].cells
        tables = collect(cells, store, workers=workers)
        facts = {"study": member.source, "variant": member.variant, "main": tables.output}
        estimates.append(tables.seeds.assign(**facts))
        if near_ties:
            estimates.append(near_tie_rows(cells, store).assign(**facts))
        agreement.append(_with_true_ceiling(tables.agreement, tables.profile).assign(**facts))
    estimates = [frame for frame in (*estimates, *more) if len(frame)]
    if not estimates:
        raise ValueError(f"no cell of {', '.join(member.study.name for member in collection.members)} is finished")
    pooled = [frame for frame in agreement if len(frame)]
    return Runs(pd.concat(estimates, ignore_index=True), pd.concat(pooled, ignore_index=True), seeds.pop())


def _with_true_ceiling(agreement: pd.DataFrame, profile: pd.DataFrame) -> pd.DataFrame:
    """Agreement with the true order beside the largest tau of weights without ties: a tied truth leaves less than 1."""
    if not len(agreement) or "truth" not in profile:
        return agreement
    known = profile[(profile["alignment"] == "position") & profile["truth"].notna()]
    best: dict[tuple[Any, ...], float] = {}
    for group, part in known.groupby(list(GROUP_COLUMNS), sort=False):
        truth = part.drop_duplicates("unit_index")["truth"].to_numpy(dtype=np.float64)
        pairs = truth.size * (truth.size - 1) / 2
        tied = sum(count * (count - 1) / 2 for count in np.unique(truth, return_counts=True)[1])
        best[group if isinstance(group, tuple) else (group,)] = float(np.sqrt(1 - tied / pairs)) if pairs else np.nan
    about = (agreement["order"] == "true information") & (agreement["measure"] == "kendall_tau_b")
    groups = zip(*(agreement[name].tolist() for name in GROUP_COLUMNS), strict=True)
    ceilings = pd.Series([best.get(group, np.nan) for group in groups], index=agreement.index)
    return agreement.assign(ceiling=agreement["ceiling"].where(~about | agreement["ceiling"].notna(), ceilings))


def near_tie_rows(cells: Sequence[Cell], store: CellStore) -> pd.DataFrame:
    """Concordance by gap of attention of every run, as rows like those of ``StudyTables.seeds``.

    Args:
        cells: Cells; those without a finished result are left out.
        store: The store.

    Returns:
        Estimands ``near ties, pointwise`` (and ``instance``, ``position``), measure ``concordance``, order
        ``attention gap LOW to HIGH`` in shares of the largest weight, state ``all pairs``, ``resolved pairs`` (by more
        than two standard errors of the information) or ``unresolved pairs``.
    """
    finished = store.finished(cell.key for cell in cells)
    parts = []
    for cell in cells:
        found = store.read(cell.key) if cell.key in finished else None
        if found is None or "near_ties" not in found.tables:
            continue
        frame = found.table("near_ties")
        frame = frame[frame["quantity"] == CONCORDANCE]
        gaps = [
            f"attention gap {low:g} to {high:g}" for low, high in zip(frame["gap_low"], frame["gap_high"], strict=True)
        ]
        ends = zip(frame["resolution_low"], frame["resolution_high"], strict=True)
        parts.append(
            frame.assign(
                estimand=NEAR_TIES + frame["estimand"],
                measure="concordance",
                order=gaps,
                state=[_PAIRS[pair] for pair in ends],
                unit="probability",
                **cell.labels,
            )[[*GROUP_COLUMNS, *ROW_KEY, "estimate", "unit", "seed"]]
        )
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()
