"""Ask and tell: seconds a pair, whatever the storage and the number of measurements before it."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
from tests.oracles.postgresql import programs, running_server

import mislid
from mislid.study import Study
from mislid.study.storage import Storage, as_storage

from .report import Spread, duration, progress, table, version

ARMS, DIMENSION, TOP = 100, 10, 5
SIZES, PAIRS = (0, 1_000, 10_000), 200
QUICK_SIZES, QUICK_PAIRS = (0, 20), 5
# Optuna takes its history trial by trial; more of it would take longer than all the rest.
OPTUNA_MOST = 1_000

Pair = Callable[[int], object]


def new_study(storage: Storage | str | None, history: int) -> Study:
    rng = np.random.default_rng(history)
    features = rng.normal(size=(ARMS, DIMENSION))
    study = mislid.create_study(
        study_name=f"after-{history}",
        candidates=features,
        m=TOP,
        misspecification=0.5,
        storage=storage,
    )
    means = features @ rng.normal(size=DIMENSION)
    arms = rng.integers(ARMS, size=history)
    study.add_observations(zip(arms, means[arms] + rng.normal(size=history), strict=True))
    study.tell(study.ask(), 0.0)  # compiles, or loads
    return study


def seconds_a_pair(pair: Pair, count: int) -> Spread:
    found = []
    for number in range(count):
        begin = time.perf_counter()
        pair(number)
        found.append(time.perf_counter() - begin)
    return Spread.of(found)


def ask_and_tell(study: Study) -> Pair:
    return lambda number: study.tell(study.ask(), 0.01 * (number % 7))


def optuna_pair(address: str, history: int) -> Pair:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(
        storage=address, study_name=f"after-{history}", sampler=optuna.samplers.RandomSampler(0)
    )
    choice = optuna.distributions.CategoricalDistribution(list(range(ARMS)))
    for number in range(history):
        study.add_trial(
            optuna.trial.create_trial(
                params={"arm": number % ARMS}, distributions={"arm": choice}, value=0.0
            )
        )

    def pair(number: int) -> None:
        trial = study.ask()
        trial.suggest_categorical("arm", list(range(ARMS)))
        study.tell(trial, 0.01 * (number % 7))

    return pair


@contextmanager
def storages() -> Iterator[dict[str, str | None]]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        found: dict[str, str | None] = {"memory": None, "SQLite": f"sqlite:///{folder / 'lab.db'}"}
        if (binaries := programs()) is not None:
            server = stack.enter_context(running_server(binaries, durable=True))
            found["PostgreSQL"] = server.new_schema()
        yield found


def own_row(name: str, address: str | None, sizes: tuple[int, ...], pairs: int) -> list[str]:
    cells = []
    for size in sizes:
        progress(f"studies: {name} after {size}")
        study = new_study(None if address is None else as_storage(address), size)
        cells.append(str(seconds_a_pair(ask_and_tell(study), pairs)))
    study._storage.close()
    return [f"mislid, {name}", *cells]


def optuna_row(name: str, address: str, sizes: tuple[int, ...], pairs: int) -> list[str]:
    cells = []
    for size in sizes:
        progress(f"studies: Optuna, {name} after {size}")
        measured = size <= OPTUNA_MOST
        spread = seconds_a_pair(optuna_pair(address, size), pairs) if measured else None
        cells.append("not measured" if spread is None else str(spread))
    return [f"Optuna {version('optuna')}, random sampler, {name}", *cells]


def run(quick: bool) -> str:
    """The table."""
    sizes, pairs = (QUICK_SIZES, QUICK_PAIRS) if quick else (SIZES, PAIRS)
    rows = []
    with storages() as places:
        for name, address in places.items():
            rows.append(own_row(name, address, sizes, pairs))
        if version("optuna") != "missing":
            with tempfile.TemporaryDirectory() as folder:
                address = f"sqlite:///{Path(folder) / 'optuna.db'}"
                rows.append(optuna_row("SQLite", address, sizes, pairs))
    header = ["storage", *(f"after {size:,} values" for size in sizes)]
    return f"{table(header, rows)}\n\n{replay_of_pairs(10 * pairs)}"


def replay_of_pairs(count: int) -> str:
    """What opening a study costs."""
    study = new_study(None, 0)
    seconds_a_pair(ask_and_tell(study), count)
    begin = time.perf_counter()
    again = Study(study.study_name, study._key, study._storage)
    assert again.samples == count + 1
    each = (time.perf_counter() - begin) / count
    return f"Opening a study replays its log, once: {duration(each)} a pair, for {count:,} of them."
