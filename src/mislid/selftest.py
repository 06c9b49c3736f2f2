"""Whether an installation works: `python -m mislid.selftest`.

It needs what the package itself needs and nothing else, takes about ten seconds once kernels are
compiled, writes only into a temporary folder, and ends with `ok` and exit status 0, or says what
went wrong and ends with 1.
"""

from __future__ import annotations

import math
import platform
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from importlib import metadata, util
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import mislid

if TYPE_CHECKING:
    from mislid._validation import Vector
    from mislid.model import Instance, Model

NEEDED = ("numpy", "scipy", "numba")
OPTIONAL = ("sqlalchemy", "pandas", "matplotlib", "optuna")

FEATURES = (
    (0.93, -0.21, 0.37),
    (-0.34, 0.88, 0.12),
    (0.17, 0.29, -0.91),
    (0.68, 0.53, -0.26),
    (-0.47, -0.62, 0.55),
    (-0.71, 0.19, -0.43),
)
MEANS = (1.02, 0.73, -0.11, 0.08, -0.57, -0.94)
NOISE = (0.731, 0.547, 0.613, 0.689, 0.571, 0.653)
# What a run of MisLid with seed 4 did when this was written; rounding changes nothing in it.
SAMPLES, COUNTS = 119, (21, 29, 15, 43, 5, 6)


class Failed(Exception):
    """Something is not as it should be."""


def expect(holds: object, what: str) -> None:
    """Fail with a sentence unless something holds; unlike `assert`, also in optimised Python."""
    if not holds:
        raise Failed(what)


def versions() -> str:
    """What is installed, in a line."""
    found = [f"mislid {mislid.__version__}", f"Python {platform.python_version()}"]
    for name in (*NEEDED, *OPTIONAL):
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            if name in NEEDED:
                found.append(f"{name}, of which nothing says the version")
    return ", ".join(found)


def _model() -> Model:
    return mislid.Model(FEATURES, misspecification=0.5)


def _instance() -> Instance:
    return mislid.Instance(_model(), MEANS, noise=NOISE)


def public_names() -> str:
    """Every public name can be loaded."""
    for name in mislid.__all__:
        expect(getattr(mislid, name, None) is not None, f"mislid.{name} cannot be loaded")
    return f"{len(mislid.__all__)} names"


def geometry() -> str:
    """The closest alternative is proved, and SciPy finds none that is closer."""
    weights = (21.0, 29.0, 15.0, 43.0, 5.0, 6.0)
    found = mislid.closest_alternative(_model(), MEANS, weights, 2)
    check = found.check()
    expect(check, f"the closest alternative does not hold: {check}")
    slow = min(
        _closest_by_scipy(weights, challenger, incumbent)
        for challenger, incumbent in product(range(2, 6), range(2))
    )
    expect(
        math.isclose(found.cost, slow, rel_tol=1e-5),
        f"the closest alternative costs {found.cost!r}, and by brute force {slow!r}",
    )
    return f"cost {found.cost:.4f}, by brute force {slow:.4f}"


def _closest_by_scipy(weights: tuple[float, ...], challenger: int, incumbent: int) -> float:
    """The cost of reversing one pair: a quadratic program, by a general solver."""
    import numpy as np
    from scipy.optimize import minimize

    features, means, each = np.array(FEATURES), np.array(MEANS), np.array(weights)
    K, d = features.shape
    tube = np.hstack([np.eye(K), -features])  # deviation of means lambda from features theta
    order = np.zeros(K + d)
    order[challenger], order[incumbent] = 1.0, -1.0

    def cost(point: Vector) -> float:
        return float(0.5 * each @ (point[:K] - means) ** 2)

    def slope(point: Vector) -> Vector:
        return np.concatenate([each * (point[:K] - means), np.zeros(d)])

    limits = [
        {"type": "ineq", "fun": lambda x: 0.5 - tube @ x, "jac": lambda x: -tube},
        {"type": "ineq", "fun": lambda x: 0.5 + tube @ x, "jac": lambda x: tube},
        {"type": "ineq", "fun": lambda x: order @ x, "jac": lambda x: order},
    ]
    solved = minimize(
        cost, np.zeros(K + d), jac=slope, constraints=limits, method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-12},
    )  # fmt: skip
    expect(solved.success, f"SciPy solves no quadratic program: {solved.message}")
    return float(solved.fun)


def planning() -> str:
    """The characteristic time is proved from both sides."""
    planned = mislid.characteristic_time(_model(), MEANS, 2, noise=NOISE, rtol=1e-2)
    check = planned.check()
    expect(check, f"the characteristic time does not hold: {check}")
    return f"{planned.lower:.2f} to {planned.upper:.2f}"


def identification() -> str:
    """A run with a seed does what it did when this was written."""
    found = mislid.identify(_instance(), 2, delta=0.05, seed=4, max_samples=1200)
    got = (found.samples, tuple(found.counts.tolist()), found.answer)
    expect(
        got == (SAMPLES, COUNTS, (0, 1)),
        f"a run took {got[0]} measurements, {got[1]}, and found {got[2]}; expected {SAMPLES}, "
        f"{COUNTS} and (0, 1)",
    )
    return f"{found.samples} measurements"


def _decided(storage: str | None) -> str:
    """A study that decides, and whose certificate is verified; a forged one is not."""
    labels = ("a", "b", "c", "d", "e", "f")
    study = mislid.create_study(
        study_name="selftest", candidates=dict(zip(labels, FEATURES, strict=True)), m=2,
        misspecification=0.5, noise=0.3, storage=storage,
    )  # fmt: skip
    mean: dict[str | int, float] = dict(zip(labels, MEANS, strict=True))
    study.optimize(lambda trial: mean[trial.arm], n_trials=1000)
    if storage is not None:
        study = mislid.load_study(storage=storage)
    if (result := study.result) is None:
        raise Failed("a study did not decide")
    certificate = result.certificate.to_dict()
    check = mislid.verify(certificate)
    expect(check.ok and check.proven, f"a certificate does not hold: {check.failure}")
    expect(set(result.answer) == {"a", "b"}, f"a study answered {result.answer}")
    certificate["data"]["sums"][0] += 1.0
    expect(not mislid.verify(certificate).ok, "a forged certificate was taken for a good one")
    return f"answer {', '.join(map(str, result.answer))} after {result.samples} measurements"


def study_in_memory() -> str:
    """A study in memory."""
    return _decided(None)


def study_in_sqlite() -> str:
    """A study in a file, which is opened again."""
    if util.find_spec("sqlalchemy") is None:
        return "not tried, without SQLAlchemy (pip install 'mislid[study]')"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        return _decided(f"sqlite:///{Path(folder) / 'selftest.db'}")


STEPS: tuple[Callable[[], str], ...] = (
    public_names,
    geometry,
    planning,
    identification,
    study_in_memory,
    study_in_sqlite,
)


def outcomes() -> Iterator[tuple[str, str, bool]]:
    """For every step its name, what it says, and whether it went well."""
    for step in STEPS:
        name, began = step.__name__.replace("_", " "), time.monotonic()
        try:
            words = step()
        except Failed as problem:
            yield name, f"FAILED: {problem}", False
        except Exception:  # noqa: BLE001 - whatever a damaged installation does
            yield name, f"FAILED:\n{traceback.format_exc()}", False
        else:
            yield name, f"{words} ({time.monotonic() - began:.1f} s)", True


def main() -> int:
    """Try everything and say how it went; the exit status is 1 when anything is wrong."""
    say = sys.stdout.write
    say(f"{versions()}\n")
    good = True
    for name, words, went_well in outcomes():
        say(f"{name:<16} {words}\n")
        sys.stdout.flush()
        good = good and went_well
    say("ok\n" if good else "not ok: the installation is damaged, or this is a bug\n")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
