"""Attention of one encoder given to another: accuracies under guides, and whose order follows whose information."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd

from mi_attention.agreement import compare
from mi_attention.estimators import make_estimator
from mi_attention.interface import AttentionRecord
from mi_attention.models import train, train_guided
from mi_attention.records import record_from_classifier
from mi_attention.report import read_table, write_table
from mi_attention.study.cell import load_data, one_thread
from mi_attention.study.collection import Collection
from mi_attention.study.grid import Cell
from mi_attention.study.run import Plan

__all__ = ["transfer_runs", "transfer_values"]

RECEIVER = "mlp"
GIVER = "bilstm"


def transfer_runs(collection: Collection, plans: Mapping[str, Plan], directory: Path, workers: int = 1) -> pd.DataFrame:
    """Train the guided models of every pair of a BiLSTM and an MLP cell that differ in the encoder alone.

    Args:
        collection: Studies with both encoders and one score.
        plans: Their plans.
        directory: Folder of the runs; what is finished is kept in ``directory/transfer``.
        workers: Processes.

    Returns:
        Rows like those of ``Runs.estimates``, in the combinations of the MLP: estimand ``transfer``.
    """
    tasks = []
    for member in collection.members:
        cells = {_place(cell): cell for cell in plans[member.study.name].cells}
        for (data, encoder, seed), cell in cells.items():
            giver = cells.get((data, GIVER, seed))
            if encoder == RECEIVER and giver is not None:
                tasks.append((member, cell, giver))
    with joblib.parallel_config(backend="loky", inner_max_num_threads=1):
        jobs = (joblib.delayed(_kept)(cell, giver, directory) for _, cell, giver in tasks)
        found: list[pd.DataFrame] = joblib.Parallel(n_jobs=max(workers, 1))(jobs)
    frames = []
    for (member, cell, _), frame in zip(tasks, found, strict=True):
        facts = {"study": member.source, "variant": member.variant, "main": "prediction"}
        frames.append(frame.assign(**facts, **cell.labels))
    return pd.concat(frames, ignore_index=True)


def _place(cell: Cell) -> tuple[str, str, int]:
    return cell.data_name, cell.classifier.encoder, cell.training.seed


def transfer_values(receiver: Cell, giver: Cell) -> pd.DataFrame:
    """One seed: test accuracies of the receiver under each guide, and agreement with the information of its states.

    Args:
        receiver: Cell of the model that is given attention.
        giver: Cell of the model whose attention is given; of the same data and seed.

    Returns:
        ``estimand``, ``measure``, ``order``, ``output``, ``state``, ``estimate``, ``unit``. ``test_accuracy`` of the
        receiver ``guided by the BiLSTM``, ``guided by itself`` (by an MLP trained before with attention of its own) and
        ``guided by uniform``, of the receiver with attention of its own and of the giver; ``kendall_tau_b``, inside
        instances, of each attention with the pointwise information of each model's states about the label.
    """
    dataset, config = load_data(receiver.data), receiver.classifier
    own = train(dataset, config, receiver.training)
    given = train(dataset, giver.classifier, giver.training)
    even = config.model_copy(update={"normalizer": "uniform", "normalizer_options": {}, "temperature": 1.0})
    accuracies = {
        "own attention": own,
        "the BiLSTM": given,
        "guided by the BiLSTM": train_guided(dataset, config, receiver.training, given.model),
        "guided by itself": train_guided(dataset, config, receiver.training, own.model),
        "guided by uniform": train(dataset, even, receiver.training),
    }
    rows: list[dict[str, Any]] = []
    for order, trained in accuracies.items():
        accuracy = np.nan if trained.test is None else trained.test.accuracy
        rows.append({"measure": "test_accuracy", "order": order, "estimate": accuracy, "unit": "share"})
    splits = [name for name in receiver.analysis.splits if name in dataset.splits]
    models = {"MLP": own, "BiLSTM": given}
    records = {name: record_from_classifier(model, dataset, splits, embedding=False) for name, model in models.items()}
    for states, record in records.items():
        for attention, other in records.items():
            tau = _tau(replace(record, attention=other.attention), receiver)
            suffix = "" if states == "MLP" else ", states of the BiLSTM"
            order = f"attention of the {attention}{suffix}"
            rows.append({"measure": "kendall_tau_b", "order": order, "estimate": tau, "unit": "tau"})
    frame = pd.DataFrame(rows).assign(estimand="transfer")
    about = frame["measure"] == "kendall_tau_b"
    return frame.assign(output=np.where(about, "label", ""), state=np.where(about, "hidden", ""))


def _tau(record: AttentionRecord, cell: Cell) -> float:
    analysis = cell.analysis
    estimator = make_estimator(analysis.estimator, seed=cell.training.seed, **analysis.estimator_options)
    found = compare(
        record,
        "label",
        estimator=estimator,
        alignments=["instance"],
        minimum=analysis.minimum,
        null_draws=19,
        seed=cell.training.seed,
    ).table
    wanted = {"estimand": "pointwise", "measure": "kendall_tau_b", "order": "informativeness", "output": "label"}
    for name, value in wanted.items():
        found = found[found[name] == value]
    chosen = found.loc[found["state"] == "hidden", "estimate"]
    return float(chosen.iloc[0])


def _kept(receiver: Cell, giver: Cell, directory: Path) -> pd.DataFrame:
    """The values of one seed, from the folder where they are there."""
    facts = [receiver.key, giver.key, version("mi-attention")]
    path = directory / "transfer" / f"{hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:32]}.parquet"
    if not path.exists():
        with one_thread():
            values = transfer_values(receiver, giver)
        write_table(values, path, f"transfer {receiver.key} {giver.key}")
    return read_table(path)[0]
