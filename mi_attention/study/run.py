"""Running a study: only what is missing, on as many workers as asked for, with the same numbers from any."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import joblib

from mi_attention.data import Dataset
from mi_attention.estimators import make_estimator
from mi_attention.report import atomic_path
from mi_attention.study.cell import load_data, run_cell
from mi_attention.study.config import StudyConfig
from mi_attention.study.cost import estimate_report_seconds, estimate_seconds
from mi_attention.study.grid import Cell, cells_of
from mi_attention.study.store import CellStore

__all__ = ["Plan", "RunResult", "load_plan", "plan_study", "run_study", "save_plan"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Plan:
    """What a run of a study will do.

    Attributes:
        cells: All cells.
        missing: Those without a finished result.
        workers: Processes.
        seconds: Rough expectation of the wall time of the missing ones, tables and figures, on this machine.
        dropped: Data source → what its loading left out, by reason.
    """

    cells: tuple[Cell, ...]
    missing: tuple[Cell, ...]
    workers: int
    seconds: float
    dropped: dict[str, dict[str, int]]


@dataclass(frozen=True)
class RunResult:
    """How a run ended.

    Attributes:
        cells: All cells of the study.
        done: Cells finished now or before.
        failed: Cells that failed, with their errors.
    """

    cells: tuple[Cell, ...]
    done: int
    failed: dict[str, str]


def plan_study(study: StudyConfig, directory: str | os.PathLike[str], *, workers: int = 0) -> Plan:
    """Load the data and say what there is to do.

    Args:
        study: The study.
        directory: Its folder; finished cells in ``directory/cells`` are not run again.
        workers: Processes; 0 takes one a core.

    Returns:
        The plan.

    Raises:
        ValueError: if data cannot be loaded, lack a split that the study needs, or a model cannot be.
    """
    make_estimator(study.analysis.estimator, seed=0, **study.analysis.estimator_options)
    sources: dict[int, tuple[str, str]] = {}
    dropped: dict[str, dict[str, int]] = {}
    datasets = {}
    for index, source in enumerate(study.data):
        dataset = load_data(source)
        name = source.title or dataset.name
        if name in {taken for taken, _ in sources.values()}:
            raise ValueError(f"two data sources are called {name!r} in the tables; give one of them a title")
        for split in ("train", "dev"):
            dataset.require(split)
        if not set(study.analysis.splits) & set(dataset.splits):
            raise ValueError(f"data {name!r} has none of the splits to analyse, {', '.join(study.analysis.splits)}")
        for taken, fingerprint in sources.values():
            if fingerprint == dataset.fingerprint:
                raise ValueError(
                    f"the data sources {taken!r} and {name!r} have the same content; leave one of them out"
                )
        _check_possible(study, name, dataset)
        sources[index] = (name, dataset.fingerprint)
        datasets[name] = dataset
        dropped[name] = dict(dataset.dropped)
    cells = cells_of(study, sources)
    finished = CellStore(Path(directory) / "cells").finished(cell.key for cell in cells)
    missing = [cell for cell in cells if cell.key not in finished]
    count = max(1, min(workers or os.cpu_count() or 1, len(missing)))
    seconds = sum(estimate_seconds(cell, datasets[cell.data_name]) for cell in missing) / count
    seconds += estimate_report_seconds(cells)
    return Plan(tuple(cells), tuple(missing), count, seconds, dropped)


def _check_possible(study: StudyConfig, name: str, dataset: Dataset) -> None:
    """Refuse what would fail only after training: a class that is not there, a second text that no text has."""
    output, classes = study.analysis.output, len(dataset.classes)
    number = output if isinstance(output, int) else output.partition(":")[2] or "0"
    if isinstance(output, str) and output.partition(":")[0] not in ("class", "label", "probability"):
        raise ValueError(f"analysis.output is {output!r}; use class, label, probability, probability:K or a class")
    if not str(number).isdigit() or int(number) >= classes:
        raise ValueError(f"analysis.output is {output!r}, but data {name!r} has classes 0 to {classes - 1}")
    if output == "probability" and classes > 2:
        raise ValueError(f"analysis.output = 'probability' needs a class with {classes} classes: 'probability:K'")
    queries = {score.options.get("query", study.model.query) for score in study.model.score}
    if "second_text" in queries and all(split.segment is None for split in dataset.splits.values()):
        raise ValueError(
            f"query second_text needs pairs of texts, but data {name!r} has single ones (text_b is missing)"
        )


def run_study(
    plan: Plan,
    directory: str | os.PathLike[str],
    *,
    watch: Callable[[CellStore, Plan], AbstractContextManager[object]] | None = None,
) -> RunResult:
    """Run the missing cells of a plan.

    Each cell runs on one thread in one process, so its numbers do not depend on the number of workers. A
    cell is written whole when it is done: whatever stops the run loses only the cells under way.

    Args:
        plan: What ``plan_study`` returned.
        directory: The folder of the study.
        watch: Called with the store and the plan; the context it returns is open while cells run (the command
            line shows progress with it, by looking at the store).

    Returns:
        How it ended. Failed cells are recorded, not raised.
    """
    store = CellStore(Path(directory) / "cells")
    store.forget_failures(cell.key for cell in plan.missing)
    with watch(store, plan) if watch else nullcontext():
        # Slow cells first, so that no worker is left alone with a long one at the end.
        ordered = sorted(plan.missing, key=lambda cell: cell.classifier.encoder != "bilstm")
        if plan.workers == 1:
            for cell in ordered:
                run_cell(cell, store)
        else:
            with joblib.parallel_config(backend="loky", inner_max_num_threads=1):
                joblib.Parallel(n_jobs=plan.workers, batch_size=1)(joblib.delayed(run_cell)(c, store) for c in ordered)
    finished = store.finished(cell.key for cell in plan.cells)
    failed = {}
    for cell in plan.cells:
        stored = None if cell.key in finished else store.read(cell.key)
        if stored is not None:
            failed[str(cell)] = str(stored.rows["error"].iloc[0])
            logger.warning("cell %s failed: %s", cell, failed[str(cell)])
    return RunResult(plan.cells, len(finished), failed)


def save_plan(study: StudyConfig, plan: Plan, directory: str | os.PathLike[str]) -> Path:
    """Write what ``load_plan`` needs to make the tables again without the data: ``study.json``."""
    facts = {
        "study": study.model_dump(mode="json"),
        "cells": [cell.model_dump(mode="json") for cell in plan.cells],
        "dropped": plan.dropped,
    }
    target = Path(directory) / "study.json"
    with atomic_path(target) as temporary:
        temporary.write_text(json.dumps(facts, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return target


def load_plan(directory: str | os.PathLike[str]) -> tuple[StudyConfig, Plan]:
    """Read back what ``save_plan`` wrote.

    Args:
        directory: The folder of a study.

    Returns:
        The study and its plan, with nothing to run.

    Raises:
        FileNotFoundError: if the folder holds no study.
        ValueError: if its file is damaged.
    """
    source = Path(directory) / "study.json"
    if not source.exists():
        raise FileNotFoundError(f"{directory} holds no study (study.json is missing)")
    try:
        facts = json.loads(source.read_text(encoding="utf-8"))
        study = StudyConfig.model_validate(facts["study"])
        cells = tuple(Cell.model_validate(cell) for cell in facts["cells"])
        return study, Plan(cells, (), 1, 0.0, facts["dropped"])
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{source} is damaged: {error}") from error
