"""One worker, two workers (``test_faults.py``), a dask cluster of separate processes: the same tables, to the bit."""

from __future__ import annotations

import pytest

from mi_attention import cli
from mi_attention.study.backends import _require_visible, _workers_of, check_backend, count_workers, run_on
from mi_attention.study.config import StudyConfig
from mi_attention.study.run import plan_study, run_study
from mi_attention.study.store import CellStore


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed", reason="needs the extra 'distributed'")
    dask = pytest.importorskip("dask")
    # One death is enough here to give a cell up.
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50
        ) as running,
    ):
        yield running


# What distributed and its server leave to the garbage collector is theirs to close.
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_dask_cluster(smallest, tmp_path, assert_same_tables, cluster):
    study = StudyConfig.model_validate(smallest.model_dump() | {"backend": cluster.scheduler_address})
    plan = plan_study(study, tmp_path)
    assert plan.workers == 2
    assert run_study(plan, tmp_path).done == 6
    assert len(list((tmp_path / "cells").glob("*.summary"))) == 2
    assert_same_tables(tmp_path)


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_cell_that_kills_its_dask_workers_is_recorded_and_the_others_are_done(smallest, tmp_path, dies_at, cluster):
    plan = plan_study(smallest, tmp_path, workers=2)
    store, deadly = CellStore(tmp_path / "cells"), plan.cells[2].key

    run = dies_at(deadly)
    run_on(cluster.scheduler_address, 2, run, [(cell, ()) for cell in plan.cells], store)
    assert store.finished(cell.key for cell in plan.cells) == {cell.key for cell in plan.cells} - {deadly}
    assert "several dask workers" in store.read(deadly).metadata["error"]


class Scheduler:
    """What the check asks a dask client."""

    def __init__(self, *threads, seen=True):
        self.workers = {f"tcp://w:{i}": {"nthreads": count} for i, count in enumerate(threads)}
        self.seen = seen

    def wait_for_workers(self, count, timeout):
        if not self.workers:
            raise TimeoutError

    def scheduler_info(self, n_workers):
        assert n_workers == -1
        return {"workers": self.workers}

    def run(self, function, path):
        return {name: self.seen and function(path) for name in self.workers}


def test_workers_that_would_change_numbers_or_see_no_folder_are_refused(tmp_path):
    assert len(_workers_of(Scheduler(1, 1))) == 2
    with pytest.raises(ValueError, match=r"tcp://w:1 runs 4 cells in one process.*--nthreads 1"):
        _workers_of(Scheduler(1, 4))
    with pytest.raises(ValueError, match="no worker"):
        _workers_of(Scheduler())
    _require_visible(Scheduler(1), tmp_path / "cells")
    with pytest.raises(ValueError, match="does not see"):
        _require_visible(Scheduler(1, seen=False), tmp_path / "cells")
    assert list((tmp_path / "cells").iterdir()) == []


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_scheduler_that_does_not_answer_is_named(monkeypatch):
    pytest.importorskip("distributed", reason="needs the extra 'distributed'")
    monkeypatch.setattr("mi_attention.study.backends._WAIT_SECONDS", 0.5)
    with pytest.raises(ValueError, match="no dask scheduler answers"):
        count_workers("tcp://127.0.0.1:9", 0, 5)


@pytest.mark.parametrize("backend", ["locky", "tcp", "localhost:8786"])
def test_an_unknown_backend_is_refused_with_what_can_be_given(backend, tmp_path, capsys, smallest_toml):
    with pytest.raises(ValueError, match="tcp://HOST:PORT"):
        check_backend(backend)
    (tmp_path / "s.toml").write_text(smallest_toml)
    assert cli.main(["study", str(tmp_path / "s.toml"), "--output", str(tmp_path), "--backend", backend]) == 2
    assert "loky" in capsys.readouterr().err


def test_one_line_of_a_file_chooses_the_backend(smallest):
    assert smallest.backend == "loky"
    assert StudyConfig.model_validate(smallest.model_dump() | {"backend": "tcp://a:1"}).backend == "tcp://a:1"
