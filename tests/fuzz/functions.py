"""Every public function, class and method, called with arguments of which some are nasty."""

import contextlib
import copy
import inspect
import json
import random
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import optuna

import mislid
from fuzz import nasty

optuna.logging.set_verbosity(optuna.logging.ERROR)

FEATURES = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
MEANS = [0.4, 0.5, 0.8]
# What functions of the caller raise is the caller's.
FUNCTIONS = {"measure", "callback", "callbacks", "progress"}
# Budgets that are allowed, and would take for ever, are no fault.
NEVER_NASTY = {"max_samples", "timeout", "n_trials", "jobs", "n_jobs", "epochs"}


def model() -> mislid.Model:
    return mislid.Model(FEATURES, 0.1)


def instance() -> mislid.Instance:
    return mislid.Instance(model(), MEANS, 0.3)


def question() -> mislid.Question:
    return mislid.Question(model(), 1, noise=0.3)


def study(decided: bool = False) -> mislid.Study:
    made = mislid.create_study(
        study_name="fuzz", candidates=dict(zip("abc", FEATURES, strict=True)), m=1,
        misspecification=0.1, noise=0.1, intercept=False,
    )  # fmt: skip
    made.ask(3)
    made.tell(0, 0.4)
    if decided:
        known = dict(zip("abc", MEANS, strict=True))
        made.add_observations([(arm, mean) for arm, mean in known.items() for _ in range(40)])
    return made


def search() -> optuna.Study:
    made = optuna.create_study()
    for x in MEANS:
        scale = {"x": optuna.distributions.FloatDistribution(0.0, 1.0)}
        made.add_trial(optuna.trial.create_trial(params={"x": x}, distributions=scale, value=x))
    return made


def a_half(trial: mislid.Trial) -> float:
    return 0.5


def good(name: str, default: Any, dice: random.Random) -> Any:
    """A value that an argument of this name may have."""
    known: dict[str, Callable[[], Any]] = {
        "model": model,
        "instance": instance,
        "features": lambda: FEATURES,
        "question": question,
        "candidates": lambda: dice.choice([FEATURES, ["a", "b", "c"], {"a": [1, 0], "b": [0, 1]}]),
        "means": lambda: MEANS,
        "weights": lambda: [10.0, 20.0, 20.0],
        "misspecification": lambda: 0.1,
        "misspecifications": lambda: [0.0, 0.1],
        "m": lambda: 1,
        "noise": lambda: 0.3,
        "delta": lambda: 0.1,
        "rtol": lambda: 1e-2,
        "challenger": lambda: 0,
        "incumbent": lambda: 2,
        "runs": lambda: 2,
        "max_samples": lambda: 60,
        "study_name": lambda: "fuzz",
        "from_study_name": lambda: "fuzz",
        "storage": lambda: None,
        "arm": lambda: dice.choice([0, "a"]),
        "value": lambda: 0.5,
        "trial": lambda: 1,
        "observations": lambda: [("a", 0.5), ("b", 0.25)],
        "n": lambda: 2,
        "sum": lambda: 1.0,
        "sumsq": lambda: 1.0,
        "threshold": lambda: 0.5,
        "samples": lambda: 10,
        "counts": lambda: [1, 2, 3],
        "sums": lambda: [0.4, 1.0, 2.4],
        "n_trials": lambda: 3,
        "measure": lambda: a_half,
        "study": search,
        "top": lambda: 3,
        "optuna_name": lambda: None,
        "params": lambda: dice.choice([None, ["x"]]),
    }  # fmt: skip
    if name in known:
        return known[name]()
    return nasty.value(dice) if default is inspect.Parameter.empty else default


def arguments(target: Callable[..., Any], dice: random.Random) -> dict[str, Any]:
    """Arguments by name: what is needed and some of the rest, one or several of them nasty."""
    offered = {
        name: about.default
        for name, about in inspect.signature(target).parameters.items()
        if about.kind not in (about.VAR_POSITIONAL, about.VAR_KEYWORD) and name != "self"
    }
    needed = [name for name, default in offered.items() if default is inspect.Parameter.empty]
    chosen = needed + [name for name in offered if name not in needed and dice.random() < 0.4]
    spoiled = {dice.choice(chosen)} if chosen else set()
    if dice.random() < 0.4:
        spoiled |= {name for name in chosen if dice.random() < 0.4}
    given = {
        name: bad(name, dice) if name in spoiled - NEVER_NASTY else good(name, offered[name], dice)
        for name in chosen
    }
    return given | ({"max_samples": 60} if "max_samples" in offered else {})


def bad(name: str, dice: random.Random) -> Any:
    """A value that an argument of this name should not have, or an extreme one that it may."""
    if dice.random() < 0.6 or name in FUNCTIONS:
        value = nasty.value(dice)
        return None if name in FUNCTIONS and callable(value) else value
    if name in ("means", "weights", "noise", "sums", "counts"):
        return nasty.numbers(dice, (3,))
    if name in ("features", "candidates"):
        return nasty.numbers(dice, (3, 2))
    if name in ("model", "instance", "question"):
        return extreme(name, dice)
    return dice.choice(nasty.NUMBERS)


def extreme(name: str, dice: random.Random) -> Any:
    """A model, instance or question of extreme numbers, or a usual one where there is none."""
    with contextlib.suppress(mislid.errors.MislidError):
        tube = abs(float(nasty.numbers(dice, (1,))[0]))
        odd = mislid.Model(nasty.numbers(dice, (3, 2)), tube)
        if name == "model":
            return odd
        if name == "question":
            return mislid.Question(odd, 1, noise=abs(nasty.numbers(dice, (3,))))
        return mislid.Instance(odd, nasty.numbers(dice, (3,)), abs(nasty.numbers(dice, (3,))))
    return good(name, None, dice)


def call(target: Callable[..., Any], dice: random.Random) -> tuple[str, Callable[[], Any]]:
    """Words for a call, and the call."""
    given = arguments(target, dice)
    words = ", ".join(f"{name}={nasty_words(entry)}" for name, entry in given.items())
    return words, partial(target, **given)


def nasty_words(entry: Any) -> str:
    try:
        return " ".join(repr(entry).split())[:120]
    except ValueError:
        return "an integer without end"


def owned(make: Callable[[], Any], method: str) -> Callable[[random.Random], Any]:
    """A method of an object that is made for every call."""

    def prepared(dice: random.Random) -> tuple[str, Callable[[], Any]]:
        return call(getattr(make(), method), dice)

    return prepared


def methods(kind: type) -> list[str]:
    return [
        name
        for name, member in inspect.getmembers(kind)
        if not name.startswith("_") and callable(member)
    ]


def damaged(
    suffix: str, plain: bytes, read: Callable[[Path], Any], dice: random.Random
) -> tuple[str, Callable[[], Any]]:
    """Reading a file after some accident."""
    content = nasty.content(dice, plain)

    def reading() -> None:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder) / f"file{suffix}"
            place.write_bytes(content)
            read(place)

    return f"{content!r}", reading


def read_instance(place: Path) -> None:
    mislid.load_instance(place, 0.1)


def saved_instance() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        instance().save(place := Path(folder) / "arms.npz")
        return place.read_bytes()


TABLE = b"name,mean,noise,x0,x1\na,0.4,0.3,1.0,0.0\nb,0.5,0.3,0.0,1.0\nc,0.8,0.3,1.0,1.0\n"


def changed_certificate(
    certificate: dict[str, Any], dice: random.Random
) -> tuple[str, Callable[[], Any]]:
    """One of whose parts, however deep, one or several are something else."""
    changed = copy.deepcopy(certificate)
    words = []
    for home, at in dice.sample(list(places(changed)), dice.choice([1, 1, 2, 5])):
        home[at] = nasty.value(dice)
        words.append(f"{at}={nasty_words(home[at])}")
    return ", ".join(words), lambda: verified(changed)


def verified(certificate: Any) -> None:
    """Whatever is wrong is told in one sentence, and never raised."""
    found = mislid.verify(certificate)
    if not found and not str(found.failure).strip():
        raise AssertionError("it fails without a word")


def places(part: Any) -> Iterator[tuple[Any, Any]]:
    """All that can be changed of what JSON has: a container, and where in it."""
    keys = part if isinstance(part, dict) else range(len(part)) if isinstance(part, list) else ()
    for at in keys:
        yield part, at
        yield from places(part[at])


def runner() -> mislid.Engine:
    engine = mislid.Engine(question())
    for arm in range(3):
        engine.observe(arm, MEANS[arm])
    return engine


MADE_BY_HAND = ("Model", "Instance", "Question", "Engine")
MAKERS: dict[str, Callable[[], Any]] = {
    "Model": model,
    "Instance": instance,
    "Question": question,
    "Engine": runner,
    "Study": study,
    "Certificate": lambda: study(decided=True).result.certificate,
    "CharacteristicTime": lambda: mislid.characteristic_time(model(), MEANS, 1, noise=0.3),
}
# Methods that take a generator, an environment or a log.
INTERNAL = {("Engine", "advance"), ("Engine", "follow")}
# Functions of subpackages that read files.
READERS = {
    "paper.representation": ("learn",),
    "paper.datasets": ("locate", "lastfm", "epilepsy", "data_directory"),
    "report": ("write_report",),
}


def targets() -> dict[str, Callable[[random.Random], Any]]:
    """What is called, by name: functions, what makes an object, and methods.

    Records of results are made by the package, and are not checked again.
    """
    found: dict[str, Callable[[random.Random], Any]] = {}
    for name in mislid.__all__:
        public = getattr(mislid, name)
        if not callable(public):
            continue
        if name == "replicate":
            public = partial(public, max_samples=60)
        if not isinstance(public, type) or name in MADE_BY_HAND:
            found[name] = partial(call, public)
    for name, make in MAKERS.items():
        for method in methods(type(make())):
            if (name, method) not in INTERNAL:
                found[f"{name}.{method}"] = owned(make, method)
    for home, names in READERS.items():
        for name in names:
            found[f"{home}.{name}"] = partial(call, getattr(import_module(f"mislid.{home}"), name))
    certificate = study(decided=True).result.certificate.to_dict()
    files = {
        "load_instance .csv": (".csv", TABLE, read_instance),
        "load_instance .npz": (".npz", saved_instance(), read_instance),
        "verify a damaged file": (".json", json.dumps(certificate).encode(), verified),
    }
    found |= {name: partial(damaged, *how) for name, how in files.items()}
    found["verify a changed certificate"] = partial(changed_certificate, certificate)
    return found
