"""A single client in this process: nothing is killed, so nothing has to be on the disk."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from unittest.mock import patch

from faults import record
from faults.calls import new_study
from faults.record import Operation
from faults.worker import Life, Worker
from mislid.errors import MislidError
from mislid.study.storage import Storage


def work(storage: Storage, folder: Path, steps: int = 200) -> list[Operation]:
    """What a client wrote down that made so many calls, and ended."""
    worker = Worker(Life("w0", 0), "", folder, seed=3)
    worker.study = new_study(storage)
    with patch("time.sleep"), patch("os.fdatasync"):
        for _ in range(steps):
            worker.step()
    with suppress(MislidError):  # what was broken on purpose may be beyond reading
        worker.last_look()
    storage.close()
    return list(record.operations([folder / "w0.0.record"]).values())
