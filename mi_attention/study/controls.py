"""What a cell does on declared seeds only, being as dear as the cell itself: control models and refitted nulls."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

import numpy as np
import pandas as pd

from mi_attention.agreement import align_positions, make_target
from mi_attention.agreement.model_controls import ControlModel
from mi_attention.data import Dataset, Sequences
from mi_attention.estimators.permutation import permutation_test
from mi_attention.interface import AttentionRecord, MIEstimator
from mi_attention.models import AttentionClassifier, TrainedClassifier, train
from mi_attention.study.grid import Cell

__all__ = ["NULL_COLUMNS", "control_models", "refitted_nulls"]

Models: TypeAlias = dict[ControlModel, TrainedClassifier]

NULL_COLUMNS = ("unit", "unit_index", "output", "state", "nats", "observed", "null_95", "p", "draws", "reason")


def control_models(cell: Cell, trained: TrainedClassifier, source: Dataset) -> Models:
    """The control models of a cell.

    ``untrained`` has the initial weights of the same seed; ``uniform`` is trained the same way with its attention
    fixed at uniform; ``shuffled`` on labels of the training and dev split permuted within each split.

    Args:
        cell: The cell; ``cell.analysis.controls`` names them.
        trained: Its own model.
        source: The data trained on.

    Returns:
        Name → model. A cell whose own attention is uniform has no such control.
    """
    found: Models = {}
    for name in cell.analysis.controls:
        if name == "untrained":
            model = AttentionClassifier.from_dataset(source, cell.classifier, cell.training.seed)
            found[name] = replace(trained, model=model.eval())
        elif name == "uniform" and cell.classifier.normalizer != "uniform":
            fixed = {"normalizer": "uniform", "normalizer_options": {}, "temperature": 1.0}
            classifier = type(cell.classifier).model_validate(cell.classifier.model_dump() | fixed)
            found[name] = train(source, classifier, cell.training)
        elif name == "shuffled":
            found[name] = train(_shuffled(source, cell.training.seed), cell.classifier, cell.training)
    return found


def _shuffled(source: Dataset, seed: int) -> Dataset:
    rng = np.random.default_rng([seed, 7])

    def permuted(split: Sequences | None) -> Sequences | None:
        return None if split is None else replace(split, label=rng.permutation(split.label))

    # The test split keeps its labels: nothing is trained on them.
    return replace(source, train=permuted(source.train), dev=permuted(source.dev))


def refitted_nulls(record: AttentionRecord, cell: Cell, estimator: MIEstimator) -> pd.DataFrame:
    """Label permutations at every position, the estimator fitted anew under each.

    Args:
        record: The record.
        cell: Its cell; ``cell.analysis.refitted_nulls`` is the number of permutations.
        estimator: That of the profiles.

    Returns:
        One row a position, columns ``NULL_COLUMNS``: its information in ``nats``, the signed held-out value tested
        (``observed``), the 95 % quantile of the null, and p; a position whose ``observed`` does not exceed the
        quantile is uninformative. Undefined ones have a ``reason``.
    """
    analysis = cell.analysis
    target = make_target(record, analysis.output)
    alignment = align_positions(record, bins=analysis.bins)
    rows = []
    for u, name in enumerate(alignment.names):
        unit = alignment.unit(record, u, target.values)
        row = {"unit": name, "unit_index": u, "output": target.name, "state": "hidden"}
        instances = len(unit.y) if unit.groups is None else len(np.unique(unit.groups))
        if instances < analysis.minimum:
            rows.append(row | {"reason": f"fewer than {analysis.minimum} instances"})
            continue
        found = permutation_test(
            estimator, unit.x, unit.y, unit.groups, permutations=analysis.refitted_nulls, seed=cell.training.seed
        )
        rows.append(
            row
            | {
                "nats": found.estimate.nats,
                "observed": found.observed,
                "null_95": found.quantile,
                "p": found.p,
                "draws": float(len(found.null)),
                "reason": found.reason,
            }
        )
    numbers = dict.fromkeys(("nats", "observed", "null_95", "p", "draws"), np.float64)
    return pd.DataFrame(rows, columns=list(NULL_COLUMNS)).astype(numbers)
