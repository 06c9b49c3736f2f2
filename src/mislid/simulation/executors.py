"""Who does the runs: this process, others, or any executor; rows come as they finish."""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from functools import partial
from multiprocessing import resource_tracker
from queue import SimpleQueue
from typing import Any

from mislid._validation import as_count
from mislid._words import shown
from mislid.errors import MislidError, MissingPackageError, ProblemError
from mislid.simulation.job import Job, Row, measure

# Processes are those of one machine.
MOST_JOBS = 1000
# Runs handed out at a time: more than there are workers, few enough to take back on Ctrl-C.
IN_FLIGHT = 1000


def finished_rows(
    job: Job,
    runs: Sequence[int],
    *,
    jobs: int = 1,
    client: Any = None,
    executor: Executor | None = None,
) -> Generator[Row, None, None]:
    """Do runs, in this process where nothing else is asked for; rows come as they finish.

    Closing the generator takes back the runs that have not begun.
    """
    workers = min(jobs, len(runs))
    if client is not None:
        executor = client.get_executor(pure=False)
    if executor is not None:
        yield from _as_finished(executor, job, runs)
    elif workers > 1:
        with Processes(workers) as processes:
            yield from _as_finished(processes, job, runs)
    else:
        for run in runs:
            yield job.row(run)


class Processes(Executor):
    """Processes of this machine that several replications can share; they start with the first run.

    Starting one takes seconds, most of them to load what was compiled. They need no
    `if __name__ == "__main__":`, and end with this process, however it ends. As an `executor` of
    `replicate` they are mostly in a block `with Processes(8) as processes:`, which ends them.

    Parameters
    ----------
    workers
        Their number, from 1 to 1000.

    Raises
    ------
    ProblemError
        If that is no such number.
    MissingPackageError
        Without the package loky.

    Examples
    --------
    Anything that pickle can hand over can be done there:

    >>> import math
    >>> processes = Processes(2)
    >>> sums = [processes.submit(math.fsum, [x] * 10) for x in (0.1, 0.2)]
    >>> processes.shutdown()
    >>> [future.result() for future in sums]
    [1.0, 2.0]
    """

    def __init__(self, workers: int) -> None:
        workers = as_count(workers, "workers", 1, MOST_JOBS)
        try:
            from loky import ProcessPoolExecutor
        except ImportError:
            raise MissingPackageError(
                f"jobs={workers} needs the package loky (pip install 'mislid[cli]')"
            ) from None
        self._pool: Any = None
        self._new_pool: Callable[..., Any] = partial(
            ProcessPoolExecutor, workers, initializer=_start_worker
        )

    def submit(self, fn: Callable[..., Any], /, *arguments: Any, **options: Any) -> Future[Any]:
        """Have a function called by one of the processes.

        Parameters
        ----------
        fn
            The function. Like its arguments, it is handed over by pickle.
        *arguments, **options
            What it is called with.

        Returns
        -------
        Future
            Its `result` waits for what the function returns, or raises what the function raises.

        Raises
        ------
        ProblemError
            If that is no function.
        concurrent.futures.BrokenExecutor
            If one of the processes was lost before. They start anew after `shutdown`.
        """
        if not callable(fn):
            raise ProblemError(f"fn must be a function; got {shown(fn)}")
        if self._pool is None:
            if os.name == "posix":
                # Started with the first process, it would let Ctrl-C through again.
                resource_tracker.ensure_running()
            self._pool = self._new_pool(initargs=(os.getpid(),))
        with _ctrl_c_later():
            future: Future[Any] = self._pool.submit(fn, *arguments, **options)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes; another `submit` starts new ones.

        Parameters
        ----------
        wait
            Whether to return only when they have ended.
        cancel_futures
            Whether to end them at once, instead of when they have done what they were given.
        """
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=wait, kill_workers=cancel_futures)


@contextlib.contextmanager
def _ctrl_c_later() -> Iterator[None]:
    """Keep Ctrl-C from coming between the start of a process and the note of it.

    A process that is started meanwhile never hears of it; its parent does, and ends it.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start_worker(parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, args=(parent,), daemon=True).start()


def _end_with_parent(parent: int) -> None:
    """A parent that is killed cannot tell its workers, which would wait for work for ever."""
    if os.name == "posix":
        while os.getppid() == parent:
            time.sleep(1.0)
    elif (process := multiprocessing.parent_process()) is not None:
        process.join()
    os._exit(1)


def _as_finished(executor: Executor, job: Job, runs: Sequence[int]) -> Generator[Row, None, None]:
    left = iter(runs)
    shared = _sent_once(executor, job)
    finished: SimpleQueue[Future[Row]] = SimpleQueue()
    waiting: set[Future[Row]] = set()
    try:
        while True:
            for run in itertools.islice(left, IN_FLIGHT - len(waiting)):
                future = executor.submit(measure, shared, run)
                waiting.add(future)
                future.add_done_callback(finished.put)
            if not waiting:
                return
            future = finished.get()
            row = _row_of(future)
            waiting.remove(future)
            yield row
    except BrokenExecutor as problem:
        raise _lost_worker(problem) from None
    finally:
        if waiting and isinstance(executor, Processes):
            executor.shutdown(cancel_futures=True)
        for future in waiting:
            future.cancel()


def _sent_once(executor: Executor, job: Job) -> Any:
    """The job, or where Dask keeps it for all runs; other executors send it with every run."""
    client = getattr(executor, "_client", None)
    return job if client is None else client.submit(_same, job, pure=False)


def _same(job: Job) -> Job:
    """A step of its own, which Dask takes again when the worker that kept the job is lost."""
    return job


def _row_of(future: Future[Row]) -> Row:
    try:
        return future.result()
    except pickle.PicklingError as problem:
        reason = problem.__cause__ or problem
        raise ProblemError(
            f"options must be values that can be sent to other processes; got one that cannot: "
            f"{_last_line(reason)}"
        ) from None
    except CancelledError:
        raise MislidError("the executor gave up a run before it was finished") from None
    except _killed_by_dask() as problem:
        raise _lost_worker(problem) from None


def _killed_by_dask() -> tuple[type[Exception], ...]:
    distributed = sys.modules.get("distributed")
    return () if distributed is None else (distributed.KilledWorker,)


def _lost_worker(problem: Exception) -> MislidError:
    if problem.__cause__ is None:
        return MislidError("a worker process ended before its run did, perhaps for lack of memory")
    return MislidError(f"a worker process could not go on: {_last_line(problem.__cause__)}")


def _last_line(problem: BaseException) -> str:
    """Of a traceback that came as text, what happened."""
    lines = str(problem).strip(' \n"').splitlines()
    return lines[-1] if lines else type(problem).__name__
