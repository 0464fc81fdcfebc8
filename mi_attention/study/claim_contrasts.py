"""Which combinations of the factors a claim compares with which."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias, get_args

from mi_attention.study.claims import Claim, Grouping
from mi_attention.study.families import Level

__all__ = ["GROUPING", "ClaimContrast", "Combination", "claim_contrasts", "level_of", "show_level"]

GROUPING: tuple[str, ...] = get_args(Grouping)

_AT = " at "

Combination: TypeAlias = tuple[Level, ...]
"""Levels of the factors of ``GROUPING``, in their order."""


@dataclass(frozen=True)
class ClaimContrast:
    """One contrast of a claim before it is measured.

    Attributes:
        name: Its levels and where it is.
        pair: Its levels alone, as they are called; empty where nothing is compared.
        labels: Level of every factor, ``"averaged"``, ``"contrasted"``, or empty where no combination has it.
        sides: Combinations averaged over, side by side in one order: two sides of a difference, one a level of a slope,
            one of an estimate; none where no run has the levels declared.
        levels: Of a slope.
    """

    name: str
    pair: str
    labels: dict[str, str]
    sides: tuple[tuple[Combination, ...], ...]
    levels: tuple[float, ...] = ()


def claim_contrasts(
    claim: Claim, combinations: Sequence[Combination], average: Sequence[str] | None = None
) -> list[ClaimContrast]:
    """Every contrast of a claim over the combinations that have runs.

    Args:
        claim: The claim.
        combinations: What there is.
        average: Factors averaged over; by default the claim's.

    Returns:
        The contrasts: one a pair of levels (or slope, or estimate) and combination of the factors not averaged over. A
        pair that no combination has stands once, without sides, so that it is not forgotten.

    Raises:
        ValueError: if a level of a slope is no positive number.
    """
    averaged = claim.average if average is None else average
    moved = claim.factor or claim.along
    others = [name for name in GROUPING if name not in _parts(moved) and name not in averaged]
    kept = [
        combination
        for combination in combinations
        if all(level_of(combination, name) in levels for name, levels in claim.where.items())
    ]
    varying = [name for name in others if len({level_of(combination, name) for combination in kept}) > 1]
    groups: dict[Combination, list[Combination]] = {}
    for combination in kept:
        groups.setdefault(tuple(level_of(combination, name) for name in others), []).append(combination)
    found: list[ClaimContrast] = []
    missing = {f"{show_level(first)} − {show_level(second)}" for first, second in claim.contrasts}
    for shared, members in groups.items():
        labels = dict.fromkeys(GROUPING, "averaged") | dict(zip(others, map(show_level, shared), strict=True))
        labels |= dict.fromkeys(_parts(moved), "contrasted")
        where = ", ".join(labels[name] for name in varying)
        for name, levels in _pairs(claim, members):
            sides = _matched(members, moved, levels) if moved else (tuple(members),)
            if sides[0]:
                missing.discard(name)
                title = f"{name} ({where})" if name and where else name or where or "all"
                numbers = tuple(_number(level, moved) for level in levels) if claim.along and moved else ()
                found.append(ClaimContrast(title, name, labels, sides, numbers))
    return found + [ClaimContrast(name, name, dict.fromkeys(GROUPING, ""), ()) for name in sorted(missing)]


def level_of(combination: Combination, factor: str) -> Level:
    """Level of one factor, or of two at once."""
    levels = [combination[GROUPING.index(part)] for part in _parts(factor)]
    return levels[0] if len(levels) == 1 else _AT.join(map(show_level, levels))


def show_level(level: Level) -> str:
    """A level as the tables show it."""
    return f"{level:g}" if isinstance(level, float) else str(level)


def _parts(factor: str | None) -> list[str]:
    """The factors that move together."""
    return factor.split(_AT) if factor else []


def _pairs(claim: Claim, members: Sequence[Combination]) -> Iterator[tuple[str, tuple[Level, ...]]]:
    """Names and levels of what is compared: pairs of a factor, all levels of a slope, or nothing."""
    if claim.along is not None:
        along = claim.along
        different = sorted({level_of(member, along) for member in members}, key=str, reverse=True)
        levels = sorted(different, key=lambda level: _number(level, along))
        if len(levels) > 1:
            yield f"along {along}", tuple(levels)
    elif claim.factor is not None:
        for first, second in claim.contrasts:
            yield f"{show_level(first)} − {show_level(second)}", (first, second)
    else:
        yield "", ()


def _number(level: Level, factor: str) -> float:
    try:
        value = float(level)
    except ValueError as error:
        raise ValueError(f"a slope along {factor} needs levels that are numbers, got {level!r}") from error
    if not value > 0:
        raise ValueError(f"a slope along {factor} is on log levels; {level!r} is not positive")
    return value


def _matched(
    members: Sequence[Combination], factor: str, levels: Sequence[Level]
) -> tuple[tuple[Combination, ...], ...]:
    """For every level the combinations that differ from one another in the factor alone and exist at all levels."""
    rest = [name for name in GROUPING if name not in _parts(factor)]
    by_rest: dict[Combination, dict[str, Combination]] = {}
    for member in members:
        same = tuple(level_of(member, name) for name in rest)
        by_rest.setdefault(same, {})[show_level(level_of(member, factor))] = member
    wanted = [show_level(level) for level in levels]
    complete = [found for found in by_rest.values() if all(name in found for name in wanted)]
    return tuple(tuple(found[name] for found in complete) for name in wanted)
