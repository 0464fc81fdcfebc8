"""Units worked on side by side in the threads that BLAS may use, without more threads than that."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from threadpoolctl import ThreadpoolController, threadpool_limits

__all__ = ["in_threads", "thread_budget"]

Item = TypeVar("Item")
Result = TypeVar("Result")


class _SingleThreadedBlas:
    """One BLAS thread while anyone is inside; the settings found by the first come back after the last.

    The limit is one of the whole process. Were every caller to restore what it found, two that overlap would leave
    the limit of the other behind.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._limits: threadpool_limits | None = None

    @contextmanager
    def threads(self) -> Iterator[int]:
        """Yields how many threads BLAS had: for a caller within another's span, one."""
        count = 1
        with self._lock:
            if self._inside == 0:
                controller = ThreadpoolController()
                pools = controller.select(user_api="blas").info()
                count = max((pool["num_threads"] for pool in pools), default=1)
                if count > 1:
                    self._limits = controller.limit(limits=1)
            self._inside += 1
        try:
            yield count
        finally:
            with self._lock:
                self._inside -= 1
                if self._inside == 0 and self._limits is not None:
                    self._limits.restore_original_limits()
                    self._limits = None


_BLAS = _SingleThreadedBlas()


def in_threads(work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """``work`` of each item, in order, in as many threads as BLAS has, each with one BLAS thread.

    ``OMP_NUM_THREADS`` (or a limit of ``threadpoolctl``) thus holds for both, and a worker process that has been given
    one thread stays with one. Results do not depend on the number of threads.
    """
    if len(items) < 2:
        return [work(item) for item in items]
    with _BLAS.threads() as count:
        workers = min(count, len(items))
        if workers < 2:
            return [work(item) for item in items]
        with ThreadPoolExecutor(workers) as pool:
            return list(pool.map(work, items))


@contextmanager
def thread_budget() -> Iterator[int]:
    """How many threads a library's own loop may use, with BLAS held at one thread meanwhile."""
    with _BLAS.threads() as count:
        yield count
