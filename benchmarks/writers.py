"""Processes that write to one SQLite file as fast as they can: calls of each, and their waits.

The peer is SQLite's own way of waiting for other writers (its `busy_timeout`).
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from .measuring import child_environment
from .opening import made_up, new_study
from .report import duration, progress, table

PROCESSES, SECONDS, REPEATS = 10, 20.0, 3
QUICK_PROCESSES, QUICK_SECONDS = 2, 1.0
WAYS = {"own": "mislid: who has waited longer asks more often", "plain": "SQLite's `busy_timeout`"}

WORK = """
import json, sys, time
import mislid
from mislid.study.decisions import warm_up
from mislid.study.storage.database import Database
address, way, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
if way == "plain":
    def begin(database, connection):
        connection.connection.driver_connection.execute("BEGIN IMMEDIATE")
    Database._begin_writing = begin
warm_up("mislid", "guaranteed")
study = mislid.load_study(study_name="crowd", storage=address)
print("ready", flush=True)
sys.stdin.readline()
waits, end = [], time.monotonic() + seconds
while time.monotonic() < end:
    begin = time.monotonic()
    trial = study.ask()
    between = time.monotonic()
    study.tell(trial, 0.0)
    waits += [between - begin, time.monotonic() - between]
print(json.dumps(waits))
"""


def crowd(way: str, processes: int, seconds: float) -> list[list[float]]:
    """The seconds of every call of every process, all begun at the same moment."""
    with tempfile.TemporaryDirectory() as folder:
        address = f"sqlite:///{Path(folder) / 'crowd.db'}"
        _, features, _ = made_up(0)
        new_study("crowd", features, address)._storage.close()
        workers = [
            subprocess.Popen(
                [sys.executable, "-c", WORK, address, way, str(seconds)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=child_environment(),
            )
            for _ in range(processes)
        ]
        for worker in workers:
            assert worker.stdout is not None
            assert worker.stdout.readline() == "ready\n"
        for worker in workers:
            assert worker.stdin is not None
            worker.stdin.write("go\n")
            worker.stdin.flush()
        return [json.loads(worker.communicate()[0]) for worker in workers]


def row(way: str, found: list[list[list[float]]]) -> list[str]:
    """Over repeats: the calls of the least and the most lucky process, and waits."""
    calls = [sorted(len(waits) for waits in one) for one in found]
    longest = [max(map(max, one)) for one in found]
    every = np.concatenate([waits for one in found for waits in one])
    return [
        WAYS[way],
        "; ".join(f"{one[0]:,} to {one[-1]:,}" for one in calls),
        f"{np.median([sum(one) for one in calls]):,.0f}",
        duration(float(np.median(every))),
        duration(float(np.quantile(every, 0.99))),
        "; ".join(duration(one) for one in longest),
    ]


def run(quick: bool) -> str:
    """Both ways of waiting, by turns."""
    processes, seconds = (QUICK_PROCESSES, QUICK_SECONDS) if quick else (PROCESSES, SECONDS)
    found: dict[str, list[list[list[float]]]] = {way: [] for way in WAYS}
    for repeat in range(1 if quick else REPEATS):
        for way in WAYS:
            progress(f"writers: {way}, {repeat + 1}")
            found[way].append(crowd(way, processes, seconds))
    header = ["way to wait", "calls of a process", "of all", "median", "99 %", "longest"]
    return (
        f"{processes} processes ask and tell on one SQLite file for {seconds:g} s.\n\n"
        f"{table(header, [row(way, one) for way, one in found.items()])}"
    )
