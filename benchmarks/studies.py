"""Studies: seconds of an ask and a tell, and of opening a long log in a new process."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.metadata import version
from pathlib import Path

import numpy as np
from tests.helpers.postgresql import programs, running_server

import mislid
from mislid.study import Study
from mislid.study.storage import MemoryStorage, Storage

from .measuring import in_own_process, timed
from .report import Spread, Tables, digits, duration, progress

ARMS, DIMENSION, TOP, NOISE = 100, 10, 5, 20.0
# Measurements before the pairs of ask and tell that are timed, and how many of these.
SIZES, PAIRS = (0, 1_000, 10_000, 100_000), 200
# Pairs of ask and tell in a log that is opened.
LOGS, REPEATS = (0, 10_000, 100_000), 3
WORK = """
import json, sys, time
import mislid
from benchmarks.measuring import peak_bytes
address, name = sys.argv[1:]
mislid.create_study(candidates=range(3), m=1, noise=1.0).ask()  # loads the compiled code
mislid.list_studies(storage=address)
begin = time.perf_counter()
study = mislid.load_study(study_name=name, storage=address)
study.samples
looked = time.perf_counter()
trial = study.ask()
done = time.perf_counter()
study.tell(trial, 0.0)
print(json.dumps([looked - begin, done - looked, peak_bytes() / 2**20]))
"""


@contextmanager
def storages() -> Iterator[dict[str, str | None]]:
    """Addresses by name: memory, a file, and a server where its programs are installed."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        found: dict[str, str | None] = {"memory": None, "SQLite": f"sqlite:///{folder / 'lab.db'}"}
        if (binaries := programs()) is not None:
            server = stack.enter_context(running_server(binaries, durable=True))
            found["PostgreSQL"] = server.new_schema()
        yield found


def new_study(
    name: str, seed: int, storage: Storage | str | None = None
) -> tuple[Study, Callable[[], None]]:
    """A study of a random problem, and a function that asks, measures and tells once."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(ARMS, DIMENSION))
    means = features @ rng.normal(size=DIMENSION)
    study = mislid.create_study(
        study_name=name,
        candidates=features,
        intercept=False,
        m=TOP,
        misspecification=0.5,
        noise=NOISE,
        storage=storage,
    )

    def pair() -> None:
        trial = study.ask()
        study.tell(trial, means[trial.arm] + NOISE * rng.standard_normal())

    return study, pair


def pairs(storage: str | None, size: int, count: int) -> Spread:
    """Seconds of a pair after so many measurements."""
    study, pair = new_study(f"after-{size}", size, storage)
    rng = np.random.default_rng(size)
    values = NOISE * rng.standard_normal(size)
    study.add_observations(list(zip((np.arange(size) % ARMS).tolist(), values, strict=True)))
    pair()
    return Spread.of(timed(pair).wall for _ in range(count))


def optuna_pairs(storage: str, size: int, count: int) -> Spread:
    """The same for Optuna's random sampler, which has nothing to decide."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = optuna.samplers.RandomSampler(0)
    study = optuna.create_study(storage=storage, study_name=f"after-{size}", sampler=sampler)

    def pair() -> None:
        trial = study.ask()
        trial.suggest_categorical("arm", list(range(ARMS)))
        study.tell(trial, 0.0)

    for _ in range(size + 1):
        pair()
    return Spread.of(timed(pair).wall for _ in range(count))


def opened(storages_of: dict[str, str | None], size: int, repeats: int) -> Iterator[list[str]]:
    """Rows: a new process until the number of measurements is known, and on to the first ask."""
    origin, name = MemoryStorage(), f"log-{size}"
    _, pair = new_study(name, size, origin)
    for _ in range(size):
        pair()
    for place, address in storages_of.items():
        if address is not None:
            mislid.copy_study(from_study_name=name, from_storage=origin, to_storage=address)
            found = [in_own_process("-c", WORK, address, name) for _ in range(repeats)]
            look, ask, peak = np.median(found, axis=0).tolist()
            progress(f"studies: {place}, {size} pairs opened in {look:.2f} s")
            yield [f"mislid, {place}, {size:,}", duration(look), duration(ask), f"{peak:,.0f} MiB"]


def run(quick: bool) -> Tables:
    """Both tables."""
    sizes, count = ((0, 20), 5) if quick else (SIZES, PAIRS)
    logs, repeats = ((20,), 1) if quick else (LOGS, REPEATS)
    rows, opening = [], []
    with storages() as places, tempfile.TemporaryDirectory() as folder:
        for name, address in places.items():
            progress(f"studies: {name}")
            rows.append([f"mislid, {name}", *(str(pairs(address, n, count)) for n in sizes)])
        place = f"sqlite:///{folder}/optuna.db"
        # Optuna takes its history trial by trial; more of it would take longer than all the rest.
        taken = [optuna_pairs(place, n, count) for n in sizes[:3]]
        empty = [""] * (len(sizes) - len(taken))
        rows.append([f"Optuna {version('optuna')}, SQLite", *map(str, taken), *empty])
        for size in logs:
            opening += opened(places, size, repeats)
    columns = [f"after {digits(size) if size < 1 else f'{size:,}'} values" for size in sizes]
    header = ("opening after so many pairs", "to its size", "on to the first ask", "peak memory")
    return {"studies": (("storage", *columns), rows), "opening": (header, opening)}
