"""Write a file whole or not at all, and one process at a time in a directory."""

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType


class Draft:
    """A file beside a place, made at once, that takes the place when its content is known.

    Making it shows that the place can be written to before anything else is done. Whoever reads
    the place sees the old or the new content, never a part. A link to a file is replaced, so that
    nobody else's link leads elsewhere; a device, such as /dev/null, or a pipe is written to.
    """

    def __init__(self, place: Path) -> None:
        self.place = place
        self._is_file = place.is_file() or place.is_dir() or not place.exists()
        beside = place.with_name(f".{place.name}.{secrets.token_hex(4)}.tmp")
        self.path = beside if self._is_file else place
        self._file = self.path.open("xb" if self._is_file else "wb")

    def __enter__(self) -> "Draft":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self._file.close()
        finally:
            if self._is_file:
                self.path.unlink(missing_ok=True)

    def publish(self, content: bytes, *, replace: bool = True) -> None:
        """Take the place; without `replace`, FileExistsError where there is a file."""
        self._file.write(content)
        self._file.flush()
        if not self._is_file:
            return
        os.fsync(self._file.fileno())
        self._file.close()
        if not replace:
            # Whoever is first has it, also of two at once.
            with self.place.open("xb"):
                pass
        self.path.replace(self.place)


def write_whole(place: Path, content: bytes) -> None:
    """Replace a file, or write a new one, in a directory that exists.

    Whoever reads it sees the old or the new content, never a part.
    """
    with Draft(place) as draft:
        draft.publish(content)


@contextlib.contextmanager
def alone_in(folder: Path, refusal: Exception) -> Iterator[None]:
    """Let one process at a time work in a directory; others get the refusal.

    A process that was killed leaves no trace.
    """
    try:
        import fcntl
    except ImportError:  # no such lock outside POSIX
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise refusal from None
        yield
    finally:
        os.close(handle)
