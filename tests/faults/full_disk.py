"""A disk that is full in earnest: `python -m faults.full_disk DISK FOLDER` on a small one.

A client works on a file on DISK, which is filled up to a few kilobytes again and again; its record
is in FOLDER. Prints how often calls were refused for that, and promises that were not kept.
"""

from __future__ import annotations

import os
import random
import sys
import time
from contextlib import suppress
from pathlib import Path

from faults import checker, record
from faults.calls import new_study
from faults.worker import Life, Worker

TIMES = 20


def main(disk: Path, folder: Path) -> None:
    """Fill the disk and make room again, so many times."""
    time.sleep = lambda _: None  # nobody else is there to wait for
    rng = random.Random(5)
    worker = Worker(Life("w0", 0), "", folder, seed=7)
    worker.study = new_study(f"sqlite:///{disk / 'lab.db'}")
    for _ in range(TIMES):
        _work(worker, 10)
        _fill(disk / "ballast", rng.choice([0, 4096, 8192, 16384, 20480, 40960]))
        _work(worker, 6)
        (disk / "ballast").unlink()
    worker.study._session.storage.close()
    operations = record.operations(folder.glob("*.record")).values()
    full = [one for one in operations if "FullStorageError" in str(one.reply)]
    found = checker.violations(*checker.read_sqlite(disk / "lab.db"), operations)
    print(len(full), found)


def _work(worker: Worker, steps: int) -> None:
    for _ in range(steps):
        worker.step()


def _fill(file: Path, left: int) -> None:
    """Leave so many bytes free."""
    disk = os.statvfs(file.parent)
    with suppress(OSError), file.open("wb") as ballast:
        ballast.write(bytes(max(0, disk.f_bavail * disk.f_frsize - left)))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
