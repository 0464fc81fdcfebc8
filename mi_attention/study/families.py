"""Contrasts declared before a study runs: which levels of a factor against which, on what, tested how.

A family is part of the study's file. It is expanded over the grid into its contrasts when the file is read, so
that a family that could never reject is refused before anything is trained.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, model_validator

__all__ = ["Contrast", "Estimand", "Factor", "Family", "Level", "expand", "names_differ", "require_seeds"]

Factor: TypeAlias = Literal["data", "encoder", "score", "normalizer", "temperature", "freeze"]
Estimand: TypeAlias = Literal[
    "pointwise",
    "instance",
    "position",
    "token",
    "rank",
    "erasure",
    "concentration",
    "training",
    "preservation",
    "redundancy",
    "contextualisation",
    "geometry",
    "rationale",
]
Level: TypeAlias = float | str

# What a family is about where it does not say: (measure, order, state).
_DEFAULTS: dict[str, tuple[str, str, str]] = {
    "pointwise": ("kendall_tau_b", "informativeness", "hidden"),
    "erasure": ("area", "informativeness minus attention", "hidden"),
    "concentration": ("normalized_skew", "attention", ""),
    "training": ("test_accuracy", "", ""),
    "preservation": ("attended_excess", "mutual information", "hidden"),
    "redundancy": ("unique_share", "mutual information", "hidden"),
    "contextualisation": ("embedding_gap_share", "mutual information", "hidden minus embedding"),
    "geometry": ("conicity", "", "hidden"),
    "rationale": ("auc", "attention", ""),
}
# Estimands that are about another output than the one asked for, or about none, where a family does not say.
_ABOUT = {"redundancy": "label", "geometry": "", "rationale": ""}
_OF_PROFILES = ("kendall_tau_b", "mutual information", "hidden")


class Family(BaseModel):
    """One confirmatory family: contrasts corrected together by Holm's method.

    Every pair of levels is compared in every combination of the other factors, one contrast each; factors named in
    ``average`` are averaged over first, and ``where`` keeps some levels of the others.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(min_length=1, description="Name in the tables")
    claim: str = Field(default="", description="What it would show, in words")
    factor: Factor = Field(description="What differs between the two sides of a contrast")
    contrasts: tuple[tuple[Level, Level], ...] = Field(min_length=1, description="Pairs of levels, first minus second")
    where: dict[Factor, tuple[Level, ...]] = Field(default_factory=dict, description="Levels kept of other factors")
    average: tuple[Factor, ...] = Field(default=(), description="Factors averaged over, seed by seed")
    estimand: Estimand = "pointwise"
    measure: str = Field(default="", description="Measure of the estimand; tau-b by default")
    order: str = Field(default="", description="Order that attention is compared with")
    output: str = Field(default="", description="Output of the row; the output asked for by default")
    state: str = Field(default="", description="hidden or embedding")
    test: Literal["difference", "equivalence"] = "difference"
    margin: float | None = Field(default=None, gt=0, description="Largest difference that is none, for equivalence")
    alpha: float = Field(default=0.05, gt=0, lt=1, description="Family-wise error rate")

    @model_validator(mode="before")
    @classmethod
    def _lists(cls, value: Any) -> Any:
        if isinstance(value, dict) and isinstance(value.get("where"), dict):
            where = {
                name: [kept] if isinstance(kept, (str, float, int)) else kept for name, kept in value["where"].items()
            }
            value = value | {"where": where}
        return value

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.test == "equivalence") != (self.margin is not None):
            raise ValueError(
                f"family {self.name!r}: test = {self.test!r} "
                + ("needs a margin" if self.margin is None else "has none")
                + "; an equivalence has a margin fixed beforehand, a difference does not"
            )
        twice = [name for name in (*self.where, *self.average) if name == self.factor]
        twice += [name for name in self.average if name in self.where and len(self.where[name]) < 2]
        if twice:
            raise ValueError(f"family {self.name!r}: {twice[0]!r} cannot stand in where or average as well")
        pairs = [frozenset(map(str, pair)) for pair in self.contrasts]
        if len(set(pairs)) < len(pairs) or any(len(pair) < 2 for pair in pairs):
            raise ValueError(f"family {self.name!r}: contrasts must be different pairs of different levels")
        return self

    def row_key(self, output: str) -> tuple[str, str, str, str, str]:
        """Estimand, measure, order, output and state of the rows compared; ``output`` is the one asked for."""
        measure, order, state = _DEFAULTS.get(self.estimand, _OF_PROFILES)
        about = self.output or _ABOUT.get(self.estimand, output)
        if self.estimand in ("concentration", "training"):
            about = ""
        return self.estimand, self.measure or measure, self.order or order, about, self.state or state


@dataclass(frozen=True)
class Contrast:
    """One comparison of a family.

    Attributes:
        name: Levels, and the combination of the other factors they are compared in.
        first: Combinations (factor → level) averaged over on the first side.
        second: The same on the second side, in the same order.
        shared: Levels of the other factors, those averaged over left out.
    """

    name: str
    first: tuple[dict[str, Level], ...]
    second: tuple[dict[str, Level], ...]
    shared: dict[str, Level]


def expand(family: Family, grid: Sequence[Mapping[str, Any]]) -> list[Contrast]:
    """The contrasts of a family over the combinations of a study.

    Args:
        family: The family.
        grid: Combinations of the study, factor → level, without seeds.

    Returns:
        The contrasts, pairs in the order of the file, combinations in the order of the grid.

    Raises:
        ValueError: if a level is not in the study, or no combination has both levels.
    """
    named: list[tuple[str, Level]] = [(family.factor, level) for pair in family.contrasts for level in pair]
    named += [(factor, level) for factor, levels in family.where.items() for level in levels]
    for factor, level in named:
        known = list(dict.fromkeys(combination[factor] for combination in grid))
        if level not in known:
            listed = ", ".join(map(str, known))
            raise ValueError(f"family {family.name!r}: {factor} {level!r} is not in the study, which has {listed}")
    kept = [
        combination for combination in grid if all(combination[name] in levels for name, levels in family.where.items())
    ]
    others = [name for name in (grid[0] if grid else ()) if name not in (family.factor, *family.average)]
    varying = [name for name in others if len({combination[name] for combination in kept}) > 1]
    found = []
    for first, second in family.contrasts:
        sides: dict[tuple[Level, ...], tuple[dict[Any, Any], dict[Any, Any]]] = {}
        for combination in kept:
            shared = tuple(combination[name] for name in others)
            averaged = tuple(combination[name] for name in family.average)
            for side, level in enumerate((first, second)):
                if combination[family.factor] == level:
                    sides.setdefault(shared, ({}, {}))[side][averaged] = dict(combination)
        for shared, (left, right) in sides.items():
            both = [averaged for averaged in left if averaged in right]
            if not both:
                continue
            labels = dict(zip(others, shared, strict=True))
            where = ", ".join(_show(labels[name]) for name in varying)
            found.append(
                Contrast(
                    name=f"{_show(first)} − {_show(second)}" + (f" ({where})" if where else ""),
                    first=tuple(left[averaged] for averaged in both),
                    second=tuple(right[averaged] for averaged in both),
                    shared=labels,
                )
            )
    if not found:
        raise ValueError(f"family {family.name!r}: no combination of the study has both levels of a contrast")
    return found


def require_seeds(family: Family, size: int, seeds: int) -> None:
    """Refuse a family whose smallest possible p, times its size, exceeds alpha.

    Over S seeds the smallest two-sided sign-flip p is 2^(1 − S), so Holm's correction can reject something in a family
    of at most alpha · 2^(S − 1) contrasts. Equivalence is tested by t, which has no such limit but needs two seeds.

    Args:
        family: The family.
        size: Its number of contrasts.
        seeds: Seeds of the study.

    Raises:
        ValueError: with the number of seeds it needs.
    """
    if family.test == "equivalence":
        if seeds < 2:
            raise ValueError(f"family {family.name!r}: an equivalence needs at least 2 seeds, the study has {seeds}")
        return
    # Loaded here: a study without families needs none of it to be read.
    from mi_attention.statistics import require_power

    require_power(size, seeds, family=family.name, alpha=family.alpha)


def names_differ(families: Iterable[Family]) -> None:
    """Refuse two families of one name.

    Raises:
        ValueError: naming it.
    """
    names = [family.name for family in families]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"two families are called {twice!r}; give one of them another name")


def _show(level: Level) -> str:
    return f"{level:g}" if isinstance(level, float) else str(level)
