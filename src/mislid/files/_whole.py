"""Write a file whole or not at all."""

import os
import secrets
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
        """Take the place; without `replace`, raise `FileExistsError` where there is a file."""
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
    """Replace a file by new content; whoever reads it sees the old or the new, never a part."""
    with Draft(place) as draft:
        draft.publish(content)
