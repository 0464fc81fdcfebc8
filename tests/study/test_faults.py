"""Two workers, killed processes, full disks, two runs at once: no finished cell is lost, none half-written."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import joblib
import pandas as pd
import pytest

from mi_attention.study.backends import _IDLE_SECONDS, run_on
from mi_attention.study.cell import run_cell
from mi_attention.study.run import plan_study, run_study
from mi_attention.study.store import CellStore

linux = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="finds worker processes by /proc")


def stored(folder):
    """Finished cells: name → content."""
    return {path.name: path.read_bytes() for path in (folder / "cells").glob("*.cell")}


def wait_for_cells(folder, count, process=None, seconds=300.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if process is not None and process.poll() not in (None, 0):
            raise AssertionError(process.communicate()[1])
        if (folder / "cells").exists() and len(list((folder / "cells").glob("*.cell"))) >= count:
            return
        time.sleep(0.02)
    raise AssertionError(f"not {count} cells after {seconds} seconds")


def workers_of(process):
    """Its loky workers, not the process that tracks resources."""
    found = []
    for task in Path(f"/proc/{process}/task").iterdir():
        for child in (task / "children").read_text().split():
            if b"popen_loky_posix" in Path(f"/proc/{child}/cmdline").read_bytes():
                found.append(int(child))
    return found


def start(folder, toml, workers):
    file = folder.parent / f"{folder.name}.toml"
    file.write_text(toml)
    command = [sys.executable, "-m", "mi_attention.cli", "study", str(file), "--output", str(folder)]
    return subprocess.Popen(
        [*command, "--workers", str(workers)],
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        # A test run in the background of a script inherits that it ignores interrupts; a user's terminal does not.
        preexec_fn=_heed_interrupts,
    )


def _heed_interrupts():
    signal.signal(signal.SIGINT, signal.SIG_DFL)


# Beginning a process takes longer than the whole study: the first three tests share the two of the first.
def test_two_processes(smallest, tmp_path, assert_same_tables):
    plan = plan_study(smallest, tmp_path, workers=2)
    assert plan.workers == 2
    assert run_study(plan, tmp_path).done == 6
    # The process that finished the last seed of a group has summarised it.
    assert len(list((tmp_path / "cells").glob("*.summary"))) == 2
    assert_same_tables(tmp_path)


def run_when_both_are_there(plan, folder, me):
    """One of two runs in processes of their own, that begin together."""
    (folder / f"here-{me}").touch()
    end = time.monotonic() + 300
    while len(list(folder.glob("here-*"))) < 2 and time.monotonic() < end:
        time.sleep(0.005)
    return run_study(plan, folder).done, os.getpid()


def test_two_runs_on_one_store_at_once(smallest, tmp_path, assert_same_tables):
    plan = plan_study(smallest, tmp_path, workers=1)
    # In the settings of a run with two workers, for else their processes are ended and two others begun.
    with joblib.parallel_config(backend="loky", inner_max_num_threads=1, idle_worker_timeout=_IDLE_SECONDS):
        found = joblib.Parallel(n_jobs=2)(
            joblib.delayed(run_when_both_are_there)(plan, tmp_path, me) for me in range(2)
        )
    assert [done for done, _ in found] == [6, 6]
    assert len({process for _, process in found} | {os.getpid()}) == 3
    assert not list((tmp_path / "cells").glob(".*partial"))
    assert_same_tables(tmp_path)


@linux
def test_a_killed_worker_costs_only_its_own_cell(smallest, tmp_path, assert_same_tables):
    before = {}
    killed = []

    @contextmanager
    def watch(store, plan):
        def kill():
            wait_for_cells(tmp_path, 1)
            before.update(stored(tmp_path))
            killed.extend(workers_of(os.getpid())[:1])
            os.kill(killed[0], signal.SIGKILL)

        thread = threading.Thread(target=kill)
        thread.start()
        yield
        thread.join()

    plan = plan_study(smallest, tmp_path, workers=2)
    assert run_study(plan, tmp_path, watch=watch).done == 6
    assert killed
    after = stored(tmp_path)
    assert before
    assert {name: after[name] for name in before} == before
    assert_same_tables(tmp_path)


def test_a_cell_that_always_kills_its_process_is_recorded_and_the_others_are_done(smallest, tmp_path, dies_at):
    plan = plan_study(smallest, tmp_path, workers=2)
    store, deadly = CellStore(tmp_path / "cells"), plan.cells[2].key

    run = dies_at(deadly)
    run_on("loky", 2, run, [(cell, ()) for cell in plan.cells], store)
    assert store.finished(cell.key for cell in plan.cells) == {cell.key for cell in plan.cells} - {deadly}
    assert "out of memory" in store.read(deadly).metadata["error"]
    assert store.failed(cell.key for cell in plan.cells) == {deadly}


def test_a_killed_coordinator_loses_nothing_and_a_second_run_does_the_rest(
    smallest_toml, smallest, tmp_path, assert_same_tables
):
    folder = tmp_path / "killed"
    process = start(folder, smallest_toml, workers=2)
    wait_for_cells(folder, 1, process)
    process.kill()
    process.wait()
    # Its workers live on for the cells they have begun, and hold the other end.
    process.stderr.close()
    left = plan_study(smallest, folder, workers=1)
    before = stored(folder)
    assert before
    assert left.missing
    # Workers notice that nobody waits for them; what they finish meanwhile is whole too.
    assert run_study(left, folder).done == 6
    after = stored(folder)
    assert {name: after[name] for name in before} == before
    assert_same_tables(folder)


def test_ctrl_c_leaves_partial_results(smallest_toml, tmp_path):
    folder = tmp_path / "stopped"
    # One worker: two can be through with all six cells before the signal comes.
    process = start(folder, smallest_toml, workers=1)
    wait_for_cells(folder, 1, process)
    os.killpg(process.pid, signal.SIGINT)
    _, shown = process.communicate(timeout=300)
    assert process.returncode == 130, shown
    assert "finished cells are kept" in shown
    assert "Traceback" not in shown
    runs = pd.read_csv(folder / "runs.csv")
    assert len(runs) == 6
    assert (runs["status"] == "ok").sum() >= 1
    assert len(pd.read_csv(folder / "summary.csv")) >= 1
    assert "of 6 cells finished" in (folder / "report.md").read_text()


def test_a_full_disk_stops_the_run_and_leaves_whole_cells_only(smallest, tmp_path, assert_same_tables):
    plan = plan_study(smallest, tmp_path, workers=1)
    store = CellStore(tmp_path / "cells")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    @contextmanager
    def full(store, plan):
        # No file may grow beyond 50 kB: a cell breaks off in the middle of being written.
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))
        handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            signal.signal(signal.SIGXFSZ, handler)

    first = plan.cells[0]
    run_on("loky", 1, run_cell, [(first, ())], store)
    before = stored(tmp_path)
    assert len(before) == 1
    assert len(next(iter(before.values()))) > 50_000
    with pytest.raises(OSError, match="File too large"):
        run_study(plan_study(smallest, tmp_path, workers=1), tmp_path, watch=full)
    assert stored(tmp_path) == before
    assert [path.name for path in (tmp_path / "cells").iterdir()] == list(before)
    assert run_study(plan_study(smallest, tmp_path, workers=1), tmp_path).done == 6
    assert_same_tables(tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="mounting a small file system needs root")
def test_a_small_file_system_runs_full(smallest_toml, smallest, tmp_path, assert_same_tables):
    """Purpose: the same with the error a real file system gives, through the command line and two workers."""
    folder = tmp_path / "small"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600k", "none", str(folder)], check=False).returncode:
        pytest.skip("mount is not permitted here")
    try:
        process = start(folder, smallest_toml, workers=2)
        _, shown = process.communicate(timeout=600)
        assert process.returncode == 1
        assert "No space left on device" in shown
        assert "the same command goes on from here" in shown
        store = CellStore(folder / "cells")
        whole = [path.stem for path in (folder / "cells").glob("*.cell")]
        assert 1 <= len(whole) < 6
        assert {store.read(key).status for key in whole} == {"ok"}
        shutil.copytree(folder, tmp_path / "larger")
    finally:
        subprocess.run(["umount", str(folder)], check=False)
    larger = tmp_path / "larger"
    plan = plan_study(smallest, larger, workers=1)
    assert len(plan.missing) == 6 - len(whole)
    assert run_study(plan, larger).done == 6
    assert_same_tables(larger)


def test_what_a_killed_process_left_is_removed_when_it_is_old(tmp_path):
    store = CellStore(tmp_path)
    old, new = tmp_path / ".a.cell.1.partial", tmp_path / ".b.cell.2.partial"
    for path in (old, new):
        path.write_bytes(b"half")
    os.utime(old, (1, 1))
    store.prepare([])
    assert not old.exists()
    assert new.exists()
    assert store.finished(["a", "b"]) == set()


def test_a_cut_cell_is_no_finished_cell(undisturbed, smallest, tmp_path):
    shutil.copytree(undisturbed[0] / "cells", tmp_path / "cells")
    plan = plan_study(smallest, tmp_path, workers=1)
    path = tmp_path / "cells" / f"{plan.cells[0].key}.cell"
    content = path.read_bytes()
    for cut in (content[:-1], content[:100], content[:5], b""):
        path.write_bytes(cut)
        assert [cell.key for cell in plan_study(smallest, tmp_path, workers=1).missing] == [plan.cells[0].key]
        with pytest.raises(ValueError, match="damaged"):
            CellStore(tmp_path / "cells").read(plan.cells[0].key)
    path.write_bytes(content)
    assert plan_study(smallest, tmp_path, workers=1).missing == ()
