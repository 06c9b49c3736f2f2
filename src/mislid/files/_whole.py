"""Write a file whole or not at all."""

import os
import secrets
from pathlib import Path


def write_whole(place: Path, content: bytes) -> None:
    """Replace a file by new content; whoever reads it sees the old or the new, never a part."""
    draft = place.with_name(f".{place.name}.{secrets.token_hex(4)}.tmp")
    try:
        with draft.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(place)
    finally:
        draft.unlink(missing_ok=True)
