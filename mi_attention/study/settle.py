"""Settling the claims of one script: run what is missing, put the runs together, answer, write, say."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from mi_attention.study.answers import CONFIRMATORY, answer
from mi_attention.study.backends import LOKY, count_workers
from mi_attention.study.claim_outputs import claim_facts, write_claims
from mi_attention.study.claims import Question, declare_claims, load_claims
from mi_attention.study.collection import Collection, finished_cells, load_collection, plan_collection, run_collection
from mi_attention.study.grid import Cell
from mi_attention.study.limits import study_limits
from mi_attention.study.run import Plan
from mi_attention.study.runs import NEAR_TIES, Runs, gather_runs
from mi_attention.study.store import CellStore
from mi_attention.study.tables import collect

__all__ = ["Found", "More", "settle"]

More = Callable[[Collection, Mapping[str, Plan], Path, int], pd.DataFrame]
"""Makes further estimates, with the columns of ``Runs.estimates``, of studies, plans, folder and number of workers."""


@dataclass(frozen=True, eq=False)
class Found:
    """What a script has found, for its figure and its own tables.

    Attributes:
        question: What it settles.
        answers: ``answer`` of every claim, one below the other.
        runs: The runs.
        estimates: Every kind of row that a claim or one of its controls reads, over seeds, one combination a row.
        plans: Name of a study → its plan.
        sources: Name of a study → its study file's.
        store: The cells.
    """

    question: Question
    answers: pd.DataFrame
    runs: Runs
    estimates: pd.DataFrame
    plans: Mapping[str, Plan]
    sources: Mapping[str, str]
    store: CellStore

    @property
    def claims(self) -> pd.DataFrame:
        """The contrasts of the claims themselves, without those by data set."""
        return self.answers[self.answers["part"] == CONFIRMATORY].reset_index(drop=True)

    def cells(self, study: str) -> list[Cell]:
        """Cells of a study file, those of all its variants.

        Raises:
            ValueError: if the script has no such study.
        """
        found = [cell for name, plan in self.plans.items() if self.sources[name] == study for cell in plan.cells]
        if not found:
            raise ValueError(
                f"no study of this script is called {study!r}; it has {sorted(set(self.sources.values()))}"
            )
        return found

    def long_table(self, study: str, table: str) -> pd.DataFrame:
        """A long table of a study over seeds, such as ``near_ties``; see ``StudyTables.long_table``."""
        return collect(self.cells(study), self.store).long_table(table)

    def rows(self, **chosen: str) -> pd.DataFrame:
        """The estimates that have these values in their columns."""
        found = self.estimates
        for name, value in chosen.items():
            found = found[found[name] == value]
        return found


def settle(
    name: str,
    *,
    claims: str | os.PathLike[str],
    grid: str | os.PathLike[str],
    runs: str | os.PathLike[str],
    output: str | os.PathLike[str],
    data: str | os.PathLike[str] | None = None,
    workers: int = 0,
    figure: Callable[[Found], Figure],
    tables: Mapping[str, Callable[[Found], pd.DataFrame]] | None = None,
    more: More | None = None,
    say: Callable[[str], None] = print,
) -> Path:
    """Settle the claims of one script; runs that are there are not run again.

    Args:
        name: Of the script, as in the file of claims.
        claims: File of claims.
        grid: Folder of studies.
        runs: Folder of runs, shared by all scripts.
        output: Folder of results; ``output/name`` is written, or ``runs/../results/name`` where data are missing, so
            that no committed result is replaced by one of fewer data.
        data: Folder of files of data; see ``load_collection``.
        workers: Processes; 0 takes one a core.
        figure: Draws the figure.
        tables: File name → makes a further table.
        more: Makes estimates that no study has.
        say: Told what is done, and one sentence a contrast of every claim.

    Returns:
        The folder written.

    Raises:
        RuntimeError: if cells failed: a claim is not settled on a grid with holes.
        ValueError: as what it calls, or if no data are there.
    """
    known, folder = load_claims(claims), Path(runs)
    if name not in known:
        raise ValueError(f"no script is called {name!r} in {claims}; there are {', '.join(known)}")
    question = known[name]
    everything = load_collection(grid, data)
    collection = everything.of(question.studies)
    for text in collection.missing:
        say(f"left out, no such file: {text}")
    status = declare_claims(known, folder, finished_cells(everything, folder))
    plans = plan_collection(collection, folder, workers=workers)
    results = run_collection(plans, folder, say=say)
    failed = {f"{study} {cell}": error for study, result in results.items() for cell, error in result.failed.items()}
    if failed:
        listed = "; ".join(f"{cell}: {error}" for cell, error in list(failed.items())[:3])
        raise RuntimeError(f"{len(failed)} cells failed, no claim is settled without them: {listed}")
    for claim in question.claims:
        if not any(member.source in claim.studies for member in collection.members):
            say(f"not settled, no data are there: {claim.claim}")
    processes = count_workers(LOKY, workers, sum(len(plan.cells) for plan in plans.values()))
    found = _found(question, collection, plans, folder, status, more, processes)
    target = Path(output) / name if not collection.missing else folder.parent / "results" / name
    facts = claim_facts(collection, plans, folder)
    made = {file: make(found) for file, make in (tables or {}).items()}
    write_claims(question, found.answers, found.estimates, figure(found), target, facts, tables=made, say=say)
    say(f"written to {target}")
    return target


def _found(
    question: Question,
    collection: Collection,
    plans: Mapping[str, Plan],
    folder: Path,
    status: Mapping[str, str],
    more: More | None,
    workers: int,
) -> Found:
    keys = [claim.row for claim in question.claims]
    keys += [claim.row.replaced(changes) for claim in question.claims for changes in claim.controls.values()]
    keys += [claim.row.replaced(claim.minus) for claim in question.claims if claim.minus]
    near_ties = any(key.estimand.startswith(NEAR_TIES) for key in keys)
    extra = [more(collection, plans, folder, workers)] if more is not None else []
    gathered = gather_runs(collection, plans, folder, near_ties=near_ties, more=extra, workers=workers)
    gathered = replace(gathered, limits=study_limits(collection.members, plans, folder))
    parts = []
    for claim in question.claims:
        lacking = [text for text in collection.missing if text.partition(":")[0] in claim.studies]
        state = status[claim.claim] if not lacking else f"incomplete, without {', '.join(lacking)}"
        if any(member.source in claim.studies for member in collection.members):
            parts.append(answer(claim, gathered, status=state))
    answers = pd.concat(parts, ignore_index=True)
    sources = {member.study.name: member.source for member in collection.members}
    store = CellStore(folder / "cells")
    return Found(question, answers, gathered, gathered.table(keys), plans, sources, store)
