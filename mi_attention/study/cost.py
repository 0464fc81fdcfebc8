"""How long a study will take and how much memory its largest cell, said before it starts."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from mi_attention.data import Dataset
from mi_attention.estimators import Probe, make_estimator
from mi_attention.estimators.axes import ROWS_FOR_ALL, ROWS_FOR_MOST
from mi_attention.estimators.reading import CURVED as CURVED_MEMBERS
from mi_attention.study.grid import Cell
from mi_attention.study.store import CellStore
from mi_attention.study.work import Fits, fits_of, hidden_size, input_size, lengths_of

__all__ = ["Measured", "StudyCost", "estimate_memory", "estimate_seconds", "measured_cells", "study_cost"]

# Seconds, on a core that does the reference product in REFERENCE_SECONDS. All were fitted to cells of planted data, of
# docstrings, of digits and of SST-2, with states of 32 to 256 numbers; they came out right to a factor of about two.
# A position trained on for one epoch by 64 units, and how that grows with the units.
TRAIN, TRAIN_GROWTH = {"embedding": 8.0e-6, "mlp": 8.0e-6, "cnn": 1.5e-5, "bilstm": 2.0e-5}, 0.75
# Whatever a cell is: its record and its tables; and that for each position.
FIXED, ROW = 1.0, 9.0e-5
# Tables and figures at the end: for each data set and each combination of settings.
REPORT_DATA, REPORT_GROUP = 6.0, 0.6
REFERENCE_SECONDS = 0.0055


@dataclass(frozen=True)
class _Price:
    """Seconds of an estimate with two classes of states of 100 numbers: of its own, and a row; and their growth.

    ``few_rows`` is by how much it is more in fewer than 16 independent rows a column, where some states are read twice,
    and ``very_few_rows`` in fewer than 8, where all are read three times.
    """

    call: float
    row: float
    call_width: float
    row_width: float
    call_classes: float
    row_classes: float
    few_rows: float = 1.0
    very_few_rows: float = 1.0

    def seconds(self, fits: Fits, classes: int) -> float:
        """Of so many estimates of an output with so many classes."""
        width, kinds = fits.width / 100, classes / 2
        call = self.call * width**self.call_width * kinds**self.call_classes
        row = self.row * width**self.row_width * kinds**self.row_classes
        more = self.few_rows if fits.independent < ROWS_FOR_MOST * fits.width else 1.0
        more = self.very_few_rows if fits.independent < ROWS_FOR_ALL * fits.width else more
        return float(more * fits.count * (call + fits.rows * row))


# By whether curved members read the states; with them an estimate costs fifty times as much whatever its rows. The
# linear one is that of two discriminants, and each further one adds .1 to .25 of it.
LINEAR = _Price(3.7e-3, 3.6e-6, 1.5, 0.75, 0.5, 0.5)
DISCRIMINANT = 0.15
CURVED = _Price(0.18, 4.0e-5, 1.5, 1.25, 1.0, 0.5, few_rows=1.5, very_few_rows=2.5)
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
    width = (classifier.units / 64) ** TRAIN_GROWTH
    train = TRAIN.get(classifier.encoder, TRAIN["bilstm"]) * trained * cell.training.epochs * width
    runs = 1 + sum(name != "untrained" for name in cell.analysis.controls)
    # Everything else is trained first, then the attention.
    runs *= 2 if cell.training.freeze == "attention_last" else 1
    classes = len(analysed.classes)
    profiles, pointwise = _prices(cell)
    analyse = sum(
        (pointwise if fits.pointwise else profiles).seconds(fits, classes) for fits in fits_of(cell, analysed)
    )
    tables = FIXED + ROW * float(lengths_of(cell, analysed).sum())
    return float((tables + train * runs + analyse) * _slowness())


def _prices(cell: Cell) -> tuple[_Price, _Price]:
    """Of the profiles and of the pointwise information, which is the default probe's where the estimator is none."""
    made = make_estimator(cell.analysis.estimator, seed=0, **cell.analysis.estimator_options)
    if not isinstance(made, Probe) or set(made.members) & set(CURVED_MEMBERS):
        return CURVED, CURVED
    more = 1 + DISCRIMINANT * (len(made.members) - 2)
    price = replace(LINEAR, call=more * LINEAR.call, row=more * LINEAR.row)
    return price, price


def estimate_memory(cell: Cell, analysed: Dataset) -> float:
    """Rough bytes of the process of one cell: its libraries, and the states and inputs of the positions analysed."""
    numbers = hidden_size(cell) + input_size(cell, analysed)
    return IDLE + COPIES * 4 * float(lengths_of(cell, analysed).sum()) * numbers


def estimate_report_seconds(cells: Sequence[Cell]) -> float:
    """Rough seconds of the tables and figures of a study, on two cores of this machine."""
    groups = {tuple(value for name, value in cell.labels.items() if name != "seed") for cell in cells}
    data = {cell.data_name for cell in cells}
    return (REPORT_DATA * len(data) + REPORT_GROUP * len(groups)) * _slowness()


def _kind(cell: Cell) -> tuple[str, str]:
    return cell.data_name, cell.classifier.encoder


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
