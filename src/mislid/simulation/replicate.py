"""Many runs of one identification: in this process, in several, or on a Dask cluster."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any

from mislid._validation import as_count, as_top_m
from mislid.errors import Interrupted, MissingPackageError, ProblemError
from mislid.model import Instance
from mislid.simulation._job import INTERRUPTED, Job, Outcome, Row
from mislid.simulation._ledger import Ledger
from mislid.simulation._settings import settings_of
from mislid.simulation._workers import Processes, here, in_processes, on_cluster

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["Processes", "Row", "replicate", "replicate_rows", "replicate_settings"]

Progress = bool | Callable[[int, int], object] | None


def replicate(
    instance: Instance,
    m: int,
    *,
    runs: int,
    seed: int = 0,
    jobs: int = 1,
    client: Any = None,
    output: str | os.PathLike[str] | None = None,
    progress: Progress = None,
    _identify: Callable[..., Outcome] | None = None,
    **options: Any,
) -> DataFrame:
    """Identify many times; a DataFrame with one row per run.

    Its columns are run, samples, correct (missing where a run gave no answer), status and seconds
    (of the processor).
    Run r draws its random numbers from SeedSequence(seed, spawn_key=(r,)): apart from the seconds,
    rows depend on neither `jobs` nor `client` nor `output`.

    Parameters
    ----------
    jobs
        Number of processes. With more than one, a script must guard its start by
        `if __name__ == "__main__":`, since processes import it.
    client
        A `distributed.Client`; its cluster does the runs in place of local processes.
    output
        Directory where settings.json and runs.csv are kept. Rows are added as they finish; the same
        call finds them there and does only the runs that are missing.
    progress
        True for a bar with the remaining time on stderr, or a function called with the number of
        finished runs and of all.
    options
        Passed on to `identify`: delta, algorithm, stopping, max_samples, tolerance, gamma and
        environment.

    Raises
    ------
    Interrupted
        On Ctrl-C, a KeyboardInterrupt with the finished `rows`.
    """
    try:
        import pandas as pd
    except ImportError:
        raise MissingPackageError(
            "replicate needs pandas (pip install 'mislid[cli]'); "
            "mislid.simulation.replicate.replicate_rows gives the same rows without it"
        ) from None
    rows = replicate_rows(
        instance,
        m,
        runs=runs,
        seed=seed,
        jobs=jobs,
        client=client,
        output=output,
        progress=progress,
        _identify=_identify,
        **options,
    )
    return pd.DataFrame(rows, columns=list(Row._fields)).astype({"correct": "boolean"})


def replicate_rows(
    instance: Instance,
    m: int,
    *,
    runs: int,
    seed: int = 0,
    jobs: int | Processes = 1,
    client: Any = None,
    output: str | os.PathLike[str] | None = None,
    progress: Progress = None,
    _identify: Callable[..., Outcome] | None = None,
    **options: Any,
) -> list[Row]:
    """`replicate` as a list of named tuples, which needs no pandas.

    `jobs` may be `Processes` that several replications share.
    """
    job = _as_job(instance, m, seed, options, _identify)
    runs = as_count(runs, "runs", 1)
    if not isinstance(jobs, Processes):
        jobs = as_count(jobs, "jobs", 1)
    with contextlib.ExitStack() as stack:
        kept: list[Row] = []
        keep: Callable[[Row], None] = kept.append
        if output is not None:
            ledger = stack.enter_context(Ledger(output, settings_of(job, runs)).opened())
            kept, keep = ledger.rows, ledger.add
        finished = {row.run for row in kept}
        missing = [run for run in range(runs) if run not in finished]
        if missing:
            job.warm_up()
        tell = stack.enter_context(_reporter(progress, len(kept), runs))
        try:
            _collect(_finished_rows(job, missing, jobs, client), kept, keep, tell, runs)
        except KeyboardInterrupt:
            where = "" if output is None else f", kept in {os.fspath(output)!r}"
            message = f"interrupted after {len(kept)} of {runs} runs{where}"
            raise Interrupted(message, sorted(kept)) from None
    return sorted(kept)


def replicate_settings(
    instance: Instance, m: int, *, runs: int, seed: int = 0, **options: Any
) -> dict[str, Any]:
    """What settings.json of such a replication holds."""
    return settings_of(_as_job(instance, m, seed, options, None), as_count(runs, "runs", 1))


def _as_job(
    instance: Instance,
    m: int,
    seed: int,
    options: dict[str, Any],
    identify: Callable[..., Outcome] | None,
) -> Job:
    if not isinstance(instance, Instance):
        raise ProblemError(f"instance must be a mislid.Instance; got {type(instance).__name__}")
    if not options.keys().isdisjoint({"callback", "every"}):
        raise ProblemError("callback and every are for one run of identify; many have progress")
    return Job(instance, as_top_m(m, instance.K), as_count(seed, "seed", 0), options, identify)


def _finished_rows(
    job: Job, runs: list[int], jobs: int | Processes, client: Any
) -> Generator[Row, None, None]:
    if not runs:
        return here(job, [])
    if client is not None:
        return on_cluster(job, runs, client)
    if isinstance(jobs, Processes):
        return jobs.rows(job, runs)
    return in_processes(job, runs, jobs) if jobs > 1 else here(job, runs)


def _collect(
    finished: Generator[Row, None, None],
    kept: list[Row],
    keep: Callable[[Row], None],
    tell: Callable[[int, int], object],
    runs: int,
) -> None:
    """Keep rows as they come; whatever ends that ends the workers too."""
    with contextlib.closing(finished):
        for row in finished:
            if row.status == INTERRUPTED:
                raise KeyboardInterrupt
            keep(row)
            tell(len(kept), runs)


@contextlib.contextmanager
def _reporter(progress: Progress, done: int, runs: int) -> Iterator[Callable[[int, int], object]]:
    if callable(progress):
        yield progress
        return
    if not progress:
        yield lambda done, runs: None
        return
    try:
        from tqdm import tqdm
    except ImportError:
        raise MissingPackageError("progress needs tqdm (pip install 'mislid[cli]')") from None
    # Runs that were found on disk say nothing about how long the others take.
    with tqdm(total=runs, initial=done, unit="run", dynamic_ncols=True) as bar:
        yield lambda done, runs: bar.update(done - bar.n)
