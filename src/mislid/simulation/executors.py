"""Executors of runs: this process, several processes, Dask, or any executor."""

from __future__ import annotations

import contextlib
import itertools
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from queue import SimpleQueue
from typing import Any

from mislid._validation import as_count
from mislid.errors import MislidError, MissingPackageError, ProblemError
from mislid.simulation.job import Job, Row, measure

MOST_JOBS = 1000
# Runs submitted at a time: more than there are workers, few enough to cancel on Ctrl-C.
IN_FLIGHT = 1000
# Idle processes end after so many seconds.
IDLE = 20


def as_executor(jobs: int, client: Any, executor: Executor | None) -> Executor | None:
    """The executor that does the runs; None for this process."""
    jobs = as_count(jobs, "jobs", 1, MOST_JOBS)
    given = [f"jobs={jobs}"] * (jobs > 1) + ["client"] * (client is not None)
    given += ["executor"] * (executor is not None)
    if len(given) > 1:
        raise ProblemError(
            f"only one of jobs, client and executor may be given; got {' and '.join(given)}"
        )
    if client is not None:
        if not hasattr(client, "get_executor"):
            raise ProblemError(f"client must be a distributed.Client; got {type(client).__name__}")
        executor = client.get_executor(pure=False)
    if executor is not None and not isinstance(executor, Executor):
        raise ProblemError(
            f"executor must be a concurrent.futures.Executor; got {type(executor).__name__}"
        )
    return processes(jobs) if jobs > 1 else executor


def processes(jobs: int) -> Executor:
    """Processes of this machine, shared by all replications; idle ones end after a while.

    They need no `if __name__ == "__main__":`.
    """
    try:
        from loky import get_reusable_executor
        from loky.backend import resource_tracker
    except ImportError:
        raise MissingPackageError(
            f"jobs={jobs} needs the package loky (pip install 'mislid[cli]')"
        ) from None
    # Started later, it would unblock Ctrl-C while a process starts.
    resource_tracker.ensure_running()
    executor: Executor = get_reusable_executor(
        jobs, timeout=IDLE, initializer=_start_worker, initargs=(os.getpid(),)
    )
    return executor


def _start_worker(parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if os.name == "posix":
        threading.Thread(target=_end_with_parent, args=(parent,), daemon=True).start()


def _end_with_parent(parent: int) -> None:
    """End this worker soon after its parent was killed."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


def finished_rows(
    job: Job, runs: Sequence[int], executor: Executor | None, *, kill: bool = False
) -> Generator[Row, None, None]:
    """Rows as they finish; closing the generator cancels the runs that have not begun.

    With `kill` it also ends the processes of those that have.
    """
    if executor is None:
        for run in runs:
            yield job.row(run)
        return
    left = iter(runs)
    finished: SimpleQueue[Future[Row]] = SimpleQueue()
    waiting: set[Future[Row]] = set()
    try:
        while True:
            for run in itertools.islice(left, IN_FLIGHT - len(waiting)):
                with _ctrl_c_later():
                    future = executor.submit(measure, job, run)
                waiting.add(future)
                future.add_done_callback(finished.put)
            if not waiting:
                return
            future = finished.get()
            row = _row_of(future)
            waiting.remove(future)
            yield row
    except BrokenExecutor as problem:
        raise _lost_worker(problem.__cause__) from None
    finally:
        if waiting and kill:
            executor.shutdown(kill_workers=True)  # type: ignore[call-arg]  # loky's own
        for future in waiting:
            future.cancel()


@contextlib.contextmanager
def _ctrl_c_later() -> Iterator[None]:
    """Block Ctrl-C; a process that starts meanwhile never receives it, its parent ends it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _row_of(future: Future[Row]) -> Row:
    distributed = sys.modules.get("distributed")
    try:
        return future.result()
    except pickle.PicklingError as problem:
        raise ProblemError(
            "options must be values that can be sent to other processes; got one that cannot: "
            f"{_last_line(problem.__cause__ or problem)}"
        ) from None
    except CancelledError:
        raise MislidError("the executor cancelled a run before it was finished") from None
    except Exception as problem:
        if distributed is not None and isinstance(problem, distributed.KilledWorker):
            raise BrokenExecutor from None
        raise


def _lost_worker(cause: BaseException | None) -> MislidError:
    if cause is None:
        return MislidError("a worker process ended before its run did, perhaps for lack of memory")
    return MislidError(f"a worker process could not go on: {_last_line(cause)}")


def _last_line(problem: BaseException) -> str:
    """The last line of a traceback that came as text."""
    lines = str(problem).strip(' \n"').splitlines()
    return lines[-1] if lines else type(problem).__name__
