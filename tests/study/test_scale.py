"""Ten thousand cells: listing and collecting open one small file a group, and cost in proportion to their number.

`tests/benchmarks/study_scale.py` measures it in seconds.
"""

from __future__ import annotations

import time

import pandas as pd
import pytest

from mi_attention.study.groups import Group
from mi_attention.study.run import plan_study
from mi_attention.study.store import CellStore
from mi_attention.study.summary import rank_summary, summary
from mi_attention.study.tables import collect
from tests.benchmarks.study_scale import fabricate


@pytest.fixture(scope="module")
def fabricated(undisturbed, smallest, tmp_path_factory):
    folder = tmp_path_factory.mktemp("many")
    members = plan_study(smallest, undisturbed[0], workers=1).cells[:3]
    assert len({cell.score for cell in members}) == 1
    return {
        groups: (
            fabricate(undisturbed[0] / "cells", members, groups, folder / str(groups) / "cells"),
            CellStore(folder / str(groups) / "cells"),
        )
        for groups in (40, 160)
    }


def look(cells, store):
    tables = collect(cells, store)
    return tables, summary(tables), rank_summary(tables)


def test_no_cell_is_opened_and_every_group_is_that_of_the_real_one(fabricated, undisturbed, monkeypatch):
    cells, store = fabricated[40]

    def refuse(self, key):
        raise AssertionError(f"cell {key} was opened")

    monkeypatch.setattr(CellStore, "read", refuse)
    tables, first, ranks = look(cells, store)
    assert (tables.runs["status"] == "ok").all()
    assert len(tables.runs) == 120
    assert len(first) == len(ranks) == 40
    expected = undisturbed[1].agreement
    expected = expected[expected["score"] == "additive"].drop(columns="data").reset_index(drop=True)
    for name in ("data 0", "data 39"):
        found = tables.agreement[tables.agreement["data"] == name].drop(columns="data").reset_index(drop=True)
        pd.testing.assert_frame_equal(found, expected, check_exact=True)
    assert tables.seeds.groupby("data")["seed"].nunique().eq(3).all()


def test_four_times_the_cells_take_about_four_times_as_long(fabricated):
    def seconds(groups):
        times = []
        for _ in range(3):
            start = time.process_time()
            look(*fabricated[groups])
            times.append(time.process_time() - start)
        return min(times)

    seconds(40)
    # In proportion: 4. With the square of the number of cells: 16.
    assert seconds(160) < 8 * seconds(40)


def test_a_missing_or_damaged_summary_is_made_again(fabricated, undisturbed, smallest, tmp_path):
    folder = tmp_path / "cells"
    members = plan_study(smallest, undisturbed[0], workers=1).cells[:3]
    cells = fabricate(undisturbed[0] / "cells", members, 2, folder)
    expected = collect(cells, CellStore(folder)).agreement
    paths = sorted(folder.glob("*.summary"))
    paths[0].unlink()
    paths[1].unlink()
    paths[1].write_bytes(b"half")
    pd.testing.assert_frame_equal(collect(cells, CellStore(folder)).agreement, expected, check_exact=True)
    assert sorted(folder.glob("*.summary")) == paths
    for path in folder.glob("*.summary"):
        path.unlink()
    pd.testing.assert_frame_equal(collect(cells, CellStore(folder), workers=2).agreement, expected, check_exact=True)


def test_a_summary_of_other_seeds_or_other_code_is_not_reused(fabricated, monkeypatch):
    cells, _ = fabricated[40]
    group = Group(tuple(cells[:3]), 0.95, 19)
    digests = {group.digest, Group(tuple(cells[:2]), 0.95, 19).digest, Group(tuple(cells[:3]), 0.9, 19).digest}
    digests.add(Group(tuple(cells[:3]), 0.95, 99).digest)
    monkeypatch.setattr("mi_attention.study.groups._code_hash", lambda: "other code")
    digests.add(Group(tuple(cells[:3]), 0.95, 19).digest)
    assert len(digests) == 5
