"""What a script of ``analyses/`` claims, as data: which rows decide, in which direction, and what difference matters.

A claim is written into a file before the runs it is settled on exist, and ``declare_claims`` writes down when. It asks
one of three things of the estimates of the runs, seed by seed:

- ``contrasts`` of a ``factor``: first level minus second, in every combination of the other factors
  (``"normalizer at temperature"`` is two factors at once, with levels such as ``"softmax at 1"``);
- ``along`` a factor whose levels are numbers: the slope on their logarithm;
- neither: the estimate itself, minus ``reference``.

In all three ``minus`` first subtracts another row of the same cells, for example that of the mechanical baseline.
"""

from __future__ import annotations

import hashlib
import json
import os
import tomllib
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from mi_attention.report import atomic_path
from mi_attention.study.families import Level

__all__ = [
    "MAIN",
    "Claim",
    "Contrasted",
    "Direction",
    "Grouping",
    "Question",
    "RowKey",
    "declare_claims",
    "load_claims",
]

Grouping: TypeAlias = Literal["variant", "data", "encoder", "score", "normalizer", "temperature", "freeze"]
Contrasted: TypeAlias = Grouping | Literal["normalizer at temperature"]
Direction: TypeAlias = Literal["greater", "less", "different", "equivalent"]

MAIN = "main"
"""In a row key: the name of the output that the study asked for."""

_DECLARED = "claims.json"


class _Frozen(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class RowKey(_Frozen):
    """Which rows of the tables of a study; ``output`` may hold ``main``."""

    estimand: str
    measure: str
    order: str = ""
    output: str = ""
    state: str = ""

    def replaced(self, changes: Mapping[str, str]) -> RowKey:
        """The key with some entries changed."""
        return self.model_copy(update=dict(changes))

    def of(self, output: str) -> tuple[str, str, str, str, str]:
        """The key as the tables of a study have it that asked for ``output``."""
        words = [output if word == MAIN else word for word in self.output.split(" ")]
        return self.estimand, self.measure, self.order, " ".join(words), self.state


class Claim(_Frozen):
    """One claim; all its contrasts are one family, corrected by Holm's method."""

    claim: str = Field(min_length=1, description="What is claimed, in words, without full stop")
    studies: tuple[str, ...] = Field(min_length=1, description="Study files whose runs decide")
    row: RowKey = Field(description="Rows whose estimates decide")
    minus: dict[str, str] = Field(default_factory=dict, description="Entries of the row that is subtracted first")
    factor: Contrasted | None = None
    contrasts: tuple[tuple[Level, Level], ...] = ()
    along: Grouping | None = None
    reference: float = Field(default=0.0, description="What the estimate is held against")
    where: dict[Grouping, tuple[Level, ...]] = Field(default_factory=dict, description="Levels kept")
    average: tuple[Grouping, ...] = Field(default=(), description="Factors averaged over, seed by seed")
    direction: Direction
    matters: float = Field(gt=0, description="Smallest difference that would matter, fixed beforehand")
    alpha: float = Field(default=0.05, gt=0, lt=0.5)
    controls: dict[str, dict[str, str]] = Field(
        default_factory=dict, description="Name → entries of the row that the same is computed of, to stand beside"
    )
    widened: str = Field(default="", description="What its studies were widened by after a first reading, in words")
    exploratory: str = Field(
        default="", description="Why it counts as exploratory wherever it is settled: when it was thought of, in words"
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.factor is None) != (not self.contrasts):
            raise ValueError(f"claim {self.claim!r}: factor and contrasts belong together; give both or neither")
        if self.factor is not None and self.along is not None:
            raise ValueError(f"claim {self.claim!r}: give contrasts of a factor, or along, not both")
        moved = self.factor.split(" at ") if self.factor else []
        twice = [name for name in moved if name in self.average or name in self.where]
        twice += [name for name in (self.along,) if name in self.average]
        if twice:
            raise ValueError(f"claim {self.claim!r}: {twice[0]!r} cannot stand in where or average as well")
        if self.reference and (self.factor or self.along):
            raise ValueError(f"claim {self.claim!r}: a reference is for estimates; a contrast or a slope has 0")
        for changes in (self.minus, *self.controls.values()):
            unknown = set(changes) - set(RowKey.model_fields)
            if unknown:
                known = ", ".join(RowKey.model_fields)
                raise ValueError(f"claim {self.claim!r}: a row has no entry {sorted(unknown)[0]!r}; it has {known}")
        return self


class Question(_Frozen):
    """What one script settles."""

    title: str
    question: str = Field(description="What is asked, in words")
    doubt: str = Field(description="What would change the answer, and how it may be read wrongly")
    caption: str = Field(default="", description="What the figure shows, in words")
    conclusion: str = Field(default="", description="What came of it, in words without a number", pattern=r"^[^0-9]*$")
    claims: tuple[Claim, ...] = Field(min_length=1)

    @property
    def studies(self) -> tuple[str, ...]:
        """Study files of all claims, each once."""
        return tuple(dict.fromkeys(name for claim in self.claims for name in claim.studies))


def load_claims(path: str | os.PathLike[str]) -> dict[str, Question]:
    """Read the claims of all scripts.

    Args:
        path: A TOML file with one table a script. Tables ``rows`` and ``controls`` hold row keys and sets of controls
            that claims may call by name.

    Returns:
        Name of the script → what it settles.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: naming the script, the key and the value.
    """
    file = Path(path)
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{file} is not TOML: {error}") from error
    named = {"row": content.pop("rows", {}), "controls": content.pop("controls", {})}
    found = {}
    for name, table in content.items():
        try:
            found[name] = Question.model_validate(_spelled_out(table, named))
        except ValidationError as error:
            problems = [f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}" for problem in error.errors()]
            raise ValueError(f"{file}: {name}: " + "; ".join(problems)) from error
    return found


def _spelled_out(table: Any, named: Mapping[str, Mapping[str, Any]]) -> Any:
    """The table with rows and controls in place of their names; an unknown name is left, to be refused."""
    if not isinstance(table, dict) or not isinstance(table.get("claims"), list):
        return table
    claims = []
    for claim in table["claims"]:
        kept = dict(claim)
        for key, known in named.items():
            if isinstance(kept.get(key), str):
                kept[key] = known.get(kept[key], kept[key])
        claims.append(kept)
    return table | {"claims": claims}


def declare_claims(
    claims: Mapping[str, Question], directory: str | os.PathLike[str], finished: Mapping[str, int]
) -> dict[str, str]:
    """Write down claims that the folder of the runs does not know yet, with the number of their cells finished by then.

    Args:
        claims: Name of the script → what it settles.
        directory: Folder of the runs.
        finished: Study file → cells of it finished in the folder; a file that is not named has none.

    Returns:
        Words of a claim → ``"confirmatory"``, or ``"exploratory"`` with the reason.

    Raises:
        ValueError: if the file is damaged.
    """
    path = Path(directory) / _DECLARED
    try:
        known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    except ValueError as error:
        raise ValueError(f"{path} is damaged ({error}); restore it, it says what was claimed when") from error
    now = datetime.now(UTC).isoformat(timespec="seconds")
    current = {_digest(claim): claim for question in claims.values() for claim in question.claims}
    new = {
        digest: {
            "claim": claim.claim,
            "finished": sum(finished.get(study, 0) for study in claim.studies),
            "written": now,
        }
        for digest, claim in current.items()
        if digest not in known
    }
    if new:
        with atomic_path(path) as temporary:
            temporary.write_text(json.dumps(known | new, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return {claim.claim: _status(claim, int((known | new)[digest]["finished"])) for digest, claim in current.items()}


def _status(claim: Claim, finished: int) -> str:
    if claim.exploratory:
        return f"exploratory: {claim.exploratory}"
    if finished:
        return f"exploratory: claimed when {finished} of its cells were finished"
    return f"confirmatory, but {claim.widened}" if claim.widened else "confirmatory"


def _digest(claim: Claim) -> str:
    # Not what is said of its history: that changes nothing of what is claimed.
    text = json.dumps(
        claim.model_dump(mode="json", exclude={"exploratory", "widened"}), sort_keys=True, ensure_ascii=False
    )
    return hashlib.sha256(text.encode()).hexdigest()[:32]
