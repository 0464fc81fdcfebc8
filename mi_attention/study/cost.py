"""How long a cell will take, said before a study starts."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from mi_attention.data import Dataset
from mi_attention.study.grid import Cell

__all__ = ["estimate_report_seconds", "estimate_seconds"]

# Seconds, on a core that does the reference product in REFERENCE_SECONDS: a position trained on for one epoch,
# and a position analysed. Fitted to the cells of the default study and of one on SST-2.
TRAIN = {"embedding": 1.2e-5, "mlp": 1.5e-5, "cnn": 3.0e-5, "bilstm": 5.0e-5}
ANALYSE = 2.2e-4
FIXED = 3.0
# Tables and figures at the end: for each data set and each combination of settings.
REPORT_DATA, REPORT_GROUP = 6.0, 0.6
REFERENCE_SECONDS = 0.0055


def estimate_seconds(cell: Cell, dataset: Dataset) -> float:
    """Rough seconds of one cell on one core of this machine; early stopping may make it less.

    Args:
        cell: The cell.
        dataset: Its data.

    Returns:
        Seconds, to be trusted to a factor of about two.
    """
    classifier, splits = cell.classifier, dataset.splits
    trained = int(splits["train"].offsets[-1]) if "train" in splits else 0
    analysed = sum(int(splits[name].offsets[-1]) for name in cell.analysis.splits if name in splits)
    width = (classifier.units / 64) ** 0.7
    train = TRAIN.get(classifier.encoder, TRAIN["bilstm"]) * trained * cell.training.epochs * width
    return float((FIXED + train + ANALYSE * analysed * width) * _slowness())


def estimate_report_seconds(cells: Sequence[Cell]) -> float:
    """Rough seconds of the tables and figures of a study, on two cores of this machine."""
    groups = {tuple(value for name, value in cell.labels.items() if name != "seed") for cell in cells}
    data = {cell.data_name for cell in cells}
    return (REPORT_DATA * len(data) + REPORT_GROUP * len(groups)) * _slowness()


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
