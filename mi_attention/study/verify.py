"""Does a study still give its numbers? Sampled cells are run again and compared with what was stored."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from mi_attention.report import read_table
from mi_attention.study.cell import hardware, run_cell, versions
from mi_attention.study.config import StudyConfig
from mi_attention.study.grid import Cell
from mi_attention.study.groups import GROUP_COLUMNS
from mi_attention.study.run import load_plan, plan_study
from mi_attention.study.store import CellStore, StoredCell

__all__ = ["Verification", "compare_cells", "verify_study"]

# How long something took is no result.
_TIMES = ("train_seconds",)
_SHOWN = 20


@dataclass(frozen=True)
class Verification:
    """What running cells again has shown.

    Attributes:
        cells: The cells run again.
        values: Numbers and strings compared.
        differences: The values that differ, in words, stored and new.
        tolerance: Largest relative difference that was allowed.
    """

    cells: tuple[str, ...]
    values: int
    differences: tuple[str, ...]
    tolerance: float

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        return not self.differences

    def lines(self) -> list[str]:
        """The result in words."""
        how = "to the bit" if self.tolerance == 0 else f"within {self.tolerance:g}"
        run = "; ".join(self.cells)
        if self.same:
            return [f"The same {how}: {self.values} values of {len(self.cells)} cells run again ({run})."]
        shown = list(self.differences[:_SHOWN])
        more = len(self.differences) - len(shown)
        head = f"Not the same {how}: {len(self.differences)} of {self.values} values differ ({run})."
        return [head, *shown, *([f"and {more} more"] if more else [])]


def verify_study(
    directory: str | os.PathLike[str],
    *,
    cells: int = 1,
    seed: int = 0,
    tolerance: float = 0.0,
    say: Callable[[str], None] | None = None,
) -> Verification:
    """Run sampled cells of a study again in a temporary folder and compare all their tables.

    A folder without cells (published tables only) is verified by its tables: the estimates of each run, and the
    information profiles. The data must be where they were.

    Args:
        directory: The folder of a study.
        cells: How many finished cells.
        seed: Chooses them.
        tolerance: Largest relative difference allowed. Only 0, equal bits, shows that nothing at all differs; other
            processors and other releases of libraries round differently, and training makes a difference grow.
        say: Told what is done.

    Returns:
        What differs; a cell that cannot be run again, or runs on other data, is a difference.

    Raises:
        FileNotFoundError: if the folder holds no study.
        ValueError: if no cell is finished, or an argument is out of range.
    """
    if cells < 1 or tolerance < 0 or seed < 0:
        raise ValueError(f"cells is {cells}, seed {seed} and tolerance {tolerance}; give at least 1, 0 and 0")
    folder = Path(directory)
    known = _cells_of(folder)
    store = CellStore(folder / "cells")
    finished = store.finished(cell.key for cell in known) or _published(folder)
    candidates = [cell for cell in known if cell.key in finished]
    if not candidates:
        raise ValueError(f"{folder} has no finished cell that this installation would run ({_why_none(folder)})")
    order = np.random.default_rng(seed).permutation(len(candidates))[:cells]
    values, names, differences = 0, [], []
    with tempfile.TemporaryDirectory() as scratch:
        again = CellStore(scratch)
        for cell in (candidates[place] for place in sorted(order)):
            if say is not None:
                say(f"Running {cell} again …")
            names.append(str(cell))
            # Its key under the versions installed here, which need not be those it was stored with.
            here = cell.with_key()
            run_cell(here, again)
            new, old = again.read(here.key), store.read(cell.key)
            if new is None or new.status != "ok":
                differences.append(f"{cell}: failed: {'' if new is None else new.metadata['error']}")
                continue
            count, found = (
                compare_cells(old, new, tolerance) if old else _compare_published(folder, cell, new, tolerance)
            )
            values += count
            differences += [f"{cell}: {text}" for text in found]
            if found and old is not None:
                differences += _other_machine(old)
    return Verification(tuple(names), values, tuple(differences), tolerance)


def compare_cells(old: StoredCell, new: StoredCell, tolerance: float = 0.0) -> tuple[int, list[str]]:
    """Compare all tables of two stored cells, and the hash of the weights where bits must agree.

    Returns:
        Number of values compared, and the differences in words.
    """
    differences = []
    count = 0
    for name in sorted({*old.tables, *new.tables}):
        found = _compare_frames(name, old.table(name), new.table(name), tolerance)
        count += found[0]
        differences += found[1]
    weights = [stored.metadata["record"].get("weights") for stored in (old, new)]
    if tolerance == 0 and weights[0] != weights[1]:
        differences.append(f"hash of the weights: stored {weights[0]}, now {weights[1]}")
    return count + 1, differences


def _compare_frames(name: str, old: pd.DataFrame, new: pd.DataFrame, tolerance: float) -> tuple[int, list[str]]:
    if name == "training" or "measure" in old:
        old, new = (
            frame[~frame["measure"].isin(_TIMES)].reset_index(drop=True) if "measure" in frame else frame
            for frame in (old, new)
        )
    if list(old.columns) != list(new.columns) or len(old) != len(new):
        return 1, [f"{name}: stored {old.shape} with {list(old.columns)}, now {new.shape} with {list(new.columns)}"]
    differences = []
    for column in old.columns:
        before, after = old[column], new[column]
        if pd.api.types.is_numeric_dtype(before.dtype) and pd.api.types.is_numeric_dtype(after.dtype):
            a, b = before.to_numpy(dtype=np.float64), after.to_numpy(dtype=np.float64)
            # NaN is "undefined" on both sides; equal infinities have no difference to take.
            with np.errstate(invalid="ignore"):
                same = (
                    (a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= tolerance * np.maximum(abs(a), abs(b)))
                )
        else:
            same = (before.astype("str").fillna("") == after.astype("str").fillna("")).to_numpy()
        for row in np.flatnonzero(~same):
            where = " ".join(str(old[key].iloc[row]) for key in _NAMES if key in old and key != column)
            differences.append(f"{name} {where}: {column} stored {before.iloc[row]!r}, now {after.iloc[row]!r}")
    return old.size, differences


_NAMES = (
    *("alignment", "unit", "estimand", "measure", "order", "output", "state", "instance", "position", "draw", "pair"),
    "note",
)


def _cells_of(folder: Path) -> tuple[Cell, ...]:
    if (folder / "study.json").exists() or not (folder / "manifest.json").exists():
        return load_plan(folder)[1].cells
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    study = StudyConfig.model_validate(manifest["study"])
    with tempfile.TemporaryDirectory() as scratch:
        return plan_study(study, scratch, workers=1, backend="loky").cells


def _published(folder: Path) -> set[str]:
    """Keys of the cells that the published tables are made of."""
    if not (folder / "runs.parquet").exists() or not (folder / "seeds.parquet").exists():
        return set()
    runs, _ = read_table(folder / "runs.parquet")
    return set(runs[runs["status"] == "ok"]["key"])


def _compare_published(folder: Path, cell: Cell, new: StoredCell, tolerance: float) -> tuple[int, list[str]]:
    """Compare with the rows of the published tables that come from this one run."""
    from mi_attention.study.groups import Group
    from mi_attention.study.packed import stack_tables

    with tempfile.TemporaryDirectory() as scratch:
        store = CellStore(scratch)
        store.write(
            cell.key, {name: new.table(name) for name in new.tables}, new.metadata, str(new.metadata["signature"])
        )
        made = Group((cell,), cell.analysis.confidence, cell.analysis.null_draws).make(store)
    count, differences = 0, []
    labels = {name: [cell.labels[name]] for name in GROUP_COLUMNS}
    for name in ("seeds", "profile"):
        published, _ = read_table(folder / f"{name}.parquet")
        here = published[np.logical_and.reduce([published[key] == value for key, value in cell.labels.items()])]
        again = stack_tables([made], name, labels)
        columns = [column for column in here.columns if column in again]
        missing = {*here.columns} ^ {*again.columns}
        here, again = (frame[columns].reset_index(drop=True) for frame in (here, again))
        found = _compare_frames(name, here, again, tolerance)
        count += found[0]
        differences += found[1] + [f"{name}: column {column} is in one of them only" for column in sorted(missing)]
    return count, differences


def _other_machine(old: StoredCell) -> list[str]:
    """Why bits may differ without a fault, where they may."""
    before, now = old.metadata.get("hardware", {}), hardware()
    lines = [
        f"(stored on {name} {before.get(name)!r}, this is {now[name]!r}: bits may differ, give a tolerance)"
        for name in ("processor", "libraries")
        if before.get(name) != now[name]
    ]
    if old.metadata["versions"] != versions():
        lines.append(f"(stored with {old.metadata['versions']}, these are {versions()})")
    return lines


def _why_none(folder: Path) -> str:
    if (folder / "cells").exists():
        return "its cells are of another configuration, other data or other package versions; run the study first"
    return "it has neither cells nor the tables runs and seeds"
