"""Texts of a study to browse: words with their attention and the pointwise informativeness of their states.

A cell keeps both by instance and position but no words: these come from the data once more. Texts that the package
itself makes or reads off the installation may be shown to anyone; others may be restricted, and the folder of a study
is there to be passed on, so that they are shown only where the author asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mi_attention.data import Dataset, Sequences
from mi_attention.interface import FloatArray, IntArray
from mi_attention.report import HtmlInstances
from mi_attention.study.cell import load_data
from mi_attention.study.config import DataConfig
from mi_attention.study.findings import Findings
from mi_attention.study.grid import Cell
from mi_attention.study.store import CellStore, StoredCell

__all__ = ["MOST_INSTANCES", "MOST_SETS", "MOST_WORDS", "Browsed", "browsed_texts"]

MOST_INSTANCES = 200
"""Instances of one set; of more, so many at equal distances."""
MOST_WORDS = 60_000
"""Words of one set: long documents are fewer."""
MOST_SETS = 24
"""Sets of one page."""
_CARRIED = ("docstrings", "planted/")


@dataclass(frozen=True, eq=False)
class Browsed:
    """Texts of a study.

    Attributes:
        instances: One set a data set and encoder.
        notes: Which texts are not shown, and why.
    """

    instances: tuple[HtmlInstances, ...]
    notes: tuple[str, ...]


class _NotAligned(ValueError):
    """The words of a data set cannot be laid beside the positions of a cell."""


def browsed_texts(found: Findings, store: CellStore, texts: bool | None = None) -> Browsed:
    """The texts of one cell of every data set and encoder: the first that is finished, of the first seed.

    Args:
        found: What the study found.
        store: Its cells.
        texts: True shows the texts of every source; False none; None those that the package carries itself
            (docstrings of the installation and planted sequences), and not what was read from a file, a hub or a
            source that the author registered.

    Returns:
        The texts, at most ``MOST_SETS`` sets of ``MOST_INSTANCES`` instances each.
    """
    if texts is False:
        return Browsed((), ("Texts are not shown, as was asked for.",))
    sets: list[HtmlInstances] = []
    notes: dict[str, None] = {}
    for cell in _chosen(found):
        if texts is None and not _is_carried(cell.data):
            why = "its texts do not come with this package and are not shown; --texts shows them"
            notes[f"{cell.data_name}: {why}"] = None
            continue
        if len(sets) == MOST_SETS:
            notes[f"Texts of the first {MOST_SETS} combinations of data and encoder are shown, no more."] = None
            break
        stored = store.read(cell.key)
        try:
            dataset = load_data(cell.data)
            if stored is not None and any(split.tokens is not None for split in dataset.splits.values()):
                sets.append(_instances(found, cell, stored, dataset))
        except (ValueError, OSError) as problem:
            notes[f"{cell.data_name}: its texts are not shown: {' '.join(str(problem).split())}"] = None
    return Browsed(tuple(sets), tuple(notes))


def _chosen(found: Findings) -> Iterator[Cell]:
    done = set(found.tables.runs.loc[found.tables.runs["status"] == "ok", "key"])
    seen: set[tuple[str, str]] = set()
    for cell in found.plan.cells:
        kind = (cell.data_name, cell.classifier.encoder)
        if cell.key in done and kind not in seen:
            seen.add(kind)
            yield cell


def _is_carried(source: DataConfig) -> bool:
    return source.name is not None and source.name.startswith(_CARRIED)


def _instances(found: Findings, cell: Cell, stored: StoredCell, dataset: Dataset) -> HtmlInstances:
    if dataset.fingerprint != cell.fingerprint:
        raise _NotAligned("the data have changed since the cells were made")
    positions = stored.table("positions")
    if "informativeness" not in positions:
        raise _NotAligned("the cells have no pointwise informativeness (no alignment by instance)")
    lengths = positions.groupby("instance", sort=True).size().to_numpy()
    splits = [dataset.splits[name] for name in cell.analysis.splits if name in dataset.splits]
    words, label = _words(splits, lengths)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    kept = _spread(lengths)
    rows = np.concatenate([np.arange(offsets[i], offsets[i + 1]) for i in kept])
    vocabulary, ids = np.unique(np.array(words, dtype=object)[rows].astype(str), return_inverse=True)
    several = f"{len(kept):,} of {len(lengths):,} instances, at equal distances. " if len(kept) < len(lengths) else ""
    options = [cell.score, cell.normalizer, f"temperature {cell.classifier.temperature:g}"]
    if cell.training.freeze != "none":
        options.append(f"frozen: {cell.training.freeze}")
    return HtmlInstances(
        title=f"{cell.data_name}, {cell.classifier.encoder}",
        vocabulary=vocabulary.tolist(),
        token_ids=ids,
        attention=positions["attention"].to_numpy(dtype=np.float64)[rows],
        informativeness=positions["informativeness"].to_numpy(dtype=np.float64)[rows],
        offsets=np.concatenate([[0], np.cumsum(lengths[kept])]).astype(np.int64),
        label=label[kept],
        **_said(stored, kept),
        classes=dataset.classes,
        measures=_measures(stored, found.tables.output, kept),
        note=f"{several}One model: {', '.join(options)}, seed {cell.training.seed}; informativeness about the "
        f"{found.tables.output}. One run of the many that the tables are about.",
    )


def _words(splits: list[Sequences], lengths: IntArray) -> tuple[list[str], IntArray]:
    """Words and labels of the instances of a record: all positions, or those of the first text of a pair."""
    for first_only in (False, True):
        if first_only and any(split.segment is None for split in splits):
            continue
        words: list[str] = []
        labels, counts = [], []
        for split in splits:
            if split.tokens is None:
                raise _NotAligned("a split has no words")
            owner = np.repeat(np.arange(len(split)), split.lengths)
            row = np.flatnonzero(split.segment == 0) if first_only else np.arange(len(owner))
            count = np.bincount(owner[row], minlength=len(split))
            words += [split.tokens[place] for place in row]
            labels.append(split.label[count > 0])
            counts.append(count[count > 0])
        if np.array_equal(np.concatenate(counts), lengths):
            return words, np.concatenate(labels)
    raise _NotAligned("the positions of the cells are not those of the texts (instances without attention)")


def _spread(lengths: IntArray) -> IntArray:
    """Instances to show: at equal distances, so that data sorted by class or length are shown whole."""
    most = min(len(lengths), MOST_INSTANCES)
    while True:
        kept = np.unique(np.linspace(0, len(lengths) - 1, most).round().astype(np.int64))
        if most == 1 or int(lengths[kept].sum()) <= MOST_WORDS:
            return kept
        most = max(1, most * 3 // 4)


def _said(stored: StoredCell, kept: IntArray) -> dict[str, Any]:
    """Prediction and its probability; cells of earlier versions do not have them."""
    if "predictions" not in stored.tables:
        return {}
    frame = stored.table("predictions")
    return {name: frame[name].to_numpy()[kept] for name in ("prediction", "probability") if name in frame}


def _measures(stored: StoredCell, output: str, kept: IntArray) -> dict[str, FloatArray]:
    values = stored.table("instances")
    if not len(values):
        return {}
    wanted = {"estimand": "pointwise", "measure": "kendall_tau_b", "order": "informativeness", "state": "hidden"}
    for name, value in (wanted | {"output": output}).items():
        values = values[values[name] == value]
    found: pd.Series[float] = values.set_index("instance")["value"].reindex(kept)
    return {"tau-b": found.to_numpy(dtype=np.float64)}
