"""The public benchmark "Beyond Normal" and designs that it does not hold."""

import numpy as np
import pytest

from mi_attention.report import read_table
from tests.benchmarks.bmi import TASKS, Task, folded_information, fresh_tasks, rows, stored_tasks, write


@pytest.mark.slow
@pytest.mark.skipif(not TASKS.is_dir(), reason="../shared/data/bmi is absent")
def test_choose_is_near_the_truth_on_the_forty_tasks():
    """All 40 tasks: what a user gets who does not know the distribution."""
    found = list(rows(stored_tasks(), peers=False))
    error = np.array([abs(row.chosen - row.truth) for row in found])
    assert len(found) == 40
    assert error.mean() < 0.06
    assert np.median(error) < 0.03
    assert error.max() < 0.35


@pytest.mark.slow
def test_choose_is_near_the_truth_on_designs_of_our_own():
    """Other dimensions, sizes, tails and maps: the rule is not fitted to the stored tasks."""
    found = list(rows(fresh_tasks(seed=1), peers=False))
    error = np.array([abs(row.chosen - row.truth) for row in found])
    assert error.mean() < 0.08
    independent = [row for row in found if row.truth == 0]
    assert len(independent) == 14
    # Three standard errors, where few rows for the columns make them large.
    assert all(abs(row.chosen) < max(0.05, 3 * row.standard_error) for row in independent)
    assert max(row.standard_error for row in independent) < 0.15


def test_the_table_is_written_in_the_order_of_the_tasks(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((120, 2))
    groups = np.arange(120) // 2
    tasks = [
        Task("  two", x, x + rng.standard_normal((120, 2)), np.log(2)),
        Task("one", x, rng.standard_normal((120, 1)), 0.0, groups),
    ]
    found = list(rows(tasks))
    write(found, tmp_path / "bmi", "bmi")
    frame, facts = read_table(tmp_path / "bmi")
    assert facts["signature"] == "bmi|seed 0|nats"
    assert frame["task"].tolist() == ["two", "one"]
    assert frame["chosen"].tolist() == [row.chosen for row in found]
    text = (tmp_path / "bmi.md").read_text(encoding="utf-8")
    assert "chosen     mean |error|" in text


def test_the_folded_normal_is_what_its_limits_say():
    # Wide noise hides x: I falls to 0; narrow noise adds a factor of 2 for each halving, log 2 nats.
    assert folded_information(50.0) == pytest.approx(0.0, abs=0.02)
    assert folded_information(0.005) - folded_information(0.01) == pytest.approx(np.log(2), abs=0.01)
