"""From summaries of groups of cells to the tables of a study."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import joblib
import numpy as np
import pandas as pd

from mi_attention.study.grid import CELL_COLUMNS, Cell
from mi_attention.study.groups import GROUP_COLUMNS, ROW_KEY, TABLES, Group, group_of
from mi_attention.study.packed import Packed, stack_tables
from mi_attention.study.store import CellStore

__all__ = ["GROUP_COLUMNS", "ROW_KEY", "StudyTables", "collect"]

_MEASURED = ("seconds", "peak_memory", "weights", "processor")


@dataclass(frozen=True, eq=False)
class StudyTables:
    """The tables of a study; every one is tidy.

    Attributes:
        agreement: One agreement of one group of seeds a row.
        profile: Information of every unit, one row a unit, output and seed.
        concentration: Concentration of attention, one measure a row.
        training: Accuracy and the like.
        runs: One row a cell: status, seconds, peak memory of its process in bytes, hash of the trained weights,
            processor, error.
        notes: What was left out or is arbitrary: in how many cells, and how many cases (``count`` of ``total``) in
            each, mean over those cells.
        output: Name of the output asked for.
        seeds: The estimate of every run, one row a measured quantity and seed: what paired contrasts are made of.
        parts: The summaries they were put together from, where ``long_table`` finds the rest.
    """

    agreement: pd.DataFrame
    profile: pd.DataFrame
    concentration: pd.DataFrame
    training: pd.DataFrame
    runs: pd.DataFrame
    notes: pd.DataFrame
    output: str
    seeds: pd.DataFrame = field(default_factory=pd.DataFrame)
    parts: Mapping[tuple[Any, ...], Packed] = field(default_factory=dict)

    def long_table(self, name: str) -> pd.DataFrame:
        """A long table, made when it is asked for.

        Args:
            name: One of ``LONG_TABLES``: ``erasure_curves`` (change of the prediction by the share of positions
                erased), ``near_ties`` (concordance of pairs of positions by the gaps of attention and information),
                ``refitted_nulls`` (label permutations at every position, on the seeds that were asked to have them).

        Returns:
            The rows of all groups; empty where no cell has such a table.
        """
        return _stacked({key: part.whole() for key, part in self.parts.items()}, name)


def collect(
    cells: Sequence[Cell],
    store: CellStore,
    *,
    confidence: float | None = None,
    null_draws: int | None = None,
    fresh: bool = False,
    workers: int = 1,
) -> StudyTables:
    """Gather what the store has of the cells.

    Groups of seeds whose summary is stored (the worker that finishes a group's last cell stores it) are only put
    one below the other; the others are computed and stored now.

    Args:
        cells: Cells of the study; those not yet run are shown as missing.
        store: The store.
        confidence: Coverage of the intervals; by default what the cells say.
        null_draws: Partner maps of the joint null over seeds; by default what the cells say.
        fresh: Compute every summary again.
        workers: Processes that compute missing summaries; the numbers do not depend on it.

    Returns:
        The tables; those without any finished cell are empty.

    Raises:
        ValueError: if a stored file is damaged.
    """
    with _without_collector():
        return _collect(cells, store, confidence, null_draws, fresh, workers)


def _collect(
    cells: Sequence[Cell],
    store: CellStore,
    confidence: float | None,
    null_draws: int | None,
    fresh: bool,
    workers: int,
) -> StudyTables:
    finished = store.finished(cell.key for cell in cells)
    members: dict[tuple[Any, ...], list[Cell]] = {}
    for cell in cells:
        if cell.key in finished:
            members.setdefault(group_of(cell), []).append(cell)
    groups = []
    for found in members.values():
        analysis = found[0].analysis
        level, draws = confidence or analysis.confidence, null_draws or analysis.null_draws
        groups.append(Group(tuple(found), level, draws))
    parts = dict(zip(members, _summaries(groups, store, fresh, workers), strict=True))
    frames = {name: _stacked(parts, name) for name in TABLES}
    done = frames.pop("cells").assign(key=[cell.key for group in groups for cell in group.cells])
    if len(frames["notes"]):
        notes = frames["notes"].groupby(["data", "note"], sort=False)
        frames["notes"] = notes.agg(
            cells=("count", "size"), count=("count", "mean"), total=("total", "mean")
        ).reset_index()
    output = str(next(iter(parts.values())).metadata["output"]) if parts else "prediction"
    runs = _runs(cells, finished, done, store)
    # Long tables of ten thousand groups would fill the memory for those who never ask for them.
    return StudyTables(**frames, runs=runs, output=output, parts={key: part.emptied() for key, part in parts.items()})


def _summaries(groups: list[Group], store: CellStore, fresh: bool, workers: int) -> list[Packed]:
    found = {group.digest: None if fresh else group.stored(store) for group in groups}
    absent = [group for group in groups if found[group.digest] is None]
    if workers > 1 and len(absent) > 1:
        with joblib.parallel_config(backend="loky", inner_max_num_threads=1):
            made = joblib.Parallel(n_jobs=min(workers, len(absent)))(joblib.delayed(g.make)(store) for g in absent)
    else:
        made = [group.make(store) for group in absent]
    found |= {group.digest: summary for group, summary in zip(absent, made, strict=True)}
    return [summary for summary in found.values() if summary is not None]


@contextmanager
def _without_collector() -> Iterator[None]:
    """No garbage collection: it would walk over the headers of ten thousand open files again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _stacked(parts: Mapping[tuple[Any, ...], Packed], name: str) -> pd.DataFrame:
    """One table of all groups under their labels, the columns that tell rows apart in front."""
    labels = {label: [key[place] for key in parts] for place, label in enumerate(GROUP_COLUMNS)}
    return stack_tables(list(parts.values()), name, labels, first=(*CELL_COLUMNS, *ROW_KEY))


def _runs(cells: Sequence[Cell], finished: set[str], done: pd.DataFrame, store: CellStore) -> pd.DataFrame:
    frame = pd.DataFrame([cell.labels for cell in cells], columns=list(CELL_COLUMNS))
    keys = [cell.key for cell in cells]
    failed = {key: store.read(key) for key in store.failed(key for key in keys if key not in finished)}
    status = ["ok" if key in finished else "failed" if key in failed else "missing" for key in keys]
    facts = {key: found.metadata for key, found in failed.items() if found is not None}
    measured = done.set_index("key")[list(_MEASURED)] if len(done) else pd.DataFrame(columns=list(_MEASURED))
    frame = frame.assign(status=status).join(measured.reindex(keys).reset_index(drop=True))
    for row, key in enumerate(keys):
        if key in facts:
            frame.loc[row, "seconds"] = facts[key].get("seconds", np.nan)
    text = {name: frame[name].astype("str").fillna("") for name in ("weights", "processor")}
    numbers = {name: frame[name].astype(np.float64) for name in ("seconds", "peak_memory")}
    return frame.assign(
        **numbers, **text, error=[str(facts[key]["error"]) if key in facts else "" for key in keys], key=keys
    )
