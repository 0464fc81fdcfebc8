"""Values of single instances of finished runs, for contrasts that compare the same instances on both sides."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from mi_attention.interface import FloatArray
from mi_attention.study.groups import GROUP_COLUMNS, ROW_KEY
from mi_attention.study.store import CellStore

__all__ = ["instance_values"]


def instance_values(
    runs: pd.DataFrame,
    store: CellStore,
    key: Sequence[str],
    seeds: Sequence[int],
    combinations: Iterable[Mapping[str, Any]],
) -> dict[tuple[Any, ...], FloatArray]:
    """One kind of row, instance by instance.

    Args:
        runs: ``StudyTables.runs``.
        store: Where its cells are.
        key: Values of ``ROW_KEY``.
        seeds: Seeds, in order.
        combinations: Factor → level; repeated ones are read once.

    Returns:
        Combination, by the values of ``GROUP_COLUMNS``, → ``(S, N)``, NaN where an instance is undefined or a run is
        missing. Combinations without such a run, and quantities that have no value of an instance, are left out.

    Raises:
        ValueError: if a stored cell is damaged.
    """
    wanted = {tuple(combination[name] for name in GROUP_COLUMNS) for combination in combinations}
    place = {seed: at for at, seed in enumerate(seeds)}
    found: dict[tuple[Any, ...], dict[int, FloatArray]] = {}
    finished = runs[runs["status"] == "ok"] if len(runs) else pd.DataFrame(columns=[*GROUP_COLUMNS, "seed", "key"])
    columns = [finished[name].tolist() for name in (*GROUP_COLUMNS, "seed", "key")]
    for *group, seed, cell in zip(*columns, strict=True):
        if tuple(group) in wanted and seed in place:
            values = _values(store, cell, dict(zip(ROW_KEY, key, strict=True)))
            if values.size:
                found.setdefault(tuple(group), {})[place[seed]] = values
    return {group: _stacked(by_seed, len(seeds)) for group, by_seed in found.items()}


def _values(store: CellStore, cell: str, chosen: Mapping[str, str]) -> FloatArray:
    stored = store.read(cell)
    if stored is None or "instances" not in stored.tables:
        return np.empty(0)
    rows = stored.content.chosen("instances", chosen)
    order = np.argsort(stored.column("instances", "instance")[rows], kind="stable")
    return np.asarray(stored.column("instances", "value")[rows][order], dtype=np.float64)


def _stacked(by_seed: Mapping[int, FloatArray], seeds: int) -> FloatArray:
    stacked = np.full((seeds, len(next(iter(by_seed.values())))), np.nan)
    for at, values in by_seed.items():
        stacked[at] = values
    return stacked
