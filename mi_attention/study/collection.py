"""Several studies in one folder that share their cells: the grid that the claims of a paper are settled on.

A collection is a folder of study files. ``grid.toml`` beside them may ask for variants of a study, in which one setting
that is no axis of a study takes several values::

    [variants.capacity]
    "model.units" = [8, 32, 128]

Files of data are looked for under a folder of the reader's own, never under a path in the collection.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mi_attention.study.config import DataConfig, StudyConfig, load_study
from mi_attention.study.run import Plan, RunResult, load_plan, plan_study, run_study, save_plan
from mi_attention.study.store import CellStore

__all__ = [
    "DATA_VARIABLE",
    "Collection",
    "Member",
    "finished_cells",
    "load_collection",
    "plan_collection",
    "run_collection",
]

DATA_VARIABLE = "MI_ATTENTION_DATA"
"""Environment variable: the folder that holds the files of data."""

VARIANTS = "grid.toml"
_CELLS = "cells"


@dataclass(frozen=True)
class Member:
    """One study of a collection.

    Attributes:
        study: The study, with the data that are there.
        source: Name of the study file's own study.
        variant: Value of the setting that tells variants apart, as text; empty for a study without variants.
    """

    study: StudyConfig
    source: str
    variant: str = ""


@dataclass(frozen=True)
class Collection:
    """What is to be run.

    Attributes:
        members: The studies, in the order of their files' names.
        missing: Data left out because their file is not there: ``"study: file"``.
    """

    members: tuple[Member, ...]
    missing: tuple[str, ...]

    def of(self, sources: Iterable[str]) -> Collection:
        """The studies of some study files.

        Raises:
            ValueError: for a name that no study file has.
        """
        wanted = tuple(sources)
        known = {member.source for member in self.members} | {text.partition(":")[0] for text in self.missing}
        for name in wanted:
            if name not in known:
                raise ValueError(f"no study is called {name!r}; there are {', '.join(sorted(known))}")
        return Collection(
            tuple(member for member in self.members if member.source in wanted),
            tuple(text for text in self.missing if text.partition(":")[0] in wanted),
        )


def load_collection(folder: str | os.PathLike[str], data: str | os.PathLike[str] | None = None) -> Collection:
    """Read all studies of a folder.

    Args:
        folder: Holds the study files; their relative paths of data are relative to ``data``.
        data: Folder of the files of data; by default that of ``MI_ATTENTION_DATA``, and without it none are there.

    Returns:
        The collection. Data sources whose file is missing are left out and listed; a study left without any is not
        among the members.

    Raises:
        ValueError: for a file that is no study, two studies of one name, or variants of a study that is not there.
        FileNotFoundError: if there is no such folder.
    """
    root = Path(folder).resolve()
    if not root.is_dir():
        raise FileNotFoundError(f"there is no folder {root} of studies")
    place = data or os.environ.get(DATA_VARIABLE)
    variants = _variants(root)
    members: list[Member] = []
    missing: list[str] = []
    for path in sorted(root.glob("*.toml")):
        if path.name == VARIANTS:
            continue
        study = load_study(path)
        kept = []
        for source in study.data:
            found, lacking = _placed(source, root, Path(place).resolve() if place else None)
            if lacking:
                missing.append(f"{study.name}: {lacking}")
            else:
                kept.append(found)
        changes = variants.pop(study.name, None)
        if kept:
            members += _expanded(study.model_copy(update={"data": tuple(kept)}), changes)
    if variants:
        raise ValueError(f"{VARIANTS} has variants of {sorted(variants)[0]!r}, which is no study of {root}")
    names = [member.study.name for member in members]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(f"two studies of {root} are called {twice[0]!r}; give one of them another name")
    return Collection(tuple(members), tuple(missing))


def plan_collection(collection: Collection, directory: str | os.PathLike[str], *, workers: int = 0) -> dict[str, Plan]:
    """Load all data, say what there is to do, and write down what the studies declare before any of it is run.

    Args:
        collection: The studies.
        directory: Folder of the runs; every study has a folder in it, and all share ``directory/cells``.
        workers: Processes; 0 takes one a core.

    Returns:
        Name of the study → its plan.

    Raises:
        ValueError: as ``plan_study``.
    """
    root = Path(directory)
    (root / _CELLS).mkdir(parents=True, exist_ok=True)
    plans = {}
    for member in collection.members:
        own = root / member.study.name
        own.mkdir(exist_ok=True)
        if not (own / _CELLS).exists():
            (own / _CELLS).symlink_to(Path("..") / _CELLS, target_is_directory=True)
        plans[member.study.name] = plan_study(member.study, own, workers=workers)
    for member in collection.members:
        save_plan(member.study, plans[member.study.name], root / member.study.name)
    return plans


def finished_cells(collection: Collection, directory: str | os.PathLike[str]) -> dict[str, int]:
    """How many cells of every study file are finished.

    Args:
        collection: The studies.
        directory: Folder of the runs.

    Returns:
        Study file → finished cells, those of all its variants; 0 for what was never planned there.

    Raises:
        ValueError: if the file of a study is damaged.
    """
    root = Path(directory)
    store, found = CellStore(root / _CELLS), dict.fromkeys((member.source for member in collection.members), 0)
    for member in collection.members:
        try:
            _, plan = load_plan(root / member.study.name)
        except FileNotFoundError:
            continue
        found[member.source] += len(store.finished(cell.key for cell in plan.cells))
    return found


def run_collection(
    plans: Mapping[str, Plan], directory: str | os.PathLike[str], *, say: Callable[[str], None] = lambda text: None
) -> dict[str, RunResult]:
    """Run what is missing of all studies, one study after the other; a second call goes on where one was stopped.

    Args:
        plans: What ``plan_collection`` returned.
        directory: Folder of the runs.
        say: Told of every study that has something to run, before it is run.

    Returns:
        Name of the study → how its run ended.
    """
    root = Path(directory)
    store = CellStore(root / _CELLS)
    results = {}
    for name, planned in plans.items():
        # A cell that an earlier study shares is there by now.
        finished = store.finished(cell.key for cell in planned.missing)
        plan = replace(planned, missing=tuple(cell for cell in planned.missing if cell.key not in finished))
        if plan.missing:
            say(f"{name}: {len(plan.missing)} of {len(plan.cells)} cells to run")
        results[name] = run_study(plan, root / name)
    return results


def _variants(root: Path) -> dict[str, Mapping[str, Sequence[Any]]]:
    path = root / VARIANTS
    if not path.exists():
        return {}
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not TOML: {error}") from error
    unknown = set(content) - {"variants"}
    if unknown:
        raise ValueError(f"{path}: unknown key {sorted(unknown)[0]!r}; it holds [variants.STUDY] tables")
    found = dict(content.get("variants", {}))
    for name, setting in found.items():
        if len(setting) != 1 or not all(isinstance(values, list) and values for values in setting.values()):
            raise ValueError(f"{path}: variants.{name} must name one setting and a list of its values, got {setting}")
    return found


def _expanded(study: StudyConfig, changes: Mapping[str, Sequence[Any]] | None) -> list[Member]:
    """The study, or one study for each value of a setting."""
    if not changes:
        return [Member(study, study.name)]
    (setting, values), members = next(iter(changes.items())), []
    *sections, key = setting.split(".")
    for value in values:
        facts = study.model_dump(mode="json", exclude_unset=True)
        inner = facts
        for section in sections:
            inner = inner.setdefault(section, {})
        inner[key] = value
        variant = str(value)
        facts["name"] = f"{study.name}-{variant.replace(':', '-')}"
        try:
            members.append(Member(StudyConfig.model_validate(facts), study.name, variant))
        except ValueError as error:
            raise ValueError(f"{VARIANTS}: variants.{study.name} with {setting} = {value!r}: {error}") from error
    return members


def _placed(source: DataConfig, root: Path, place: Path | None) -> tuple[DataConfig, str]:
    """The source with its files under ``place``, and the first of them that is not there, relative to it."""
    facts = source.model_dump(exclude_unset=True)
    for inner in (facts, facts.get("train_on") or {}):
        for key in ("path", "vectors"):
            if not isinstance(inner.get(key), str):
                continue
            relative = os.path.relpath(inner[key], root)
            if place is None or not (place / relative).exists():
                return source, relative
            inner[key] = str(place / relative)
    return DataConfig.model_validate(facts), ""
