"""The cells of a study: every combination, each with a key that depends on all that can change its numbers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mi_attention.models.config import ClassifierConfig, TrainingConfig
from mi_attention.study.config import DataConfig, MeasureConfig, StudyConfig

__all__ = ["CELL_COLUMNS", "Cell", "cells_of"]

# Raised when the same configuration would give other numbers: stored cells of an older format are not reused.
FORMAT = 3
PACKAGES = ("mi-attention", "torch", "numpy", "scipy", "scikit-learn", "entmax")

CELL_COLUMNS = ("data", "encoder", "score", "normalizer", "temperature", "freeze", "seed")


class Cell(BaseModel):
    """One training run and its analysis."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    data: DataConfig
    data_name: str
    fingerprint: str
    training_fingerprint: str = Field(default="", description="Of the data trained on, where they are others")
    score: str
    normalizer: str
    classifier: ClassifierConfig
    training: TrainingConfig
    analysis: MeasureConfig
    key: str = Field(default="", description="Hash of all that can change the numbers; the cell's file is named by it")

    @property
    def labels(self) -> dict[str, Any]:
        """The cell's values of ``CELL_COLUMNS``."""
        return {
            "data": self.data_name,
            "encoder": self.classifier.encoder,
            "score": self.score,
            "normalizer": self.normalizer,
            "temperature": self.classifier.temperature,
            "freeze": self.training.freeze,
            "seed": self.training.seed,
        }

    def with_key(self) -> Cell:
        """The cell with the hash of its configuration, its data's content, and the versions it is computed with."""
        facts = {
            "format": FORMAT,
            "versions": _versions(),
            "fingerprint": self.fingerprint,
            "training_fingerprint": self.training_fingerprint,
            "classifier": self.classifier.model_dump(mode="json"),
            "training": self.training.model_dump(mode="json"),
            "analysis": self.analysis.model_dump(mode="json"),
        }
        text = json.dumps(facts, sort_keys=True, separators=(",", ":"))
        return self.model_copy(update={"key": hashlib.sha256(text.encode("utf-8")).hexdigest()[:32]})

    def __str__(self) -> str:
        """``sst2 mlp additive softmax 1 seed 0``."""
        labels = {name: value for name, value in self.labels.items() if (name, value) != ("freeze", "none")}
        return " ".join(f"{value:g}" if isinstance(value, float) else str(value) for value in labels.values())


def cells_of(study: StudyConfig, fingerprints: Mapping[int, tuple[str, str, str]]) -> list[Cell]:
    """Every cell of a study, in the order of the lists of its file, seeds innermost.

    Args:
        study: The study.
        fingerprints: Index of each data source in ``study.data`` → (name in the tables, fingerprint, fingerprint of
            the data trained on or ``""`` where they are the same).

    Returns:
        The cells; a normaliser that does not depend on temperature (``uniform``) stands once.

    Raises:
        ValueError: for a combination that no model can be, naming it.
    """
    cells: dict[str, Cell] = {}
    grid = study.model
    for index, (name, fingerprint, trained_on) in fingerprints.items():
        for encoder in grid.encoder:
            for score in grid.score:
                for normalizer in grid.normalizer:
                    for temperature in grid.temperatures(normalizer):
                        options = score.options
                        query = options.pop("query", grid.query)
                        facts = {
                            "encoder": encoder,
                            "units": grid.units,
                            "embedding_size": grid.embedding_size,
                            "pretrained": grid.pretrained,
                            "train_embeddings": grid.train_embeddings,
                            "score": score.name,
                            "score_options": options,
                            "query": query,
                            "normalizer": normalizer.name,
                            "normalizer_options": normalizer.options,
                            "temperature": temperature,
                        }
                        classifier = _classifier(facts)
                        for training in _trainings(study):
                            unkeyed = Cell(
                                data=study.data[index],
                                data_name=name,
                                fingerprint=fingerprint,
                                training_fingerprint=trained_on,
                                score=str(score),
                                normalizer=str(normalizer),
                                classifier=classifier,
                                training=training,
                                analysis=study.analysis.measured_on(training.seed, study.seeds[0]),
                            )
                            cell = unkeyed.with_key()
                            cells[cell.key] = cell
    return list(cells.values())


def _classifier(facts: dict[str, Any]) -> ClassifierConfig:
    try:
        return ClassifierConfig.model_validate(facts)
    except ValidationError as error:
        problems = "; ".join(str(problem["msg"]).removeprefix("Value error, ") for problem in error.errors())
        where = f"encoder {facts['encoder']!r}, score {facts['score']!r}, normalizer {facts['normalizer']!r}"
        raise ValueError(f"model of {where} at temperature {facts['temperature']}: {problems}") from error


def _trainings(study: StudyConfig) -> list[TrainingConfig]:
    shared = study.training.model_dump(exclude={"freeze"})
    return [
        TrainingConfig(**shared, freeze=freeze, seed=seed) for freeze in study.training.freeze for seed in study.seeds
    ]


@cache
def _versions() -> dict[str, str]:
    # Looked up anew, the versions are most of the time that a study of 10⁵ cells takes to list them.
    return {name: version(name) for name in PACKAGES}
