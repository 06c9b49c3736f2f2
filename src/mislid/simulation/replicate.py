"""Many runs of one identification: in this process, in several, or wherever an executor is."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from numbers import Integral
from typing import TYPE_CHECKING, Any

from mislid._tables import as_frame, require_pandas
from mislid._validation import LARGEST_SEED, as_count, as_flag, as_top_m
from mislid._words import shown
from mislid.errors import Interrupted, MissingPackageError, ProblemError
from mislid.model import Instance
from mislid.simulation.executors import MOST_JOBS, Processes, finished_rows
from mislid.simulation.job import INTERRUPTED, Job, Row
from mislid.simulation.ledger import Ledger

# Their rows are kept in memory.
MOST_RUNS = 10**7

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["Processes", "Row", "replicate", "replicate_rows", "replicate_settings"]

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
    shard: tuple[int, int] | None = None,
    output: str | os.PathLike[str] | None = None,
    progress: ShowProgress = None,
    **options: Any,
) -> DataFrame:
    """Identify many times; a DataFrame with one row per run.

    Run r draws its random numbers from SeedSequence(seed, spawn_key=(r,)): apart from the seconds,
    rows depend on neither `jobs` nor `client`, `executor`, `shard` and `output`.

    Parameters
    ----------
    instance
        Model, means and noise.
    m
        Number of arms to find.
    runs
        Number of runs.
    seed
        Of all random numbers.
    jobs
        Number of processes. It works in notebooks and in any script. Only one of jobs, client and
        executor may be given.
    client
        A `distributed.Client`; its cluster does the runs.
    executor
        Any `concurrent.futures.Executor` that does the runs: of threads, of processes, of MPI,
        or `client.get_executor()` of Dask. It is left open.
    shard
        (i, n) with i from 1 to n: do only every n-th run, from run i - 1 on.
    output
        Directory where settings.json and runs.csv are kept. Rows are added as they finish; the same
        call finds them there and does only the runs that are missing.
    progress
        True for a bar with the remaining time on stderr, or a function called with the number of
        finished runs and of all.
    **options
        Passed on to `identify`: delta, algorithm, stopping, max_samples, tolerance, gamma,
        environment and assume_noise.

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
    missing = {
        "what": "replicate",
        "instead": "mislid.simulation.replicate.replicate_rows gives the same rows",
    }
    require_pandas(**missing)  # before hours of work
    rows = replicate_rows(
        instance,
        m,
        runs=runs,
        seed=seed,
        jobs=jobs,
        client=client,
        executor=executor,
        shard=shard,
        output=output,
        progress=progress,
        **options,
    )
    return as_frame(rows, Row._fields, **missing).astype({"correct": "boolean"})


def replicate_rows(
    instance: Instance,
    m: int,
    *,
    runs: int,
    seed: int = 0,
    jobs: int = 1,
    client: Any = None,
    executor: Executor | None = None,
    shard: tuple[int, int] | None = None,
    output: str | os.PathLike[str] | None = None,
    progress: ShowProgress = None,
    **options: Any,
) -> list[Row]:
    """`replicate` as a list of named tuples, which needs no pandas.

    Parameters
    ----------
    instance, m, runs, seed, jobs, client, executor, shard, output, progress, **options
        As in `replicate`. Replications that follow each other can share `Processes` as executor.

    Returns
    -------
    list of Row
        One per run, in order.

    Raises
    ------
    ProblemError, MissingPackageError, MislidError, Interrupted
        As in `replicate`.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from mislid import Instance, Model
    >>> instance = Instance(Model([[1, 0], [0, 1], [1, 1]], 0.1), [0.1, 0.5, 0.9])
    >>> with ThreadPoolExecutor(2) as threads:
    ...     rows = replicate_rows(instance, 1, runs=6, executor=threads, shard=(2, 3))
    >>> [row.run for row in rows]
    [1, 4]
    """
    job = _as_job(instance, m, seed, options)
    runs = as_count(runs, "runs", 1, MOST_RUNS)
    asked = _runs_of(shard, runs)
    workers = _as_workers(jobs, client, executor)
    with contextlib.ExitStack() as stack:
        ledger = None
        if output is not None:
            ledger = stack.enter_context(Ledger(output, job.settings(runs)).opened())
        earlier = ledger.rows if ledger is not None else []
        found = {row.run: row for row in earlier if row.run in asked}
        missing: Sequence[int] = asked
        if found:
            missing = [run for run in asked if run not in found]
        try:
            if missing:
                job.warm_up()
            tell = stack.enter_context(_reporter(progress, len(found), len(asked)))
            # Whatever ends the loop ends the workers too.
            rows = stack.enter_context(contextlib.closing(finished_rows(job, missing, **workers)))
            for row in rows:
                if row.status == INTERRUPTED:
                    raise KeyboardInterrupt
                if ledger is not None:
                    ledger.add(row)
                found[row.run] = row
                tell(len(found), len(asked))
        except KeyboardInterrupt:
            where = "" if output is None else f", kept in {os.fspath(output)!r}"
            message = f"interrupted after {len(found)} of {len(asked)} runs{where}"
            raise Interrupted(message, sorted(found.values())) from None
    return sorted(found.values())


def replicate_settings(
    instance: Instance, m: int, *, runs: int, seed: int = 0, **options: Any
) -> dict[str, Any]:
    """What settings.json of such a replication holds, as values of JSON.

    That is everything that rows depend on, and the versions that make them.

    Examples
    --------
    >>> from mislid import Instance, Model
    >>> instance = Instance(Model([[1, 0], [0, 1], [1, 1]], 0.1), [0.1, 0.5, 0.9])
    >>> settings = replicate_settings(instance, 1, runs=3, delta=0.1)
    >>> settings["K"], settings["runs"], settings["options"]
    (3, 3, {'delta': 0.1})
    """
    return _as_job(instance, m, seed, options).settings(as_count(runs, "runs", 1, MOST_RUNS))


def _as_job(instance: Instance, m: int, seed: int, options: dict[str, Any]) -> Job:
    if not isinstance(instance, Instance):
        raise ProblemError(f"instance must be a mislid.Instance; got {type(instance).__name__}")
    if not options.keys().isdisjoint({"callback", "every"}):
        raise ProblemError("callback and every are for one run of identify; many have progress")
    return Job(instance, as_top_m(m, instance.K), as_count(seed, "seed", 0, LARGEST_SEED), options)


def _runs_of(shard: tuple[int, int] | None, runs: int) -> range:
    """The runs that fall to a shard.

    >>> list(_runs_of((1, 3), 8)), list(_runs_of((3, 3), 8)), _runs_of(None, 8)
    ([0, 3, 6], [2, 5], range(0, 8))
    """
    if shard is None:
        return range(runs)
    try:
        number, count = shard
        whole = all(isinstance(part, Integral) for part in shard)
    except (TypeError, ValueError):
        number, count, whole = 0, 0, False
    if not (whole and 1 <= number <= count <= runs):
        raise ProblemError(
            f"shard must be (i, n) with whole numbers 1 <= i <= n <= runs={runs}; got "
            f"{shown(shard)}"
        )
    return range(number - 1, runs, count)


def _as_workers(jobs: int, client: Any, executor: Executor | None) -> dict[str, Any]:
    """Who does the runs: at most one of the three."""
    jobs = as_count(jobs, "jobs", 1, MOST_JOBS)
    given = [f"jobs={jobs}"] * (jobs > 1) + ["client"] * (client is not None)
    given += ["executor"] * (executor is not None)
    if len(given) > 1:
        raise ProblemError(
            f"only one of jobs, client and executor may be given; got {' and '.join(given)}"
        )
    if client is not None and not hasattr(client, "get_executor"):
        raise ProblemError(f"client must be a distributed.Client; got {type(client).__name__}")
    if executor is not None and not isinstance(executor, Executor):
        raise ProblemError(
            f"executor must be a concurrent.futures.Executor, such as client.get_executor() of "
            f"Dask; got {type(executor).__name__}"
        )
    return {"jobs": jobs, "client": client, "executor": executor}


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
    # Runs that were found on disk say nothing about how long the others take.
    with tqdm(total=runs, initial=done, unit="run", dynamic_ncols=True) as bar:
        yield lambda done, runs: bar.update(done - bar.n)
