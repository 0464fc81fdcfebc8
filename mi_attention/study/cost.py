"""How long a study will take and how much memory its largest cell, said before it starts."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from mi_attention.data import Dataset
from mi_attention.study.grid import Cell
from mi_attention.study.store import CellStore

__all__ = ["Measured", "StudyCost", "estimate_memory", "estimate_seconds", "measured_cells", "study_cost"]

# Seconds, on a core that does the reference product in REFERENCE_SECONDS: a position trained on for one epoch,
# and a position analysed. Fitted to the cells of the default study and of one on SST-2.
TRAIN = {"embedding": 1.2e-5, "mlp": 1.5e-5, "cnn": 3.0e-5, "bilstm": 5.0e-5}
ANALYSE = 2.2e-4
FIXED = 3.0
# Analysis of a control model, and one refitted null of all positions, as shares of the analysis of the cell.
CONTROL, REFIT = 0.3, 0.1
# Tables and figures at the end: for each data set and each combination of settings.
REPORT_DATA, REPORT_GROUP = 6.0, 0.6
REFERENCE_SECONDS = 0.0055
# Bytes: an idle worker with its libraries, and how often the states and inputs of the record are held in a cell.
IDLE, COPIES = 580e6, 4.0
# Finished cells of one kind that are looked at.
_ENOUGH = 3


@dataclass(frozen=True)
class Measured:
    """What finished cells of one kind (data and encoder) took.

    Attributes:
        factor: Seconds they took, as a multiple of the estimate.
        memory: The largest peak of their processes, in bytes.
        cells: How many were looked at.
    """

    factor: float
    memory: float
    cells: int


@dataclass(frozen=True)
class StudyCost:
    """What the missing cells of a study will take on this machine.

    Attributes:
        seconds: Wall time of the cells, tables and figures, on the workers given.
        cell_seconds: Mean of a cell.
        memory: Bytes of the process of the largest cell.
        measured: Finished cells that the numbers were scaled to; 0: from the sizes of data and model alone.
    """

    seconds: float
    cell_seconds: float
    memory: float
    measured: int


def study_cost(
    cells: Sequence[Cell],
    missing: Sequence[Cell],
    datasets: Mapping[str, tuple[Dataset, Dataset]],
    measured: Mapping[tuple[str, str], Measured],
    workers: int,
) -> StudyCost:
    """Cost of the missing cells.

    Args:
        cells: All cells.
        missing: Those to run.
        datasets: Name in the tables → the data trained on and the data analysed.
        measured: What finished cells took; see ``measured_cells``.
        workers: Processes.
    """
    seconds, memory = [], [0.0]
    for cell in missing:
        trained_on, analysed = datasets[cell.data_name]
        known = measured.get(_kind(cell))
        seconds.append(estimate_seconds(cell, trained_on, analysed) * (known.factor if known else 1.0))
        memory.append(max(estimate_memory(cell, analysed), 0.0) if known is None else known.memory)
    report = estimate_report_seconds(cells) if cells else 0.0
    return StudyCost(
        seconds=sum(seconds) / max(workers, 1) + report,
        cell_seconds=float(np.mean(seconds)) if seconds else 0.0,
        memory=max(memory),
        measured=sum(found.cells for found in measured.values()),
    )


def measured_cells(
    cells: Iterable[Cell], finished: set[str], datasets: Mapping[str, tuple[Dataset, Dataset]], store: CellStore
) -> dict[tuple[str, str], Measured]:
    """What some finished cells of every kind took.

    Args:
        cells: All cells.
        finished: Keys of the finished ones.
        datasets: See ``study_cost``.
        store: The store that has them.

    Returns:
        (data, encoder) → what they took; kinds without a finished cell are not there.
    """
    chosen: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        if cell.key in finished and len(chosen.setdefault(_kind(cell), [])) < _ENOUGH:
            chosen[_kind(cell)].append(cell)
    found = {}
    for kind, members in chosen.items():
        factors, memory = [], []
        for cell in members:
            stored = store.read(cell.key)
            if stored is not None and stored.status == "ok":
                factors.append(stored.metadata["seconds"] / estimate_seconds(cell, *datasets[cell.data_name]))
                memory.append(float(stored.metadata["peak_memory"]))
        if factors:
            found[kind] = Measured(float(np.median(factors)), max(memory), len(factors))
    return found


def estimate_seconds(cell: Cell, trained_on: Dataset, analysed: Dataset) -> float:
    """Rough seconds of one cell on one core of this machine; early stopping may make it less.

    Args:
        cell: The cell.
        trained_on: The data its model is trained on.
        analysed: The data its record is made of.

    Returns:
        Seconds, to be trusted to a factor of about two.
    """
    classifier = cell.classifier
    trained = int(trained_on.splits["train"].offsets[-1]) if "train" in trained_on.splits else 0
    width = (classifier.units / 64) ** 0.7
    train = TRAIN.get(classifier.encoder, TRAIN["bilstm"]) * trained * cell.training.epochs * width
    analyse = ANALYSE * _positions(cell, analysed) * width
    runs = 1 + sum(name != "untrained" for name in cell.analysis.controls)
    looks = 1 + CONTROL * len(cell.analysis.controls) + REFIT * cell.analysis.refitted_nulls
    return float((FIXED + train * runs + analyse * looks) * _slowness())


def estimate_memory(cell: Cell, analysed: Dataset) -> float:
    """Rough bytes of the process of one cell: its libraries, and the states and inputs of the positions analysed."""
    classifier = cell.classifier
    hidden = classifier.units * (2 if classifier.encoder == "bilstm" else 1)
    inputs = classifier.embedding_size or (100 if analysed.pretrained is None else analysed.pretrained.shape[1])
    return IDLE + COPIES * 4 * _positions(cell, analysed) * (hidden + inputs)


def estimate_report_seconds(cells: Sequence[Cell]) -> float:
    """Rough seconds of the tables and figures of a study, on two cores of this machine."""
    groups = {tuple(value for name, value in cell.labels.items() if name != "seed") for cell in cells}
    data = {cell.data_name for cell in cells}
    return (REPORT_DATA * len(data) + REPORT_GROUP * len(groups)) * _slowness()


def _kind(cell: Cell) -> tuple[str, str]:
    return cell.data_name, cell.classifier.encoder


def _positions(cell: Cell, analysed: Dataset) -> int:
    return sum(int(analysed.splits[name].offsets[-1]) for name in cell.analysis.splits if name in analysed.splits)


@lru_cache(maxsize=1)
def _slowness() -> float:
    """Time of a reference product on this machine, as a multiple of the one the constants were measured on."""
    matrix = np.random.default_rng(0).standard_normal((700, 700)).astype(np.float32)
    times = []
    for _ in range(5):
        start = time.perf_counter()
        matrix @ matrix
        times.append(time.perf_counter() - start)
    return float(np.clip(min(times) / REFERENCE_SECONDS, 0.2, 10))
