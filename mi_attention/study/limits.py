"""What information a state could have been seen to hold at all, at the number of instances that a study has."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mi_attention.estimators import class_entropy, detection_limit, make_estimator
from mi_attention.models import AttentionClassifier
from mi_attention.report import read_table, write_table
from mi_attention.study.cell import load_data
from mi_attention.study.collection import Member
from mi_attention.study.grid import Cell
from mi_attention.study.run import Plan

__all__ = ["LIMIT_COLUMNS", "study_limits"]

LIMIT_COLUMNS = ("data", "variant", "encoder", "width", "n", "nats", "share", "reason")
DRAWS = 10


def study_limits(
    members: Sequence[Member], plans: Mapping[str, Plan], directory: str | os.PathLike[str]
) -> pd.DataFrame:
    """Detection limit of the information of one state of each instance about the gold label, by the study's estimator.

    The limit depends on the labels, on how many instances the splits analysed have, and on how wide the states are; the
    states themselves do not enter. See ``estimators.detection_limit``.

    Args:
        members: The studies.
        plans: Their plans.
        directory: Where limits are kept once they are known.

    Returns:
        One row a data set, variant and encoder: ``LIMIT_COLUMNS``; ``share`` is of H(label).
    """
    rows = []
    for member in members:
        done = set()
        for cell in plans[member.study.name].cells:
            kind = (cell.data_name, cell.classifier.encoder)
            if kind not in done:
                done.add(kind)
                found = _limit(cell, Path(directory))
                rows.append({"data": kind[0], "variant": member.variant, "encoder": kind[1], **found})
    frame = pd.DataFrame(rows, columns=list(LIMIT_COLUMNS))
    return frame.drop_duplicates(["data", "variant", "encoder"], ignore_index=True)


def _limit(cell: Cell, directory: Path) -> dict[str, Any]:
    dataset = load_data(cell.data)
    splits = [dataset.splits[name] for name in cell.analysis.splits if name in dataset.splits]
    label = np.concatenate([np.asarray(split.label, dtype=np.int64) for split in splits])
    width = _width(cell)
    facts = {
        "label": hashlib.sha256(label.tobytes()).hexdigest(),
        "width": width,
        "estimator": [cell.analysis.estimator, cell.analysis.model_dump(mode="json")["estimator_options"]],
        "draws": DRAWS,
        "version": version("mi-attention"),
    }
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]
    path = directory / "limits" / f"{digest}.parquet"
    if not path.exists():
        estimator = make_estimator(cell.analysis.estimator, seed=0, **cell.analysis.estimator_options)
        # Only the shape of the states matters: known dependence is planted in noise.
        noise = np.random.default_rng(0).standard_normal((len(label), width))
        found = detection_limit(estimator, noise, label, seed=0, draws=DRAWS)
        entropy = class_entropy(label)
        row = {
            "width": width,
            "n": len(label),
            "nats": found.nats,
            "share": found.nats / entropy if entropy else np.nan,
        }
        write_table(pd.DataFrame([row | {"reason": found.reason}]), path, "detection limit")
    return {str(name): value for name, value in read_table(path)[0].iloc[0].to_dict().items()}


def _width(cell: Cell) -> int:
    """H of the states, known without training anything."""
    config = cell.classifier
    source = load_data(cell.data.train_on or cell.data)
    return AttentionClassifier.from_dataset(source, config, cell.training.seed).hidden
