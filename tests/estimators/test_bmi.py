"""The public benchmark "Beyond Normal" and designs that it does not hold."""

import numpy as np
import pytest

from tests.benchmarks.bmi import TASKS, folded_information, fresh_tasks, rows, stored_tasks


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
    independent = [abs(row.chosen) for row in found if row.truth == 0]
    assert len(independent) == 9
    assert max(independent) < 0.05


def test_the_folded_normal_is_what_its_limits_say():
    # Wide noise hides x: I falls to 0; narrow noise adds a factor of 2 for each halving, log 2 nats.
    assert folded_information(50.0) == pytest.approx(0.0, abs=0.02)
    assert folded_information(0.005) - folded_information(0.01) == pytest.approx(np.log(2), abs=0.01)
