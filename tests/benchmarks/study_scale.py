"""Listing and aggregating ten thousand stored cells of the default study's size, on one core.

    python tests/benchmarks/study_scale.py

Real cells (docstrings, one seed each, shared by links) stand for all: 1,250 combinations of 8 seeds, and 10,000
combinations of one seed, the worst case. Every summary is a file of its own, with hashes of weights of its own. CPU
time is the one to compare: a machine that others use makes wall time what it likes.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from pathlib import Path

from mi_attention.study.config import StudyConfig
from mi_attention.study.cost import StudyCost
from mi_attention.study.groups import Group
from mi_attention.study.run import Plan, plan_study, run_study, save_plan
from mi_attention.study.store import CellStore
from mi_attention.study.summary import rank_summary, summary
from mi_attention.study.tables import collect

STUDY = StudyConfig.model_validate(
    {
        "name": "scale",
        "seeds": list(range(8)),
        "data": [{"name": "docstrings", "per_class": 300}],
        "model": {"encoder": "mlp", "score": "additive", "units": 32},
        "training": {"epochs": 2},
        "analysis": {
            "alignments": ["position", "rank", "instance"],
            "estimator_options": {"members": ["linear", "smooth"]},
        },
    }
)


def fabricate(source: Path, members: list, groups: int, target: Path) -> list:
    """Cells of many groups with the content of one real group, as links; summaries differ in the weights alone."""
    target.mkdir(parents=True)
    analysis = members[0].analysis
    real = Group(tuple(members), analysis.confidence, analysis.null_draws)
    real.make(CellStore(source))
    summary = (source / f"{real.digest}.summary").read_bytes()
    weights = real.stored(CellStore(source)).table("cells")["weights"].tolist()
    cells = []
    for g in range(groups):
        group = [
            cell.model_copy(update={"key": f"{g:024d}{s:08d}", "data_name": f"data {g}"})
            for s, cell in enumerate(members)
        ]
        for cell, model in zip(group, members, strict=True):
            os.link(source / f"{model.key}.cell", target / f"{cell.key}.cell")
        digest = Group(tuple(group), analysis.confidence, analysis.null_draws).digest
        own = summary
        for s, known in enumerate(weights):
            own = own.replace(known.encode(), hashlib.sha256(f"{g} {s}".encode()).hexdigest().encode())
        (target / f"{digest}.summary").write_bytes(own)
        cells += group
    return cells


def timed(what: str, run):
    start, cpu = time.perf_counter(), time.process_time()
    found = run()
    print(f"{what:<58} {time.perf_counter() - start:7.2f} s wall {time.process_time() - cpu:7.2f} s CPU")
    return found


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        plan = plan_study(STUDY, folder / "real", workers=1)
        timed("8 real cells, one after another", lambda: run_study(plan, folder / "real"))
        source, cells = folder / "real" / "cells", list(plan.cells)
        sizes = [path.stat().st_size for path in source.glob("*.cell")]
        print(f"a cell has {sum(sizes) / len(sizes) / 1e6:.2f} MB, with {len(cells)} seeds in a group")
        store = CellStore(source)
        analysis = cells[0].analysis
        group = Group(tuple(cells), analysis.confidence, analysis.null_draws)
        timed("summary of one group of 8, made from its cells", lambda: group.make(store))
        for c in cells:
            Group((c,), analysis.confidence, analysis.null_draws).make(store)
        for groups, members in ((1250, cells), (10_000, cells[:1])):
            target = folder / str(groups) / "cells"
            made = fabricate(source, members, groups, target)
            many = CellStore(target)
            print(f"\n{len(made)} cells in {groups} groups of {len(members)}")
            whole = Plan(tuple(made), (), 1, StudyCost(0.0, 0.0, 0.0, 0), {})
            timed("  study.json written", lambda whole=whole, t=target: save_plan(STUDY, whole, t.parent))
            timed("  listed: which cells are finished", lambda m=made, s=many: s.finished(c.key for c in m))
            tables = timed("  listed and aggregated: all tables", lambda m=made, s=many: collect(m, s))
            timed("  summary and information by rank", lambda t=tables: (summary(t), rank_summary(t)))
            print(
                f"  rows: agreement {len(tables.agreement)}, profile {len(tables.profile)}, seeds {len(tables.seeds)}"
            )


if __name__ == "__main__":
    main()
