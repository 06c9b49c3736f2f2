"""A PostgreSQL server of our own, on loopback, with its data in a temporary directory."""

from __future__ import annotations

import itertools
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def programs() -> Path | None:
    """The directory with initdb and pg_ctl; Debian keeps them out of the PATH."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    home = Path(os.environ.get("MISLID_POSTGRESQL_PROGRAMS", "/usr/lib/postgresql"))
    places = sorted(home.glob("*/bin/initdb"))
    return places[-1].parent if places else None


class Server:
    """Gives empty schemas, one per test."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._numbers = itertools.count()

    @property
    def address(self) -> str:
        return f"postgresql://mislid@127.0.0.1:{self.port}/postgres"

    def new_schema(self) -> str:
        import psycopg

        name = f"test_{next(self._numbers)}"
        with psycopg.connect(self.address, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {name}")
        return f"{self.address}?options=-csearch_path%3D{name}"


@contextmanager
def running_server(folder: Path, *, durable: bool = False) -> Iterator[Server]:
    """Start a server with the programs in `folder`; it refuses to run as root, so another does.

    Tests do not need what they write to be on the disk.
    """
    who = _somebody() if os.geteuid() == 0 else None
    home = Path(tempfile.mkdtemp(prefix="mislid-pg-"))
    if who is not None:
        os.chown(home, who.pw_uid, who.pw_gid)
    other = {} if who is None else {"user": who.pw_uid, "group": who.pw_gid, "extra_groups": []}
    port = _free_port()

    def run(program: str, *arguments: str) -> None:
        with (home / "output").open("a") as output:
            done = subprocess.run(
                [folder / program, "--pgdata", home / "data", *arguments],
                **other,
                cwd=home,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                check=False,
            )
        assert done.returncode == 0, (home / "output").read_text()

    run("initdb", "--username=mislid", "--auth=trust", "--encoding=UTF8", "--no-sync")
    options = (
        f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= "
        f"-c fsync={'on' if durable else 'off'} -c max_connections=100"
    )
    run("pg_ctl", "start", "--wait", f"--options={options}", f"--log={home / 'log'}")
    try:
        yield Server(port)
    finally:
        run("pg_ctl", "stop", "--mode=immediate")
        shutil.rmtree(home, ignore_errors=True)


def _somebody() -> Any:
    import pwd

    try:
        return pwd.getpwnam("postgres")
    except KeyError:
        return pwd.getpwnam("nobody")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
