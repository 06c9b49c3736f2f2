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
    the place sees the old or the new content, never a part.
    """

    def __init__(self, place: Path) -> None:
        self.place = place
        self.path = place.with_name(f".{place.name}.{secrets.token_hex(4)}.tmp")
        self._file = self.path.open("xb")

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
            self.path.unlink(missing_ok=True)

    def publish(self, content: bytes, *, replace: bool = True) -> None:
        """Take the place.

        Parameters
        ----------
        content
            All bytes of the file.
        replace
            Whether to take the place of a file that is there.

        Raises
        ------
        FileExistsError
            Without `replace`, where there is a file.
        """
        self._file.write(content)
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        if not replace:
            # Whoever is first has it, also of two at once.
            with self.place.open("xb"):
                pass
        self.path.replace(self.place)


def write_whole(place: Path, content: bytes) -> None:
    """Replace a file by new content; whoever reads it sees the old or the new, never a part.

    Parameters
    ----------
    place
        The file, which need not exist yet, in a directory that does.
    content
        All its bytes.
    """
    with Draft(place) as draft:
        draft.publish(content)


@contextlib.contextmanager
def alone_in(folder: Path, refusal: Exception) -> Iterator[None]:
    """Let one process at a time work in a directory; one that was killed leaves no trace.

    Parameters
    ----------
    folder
        A directory that exists.
    refusal
        What is raised where another process is at work in it.
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
