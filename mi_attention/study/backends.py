"""Where cells run: processes of this machine, through joblib, or the workers of a dask cluster."""

from __future__ import annotations

import importlib
import logging
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import joblib

from mi_attention.study.grid import Cell
from mi_attention.study.store import CellStore

__all__ = ["LOKY", "check_backend", "count_workers", "run_on"]

logger = logging.getLogger(__name__)

LOKY = "loky"
_WAIT_SECONDS = 30.0
# A worker without work for so long ends by itself: nobody else ends those of a coordinator that was killed.
_IDLE_SECONDS = 20

Run = Callable[[Cell, CellStore, Sequence[Cell]], object]
Task = tuple[Cell, Sequence[Cell]]


def check_backend(backend: str) -> None:
    """Refuse a backend that is neither ``loky`` nor the address or the file of a dask scheduler.

    Raises:
        ValueError: naming what can be given.
    """
    if backend != LOKY and "://" not in backend and not backend.endswith(".json"):
        raise ValueError(
            f"backend is {backend!r}; give 'loky' for processes of this machine, or a dask scheduler: its address "
            "(tcp://HOST:PORT) or its scheduler file (ending in .json)"
        )


def count_workers(backend: str, workers: int, tasks: int) -> int:
    """Processes that will run so many tasks.

    Args:
        backend: See ``check_backend``.
        workers: Processes of this machine, 0 for one a core; of no meaning on a cluster.
        tasks: Cells to run.

    Raises:
        ValueError: if there is no scheduler, or it has no worker, or workers with several threads.
    """
    if backend != LOKY and tasks:
        with _client(backend) as client:
            return min(len(_workers_of(client)), tasks)
    return max(1, min(workers or os.cpu_count() or 1, tasks))


def run_on(backend: str, workers: int, run: Run, tasks: Sequence[Task], store: CellStore) -> None:
    """Run tasks, each in a process that runs one at a time.

    A process of this machine that dies (killed, out of memory) takes the others of its pool with it: what is left is
    started again, and where nothing gets finished any more, one cell at a time, so that the one to blame is recorded
    as failed. A dask scheduler moves the cells of a lost worker to another by itself, a few times; a cell that has cost
    several workers their lives is recorded as failed, and the others go on.

    Args:
        backend: See ``check_backend``.
        workers: Processes of this machine; 1 runs in this process.
        run: Called with a cell, the store and the cell's group.
        tasks: Cells, each with its group.
        store: The store; on a cluster in a folder that all workers see.

    Raises:
        ValueError: if the scheduler cannot be used.
        OSError: if the store cannot be written to.
    """
    if backend != LOKY:
        _run_on_cluster(backend, run, tasks, store)
    elif workers == 1:
        for cell, group in tasks:
            run(cell, store, group)
    else:
        _run_in_processes(workers, run, list(tasks), store)


def _run_in_processes(workers: int, run: Run, tasks: list[Task], store: CellStore) -> None:
    while tasks:
        try:
            _parallel(workers, run, tasks, store)
            return
        except BrokenProcessPool:
            left = [task for task in tasks if not store.attempted([task[0].key])]
            logger.warning("a worker process died; %d cells are left", len(left))
            if len(left) == len(tasks):
                break
            tasks = left
    for task in tasks:
        try:
            _parallel(2, run, [task], store)
        except BrokenProcessPool:
            _record_death(task[0], store, "its process died: killed, or out of memory; try fewer workers")


def _record_death(cell: Cell, store: CellStore, error: str) -> None:
    store.write_failure(cell.key, error, "", {"cell": cell.model_dump(mode="json", exclude={"data"})})


def _parallel(workers: int, run: Run, tasks: Sequence[Task], store: CellStore) -> None:
    with joblib.parallel_config(backend="loky", inner_max_num_threads=1, idle_worker_timeout=_IDLE_SECONDS):
        jobs = (joblib.delayed(run)(cell, store, group) for cell, group in tasks)
        joblib.Parallel(n_jobs=workers, batch_size=1)(jobs)


def _run_on_cluster(address: str, run: Run, tasks: Sequence[Task], store: CellStore) -> None:
    # Workers have working directories of their own.
    shared = CellStore(store.directory.resolve())
    distributed = _distributed()
    with _client(address) as client, client.as_current():
        _workers_of(client)
        _require_visible(client, shared.directory)
        # Not through joblib, which waits for ever where a task has cost its workers their lives.
        running = {client.submit(run, cell, shared, group, pure=False): (cell, group) for cell, group in tasks}
        suspects = []
        for future in distributed.as_completed(running):
            error = future.exception()
            if isinstance(error, distributed.KilledWorker):
                suspects.append(running[future])
            elif error is not None:
                raise error
        # Cells that waited on a worker that died are under suspicion too: alone, only the one to blame dies again.
        for cell, group in suspects:
            error = client.submit(run, cell, shared, group, pure=False).exception()
            if isinstance(error, distributed.KilledWorker):
                death = "it has cost several dask workers their lives: killed, or out of memory; give workers more"
                _record_death(cell, shared, death)
            elif error is not None:
                raise error


@contextmanager
def _client(address: str) -> Iterator[Any]:
    distributed = _distributed()
    where = {"scheduler_file": address} if address.endswith(".json") else {"address": address}
    try:
        client = distributed.Client(**where, timeout=_WAIT_SECONDS, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise ValueError(f"backend {address!r}: no dask scheduler answers there ({error})") from error
    try:
        yield client
    finally:
        client.close()


def _distributed() -> Any:
    """The library, whose own annotations are partial."""
    try:
        return importlib.import_module("distributed")
    except ImportError as error:
        raise ImportError("a dask cluster needs the extra: pip install 'mi-attention[distributed]'") from error


def _workers_of(client: Any) -> dict[str, Any]:
    try:
        client.wait_for_workers(1, timeout=_WAIT_SECONDS)
    except TimeoutError as error:
        raise ValueError("the dask scheduler has no worker; start some: dask worker ADDRESS --nthreads 1") from error
    found: dict[str, Any] = client.scheduler_info(n_workers=-1)["workers"]
    for name, worker in found.items():
        if worker["nthreads"] != 1:
            raise ValueError(
                f"dask worker {name} runs {worker['nthreads']} cells in one process, where they would disturb each "
                "other's number of threads; start workers with --nthreads 1, several with --nworkers"
            )
    return found


def _require_visible(client: Any, directory: Path) -> None:
    """Cells are written by the workers, so a finished one outlives the process that asked for it."""
    directory.mkdir(parents=True, exist_ok=True)
    token = directory / f".visible-{secrets.token_hex(6)}"
    token.touch()
    try:
        blind = [name for name, seen in client.run(os.path.exists, str(token)).items() if not seen]
    finally:
        token.unlink(missing_ok=True)
    if blind:
        raise ValueError(f"dask worker {blind[0]} does not see {directory}; choose an --output that all machines share")
