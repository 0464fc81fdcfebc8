"""A group of cells, the seeds of one combination, becomes estimates with intervals and joint nulls.

This is the costly half of a study's tables, done once when the last seed of a group is finished; the tables of a
study are put together from these summaries.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import mi_attention.agreement
import mi_attention.statistics
from mi_attention.agreement.comparison import Comparison
from mi_attention.agreement.pooling import (
    ROW_KEY,
    pool_agreement,
    pool_concentration,
    pool_curves,
    pool_near_ties,
)
from mi_attention.statistics import seed_interval
from mi_attention.study.grid import CELL_COLUMNS, Cell
from mi_attention.study.packed import Packed, pack, unpack
from mi_attention.study.store import CellStore, StoredCell

__all__ = ["GROUP_COLUMNS", "LONG_TABLES", "ROW_KEY", "TABLES", "Group", "group_of"]

GROUP_COLUMNS = tuple(name for name in CELL_COLUMNS if name != "seed")
# Long tables, which are put together only when they are asked for.
LONG_TABLES = ("erasure_curves", "near_ties", "refitted_nulls")
TABLES = ("agreement", "profile", "concentration", "training", "notes", "seeds", "cells")


def group_of(cell: Cell) -> tuple[Any, ...]:
    """What all seeds of a combination share: the values of ``GROUP_COLUMNS``."""
    labels = cell.labels
    return tuple(labels[name] for name in GROUP_COLUMNS)


@dataclass(frozen=True)
class Group:
    """Finished cells that differ in the seed alone, and how their summary is made.

    Attributes:
        cells: The cells; their order is the order of the seeds.
        confidence: Coverage of the intervals.
        null_draws: Partner maps of the joint null over seeds.
    """

    cells: tuple[Cell, ...]
    confidence: float
    null_draws: int

    @cached_property
    def digest(self) -> str:
        """Hash of all that the summary is made from: the cells, and the code that makes it."""
        facts = [[cell.key for cell in self.cells], self.confidence, self.null_draws, _code_hash()]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:32]

    def stored(self, store: CellStore) -> Packed | None:
        """The summary, where the store has it, its ``LONG_TABLES`` left in the file."""
        return store.read_summary(self.digest, LONG_TABLES)

    def make(self, store: CellStore) -> Packed:
        """Make the summary from the cells, and store it.

        Args:
            store: The store that has the cells.

        Returns:
            The tables of ``TABLES``, and of ``LONG_TABLES`` those that its cells have; ``metadata["output"]`` is the
            name of the output asked for.

        Raises:
            ValueError: if a cell is missing or its file is damaged.
        """
        stored = []
        for cell in self.cells:
            member = store.read(cell.key)
            if member is None or member.status != "ok":
                raise ValueError(f"cell {cell} is not finished, so its group has no summary")
            stored.append(member)
        output = str(stored[0].metadata["output"])
        seeds = [cell.training.seed for cell in self.cells]
        tables = _group_tables(stored, seeds, self.confidence, self.null_draws)
        facts = {"output": output, "keys": [cell.key for cell in self.cells]}
        content = pack(tables, facts, last=LONG_TABLES)
        # A folder that cannot be written to, or a full disk, still has its tables.
        with suppress(OSError):
            store.write_summary(self.digest, content)
        return unpack(content)


@lru_cache(maxsize=1)
def _code_hash() -> str:
    """Hash of the sources of statistics, agreement and this file: a summary made by other code is not reused."""
    digest = hashlib.sha256()
    folders = [Path(str(package.__file__)).parent for package in (mi_attention.statistics, mi_attention.agreement)]
    for path in [*(path for folder in folders for path in sorted(folder.glob("*.py"))), Path(__file__)]:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _group_tables(
    stored: list[StoredCell], seeds: list[int], confidence: float, null_draws: int
) -> dict[str, pd.DataFrame]:
    runs = [_comparison(found) for found in stored]
    lengths = runs[0].positions.groupby("instance", sort=True).size().to_numpy()
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    training = _tagged(stored, seeds, "training")
    concentration = _tagged(stored, seeds, "concentration")
    by_seed = [
        _tagged(stored, seeds, "agreement"),
        concentration.assign(estimand="concentration", order="attention", output="", state=""),
        training.assign(estimand="training", order="", output="", state="", unit=""),
    ]
    by_seed = [frame[[*ROW_KEY, "estimate", "unit", "seed"]] for frame in by_seed if len(frame)]
    tables = {
        "agreement": pool_agreement(runs, offsets, confidence=confidence, null_draws=null_draws, seed=0),
        "profile": _tagged(stored, seeds, "profile"),
        "concentration": pool_concentration(runs, confidence=confidence),
        "training": _pool_training(training, confidence),
        "notes": _tagged(stored, seeds, "notes"),
        "seeds": pd.concat(by_seed, ignore_index=True),
        "cells": pd.DataFrame(
            {
                "seconds": [float(found.metadata["seconds"]) for found in stored],
                "peak_memory": [float(found.metadata["peak_memory"]) for found in stored],
                "weights": [str(found.metadata["record"].get("weights", "")) for found in stored],
                "processor": [str(found.metadata["hardware"]["processor"]) for found in stored],
                "seed": seeds,
            }
        ),
        "erasure_curves": pool_curves(runs, confidence=confidence),
        "near_ties": pool_near_ties([run.near_ties for run in runs], confidence),
    }
    nulls = _tagged(stored, seeds, "refitted_nulls")
    return tables | ({"refitted_nulls": nulls} if len(nulls) else {})


def _comparison(found: StoredCell) -> Comparison:
    """What ``compare`` returned in the cell, for the functions that pool it."""
    names = {field.name for field in fields(Comparison)}
    tables: dict[str, Any] = {name: found.table(name) for name in found.tables if name in names - {"notes"}}
    facts: dict[str, Any] = {
        "signature": str(found.metadata["signature"]),
        "output": str(found.metadata["output"]),
        "notes": (),
    }
    return Comparison(table=found.table("agreement"), **tables, **facts)


def _pool_training(training: pd.DataFrame, confidence: float) -> pd.DataFrame:
    """Scores over seeds with t intervals, one measure a row."""
    rows = []
    for measure, part in training.groupby("measure", sort=False):
        found = seed_interval(part["estimate"].to_numpy(dtype=np.float64), level=confidence)
        row = {"measure": measure, "estimate": found.estimate, "ci_low": found.ci_low, "ci_high": found.ci_high}
        interval = "" if found.reason else "seeds"
        rows.append(row | {"interval": interval, "n_seeds": found.n_seeds, "reason": found.reason})
    return pd.DataFrame(rows)


def _tagged(stored: list[StoredCell], seeds: list[int], table: str) -> pd.DataFrame:
    frames = [found.table(table).assign(seed=seed) for found, seed in zip(stored, seeds, strict=True)]
    kept = [frame for frame in frames if len(frame)] or frames
    return pd.concat(kept, ignore_index=True)
