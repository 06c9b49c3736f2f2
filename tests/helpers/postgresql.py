"""A PostgreSQL server on loopback, with its data in a temporary directory."""

from __future__ import annotations

import itertools
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote


def programs() -> Path | None:
    """The directory with initdb and pg_ctl; Debian keeps them out of the PATH."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    home = Path(os.environ.get("MISLID_POSTGRESQL_PROGRAMS", "/usr/lib/postgresql"))
    places = sorted(home.glob("*/bin/initdb"))
    return places[-1].parent if places else None


class Server:
    """Gives empty schemas, one per test. It cannot run as root, so it runs as another user.

    Tests do not need what they write to be on the disk, unless it is to be `durable`.
    """

    def __init__(self, folder: Path, *, durable: bool = False) -> None:
        self.port = _free_port()
        self.home = Path(tempfile.mkdtemp(prefix="mislid-pg-"))
        self._folder, self._numbers = folder, itertools.count()
        self._options = (
            f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= "
            f"-c fsync={'on' if durable else 'off'} -c max_connections=100"
        )
        who = _other_user() if os.geteuid() == 0 else None
        self._user: dict[str, Any] = {}
        if who is not None:
            os.chown(self.home, who.pw_uid, who.pw_gid)
            self._user = {"user": who.pw_uid, "group": who.pw_gid, "extra_groups": []}
        self._run("initdb", "--username=mislid", "--auth=trust", "--encoding=UTF8", "--no-sync")

    def _run(self, program: str, *arguments: str) -> None:
        with (self.home / "output").open("a") as output:
            done = subprocess.run(
                [self._folder / program, "--pgdata", self.home / "data", *arguments],
                **self._user,
                cwd=self.home,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                check=False,
            )
        assert done.returncode == 0, (self.home / "output").read_text()

    @property
    def address(self) -> str:
        return f"postgresql://mislid@127.0.0.1:{self.port}/postgres"

    def new_schema(self, options: str = "") -> str:
        """The address of a new schema; before the system's own, and with these options."""
        import psycopg

        name = f"test_{next(self._numbers)}"
        with psycopg.connect(self.address, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {name}")
        wanted = quote(f"-csearch_path={name},pg_catalog {options}".strip())
        return f"{self.address}?options={wanted}"

    def start(self) -> None:
        """Let it run; nothing happens where it does."""
        if not self._processes():
            log = f"--log={self.home / 'log'}"
            self._run("pg_ctl", "start", "--wait", f"--options={self._options}", log)

    def stop(self) -> None:
        """End it for good."""
        if self._processes():
            self._run("pg_ctl", "stop", "--mode=immediate")
        shutil.rmtree(self.home, ignore_errors=True)

    def kill(self) -> None:
        """End all of its processes at once, as a computer that crashes does."""
        import psutil

        processes = self._processes()
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(processes, timeout=30)

    def serving(self) -> list[int]:
        """Its processes that serve a connection."""
        return [
            process.pid
            for process in self._processes()[1:]
            if "127.0.0.1(" in " ".join(_command(process))
        ]

    def limit(self, process: int, size: int) -> None:
        """Let a process of it write to no file beyond so many bytes."""
        words = ["prlimit", f"--pid={process}", f"--fsize={size}:"]
        # It may have ended meanwhile.
        subprocess.run(words, **self._user, stderr=subprocess.DEVNULL, check=False)

    def _processes(self) -> list[Any]:
        """The server and its children; nothing where it is down."""
        import psutil

        try:
            first = int((self.home / "data" / "postmaster.pid").read_text().split()[0])
            process = psutil.Process(first)
            if str(self.home) not in " ".join(process.cmdline()):
                return []  # another process has the number now
            return [process, *process.children()]
        except (OSError, ValueError, IndexError, psutil.NoSuchProcess):
            return []


def _command(process: Any) -> list[str]:
    import psutil

    try:
        return list(process.cmdline())
    except psutil.Error:
        return []


@contextmanager
def running_server(folder: Path, *, durable: bool = False) -> Iterator[Server]:
    """A server with the programs in `folder`."""
    server = Server(folder, durable=durable)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def _other_user() -> Any:
    import pwd

    try:
        return pwd.getpwnam("postgres")
    except KeyError:
        return pwd.getpwnam("nobody")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
