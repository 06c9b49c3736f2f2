"""Replications of one identification: in this process, in several, or on any executor."""

from __future__ import annotations

import contextlib
import os
import signal
import statistics
import threading
import time
import uuid
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, as_completed
from dataclasses import dataclass, field
from pickle import PicklingError
from typing import TYPE_CHECKING, Any

import numpy as np

from mislid._formatting import as_frame, require_pandas, shown
from mislid._validation import LARGEST_SEED, as_count, as_flag, as_top_m
from mislid.errors import Interrupted, MislidError, MissingPackageError, ProblemError
from mislid.model import Instance
from mislid.simulation.environments import as_instance
from mislid.simulation.identify import INTERRUPTED, Identification, identify
from mislid.simulation.ledger import Row, open_ledger, settings_of

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["Row", "Summary", "replicate", "replicate_rows", "replicate_settings", "summarise"]

# Limited, since all rows are kept in memory.
MOST_RUNS = 10**7
MOST_JOBS = 1000
# Runs submitted at once: more than the workers, few enough to cancel on Ctrl-C.
IN_FLIGHT = 1000
# Seconds until idle processes end.
IDLE = 20

ShowProgress = bool | Callable[[int, int], object] | None


def replicate(
    instance: Instance,
    m: int,
    *,
    runs: int,
    seed: int = 0,
    jobs: int = 1,
    client: Any = None,
    executor: Executor | None = None,
    output: str | os.PathLike[str] | None = None,
    progress: ShowProgress = None,
    **options: Any,
) -> DataFrame:
    """Repeat an identification many times; a DataFrame with one row per run.

    Run r draws its random numbers from SeedSequence(seed, spawn_key=(r,)): apart from the seconds,
    rows depend on neither `jobs` nor `client`, `executor` and `output`.

    Parameters
    ----------
    instance
        Model, means and noise.
    m
        Number of arms to find.
    runs
        Number of runs.
    seed
        Seed of all random numbers.
    jobs
        Number of processes, also in notebooks and in scripts without a main guard. Only one of
        jobs, client and executor may be given.
    client
        A `distributed.Client`, whose cluster does the runs.
    executor
        Any `concurrent.futures.Executor`: of threads, of processes, of MPI, or
        `client.get_executor()` of Dask. It is not shut down.
    output
        Directory of settings.json and runs.csv. Rows are added as runs finish; the same call
        resumes and does the missing runs only.
    progress
        True for a bar with the remaining time on stderr, or a function that is called with the
        numbers of finished and of all runs.
    **options
        Passed on to `identify`: delta, algorithm, stopping, max_samples, tolerance, gamma,
        environment, assume_noise and cost.

    Returns
    -------
    pandas.DataFrame
        With the columns run, samples, correct (missing where a run gave no answer), status and
        seconds (of the processor).

    Raises
    ------
    ProblemError
        Where a value is not allowed, or `output` holds runs of other settings.
    MissingPackageError
        Without pandas, or with several `jobs` without loky.
    MislidError
        Where a worker ended before its run did.
    Interrupted
        On Ctrl-C, a KeyboardInterrupt with the finished `rows`.

    Examples
    --------
    >>> from mislid import Instance, Model
    >>> instance = Instance(Model([[1, 0], [0, 1], [1, 1]], 0.1), [0.1, 0.5, 0.9])
    >>> frame = replicate(instance, 1, runs=3)
    >>> frame["run"].tolist(), frame["status"].unique().tolist()
    ([0, 1, 2], ['stopped'])
    """
    require_pandas("replicate", "`mislid run` does the same")  # before the runs
    workers: dict[str, Any] = {"jobs": jobs, "client": client, "executor": executor}
    kept: dict[str, Any] = {"output": output, "progress": progress}
    rows = replicate_rows(instance, m, runs=runs, seed=seed, **workers, **kept, **options)
    return as_frame(rows, Row._fields).astype({"correct": "boolean"})


def replicate_rows(
    instance: Instance,
    m: int,
    *,
    runs: int,
    seed: int = 0,
    jobs: int = 1,
    client: Any = None,
    executor: Executor | None = None,
    output: str | os.PathLike[str] | None = None,
    progress: ShowProgress = None,
    **options: Any,
) -> list[Row]:
    """The rows of `replicate`, in order, without pandas."""
    settings = replicate_settings(instance, m, runs=runs, seed=seed, **options)
    job = Job(instance, m, seed, options)
    chosen = _as_executor(jobs, client, executor)
    with contextlib.ExitStack() as stack:
        ledger = None
        if output is not None:
            ledger = stack.enter_context(open_ledger(output, settings))
        found = {} if ledger is None else ledger.rows
        missing = [run for run in range(runs) if run not in found] if found else range(runs)
        try:
            if missing:
                job.warm_up()
            tell = stack.enter_context(_reporter(progress, len(found), runs))
            # Submitted runs are cancelled however the loop ends.
            rows = _finished_rows(job, missing, chosen, kill=jobs > 1)
            stack.enter_context(contextlib.closing(rows))
            for row in rows:
                if row.status == INTERRUPTED:
                    raise KeyboardInterrupt
                if ledger is not None:
                    ledger.add(row)
                found[row.run] = row
                tell(len(found), runs)
        except KeyboardInterrupt:
            where = "" if output is None else f", kept in {os.fspath(output)!r}"
            message = f"interrupted after {len(found)} of {runs} runs{where}"
            raise Interrupted(message, sorted(found.values())) from None
    return sorted(found.values())


def replicate_settings(
    instance: Instance, m: int, *, runs: int, seed: int = 0, **options: Any
) -> dict[str, Any]:
    """The content of settings.json: everything that rows depend on.

    Examples
    --------
    >>> from mislid import Instance, Model
    >>> instance = Instance(Model([[1, 0], [0, 1], [1, 1]], 0.1), [0.1, 0.5, 0.9])
    >>> settings = replicate_settings(instance, 1, runs=3, delta=0.1)
    >>> settings["K"], settings["runs"], settings["options"]
    (3, 3, {'delta': 0.1})
    """
    as_instance(instance)
    m, seed = as_top_m(m, instance.K), as_count(seed, "seed", 0, LARGEST_SEED)
    return settings_of(instance, m, as_count(runs, "runs", 1, MOST_RUNS), seed, options)


@dataclass(frozen=True)
class Job:
    """Arguments shared by all runs of a replication; a run depends on them and its number only."""

    instance: Instance
    m: int
    seed: int
    options: dict[str, Any]
    # Key of the job in worker processes.
    name: str = field(default_factory=lambda: uuid.uuid4().hex, compare=False)

    def outcome(self, run: int, **changes: Any) -> Identification:
        """Do one run, with its random numbers."""
        seed = np.random.SeedSequence(self.seed, spawn_key=(run,))
        return identify(self.instance, self.m, seed=seed, **{**self.options, **changes})

    def row(self, run: int) -> Row:
        """Do one run, and summarise it as a row."""
        start = time.thread_time()
        try:
            outcome = self.outcome(run)
        except Exception as problem:
            problem.add_note(f"in run {run} of seed {self.seed}")
            raise
        seconds = round(time.thread_time() - start, 6)
        return Row(run, outcome.samples, outcome.correct, outcome.status, seconds)

    def warm_up(self) -> None:
        """Check the arguments and compile, so that the times of runs exclude compilation."""
        if self.outcome(0, max_samples=self.instance.K).status == INTERRUPTED:
            raise KeyboardInterrupt


# Jobs for which this process has compiled.
_warm: set[str] = set()


def _measure(job: Job, run: int) -> Row:
    """`Job.row` in a worker, with one warm-up per job."""
    if job.name not in _warm:
        job.warm_up()
        _warm.add(job.name)
    return job.row(run)


def _as_executor(jobs: int, client: Any, executor: Executor | None) -> Executor | None:
    """The executor of the runs; None for this process."""
    jobs = as_count(jobs, "jobs", 1, MOST_JOBS)
    if (jobs > 1) + (client is not None) + (executor is not None) > 1:
        raise ProblemError(
            f"only one of jobs, client and executor may be given; got jobs={jobs}, "
            f"client={shown(client)} and executor={shown(executor)}"
        )
    if client is not None:
        if not hasattr(client, "get_executor"):
            raise ProblemError(f"client must be a distributed.Client; got {type(client).__name__}")
        executor = client.get_executor(pure=False)
    if executor is not None and not isinstance(executor, Executor):
        raise ProblemError(
            f"executor must be a concurrent.futures.Executor; got {type(executor).__name__}"
        )
    return _processes(jobs) if jobs > 1 else executor


def _processes(jobs: int) -> Executor:
    """A pool of local processes, shared by all replications; idle processes end after a while.

    Scripts need no `if __name__ == "__main__":`.
    """
    try:
        from loky import get_reusable_executor
    except ImportError:
        raise MissingPackageError(
            f"jobs={jobs} needs the package loky (pip install 'mislid[cli]')"
        ) from None
    executor: Executor = get_reusable_executor(
        jobs, timeout=IDLE, initializer=_start_worker, initargs=(os.getpid(),)
    )
    return executor


def _start_worker(parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if os.name == "posix":
        threading.Thread(target=_end_with_parent, args=(parent,), daemon=True).start()


def _end_with_parent(parent: int) -> None:
    """End this worker soon after its parent is killed."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)


def _finished_rows(
    job: Job, runs: Sequence[int], executor: Executor | None, *, kill: bool
) -> Generator[Row, None, None]:
    """Rows in the order in which runs finish; closing the generator cancels waiting runs.

    With `kill`, closing also ends the processes of active runs.
    """
    if executor is None:
        yield from map(job.row, runs)
        return
    waiting: set[Future[Row]] = set()
    try:
        for first in range(0, len(runs), IN_FLIGHT):
            batch = runs[first : first + IN_FLIGHT]
            waiting = {executor.submit(_measure, job, run) for run in batch}
            for future in as_completed(waiting):
                yield future.result()
    except PicklingError as problem:
        raise ProblemError(
            f"options must be values that can be sent to other processes: {_reason(problem)}"
        ) from problem
    except (BrokenExecutor, CancelledError) as problem:
        raise MislidError(
            "a worker ended before its run did, perhaps for lack of memory, or could not begin: "
            f"{_reason(problem)}"
        ) from problem
    finally:
        if kill and not all(future.done() for future in waiting):
            executor.shutdown(kill_workers=True)  # type: ignore[call-arg]  # an argument of loky
        for future in waiting:
            future.cancel()


def _reason(problem: BaseException) -> str:
    """The last line of the error message of a process."""
    lines = str(problem.__cause__ or problem).strip(' \n"').splitlines()
    return lines[-1] if lines else type(problem).__name__


@contextlib.contextmanager
def _reporter(
    progress: ShowProgress, done: int, runs: int
) -> Iterator[Callable[[int, int], object]]:
    if callable(progress):
        yield progress
        return
    if progress is None or not as_flag(progress, "progress"):
        yield lambda done, runs: None
        return
    try:
        from tqdm import tqdm
    except ImportError:
        raise MissingPackageError("progress needs tqdm (pip install 'mislid[cli]')") from None
    # Runs read from disk do not count for the estimate of the remaining time.
    with tqdm(total=runs, initial=done, unit="run", dynamic_ncols=True) as bar:
        yield lambda done, runs: bar.update(done - bar.n)


@dataclass(frozen=True)
class Summary:
    """Summary statistics of many runs.

    Attributes
    ----------
    runs
        Number of runs.
    mean_samples, std_samples
        Mean and standard deviation (dividing by n) of the measurements.
    error_rate
        Share of runs with a wrong answer.
    unanswered
        Share of runs without an answer, which do not count as wrong.
    mean_seconds
        Mean processor time.
    """

    runs: int
    mean_samples: float
    std_samples: float
    error_rate: float
    unanswered: float
    mean_seconds: float


def summarise(rows: Sequence[Row]) -> Summary:
    """Summarise finished runs.

    Examples
    --------
    >>> rows = [Row(0, 10, True, "stopped", 0.1), Row(1, 30, False, "stopped", 0.3)]
    >>> summary = summarise(rows)
    >>> summary.mean_samples, summary.std_samples, summary.error_rate
    (20.0, 10.0, 0.5)
    """
    if not rows:
        raise ProblemError("rows must hold at least one finished run; got none")
    runs = len(rows)
    samples = [row.samples for row in rows]
    return Summary(
        runs=runs,
        mean_samples=statistics.fmean(samples),
        std_samples=statistics.pstdev(samples),
        error_rate=sum(row.correct is False for row in rows) / runs,
        unanswered=sum(row.correct is None for row in rows) / runs,
        mean_seconds=statistics.fmean(row.seconds for row in rows),
    )
