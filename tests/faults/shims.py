"""What breaks inside of a client: its clock, and the answers to its commits in SQLite.

Files in the folder of a round say what is wrong with whom, so that it can change while a client is
running. A full disk is a limit to the size of files (`RLIMIT_FSIZE`), and needs no shim.
"""

from __future__ import annotations

import sqlite3
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite

ANSWER, COMMIT = "answer", "commit"


def shift_clock(file: Path) -> None:
    """Let `time.time` be wrong by the seconds that a file has."""
    right = time.time

    def wrong() -> float:
        try:
            return right() + float(file.read_text())
        except (OSError, ValueError):
            return right()

    time.time = wrong


def lose_answers(file: Path) -> None:
    """Let SQLite's next commit end in an error of the disk, once, where there is the file.

    If it says "answer" all had been written by then, if it says "commit" nothing had.
    """
    commit = SQLiteDialect_pysqlite.do_commit

    def breaking(dialect: Any, connection: Any) -> None:
        word = ""
        with suppress(OSError):
            word = file.read_text()
            file.unlink()
            with file.with_suffix(".lost").open("a") as count:  # a byte for each
                count.write(".")
        if not word:
            commit(dialect, connection)
            return
        if word == ANSWER:
            commit(dialect, connection)
        else:
            dialect.do_rollback(connection)
        problem = sqlite3.OperationalError("disk I/O error")
        problem.sqlite_errorname = "SQLITE_IOERR_FSYNC"
        raise problem

    SQLiteDialect_pysqlite.do_commit = breaking
