"""Finish runs in this process, in others, or on a Dask cluster; rows come as they finish."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.process import BaseProcess
from typing import Any

from mislid.errors import MislidError, MissingPackageError
from mislid.simulation._job import Job, Row, measure

# Runs waiting at each worker: enough that none idles, few enough to forget on Ctrl-C.
AHEAD = 4


def here(job: Job, runs: Sequence[int]) -> Generator[Row, None, None]:
    """One run after the other in this process."""
    for run in runs:
        yield job.row(run)


class Processes:
    """Processes that do the runs of one job after another; they start with the first.

    Starting one takes seconds, most of them to load what was compiled, so jobs should share them.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._pool: ProcessPoolExecutor | None = None
        self._others: set[BaseProcess] = set()

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *problem: object) -> None:
        # No rows are waited for, so all of them idle.
        if self._pool is not None:
            self._pool.shutdown()

    def rows(self, job: Job, runs: Sequence[int]) -> Generator[Row, None, None]:
        """Several runs at a time, each in a process of its own making."""
        finished = False
        try:
            yield from _as_finished(self._started(), job, runs, AHEAD * self.workers)
            finished = True
        except BrokenProcessPool:
            raise MislidError(
                "a worker process ended before its run did, perhaps for lack of memory"
            ) from None
        finally:
            if not finished:
                self._stop()

    def _stop(self) -> None:
        """End them at once: whoever is still at work has nobody to report to."""
        if self._pool is None:
            return
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._pool = None
        for process in set(multiprocessing.active_children()) - self._others:
            process.terminate()
            process.join()

    def _started(self) -> ProcessPoolExecutor:
        if self._pool is None:
            self._others = set(multiprocessing.active_children())
            self._pool = ProcessPoolExecutor(
                max_workers=self.workers,
                mp_context=multiprocessing.get_context("spawn"),
                initializer=_start_worker,
            )
        return self._pool


def in_processes(job: Job, runs: Sequence[int], workers: int) -> Generator[Row, None, None]:
    """The same with processes for this job alone."""
    with Processes(min(workers, len(runs))) as processes:
        yield from processes.rows(job, runs)


def _as_finished(
    pool: ProcessPoolExecutor, job: Job, runs: Sequence[int], most: int
) -> Generator[Row, None, None]:
    left = iter(runs)
    waiting: set[Future[Row]] = set()
    while True:
        for run in left:
            waiting.add(pool.submit(measure, job, run))
            if len(waiting) >= most:
                break
        if not waiting:
            return
        done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
        for future in done:
            yield future.result()


def _start_worker() -> None:
    # Ctrl-C reaches all processes of a terminal; a worker ends at once and without a word.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A parent that is killed cannot tell its workers, which would wait for work for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def on_cluster(job: Job, runs: Sequence[int], client: Any) -> Generator[Row, None, None]:
    """As many runs at a time as a Dask cluster has threads."""
    try:
        from distributed import as_completed
    except ImportError:
        raise MissingPackageError(
            "client needs the package distributed (pip install 'mislid[dask]')"
        ) from None
    shared = client.scatter(job, broadcast=True, hash=False)
    futures = [client.submit(measure, shared, run, pure=False) for run in runs]
    try:
        for future in as_completed(futures):
            row: Row = future.result()
            future.release()
            yield row
    finally:
        client.cancel(futures)
