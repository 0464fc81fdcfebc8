"""One cell: train, record, compare. Runs in a worker, on one thread."""

from __future__ import annotations

import json
import platform
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib.metadata import version
from typing import Any

import pandas as pd
import torch

from mi_attention.agreement import compare
from mi_attention.data import Dataset, load
from mi_attention.estimators import make_estimator
from mi_attention.models import train
from mi_attention.records import record_from_classifier
from mi_attention.study.config import DataConfig
from mi_attention.study.grid import PACKAGES, Cell
from mi_attention.study.store import CellStore

__all__ = ["load_data", "run_cell", "versions"]

NOTE_COLUMNS = ["note", "count", "total"]


def load_data(config: DataConfig) -> Dataset:
    """The data of one source, kept for the next cell of the same worker.

    Args:
        config: The source and its options.

    Returns:
        The data set.

    Raises:
        ValueError: for an unknown source, file or option.
    """
    return _load(config.name or config.path or "", json.dumps(config.options, sort_keys=True))


@lru_cache(maxsize=4)
def _load(source: str, options: str) -> Dataset:
    return load(source, **json.loads(options))


def versions() -> dict[str, str]:
    """Versions of Python and of every package that numbers depend on."""
    return {"python": platform.python_version()} | {name: version(name) for name in (*PACKAGES, "pandas")}


def run_cell(cell: Cell, store: CellStore) -> str:
    """Run one cell and store what it found, or why it failed.

    Args:
        cell: The cell.
        store: Where to.

    Returns:
        ``"ok"`` or ``"failed"``.
    """
    start = time.perf_counter()
    metadata: dict[str, Any] = {
        "cell": cell.model_dump(mode="json", exclude={"data": {"path"}}),
        "versions": versions(),
        "machine": platform.machine(),
        "threads": 1,
    }
    try:
        with _one_thread():
            tables, facts, signature = _measure(cell)
    # A study must survive whatever a cell does; the failure is a row of its own, and the run exits non-zero.
    except Exception as error:
        metadata["seconds"] = time.perf_counter() - start
        store.write_failure(cell.key, f"{type(error).__name__}: {error}", traceback.format_exc(), metadata)
        return "failed"
    metadata |= facts
    metadata["seconds"] = time.perf_counter() - start
    store.write(cell.key, tables, metadata, signature)
    return "ok"


def _measure(cell: Cell) -> tuple[dict[str, pd.DataFrame], dict[str, Any], str]:
    dataset = load_data(cell.data)
    if dataset.fingerprint != cell.fingerprint:
        raise RuntimeError(
            f"the data {cell.data_name!r} changed while the study ran (fingerprint {dataset.fingerprint[:12]} instead "
            f"of {cell.fingerprint[:12]}); start it again"
        )
    trained = train(dataset, cell.classifier, cell.training)
    record = record_from_classifier(trained, dataset, [name for name in cell.analysis.splits if name in dataset.splits])
    analysis, seed = cell.analysis, cell.training.seed
    found = compare(
        record,
        analysis.output,
        estimator=make_estimator(analysis.estimator, seed=seed, **analysis.estimator_options),
        alignments=analysis.alignments,
        bins=analysis.bins,
        ranks=analysis.ranks,
        minimum=analysis.minimum,
        truth=dataset.truth,
        null_draws=analysis.null_draws,
        confidence=analysis.confidence,
        seed=seed,
    )
    scores = {"dev_accuracy": trained.dev.accuracy, "dev_macro_f1": trained.dev.macro_f1}
    if trained.test is not None:
        scores |= {"test_accuracy": trained.test.accuracy, "test_macro_f1": trained.test.macro_f1}
    scores |= {"best_epoch": float(trained.best_epoch), "train_seconds": trained.seconds}
    training = pd.DataFrame({"measure": list(scores), "estimate": list(scores.values())})
    tables = {
        "agreement": found.table,
        "profile": found.profile,
        "concentration": found.concentration,
        "training": training,
        "notes": pd.DataFrame([(note.text, note.count, note.total) for note in found.notes], columns=NOTE_COLUMNS),
        "instances": found.instances,
        "positions": found.positions,
        "attention_order": found.attention_order,
        "profile_error": found.profile_error,
    }
    return tables, {"record": dict(record.meta), "output": found.output}, found.signature


@contextmanager
def _one_thread() -> Iterator[None]:
    """Torch on one thread: the same numbers whatever the number of workers, and no pools fighting for cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
