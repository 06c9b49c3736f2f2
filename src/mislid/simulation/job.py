"""One run of many: a function of the question, the seed and the run's number alone."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import platform
import time
import types
import uuid
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import mislid
from mislid.model import Instance

if TYPE_CHECKING:
    from mislid.simulation.identify import Identification

INTERRUPTED = "interrupted"


class Row(NamedTuple):
    """One finished run.

    Attributes
    ----------
    run
        Its number, from 0.
    samples
        Number of measurements.
    correct
        Whether the answer is right; None where there is none.
    status
        "stopped" or "budget exhausted".
    seconds
        Processor time.
    """

    run: int
    samples: int
    correct: bool | None
    status: str
    seconds: float


@dataclass(frozen=True)
class Job:
    """What all runs of a replication share: the question, the options and the seed."""

    instance: Instance
    m: int
    seed: int
    options: dict[str, Any] = field(default_factory=dict)
    # Identifies the job in worker processes.
    name: str = field(default_factory=lambda: uuid.uuid4().hex, compare=False)

    def outcome(self, run: int, **changes: Any) -> Identification:
        """Identify once, with the random numbers of this run."""
        # Imports the compiler, so not before it is needed.
        from mislid.simulation.identify import identify

        seed = np.random.SeedSequence(self.seed, spawn_key=(run,))
        return identify(self.instance, self.m, seed=seed, **{**self.options, **changes})

    def row(self, run: int) -> Row:
        """Identify once, as a row."""
        start = time.thread_time()
        try:
            outcome = self.outcome(run)
        except Exception as problem:
            problem.add_note(f"in run {run} of seed {self.seed}")
            raise
        seconds = time.thread_time() - start
        correct = None if outcome.correct is None else bool(outcome.correct)
        return Row(run, int(outcome.samples), correct, str(outcome.status), round(seconds, 6))

    def warm_up(self) -> None:
        """Check the arguments and compile, so that no run's time includes the compiler's."""
        if self.outcome(0, max_samples=self.instance.K).status == INTERRUPTED:
            raise KeyboardInterrupt

    def settings(self, runs: int) -> dict[str, Any]:
        """Everything that rows depend on, with versions, as values of JSON."""
        model = self.instance.model
        return {
            "instance": digest(self.instance),
            "K": model.K,
            "d": model.d,
            "misspecification": _plain(model.misspecification),
            "m": int(self.m),
            "runs": runs,
            "seed": self.seed,
            "options": {name: _plain(value) for name, value in sorted(self.options.items())},
            "versions": {
                "mislid": mislid.__version__,
                "numpy": np.__version__,
                "numba": version("numba"),
            },
            "python": platform.python_version(),
        }


_warm = ""


def measure(job: Job, run: int) -> Row:
    """`Job.row` in a worker process, which warms up once for every job."""
    global _warm  # noqa: PLW0603 - the job that this process has warmed up for
    if _warm != job.name:
        job.warm_up()
        _warm = job.name
    return job.row(run)


def digest(value: Any) -> str:
    """A short hash of an instance, a record or a composed object, by the numbers in it."""
    parts = hashlib.sha256()
    _feed(parts, value)
    return parts.hexdigest()[:16]


def _feed(parts: Any, value: Any) -> None:
    if isinstance(value, Instance):
        model = value.model
        _feed(parts, [model.features, model.misspecification, value.means, value.noise])
    elif isinstance(value, np.ndarray):
        parts.update(f"{value.dtype}{value.shape}".encode() + value.tobytes())
    elif dataclasses.is_dataclass(value):
        names = [part.name for part in dataclasses.fields(value)]
        parts.update(type(value).__qualname__.encode())
        _feed(parts, [getattr(value, name) for name in names])
    elif isinstance(value, (list, tuple)):
        for entry in value:
            _feed(parts, entry)
    elif isinstance(value, dict):
        _feed(parts, sorted(value.items()))
    elif isinstance(value, types.FunctionType):
        parts.update(f"{value.__module__}.{value.__qualname__}".encode())
    elif " at 0x" in repr(value):
        # The text is an address, which differs between processes.
        parts.update(type(value).__qualname__.encode())
        _feed(parts, getattr(value, "__dict__", {}))
    else:
        parts.update(repr(value).encode())


def _plain(value: Any) -> Any:
    """A value of JSON; a composed object becomes its text, or a digest where that says too little.

    >>> _plain(np.float64(0.5)), _plain(float("inf"))
    (0.5, 'inf')
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError):
        text = repr(value)
        vague = "array(" in text or " at 0x" in text
        return f"{type(value).__name__} {digest(value)}" if vague else text
