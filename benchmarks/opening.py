"""Opening a study: seconds and memory of a new process, by the number of pairs in the log."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

import mislid
from mislid.study import Study

from .cases import Floats
from .measuring import in_own_process
from .report import digits, duration, progress, table

ARMS, DIMENSION, TOP = 100, 10, 5
NOISE = 20.0
PAIRS, REPEATS = (0, 10_000, 100_000), 3
QUICK_PAIRS, QUICK_REPEATS = (0, 20), 1

# What is imported, compiled and connected before the clock starts; the study; how to look at it.
OWN = (
    """
import mislid
from mislid.study.decisions import warm_up
from mislid.study.storage import as_storage
warm_up("mislid", "guaranteed")
storage = as_storage(address)
storage.names()
""",
    "mislid.load_study(study_name=name, storage=storage)",
    "study.samples",
)
OPTUNA = (
    """
import optuna
optuna.logging.set_verbosity(optuna.logging.ERROR)
storage = optuna.storages.RDBStorage(address)
storage.get_all_studies()
arms = list(range(100))
""",
    "optuna.load_study(study_name=name, storage=storage, sampler=optuna.samplers.RandomSampler(0))",
    "len(study.trials)",
)
WORK = """
import json, sys, time
from benchmarks.measuring import peak_bytes
address, name = sys.argv[1:]
{prepare}
def asked():
    trial = study.ask()
    if hasattr(trial, "suggest_categorical"):
        trial.suggest_categorical("arm", arms)
    return trial
begin = time.perf_counter()
study = {study}
{look}
looked = time.perf_counter()
trial = asked()
done = time.perf_counter()
study.tell(trial, 0.0)
for _ in range(20):
    study.tell(asked(), 0.0)
print(json.dumps([looked - begin, done - looked, peak_bytes() / 2**20]))
"""


class Opening(NamedTuple):
    """Medians over new processes."""

    look: float  # seconds until the number of measurements is known
    ask: float  # and until the first ask has returned
    peak: float  # MiB


def made_up(seed: int) -> tuple[Generator, Floats, Floats]:
    """A generator, and features (K, d) and linear means (K,) that it drew."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(ARMS, DIMENSION))
    return rng, features, features @ rng.normal(size=DIMENSION)


def new_study(name: str, features: Floats, storage: str | None = None) -> Study:
    """The question that is asked of what was made up."""
    return mislid.create_study(
        study_name=name,
        candidates=features,
        intercept=False,
        m=TOP,
        misspecification=0.5,
        noise=NOISE,
        storage=storage,
    )


def write(addresses: dict[str, str], pairs: int) -> str:
    """The same log of so many asks and tells in every storage; its name."""
    rng, features, means = made_up(pairs)
    name = f"pairs-{pairs}"
    study = new_study(name, features)
    for _ in range(pairs):
        trial = study.ask()
        study.tell(trial, means[trial.arm] + NOISE * rng.standard_normal())
    for address in addresses.values():
        mislid.copy_study(from_study_name=name, from_storage=study._storage, to_storage=address)
    return name


def opened(package: tuple[str, str, str], address: str, name: str, repeats: int) -> Opening:
    """Medians over new processes."""
    prepare, study, look = package
    work = WORK.format(prepare=prepare, study=study, look=look)
    found = [in_own_process("-c", work, address, name) for _ in range(repeats)]
    return Opening(*np.median(found, axis=0).tolist())


def row(what: str, cost: Opening) -> list[str]:
    return [what, duration(cost.look), duration(cost.ask), f"{digits(cost.peak)} MiB"]


def run(
    places: dict[str, str | None], others: dict[str, str], kept: tuple[int, ...], quick: bool
) -> str:
    """What opening costs: studies of ours, and those that Optuna was left with."""
    sizes, repeats = (QUICK_PAIRS, QUICK_REPEATS) if quick else (PAIRS, REPEATS)
    addresses = {name: address for name, address in places.items() if address is not None}
    rows = []
    for size in sizes:
        progress(f"studies: opening after {size} pairs")
        name = write(addresses, size)
        for storage, address in addresses.items():
            rows.append(row(f"mislid, {storage}, {size:,}", opened(OWN, address, name, repeats)))
    for size in kept:
        for storage, address in others.items():
            progress(f"studies: opening Optuna's after {size} trials")
            cost = opened(OPTUNA, address, f"after-{size}", repeats)
            rows.append(row(f"Optuna, {storage}, {size:,}", cost))
    header = ["opening after so many pairs", "to its size", "on to the first ask", "peak memory"]
    return table(header, rows)
