"""The shared grid of runs: `python analyses/grid.py --data FOLDER` runs what is missing of all studies in grid/.

Claims are written down in the folder of the runs before the first cell is run. Every script of this folder runs what it
needs of the same grid, so this one only spares waiting. Without --data (or MI_ATTENTION_DATA) the studies of data that
every installation has are run, and what is left out is said.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import cyclopts
from cyclopts import Parameter

from mi_attention.study.claims import declare_claims, load_claims
from mi_attention.study.collection import finished_cells, load_collection, plan_collection, run_collection
from mi_attention.study.settle import settle

HERE = Path(__file__).resolve().parent


@Parameter(name="*")
@dataclass(frozen=True)
class Where:
    """Where things are; the same for every script."""

    data: Annotated[Path | None, Parameter(help="Folder of the files of data.")] = None
    runs: Annotated[Path, Parameter(help="Folder of the runs, shared by all scripts.")] = HERE.parent / "runs" / "grid"
    output: Annotated[Path, Parameter(help="Folder of the results.")] = HERE.parent / "results"
    claims: Annotated[Path, Parameter(help="File of the claims.")] = HERE / "claims.toml"
    grid: Annotated[Path, Parameter(help="Folder of the studies.")] = HERE / "grid"
    workers: Annotated[int, Parameter(help="Processes; 0 takes one a core.")] = 0


def run_script(file: str, **made: Any) -> None:
    """Settle the claims of the script in ``file``, with its figure and its tables, from the command line."""

    def main(where: Where = Where()) -> None:
        settle(Path(file).stem, **vars(where), **made)

    cyclopts.run(main)


def run_grid(
    *studies: str,
    where: Where = Where(),
    plan: Annotated[bool, Parameter(help="Say what would be run, and stop.")] = False,
) -> int:
    """Run what is missing of the grid, or of some of its study files."""
    collection = load_collection(where.grid, where.data)
    declare_claims(load_claims(where.claims), where.runs, finished_cells(collection, where.runs))
    if studies:
        collection = collection.of(studies)
    for text in collection.missing:
        print(f"left out, no such file: {text}")
    plans = plan_collection(collection, where.runs, workers=where.workers)
    if plan:
        for name, found in plans.items():
            print(f"{name}: {len(found.missing)} of {len(found.cells)} cells to run, about {found.cost.seconds:.0f} s")
        return 0
    results = run_collection(plans, where.runs, say=lambda text: print(text, flush=True))
    failed = {f"{name}: {cell}": error for name, result in results.items() for cell, error in result.failed.items()}
    for cell, error in failed.items():
        print(f"failed: {cell}: {error}")
    return 1 if failed else 0


if __name__ == "__main__":
    cyclopts.run(run_grid)
