"""A study as a TOML file: data × encoder × score × query × normaliser × temperature × seed.

The same frozen models serve Python, TOML and the command line; an unknown key is an error that suggests
the nearest known one. Loading a configuration does not load torch.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from mi_attention.models.config import Freeze, Option, QueryKind
from mi_attention.study.families import Family, expand, names_differ, require_seeds

__all__ = [
    "AnalysisConfig",
    "DataConfig",
    "MeasureConfig",
    "ModelGrid",
    "Named",
    "StudyConfig",
    "TrainingGrid",
    "load_study",
]

Split: TypeAlias = Literal["train", "dev", "test"]


class _Frozen(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Named(BaseModel):
    """A score or normaliser with options: ``{ name = "deep", depth = 3 }``; a bare name has none.

    A score may name its own query: ``{ name = "scaled_dot", query = "mean" }``.
    """

    model_config = ConfigDict(extra="allow", frozen=True)

    name: str = Field(description="Registered name")

    @model_validator(mode="before")
    @classmethod
    def _from_string(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value

    @property
    def options(self) -> dict[str, Option]:
        """Everything but the name."""
        return dict(self.__pydantic_extra__ or {})

    def __str__(self) -> str:
        """``deep(depth=3)``."""
        options = ", ".join(f"{key}={value}" for key, value in self.options.items())
        return f"{self.name}({options})" if options else self.name


class DataConfig(BaseModel):
    """One source of sequences: a registered ``name`` or a file ``path``; every other key is an option of it.

    With ``train_on``, another source, the model is trained on that one and analysed on this one, which may then have
    a test split only; its texts are encoded with the vocabulary and the classes of the other.
    """

    model_config = ConfigDict(extra="allow", frozen=True)

    name: str | None = Field(default=None, description="Registered source, such as docstrings; see `data list`")
    path: str | None = Field(default=None, description="A .jsonl, .csv or .parquet file")
    title: str | None = Field(default=None, description="Name in the tables; by default the source's own")
    train_on: DataConfig | None = Field(default=None, description="The source whose splits train the model")

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.name is None) == (self.path is None):
            raise ValueError('give name = "…" (a registered source) or path = "…" (a file), exactly one of them')
        if self.train_on is not None and self.train_on.train_on is not None:
            raise ValueError("train_on cannot itself have a train_on")
        return self

    @property
    def options(self) -> dict[str, Any]:
        """Options of the source: everything but name, path, title and train_on."""
        return dict(self.__pydantic_extra__ or {})

    @property
    def label(self) -> str:
        """What the tables will call it, as far as that is known before it is loaded."""
        return self.title or self.name or Path(self.path or "").stem


class ModelGrid(_Frozen):
    """Every combination of the lists is a cell."""

    encoder: tuple[str, ...] = Field(default=("mlp", "bilstm"), min_length=1)
    score: tuple[Named, ...] = Field(default=(Named(name="additive"),), min_length=1)
    query: QueryKind = Field(default="auto", description="For scores that do not name their own")
    normalizer: tuple[Named, ...] = Field(default=(Named(name="softmax"),), min_length=1)
    temperature: tuple[float, ...] = Field(default=(1.0,), min_length=1)
    units: int = Field(default=64, ge=1, description="Hidden size; of each direction for bilstm")
    embedding_size: int | None = Field(default=None, ge=1)
    pretrained: bool = True
    train_embeddings: bool = True

    def temperatures(self, normalizer: Named) -> tuple[float, ...]:
        """Temperatures of a normaliser: uniform attention does not depend on it and stands once."""
        return (1.0,) if normalizer.name == "uniform" else self.temperature


class TrainingGrid(_Frozen):
    """How each cell is trained; ``freeze`` may be a list and is then an axis of the grid."""

    epochs: int = Field(default=8, ge=1)
    patience: int = Field(default=3, ge=1)
    monitor: Literal["accuracy", "macro_f1", "loss"] = "accuracy"
    learning_rate: float = Field(default=1e-3, gt=0)
    weight_decay: float = Field(default=1e-5, ge=0)
    batch_size: int = Field(default=32, ge=1)
    clip_norm: float = Field(default=5.0, gt=0)
    freeze: tuple[Freeze, ...] = Field(default=("none",), min_length=1)
    device: str = "cpu"


class MeasureConfig(_Frozen):
    """What is measured in each cell."""

    output: str | int = Field(default="class", description="class, label, probability, probability:K, or a class")
    splits: tuple[Split, ...] = Field(default=("dev", "test"), min_length=1, description="Splits to analyse, pooled")
    estimator: str = Field(default="probe", description="Registered estimator for the profiles")
    estimator_options: dict[str, Option | tuple[Option, ...]] = Field(default_factory=dict)
    alignments: tuple[Literal["position", "rank", "token", "instance"], ...] = Field(
        default=("position", "rank", "token", "instance"), min_length=1
    )
    bins: int | None = Field(default=None, ge=2, description="Bins of relative position; positions when lengths agree")
    ranks: int = Field(default=5, ge=2, description="K of the profile by attention rank")
    minimum: int = Field(default=50, ge=2, description="Fewest instances of a unit whose MI is estimated")
    null_draws: int = Field(default=999, ge=19, description="Draws of every sampled null")
    confidence: float = Field(default=0.95, gt=0, lt=1)
    controls: tuple[Literal["untrained", "uniform", "shuffled"], ...] = Field(
        default=(), description="Control models, each trained and analysed beside the cell's own"
    )
    extras: tuple[Literal["preservation", "redundancy", "contextualisation", "geometry", "rationale"], ...] = Field(
        default=(), description="Further estimands, each a set of rows of that name"
    )
    refitted_nulls: int = Field(
        default=0, ge=0, description="Label permutations under which the estimator is fitted anew at every position"
    )

    @model_validator(mode="after")
    def _extras_can_be_made(self) -> Self:
        if self.extras:
            # Loaded here: a study without extras needs none of it to be read.
            from mi_attention.agreement.extras import check_extras

            check_extras(self.extras, self.alignments)
        return self


class AnalysisConfig(MeasureConfig):
    """What is measured, on which seeds what is dear, and what was declared before any of it was seen."""

    control_seeds: tuple[int, ...] = Field(default=(), description="Seeds with control models; by default the first")
    null_seeds: tuple[int, ...] = Field(default=(), description="Seeds with refitted nulls; by default the first")

    claims: tuple[str, ...] = Field(default=(), description="What the study claims, in words")
    families: tuple[Family, ...] = Field(default=(), description="Confirmatory contrasts, corrected within a family")
    exploratory: tuple[str, ...] = Field(default=(), description="What is only looked at, in words")

    @property
    def measured(self) -> MeasureConfig:
        """The part that the numbers of a cell depend on."""
        return MeasureConfig(**{name: getattr(self, name) for name in MeasureConfig.model_fields})

    def measured_on(self, seed: int, first: int) -> MeasureConfig:
        """What is measured on one seed, ``first`` being the study's first: what is dear only where it was asked for."""
        kept = self.measured
        if seed not in (self.control_seeds or (first,)):
            kept = kept.model_copy(update={"controls": ()})
        if seed not in (self.null_seeds or (first,)):
            kept = kept.model_copy(update={"refitted_nulls": 0})
        return kept

    @property
    def is_declared(self) -> bool:
        """Whether anything was declared."""
        return bool(self.claims or self.families or self.exploratory)


class StudyConfig(_Frozen):
    """A whole study."""

    name: str = Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._-]*$", description="Name of the study, of its folder and of its tables"
    )
    description: str = Field(default="", description="What it asks, printed above the tables")
    seeds: tuple[int, ...] = Field(default=(0, 1, 2), min_length=1)
    backend: str = Field(
        default="loky", description="loky (processes of this machine), or a dask scheduler: tcp://HOST:PORT or its file"
    )
    data: tuple[DataConfig, ...] = Field(min_length=1)
    model: ModelGrid = ModelGrid()
    training: TrainingGrid = TrainingGrid()
    analysis: AnalysisConfig = AnalysisConfig()

    @model_validator(mode="before")
    @classmethod
    def _lists(cls, value: Any) -> Any:
        return _listed(value) if isinstance(value, dict) else value

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        if len(set(self.seeds)) < len(self.seeds) or min(self.seeds) < 0:
            raise ValueError(f"seeds must be different and not negative, got {list(self.seeds)}")
        for name in ("control_seeds", "null_seeds"):
            unknown = set(getattr(self.analysis, name)) - set(self.seeds)
            if unknown:
                raise ValueError(f"analysis.{name} has {min(unknown)}, which is none of the seeds {list(self.seeds)}")
        return self

    @model_validator(mode="after")
    def _declared_can_be_shown(self) -> Self:
        families = self.analysis.families
        names_differ(families)
        for family in families:
            require_seeds(family, len(expand(family, self.grid())), len(self.seeds))
        return self

    def grid(self) -> list[dict[str, Any]]:
        """Combinations of the study without seeds, factor → level, by the names they have in the tables."""
        return [
            {
                "data": data.label,
                "encoder": encoder,
                "score": str(score),
                "normalizer": str(normalizer),
                "temperature": temperature,
                "freeze": freeze,
            }
            for data in self.data
            for encoder in self.model.encoder
            for score in self.model.score
            for normalizer in self.model.normalizer
            for temperature in self.model.temperatures(normalizer)
            for freeze in self.training.freeze
        ]


# A single value where a list is possible reads as a list of one.
_AXES = {
    "model": ("encoder", "score", "normalizer", "temperature"),
    "training": ("freeze",),
    "analysis": ("splits", "alignments", "claims", "exploratory", "controls", "extras", "control_seeds", "null_seeds"),
}


def _listed(value: dict[str, Any]) -> dict[str, Any]:
    value = dict(value)
    if isinstance(value.get("data"), dict):
        value["data"] = [value["data"]]
    if isinstance(value.get("seeds"), int):
        raise ValueError(
            f"seeds must be a list such as [0, 1, 2], got {value['seeds']} (write [{value['seeds']}] for one)"
        )
    for section, axes in _AXES.items():
        if isinstance(value.get(section), dict):
            value[section] = dict(value[section])
            for axis in axes:
                if axis in value[section] and not isinstance(value[section][axis], (list, tuple)):
                    value[section][axis] = [value[section][axis]]
    return value


def load_study(path: str | os.PathLike[str]) -> StudyConfig:
    """Read a study from a TOML file.

    Args:
        path: The file. Relative data paths are relative to the folder of the file.

    Returns:
        The study.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: in one line a problem, naming the key, the value and, for an unknown key, the nearest
            known one.
    """
    file = Path(path)
    if not file.exists():
        raise FileNotFoundError(f"there is no study file {file}")
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{file} is not TOML: {error}") from error
    for entry in content["data"] if isinstance(content.get("data"), list) else [content.get("data")]:
        for source in (entry, entry.get("train_on")) if isinstance(entry, dict) else ():
            for key in ("path", "vectors"):
                if isinstance(source, dict) and isinstance(source.get(key), str):
                    source[key] = str((file.parent / source[key]).resolve())
    try:
        return StudyConfig.model_validate(content)
    except ValidationError as error:
        raise ValueError(f"{file}: " + "; ".join(_explain(problem) for problem in error.errors())) from error


def _explain(problem: Any) -> str:
    place = [str(part) for part in problem["loc"]]
    if problem["type"] == "extra_forbidden":
        known = _known_keys(place[:-1])
        near = difflib.get_close_matches(place[-1], known, n=1, cutoff=0.5)
        hint = f"; did you mean {near[0]!r}?" if near else f"; known keys are {', '.join(sorted(known))}"
        return f"unknown key {'.'.join(place)!r}{hint}"
    given = problem.get("input")
    shown = f" (got {given!r})" if isinstance(given, (str, int, float, bool, list)) else ""
    message = str(problem["msg"]).removeprefix("Value error, ")
    if problem["type"] == "too_short":
        message = "must not be empty"
    if problem["type"] == "string_pattern_mismatch":
        message = "must begin with a letter or digit and hold only letters, digits, spaces and . _ -"
    return f"{'.'.join(place) or 'the file'}: {message}{shown}"


def _known_keys(section: list[str]) -> list[str]:
    if section[:2] == ["analysis", "families"]:
        return list(Family.model_fields)
    sections: dict[str, type[BaseModel]] = {"model": ModelGrid, "training": TrainingGrid, "analysis": AnalysisConfig}
    model = sections.get(section[0], StudyConfig) if section else StudyConfig
    return list(model.model_fields)
