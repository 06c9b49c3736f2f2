"""Starts workers by a fork, so that one takes no time to import and compile.

`python -m faults.nursery ADDRESS FOLDER SEED` reads commands: "start NAME NUMBER" is answered with
the new process, "ended" with those that have ended since and how.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import traceback
from contextlib import suppress
from pathlib import Path

from faults import shims
from faults.calls import new_study, value_of
from faults.worker import Life, Worker
from mislid.forecast.evidence import estimate_rows

# A client that could not write its own record ends with this.
NO_RECORD = 3


def main(address: str, folder: Path, seed: int) -> None:
    """Do what is asked until the input ends."""
    _warm_up()
    children: set[int] = set()
    print("ready", flush=True)
    for line in sys.stdin:
        match line.split():
            case "start", name, number:
                child = _start(Life(name, int(number)), address, folder, seed)
                children.add(child)
                print(child, flush=True)
            case _:
                ended = _ended(children)
                children -= {pid for pid, _ in ended}
                print(json.dumps(ended), flush=True)
    for child in children:
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)


def _warm_up() -> None:
    """Load what is compiled, once for all."""
    study = new_study(None)
    for number in range(20):
        trial = study.ask()
        study.tell(trial, value_of(str(number), str(trial.arm)))
    study.correct(0, 1.0)
    estimate_rows(study.overview())


def _start(life: Life, address: str, folder: Path, seed: int) -> int:
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        shims.shift_clock(folder / f"{life.name}.clock")
        shims.lose_answers(folder / f"{life.name}.lose")
        Worker(life, address, folder, seed).run()
        status = 0
    except OSError:
        status = NO_RECORD  # the worker catches all errors of a storage
        _note(folder, life)
    except BaseException:  # noqa: BLE001 - whatever it is, it is told
        _note(folder, life)
    os._exit(status)


def _note(folder: Path, life: Life) -> None:
    with suppress(OSError):
        (folder / f"{life}.error").write_text(traceback.format_exc())


def _ended(children: set[int]) -> list[tuple[int, int]]:
    found = []
    for child in children:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            found.append((pid, os.waitstatus_to_exitcode(status)))
    return found


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
