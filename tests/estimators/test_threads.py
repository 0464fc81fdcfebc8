"""Units side by side in threads: same numbers, no more threads than BLAS had, settings as found."""

import threading
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from mi_attention.estimators import KSG, Probe
from mi_attention.estimators import joint_neighbours as joint
from mi_attention.estimators.threads import in_threads, thread_budget


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_as_many_threads_as_blas_has_and_blas_has_one_meanwhile():
    seen = []

    def work(item):
        seen.append((threading.get_ident(), max(blas_threads())))
        time.sleep(0.02)
        return item**2

    for limit in (1, 2):
        seen.clear()
        with threadpool_limits(limits=limit, user_api="blas"):
            assert in_threads(work, range(6)) == [0, 1, 4, 9, 16, 25]
            assert blas_threads() == {limit}
        assert len({ident for ident, _ in seen}) == limit
        assert {count for _, count in seen} == {1}


def test_nested_and_overlapping_callers_leave_the_settings_as_they_were():
    def budget(_):
        with thread_budget() as count:
            return count

    with threadpool_limits(limits=2, user_api="blas"):
        assert in_threads(budget, range(4)) == [1, 1, 1, 1]
        callers = [threading.Thread(target=in_threads, args=(lambda _: time.sleep(0.01), range(5))) for _ in range(4)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()
        assert blas_threads() == {2}
        with pytest.raises(ZeroDivisionError):
            in_threads(lambda item: 1 / item, [1, 0, 2])
        assert blas_threads() == {2}


@pytest.mark.parametrize("probe", [Probe(folds=3), Probe(members=("linear", "ridge"), folds=3)], ids=["full", "linear"])
def test_numbers_do_not_depend_on_threads(probe):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 150)
    x = rng.standard_normal((5, 150, 12)) + 0.4 * y[:, None]
    found = []
    for limit in (1, 2, 4):
        with threadpool_limits(limits=limit, user_api="blas"):
            found.append(probe.estimate_many(x, y))
    for other in found[1:]:
        for one, two in zip(found[0], other, strict=True):
            assert one.nats == two.nats
            np.testing.assert_array_equal(one.local, two.local)


def test_neighbours_do_not_depend_on_threads(monkeypatch):
    monkeypatch.setattr(joint, "MANY_ROWS", 100)
    x = np.random.default_rng(0).standard_normal((400, 4))
    found = []
    for limit in (1, 3):
        with threadpool_limits(limits=limit, user_api="blas"):
            found.append(KSG().estimate(x[:, :2], x[:, 2:] + x[:, :2]).local)
    np.testing.assert_array_equal(*found)
