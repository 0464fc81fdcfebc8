"""The smallest real study, and what it gives when nothing goes wrong."""

from __future__ import annotations

import pandas as pd
import pytest

from mi_attention.study.config import StudyConfig
from mi_attention.study.run import plan_study, run_study
from mi_attention.study.store import CellStore
from mi_attention.study.tables import collect

SMALLEST = """
name = "smallest"
seeds = [0, 1, 2]

[[data]]
name = "planted/keyword"
n = [100, 60, 60]

[model]
encoder = "mlp"
score = ["additive", "scaled_dot"]
units = 4

[training]
epochs = 1

[analysis]
alignments = ["rank", "instance"]
ranks = 2
null_draws = 19
estimator_options = { members = ["linear"], folds = 4 }
"""


@pytest.fixture(scope="session")
def smallest_toml():
    return SMALLEST


@pytest.fixture(scope="session")
def smallest():
    import tomllib

    return StudyConfig.model_validate(tomllib.loads(SMALLEST))


@pytest.fixture(scope="session")
def undisturbed(smallest, tmp_path_factory):
    """Folder and tables of the smallest study, run in this process."""
    folder = tmp_path_factory.mktemp("undisturbed")
    plan = plan_study(smallest, folder, workers=1)
    assert run_study(plan, folder).done == 6
    return folder, collect(plan.cells, CellStore(folder / "cells"))


@pytest.fixture(scope="session")
def assert_same_tables(undisturbed, smallest):
    """Checks that a folder has all cells of the smallest study, whole, and their tables to the bit."""

    def check(folder):
        plan = plan_study(smallest, folder, workers=1)
        assert plan.missing == ()
        tables, expected = collect(plan.cells, CellStore(folder / "cells")), undisturbed[1]
        for name in ("agreement", "profile", "concentration", "notes"):
            pd.testing.assert_frame_equal(getattr(tables, name), getattr(expected, name), check_exact=True, obj=name)
        for name in ("training", "seeds"):
            found, wanted = (getattr(t, name) for t in (tables, expected))
            kept = [frame[frame["measure"] != "train_seconds"] for frame in (found, wanted)]
            pd.testing.assert_frame_equal(*kept, check_exact=True, obj=name)
        assert tables.runs["weights"].tolist() == expected.runs["weights"].tolist()
        # Nothing half-written is taken for a cell, and every file opens.
        store = CellStore(folder / "cells")
        assert {store.read(path.stem).status for path in (folder / "cells").glob("*.cell")} == {"ok"}

    return check


@pytest.fixture
def dies_at():
    """Key of a cell → what runs cells, each a row, and kills its process at that one; sent to workers by value."""

    def make(deadly):
        def run(cell, store, group):
            import os
            import signal

            import pandas as pd

            if cell.key == deadly:
                os.kill(os.getpid(), signal.SIGKILL)
            store.write(cell.key, {"t": pd.DataFrame({"x": [1.0]})}, {}, "s")

        return run

    return make
