"""How long a cell will take, said before a study starts."""

from __future__ import annotations

import time
from functools import lru_cache

import numpy as np

from mi_attention.data import Dataset
from mi_attention.study.grid import Cell

__all__ = ["estimate_seconds"]

# Seconds, on a core that does the reference product in REFERENCE_SECONDS: a position trained on for one epoch,
# and a position analysed. Measured by tests/benchmarks/study_cost.py.
TRAIN = {"embedding": 1.0e-6, "mlp": 1.5e-6, "cnn": 6.0e-6, "bilstm": 1.2e-5}
ANALYSE = 6.0e-5
FIXED = 1.5
REFERENCE_SECONDS = 0.012


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
