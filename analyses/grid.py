"""The shared grid of runs: `python analyses/grid.py --data FOLDER` runs what is missing of all studies in grid/.

Claims are written down in the folder of the runs before the first cell is run. Every script of this folder runs what it
needs of the same grid, so this one only spares waiting. Without --data (or MI_ATTENTION_DATA) the studies of data that
every installation has are run, and what is left out is said.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import cyclopts
from cyclopts import Parameter

from mi_attention.study.claims import declare_claims, load_claims
from mi_attention.study.collection import load_collection, plan_collection, run_collection
from mi_attention.study.store import CellStore

HERE = Path(__file__).resolve().parent
RUNS = HERE.parent / "runs" / "grid"


def main(
    *studies: str,
    data: Annotated[Path | None, Parameter(help="Folder of the files of data.")] = None,
    runs: Annotated[Path, Parameter(help="Folder of the runs.")] = RUNS,
    workers: Annotated[int, Parameter(help="Processes; 0 takes one a core.")] = 0,
    plan: Annotated[bool, Parameter(help="Say what would be run, and stop.")] = False,
) -> int:
    """Run what is missing of the grid, or of some of its study files."""
    collection = load_collection(HERE / "grid", data)
    if studies:
        collection = collection.of(studies)
    for text in collection.missing:
        print(f"left out, no such file: {text}")
    declare_claims(load_claims(HERE / "claims.toml"), runs, CellStore(runs / "cells").count())
    if plan:
        for name, found in plan_collection(collection, runs, workers=workers).items():
            print(f"{name}: {len(found.missing)} of {len(found.cells)} cells to run, {found.cost.seconds:.0f} s")
        return 0
    results = run_collection(collection, runs, workers=workers, say=lambda text: print(text, flush=True))
    failed = {f"{name}: {cell}": error for name, result in results.items() for cell, error in result.failed.items()}
    for cell, error in failed.items():
        print(f"failed: {cell}: {error}")
    return 1 if failed else 0


if __name__ == "__main__":
    cyclopts.run(main)
