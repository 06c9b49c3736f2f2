"""Ask and tell: seconds a pair, whatever the storage and the number of measurements before it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from tests.helpers.postgresql import programs, running_server

import mislid
from mislid.study import Study
from mislid.study.storage import Storage, as_storage

from . import opening
from .measuring import timed
from .opening import ARMS, TOP, made_up
from .report import Spread, digits, progress, table, version

SIZES, PAIRS = (0, 1_000, 10_000, 100_000), 200
QUICK_SIZES, QUICK_PAIRS = (0, 20, 40, 60), 5
# The size whose pairs are also given by the second.
COUNTED = 2
# Optuna takes its history trial by trial; more of it would take longer than all the rest.
OPTUNA_MOST = 10_000

Pair = Callable[[int], object]


def new_study(storage: Storage | str | None, history: int) -> Study:
    rng, features, means = made_up(history)
    study = mislid.create_study(
        study_name=f"after-{history}",
        candidates=features,
        intercept=False,
        m=TOP,
        misspecification=0.5,
        storage=storage,
        noise=1.0,
    )
    arms = rng.integers(ARMS, size=history)
    study.add_observations(zip(arms, means[arms] + rng.normal(size=history), strict=True))
    study.tell(study.ask(), 0.0)  # compiles, or loads
    return study


def seconds_a_pair(pair: Pair, count: int) -> Spread:
    return Spread.of(timed(partial(pair, number)).wall for number in range(count))


def ask_and_tell(study: Study) -> Pair:
    return lambda number: study.tell(study.ask(), 0.01 * (number % 7))


def optuna_pair(address: str, history: int) -> Pair:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    name, sampler = f"after-{history}", optuna.samplers.RandomSampler(0)
    optuna_history(address, name, history)
    study = optuna.load_study(storage=address, study_name=name, sampler=sampler)

    def pair(number: int) -> None:
        trial = study.ask()
        trial.suggest_categorical("arm", list(range(ARMS)))
        study.tell(trial, 0.01 * (number % 7))

    return pair


def optuna_history(address: str, name: str, history: int) -> None:
    """A study with so many trials, which it takes one by one; not waiting for the disk here."""
    import optuna

    storage = optuna.storages.RDBStorage(address)
    lax = "PRAGMA synchronous=OFF" if "sqlite" in address else "SET synchronous_commit TO off"

    @sa.event.listens_for(storage.engine, "connect")
    def hurry(connection: Any, _record: Any) -> None:
        connection.execute(lax)
        connection.commit()

    storage.engine.dispose()
    study = optuna.create_study(storage=storage, study_name=name)
    choice = optuna.distributions.CategoricalDistribution(list(range(ARMS)))
    for number in range(history):
        study.add_trial(
            optuna.trial.create_trial(
                params={"arm": number % ARMS}, distributions={"arm": choice}, value=0.0
            )
        )
    storage.engine.dispose()


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
    spreads = []
    for size in sizes:
        progress(f"studies: {name} after {size}")
        study = new_study(None if address is None else as_storage(address), size)
        spreads.append(seconds_a_pair(ask_and_tell(study), pairs))
        study._storage.close()
    return [f"mislid, {name}", *map(str, spreads), rate(spreads[COUNTED])]


def rate(spread: Spread | None) -> str:
    """Pairs a second, by the median."""
    return "not measured" if spread is None else digits(1.0 / spread.median)


def optuna_row(name: str, address: str, sizes: tuple[int, ...], pairs: int) -> list[str]:
    spreads = []
    for size in sizes:
        progress(f"studies: Optuna, {name} after {size}")
        measured = size <= OPTUNA_MOST
        spreads.append(seconds_a_pair(optuna_pair(address, size), pairs) if measured else None)
    cells = ["not measured" if spread is None else str(spread) for spread in spreads]
    return [f"Optuna {version('optuna')}, random sampler, {name}", *cells, rate(spreads[COUNTED])]


def optuna_addresses(places: dict[str, str | None], folder: str) -> dict[str, str]:
    """The same server and disk."""
    found = {"SQLite": f"sqlite:///{Path(folder) / 'optuna.db'}"}
    server = places.get("PostgreSQL")
    if server is not None:
        found["PostgreSQL"] = server.replace("postgresql", "postgresql+psycopg", 1)
    return found


def run(quick: bool) -> str:
    """The tables."""
    sizes, pairs = (QUICK_SIZES, QUICK_PAIRS) if quick else (SIZES, PAIRS)
    rows = []
    with storages() as places, tempfile.TemporaryDirectory() as folder:
        for name, address in places.items():
            rows.append(own_row(name, address, sizes, pairs))
        others = optuna_addresses(places, folder) if version("optuna") != "missing" else {}
        for name, address in others.items():
            rows.append(optuna_row(name, address, sizes, pairs))
        counted = f"pairs a second after {sizes[COUNTED]:,}"
        header = ["storage", *(f"after {size:,} values" for size in sizes), counted]
        kept = [size for size in sizes if size <= OPTUNA_MOST]
        return f"{table(header, rows)}\n\n{opening.run(places, others, (kept[0], kept[-1]), quick)}"
