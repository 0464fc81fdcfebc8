"""One cell: train, record, compare. Runs in a worker, on one thread."""

from __future__ import annotations

import logging
import os
import platform
import resource
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from threadpoolctl import threadpool_info, threadpool_limits

from mi_attention.agreement import compare
from mi_attention.data import Dataset, load
from mi_attention.estimators import make_estimator
from mi_attention.interface import AttentionRecord
from mi_attention.models import TrainedClassifier, evaluate, train
from mi_attention.records import record_from_classifier
from mi_attention.study.commit import commit_name
from mi_attention.study.config import DataConfig
from mi_attention.study.controls import control_models, refitted_nulls
from mi_attention.study.grid import PACKAGES, Cell
from mi_attention.study.groups import Group
from mi_attention.study.store import CellStore

__all__ = ["hardware", "load_data", "one_thread", "peak_memory", "run_cell", "versions"]

logger = logging.getLogger(__name__)

# Options of a source that say how a text becomes tokens.
_TOKENISING = ("tokenizer", "lowercase", "max_length", "too_long")
NOTE_COLUMNS = ["note", "count", "total"]


def load_data(config: DataConfig) -> Dataset:
    """The data of one source, kept for the next cell of the same worker.

    Args:
        config: The source and its options. With ``train_on`` its texts are encoded with the vocabulary and the classes
            of that source, and tokenised as they are unless an option says otherwise.

    Returns:
        The data set.

    Raises:
        ValueError: for an unknown source, file or option.
    """
    # By content: a configuration holds lists, which no cache can look up.
    return _load(config.model_dump_json(exclude={"title"}))


@lru_cache(maxsize=4)
def _load(text: str) -> Dataset:
    config = DataConfig.model_validate_json(text)
    options = config.options
    if config.train_on is not None:
        trained_on = load_data(config.train_on)
        if trained_on.vocabulary is not None:
            shared = {name: config.train_on.options[name] for name in _TOKENISING if name in config.train_on.options}
            options = {**shared, "vocabulary": trained_on.vocabulary, "classes": trained_on.classes} | options
    dataset = load(config.name or config.path or "", **options)
    if config.train_on is not None and dataset.classes != trained_on.classes:
        raise ValueError(
            f"data {config.label!r} has the classes {', '.join(dataset.classes)}, but train_on has "
            f"{', '.join(trained_on.classes)}; a model needs the same in both (classes = [...])"
        )
    return dataset


def versions() -> dict[str, str]:
    """Versions of Python and of every package that numbers depend on."""
    return {"python": platform.python_version()} | {name: version(name) for name in (*PACKAGES, "pandas", "pyarrow")}


def hardware() -> dict[str, Any]:
    """What a cell runs on: processor, cores and memory of this machine, and the threads of its libraries in a cell."""
    with one_thread():
        pools = sorted({f"{pool['internal_api']} {pool.get('version')}" for pool in threadpool_info()})
    return {
        "system": platform.system(),
        "machine": platform.machine(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        "threads": 1,
        "libraries": pools,
    }


def _processor() -> str:
    """Model of the processor; platform alone knows only the architecture on Linux."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


def run_cell(cell: Cell, store: CellStore, group: Sequence[Cell] = ()) -> str:
    """Run one cell and store what it found, or why it failed.

    Args:
        cell: The cell; one that another run on the same store has finished meanwhile is not run again.
        store: Where to.
        group: All cells of the study that differ from it in the seed alone. The worker that finishes the last of them
            makes the summary the tables are put together from.

    Returns:
        ``"ok"`` or ``"failed"``.

    Raises:
        OSError: if the store cannot be written to; nothing of the cell is left then.
        ValueError: if this process computes with other package versions than the study was planned with.
    """
    if store.has(cell.key):
        return "ok"
    if cell.with_key().key != cell.key:
        raise ValueError(
            f"a worker has other package versions than the process that planned the study: {versions()}; install "
            "the same ones everywhere"
        )
    start = time.perf_counter()
    metadata: dict[str, Any] = {
        "cell": cell.model_dump(mode="json", exclude={"data": {"path": True, "train_on": {"path"}}}),
        "versions": versions(),
        "commit": commit_name(),
        "hardware": hardware(),
        "threads": 1,
    }
    try:
        with one_thread():
            tables, facts, signature = _measure(cell)
    # A study must survive whatever a cell does; the failure is a row of its own, and the run exits non-zero.
    except Exception as error:
        metadata["seconds"] = time.perf_counter() - start
        store.write_failure(cell.key, f"{type(error).__name__}: {error}", traceback.format_exc(), metadata)
        return "failed"
    metadata |= facts
    metadata["seconds"] = time.perf_counter() - start
    # Of the process since its start: an upper bound for the cell.
    metadata["peak_memory"] = peak_memory()
    store.write(cell.key, tables, metadata, signature)
    _summarise_last(group, store)
    return "ok"


def peak_memory() -> int:
    """Most memory this process has held since its start, in bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _summarise_last(cells: Sequence[Cell], store: CellStore) -> None:
    if not cells or not all(store.has(cell.key) for cell in cells):
        return
    analysis = cells[0].analysis
    try:
        with one_thread():
            Group(tuple(cells), analysis.confidence, analysis.null_draws).make(store)
    # The cell itself is finished; what cannot be summarised is tried again, and then raised, for the tables.
    except Exception:
        logger.exception("no summary of the group of %s", cells[0])


def _measure(cell: Cell) -> tuple[dict[str, pd.DataFrame], dict[str, Any], str]:
    dataset = load_data(cell.data)
    source = dataset if cell.data.train_on is None else load_data(cell.data.train_on)
    for found, expected in ((dataset, cell.fingerprint), (source, cell.training_fingerprint or cell.fingerprint)):
        if found.fingerprint != expected:
            raise RuntimeError(
                f"the data {cell.data_name!r} changed while the study ran (fingerprint {found.fingerprint[:12]} "
                f"instead of {expected[:12]}); start it again"
            )
    trained = train(source, cell.classifier, cell.training)
    analysis, seed = cell.analysis, cell.training.seed
    splits = [name for name in analysis.splits if name in dataset.splits]
    record = record_from_classifier(trained, dataset, splits)
    models = {
        name: record_from_classifier(model, dataset, splits, embedding=False)
        for name, model in control_models(cell, trained, source).items()
    }
    estimator = make_estimator(analysis.estimator, seed=seed, **analysis.estimator_options)
    comparison = compare(
        record,
        analysis.output,
        estimator=estimator,
        alignments=analysis.alignments,
        bins=analysis.bins,
        ranks=analysis.ranks,
        minimum=analysis.minimum,
        truth=dataset.truth,
        null_draws=analysis.null_draws,
        confidence=analysis.confidence,
        seed=seed,
        models=models,
        extras=analysis.extras,
    )
    scores = _scores(trained, source, dataset)
    training = pd.DataFrame({"measure": list(scores), "estimate": list(scores.values())})
    # Every table of the comparison, those of later versions too.
    tables = {field.name: getattr(comparison, field.name) for field in fields(comparison)}
    tables = {name: table for name, table in tables.items() if isinstance(table, pd.DataFrame)}
    tables = {"agreement": tables.pop("table"), "profile": tables.pop("profile"), "training": training} | tables
    tables["notes"] = pd.DataFrame(
        [(note.text, note.count, note.total) for note in comparison.notes], columns=NOTE_COLUMNS
    )
    tables["predictions"] = _predictions(record)
    if analysis.refitted_nulls:
        tables["refitted_nulls"] = refitted_nulls(record, cell, estimator)
    return tables, {"record": dict(record.meta), "output": comparison.output}, comparison.signature


def _predictions(record: AttentionRecord) -> pd.DataFrame:
    """What the model said of every instance, for whoever browses its texts."""
    chosen = record.prediction
    probability = np.asarray(record.output, dtype=np.float64)[np.arange(len(chosen)), chosen]
    return pd.DataFrame(
        {
            "instance": np.arange(len(chosen), dtype=np.int32),
            "prediction": chosen.astype(np.int32),
            "probability": probability,
        }
    )


def _scores(trained: TrainedClassifier, source: Dataset, dataset: Dataset) -> dict[str, float]:
    """Accuracy and the like; the baseline always says the class that is most frequent in the training split."""
    majority = int(np.bincount(source.require("train").label, minlength=len(source.classes)).argmax())
    scores = {}
    # The dev split chose the epoch; the test split is that of the data analysed.
    test = trained.test
    if dataset is not source:
        test = evaluate(trained.model, dataset.test) if dataset.test is not None else None
    for split, sequences, found in (("dev", source.dev, trained.dev), ("test", dataset.test, test)):
        if found is not None and sequences is not None:
            scores[f"{split}_accuracy"] = found.accuracy
            scores[f"{split}_macro_f1"] = found.macro_f1
            scores[f"{split}_majority"] = float((np.asarray(sequences.label) == majority).mean())
    return scores | {"best_epoch": float(trained.best_epoch), "train_seconds": trained.seconds}


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread in torch and in every BLAS: the same numbers from any worker, and no pools fighting for cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(limits=1):
            yield
    finally:
        torch.set_num_threads(before)
