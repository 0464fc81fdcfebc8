"""Running a study: only what is missing, on as many workers as asked for, with the same numbers from any."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from mi_attention.data import Dataset
from mi_attention.estimators import make_estimator
from mi_attention.report import atomic_path
from mi_attention.study.backends import LOKY, check_backend, count_workers, run_on
from mi_attention.study.cell import load_data, run_cell
from mi_attention.study.config import DataConfig, StudyConfig
from mi_attention.study.cost import StudyCost, measured_cells, study_cost
from mi_attention.study.declared import declare
from mi_attention.study.grid import Cell, cells_of
from mi_attention.study.groups import group_of
from mi_attention.study.store import CellStore

__all__ = ["Plan", "RunResult", "load_plan", "plan_study", "probe_plan", "run_study", "save_plan"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Plan:
    """What a run of a study will do.

    Attributes:
        cells: All cells.
        missing: Those without a finished result.
        workers: Processes.
        cost: What the missing ones will take.
        dropped: Data source → what its loading left out, by reason.
        backend: Where cells run; see ``backends.check_backend``.
    """

    cells: tuple[Cell, ...]
    missing: tuple[Cell, ...]
    workers: int
    cost: StudyCost
    dropped: dict[str, dict[str, int]]
    backend: str = LOKY


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


def plan_study(
    study: StudyConfig, directory: str | os.PathLike[str], *, workers: int = 0, backend: str | None = None
) -> Plan:
    """Load the data and say what there is to do.

    Args:
        study: The study.
        directory: Its folder; finished cells in ``directory/cells`` are not run again.
        workers: Processes of this machine; 0 takes one a core.
        backend: ``"loky"``, or the address or file of a dask scheduler; the study's own by default.

    Returns:
        The plan.

    Raises:
        ValueError: if data cannot be loaded, lack a split that the study needs, a model cannot be, or there is no
            such backend.
    """
    where = backend or study.backend
    check_backend(where)
    make_estimator(study.analysis.estimator, seed=0, **study.analysis.estimator_options)
    sources: dict[int, tuple[str, str, str]] = {}
    dropped: dict[str, dict[str, int]] = {}
    datasets: dict[str, tuple[Dataset, Dataset]] = {}
    for index, source in enumerate(study.data):
        trained_on = load_data(source.train_on or source)
        dataset = load_data(source)
        name = source.title or dataset.name
        if name in datasets:
            raise ValueError(f"two data sources are called {name!r} in the tables; give one of them a title")
        for split in ("train", "dev"):
            _require(trained_on, split, source)
        if not set(study.analysis.splits) & set(dataset.splits):
            raise ValueError(f"data {name!r} has none of the splits to analyse, {', '.join(study.analysis.splits)}")
        contents = dataset.fingerprint, "" if source.train_on is None else trained_on.fingerprint
        for taken, *other in sources.values():
            if tuple(other) == contents:
                raise ValueError(
                    f"the data sources {taken!r} and {name!r} have the same content; leave one of them out"
                )
        _check_possible(study, name, dataset)
        sources[index] = (name, *contents)
        datasets[name] = trained_on, dataset
        dropped[name] = dict(dataset.dropped)
        if source.train_on is not None:
            dropped[name] |= {f"{reason} (trained on)": count for reason, count in trained_on.dropped.items()}
    cells = cells_of(study, sources)
    for source, (name, *_) in zip(study.data, sources.values(), strict=True):
        if study.analysis.families and source.label != name:
            raise ValueError(
                f"the families know the data {source.label!r}, but it calls itself {name!r}; give it title = "
                f"{source.label!r}"
            )
    store = CellStore(Path(directory) / "cells")
    finished = store.finished(cell.key for cell in cells)
    missing = [cell for cell in cells if cell.key not in finished]
    count = count_workers(where, workers, len(missing))
    measured = measured_cells(cells, finished, datasets, store)
    cost = study_cost(cells, missing, datasets, measured, count)
    return Plan(tuple(cells), tuple(missing), count, cost, dropped, where)


def _require(dataset: Dataset, split: Literal["train", "dev"], source: DataConfig) -> None:
    try:
        dataset.require(split)
    except ValueError as error:
        if source.train_on is None and split == "train":
            raise ValueError(f"{error}; in a study file: train_on = {{ name or path of that data set }}") from error
        raise


def probe_plan(plan: Plan) -> Plan:
    """The part of a plan that shows what its cells cost: one missing cell of every data set and encoder."""
    chosen: dict[tuple[str, str], Cell] = {}
    for cell in plan.missing:
        chosen.setdefault((cell.data_name, cell.classifier.encoder), cell)
    return replace(plan, missing=tuple(chosen.values()), workers=min(plan.workers, len(chosen)))


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
    store.prepare(cell.key for cell in plan.missing)
    groups: dict[tuple[Any, ...], list[Cell]] = {}
    for cell in plan.cells:
        groups.setdefault(group_of(cell), []).append(cell)
    # Slow cells first, so that no worker is left alone with a long one at the end.
    ordered = sorted(plan.missing, key=lambda cell: cell.classifier.encoder != "bilstm")
    tasks = [(cell, groups[group_of(cell)]) for cell in ordered]
    with watch(store, plan) if watch else nullcontext():
        run_on(plan.backend, plan.workers, run_cell, tasks, store)
    finished = store.finished(cell.key for cell in plan.cells)
    failed = {}
    names = {cell.key: str(cell) for cell in plan.cells if cell.key not in finished}
    for key in store.failed(names):
        stored = store.read(key)
        if stored is not None and stored.status == "failed":
            failed[names[key]] = str(stored.metadata["error"])
            logger.warning("cell %s failed: %s", names[key], failed[names[key]])
    return RunResult(plan.cells, len(finished), dict(sorted(failed.items())))


def save_plan(study: StudyConfig, plan: Plan, directory: str | os.PathLike[str]) -> Path:
    """Write what ``load_plan`` needs to make the tables again without the data, and what the study declares.

    Args:
        study: The study.
        plan: Its plan.
        directory: Its folder.

    Returns:
        ``study.json``; claims and families go to ``analysis.json``, see ``declared``.
    """
    declare(study, directory, CellStore(Path(directory) / "cells").count())
    facts = {
        "study": study.model_dump(mode="json", exclude={"backend"}),
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
        return study, Plan(cells, (), 1, StudyCost(0.0, 0.0, 0.0, 0), facts["dropped"])
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{source} is damaged: {error}") from error
