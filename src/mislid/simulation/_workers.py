"""Finish runs in this process, in others, or on a Dask cluster; rows come as they finish."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from mislid.errors import MislidError, MissingPackageError
from mislid.simulation._job import Job, Row, measure

# Runs waiting at each worker: enough that none idles, few enough to forget on Ctrl-C.
AHEAD = 4

_job: Job | None = None


def here(job: Job, runs: Sequence[int]) -> Generator[Row, None, None]:
    """One run after the other in this process."""
    for run in runs:
        yield job.row(run)


def in_processes(job: Job, runs: Sequence[int], workers: int) -> Generator[Row, None, None]:
    """Several runs at a time, each in a process of its own making."""
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(
        max_workers=min(workers, len(runs)),
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_start_worker,
        initargs=(job,),
    )
    try:
        yield from _as_finished(pool, runs, AHEAD * workers)
    except BrokenProcessPool:
        raise MislidError(
            "a worker process ended before its run did, perhaps for lack of memory"
        ) from None
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        # Whoever is still at work has nobody to report to.
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()
            process.join()


def _as_finished(
    pool: ProcessPoolExecutor, runs: Sequence[int], most: int
) -> Generator[Row, None, None]:
    left = iter(runs)
    waiting: set[Future[Row]] = set()
    while True:
        for run in left:
            waiting.add(pool.submit(_measure_here, run))
            if len(waiting) >= most:
                break
        if not waiting:
            return
        done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
        for future in done:
            yield future.result()


def _start_worker(job: Job) -> None:
    global _job  # noqa: PLW0603 - set once, before the worker's first run
    _job = job
    job.warm_up()
    # Ctrl-C reaches all processes of a terminal; a worker ends at once and without a word.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A parent that is killed cannot tell its workers, which would wait for work for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _measure_here(run: int) -> Row:
    if _job is None:
        raise RuntimeError("this worker was not started by in_processes")
    return _job.row(run)


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
