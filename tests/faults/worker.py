"""A client: makes random calls, and writes down each call and its outcome.

One that follows a killed one of its name first repeats what that had begun, as docs/reliability.md
says: the same call with the same key.
"""

from __future__ import annotations

import hashlib
import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import mislid
from faults import record
from faults.calls import FEATURES, MEAN, NEW, perform, value_of
from faults.record import NAME, Operation, Record
from helpers.rows import rows_of
from mislid.errors import MislidError, StorageError, UnknownOutcomeError
from mislid.forecast.evidence import estimate_rows
from mislid.study import Study

STOP, FINISH = "stop", "finish"
LABEL = ".label"
# Seconds that a server may take to recover.
PATIENCE = 60.0
# A call that is about to be made: its name, its arguments, and its key.
Wish = tuple[str, dict[str, Any], str | None]


class Life(NamedTuple):
    """Which worker it is, and which one of that name."""

    name: str
    number: int

    def __str__(self) -> str:
        return f"{self.name}.{self.number}"


class Worker:
    """Works in a folder that all share: records, and files by which it is told what to do."""

    def __init__(self, life: Life, address: str, folder: Path, seed: int) -> None:
        self.life, self.address, self.folder = life, address, folder
        self.rng = random.Random(f"{seed} {life}")
        self.record = Record(folder / f"{life}.record")
        self.study: Study | None = None
        self.count = 0
        self.open: dict[int, str] = {}  # trials that were given to it
        self.told: dict[int, float] = {}  # and what it told, and may correct
        self.arms: dict[int, str] = {}
        self.labels: list[str] = []  # of candidates that it added, and may retire

    def run(self) -> None:
        """Work until a file says that all stop; then say what the study looks like."""
        self._open()
        for operation in self._begun():
            wish = operation.call, operation.arguments, operation.key
            self._settle(operation.id, wish, in_doubt=True)
        while not (self.folder / STOP).exists():
            self.step()
        (self.folder / f"{self.life.name}.idle").touch()
        while not (self.folder / FINISH).exists():
            time.sleep(0.02)
        self.last_look()

    def _open(self) -> None:
        while self.study is None:
            try:
                self.study = mislid.load_study(study_name=NAME, storage=self.address)
            except StorageError:  # the server is down
                time.sleep(0.1)

    def _begun(self) -> Iterator[Operation]:
        """What earlier ones of this name did not see the end of, and can be repeated."""
        files = sorted(self.folder.glob(f"{self.life.name}.*.record"))
        for operation in record.operations(files).values():
            keyless = operation.call == "observe" and operation.key is None
            if operation.is_open and operation.call not in ("look", "certify") and not keyless:
                yield operation

    def step(self) -> None:
        """One call, of any kind."""
        self.count += 1
        operation = f"{self.life}.{self.count}"
        self._settle(operation, self._wish(operation))

    def _settle(self, operation: str, wish: Wish, *, in_doubt: bool = False) -> None:
        """Repeat a call until its outcome is known.

        Where it may have been made before, an error of the storage says nothing of that.
        """
        call, arguments, key = wish
        self.record.write(op=operation, step=record.INTENT, call=call, arguments=arguments, key=key)
        while True:
            try:
                reply = perform(self.study, call, arguments, key)
            except UnknownOutcomeError as problem:
                self.record.write(op=operation, step=record.UNKNOWN, reply=str(problem))
                key, in_doubt = key or problem.key, True
                time.sleep(self.rng.uniform(0.0, 0.2))
            except MislidError as problem:
                is_down = isinstance(problem, StorageError)
                if is_down:
                    time.sleep(self.rng.uniform(0.0, 0.5))
                if is_down and in_doubt:
                    continue
                words = f"{type(problem).__name__}: {problem}"
                self.record.write(op=operation, step=record.REFUSED, reply=words)
                return
            else:
                self.record.write(op=operation, step=record.OK, reply=reply)
                self._remember(call, arguments, reply)
                return

    def _remember(self, call: str, arguments: dict[str, Any], reply: Any) -> None:
        if call == "ask":
            self.open |= dict(reply)
            self.arms |= dict(reply)
        elif call == "tell":
            self.told[arguments["trial"]] = arguments["value"]
        elif call == "add":
            self.labels.append(arguments["label"])
            (self.folder / f"{arguments['label']}{LABEL}").touch()

    def _wish(self, operation: str) -> Wish:
        chance = self.rng.random()
        key = f"key of {operation}"
        if self.open and chance < 0.5:
            return self._tell(operation)
        if chance < 0.75:
            n, lease = self.rng.randint(1, 3), self.rng.choice([0.5, 30.0, 3600.0])
            named = self.rng.random() < 0.6
            worker = self.life.name if named else None
            return "ask", {"n": n, "worker": worker, "lease": lease}, None if named else key
        if chance < 0.85:
            known = [*FEATURES, *(file.stem for file in self.folder.glob(f"*{LABEL}"))]
            labels = [self.rng.choice(known) for _ in range(self.rng.randint(1, 3))]
            rows = [[label, value_of(f"{operation} {k}", label)] for k, label in enumerate(labels)]
            return "observe", {"rows": rows}, key if self.rng.random() < 0.7 else None
        if chance < 0.92:
            return "look", {}, None
        if chance < 0.95:
            return "certify", {"file": str(self.folder / f"{operation}.certificate")}, None
        return self._change(operation, key)

    def _tell(self, operation: str) -> Wish:
        """Tell a trial; now and then that it failed, or once more."""
        chance = self.rng.random()
        if chance < 0.1 and self.told:
            trial, value = self.rng.choice(list(self.told.items()))
            if chance < 0.05:  # something else, which must be refused
                value = value_of(operation, "c1")
            return "tell", {"trial": trial, "value": value}, None
        trial = self.rng.choice(list(self.open))
        label = self.open.pop(trial)
        if chance > 0.95:
            return "fail", {"trial": trial}, None
        return "tell", {"trial": trial, "value": value_of(operation, label)}, None

    def _change(self, operation: str, key: str) -> Wish:
        """Mend a measurement of one's own, or let candidates come and go."""
        chance = self.rng.random()
        if self.told and chance < 0.7:
            trial = self.rng.choice(list(self.told))
            del self.told[trial]
            if chance < 0.3:
                return "void", {"trial": trial}, key
            value = value_of(operation, self.arms.get(trial, NEW))
            return "correct", {"trial": trial, "value": value}, key
        if self.labels:
            leave = self.rng.random() < 0.5
            return "retire", {"label": self.labels.pop(), "leave": leave}, key
        features = [MEAN, self.rng.uniform(0.0, 1.0)]
        return "add", {"label": f"{NEW} {operation}", "features": features}, key

    def last_look(self) -> None:
        """Write down the state of the study in the memory of this process."""
        until = time.monotonic() + PATIENCE
        while True:
            try:
                seen = digest(self.study)
                break
            except StorageError:  # a server that was killed last may still recover
                if time.monotonic() > until:
                    raise
                time.sleep(0.1)
        (self.folder / f"{self.life.name}.digest").write_text(seen)


def digest(study: Study) -> str:
    """Everything that follows from a log, in short."""
    result = study.result
    seen = {
        "rows": [list(row) for row in rows_of(study)],
        "pending": [(trial.id, trial.arm, trial.worker, trial.expires) for trial in study.pending],
        "status": study.status,
        "answer": None if result is None else [result.answer, result.samples, result.statistic],
        "estimates": [repr(row) for row in estimate_rows(study.overview())],
        "events": study.overview().events,
        "head": study.overview().fingerprint,
    }
    parts = {
        name: hashlib.sha256(json.dumps(part).encode()).hexdigest()[:16]
        for name, part in seen.items()
    }
    return json.dumps(parts)
