"""Every command with words of which some are nasty, on files of which some are damaged."""

import contextlib
import io
import os
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import click

from fuzz import nasty
from fuzz.functions import instance
from helpers.commands import Words, every_command
from mislid.cli import main

# Those that measure for minutes, go on for ever or need a network get wrong words alone.
LONG = {"demo", "reproduce", "data fetch", "serve"}
# Words that would let a command wait, or start processes and clusters.
NEVER = {"--jobs", "--help", "--version"}
GOOD = {
    "name": "fuzz",
    "storage": "lab.db",
    "file": "arms.csv",
    "m": "1",
    "noise": "0.3",
    "runs": "2",
    "max_samples": "60",
    "trial": "1",
    "value": "0.5",
    "words": "1",
    "sheet": "sheet.csv",
    "output": "out",
    "target": "mean",
    "certificate": "certificate.json",
    "names": "lastfm",
    "delta": "0.1",
    "misspecification": "0.1",
}


def words_for(path: Words, command: click.Command, dice: random.Random) -> list[str]:
    """What stands behind the command's name."""
    words: list[str] = []
    spoiled = dice.random() < 0.85
    for about in command.params:
        usual = GOOD.get(about.name or "")
        odd = spoiled and dice.random() < 0.3
        if isinstance(about, click.Argument):
            if about.required or dice.random() < 0.7:
                words.append(nasty.text(dice) if odd or usual is None else usual)
            continue
        assert isinstance(about, click.Option)
        name = about.opts[0]
        if name in NEVER:
            continue
        needed = about.required or about.name in ("storage", "max_samples")
        if not needed and dice.random() < 0.75:
            continue
        if about.is_flag or about.count:
            words.append(name)
            continue
        choices = getattr(about.type, "choices", None)
        entry = usual if usual is not None else dice.choice([*(choices or ["2"])])
        odd = odd and about.name not in ("max_samples", "runs")
        for at in range(about.nargs):
            word = nasty.text(dice) if odd else str(entry)
            words += [name, word] if at == 0 else [word]
    if " ".join(path) in LONG:
        words.append("--no-such-option")
    return words


@cache
def prepared_folder() -> Path:
    """Files that commands may be about; removed when Python ends."""
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    (folder / "arms.csv").write_text("name,mean,x,y\na,0.4,1,0\nb,0.5,0,1\nc,0.8,1,1\n")
    instance().save(folder / "arms.npz")
    (folder / "candidates.csv").write_text("name,x,y\na,1,0\nb,0,1\nc,1,1\n")
    (folder / "sheet.csv").write_text("trial,arm,value,state\n0,a,0.4,\n1,b,,fail\n2,c,,\n")
    (folder / "history.csv").write_text("arm,value\na,0.4\nb,0.5\n")
    with inside(folder), quiet():
        create = "study create fuzz --candidates candidates.csv --m 1 --noise 0.1 --no-intercept"
        main([*create.split(), "--misspecification", "0.1", "--storage", "lab.db"])
        main(["study", "ask", "fuzz", "-n", "3", "--storage", "lab.db"])
        main(["run", "arms.npz", "--m", "1", "--runs", "2", "--output", "runs"])
    return folder


@contextlib.contextmanager
def inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


@contextlib.contextmanager
def quiet() -> Iterator[tuple[io.StringIO, io.StringIO]]:
    with (
        contextlib.redirect_stdout(io.StringIO()) as out,
        contextlib.redirect_stderr(io.StringIO()) as errors,
    ):
        yield out, errors


DAMAGED = (
    "arms.csv",
    "candidates.csv",
    "sheet.csv",
    "arms.npz",
    "runs/settings.json",
    "runs/runs.csv",
)


def prepared(
    path: Words, command: click.Command, dice: random.Random
) -> tuple[str, Callable[[], Any]]:
    words = [*path, *words_for(path, command, dice)]
    damage = dice.choice(DAMAGED) if dice.random() < 0.3 else None
    if damage is not None and dice.random() < 0.5:
        words = [damage if word in DAMAGED else word for word in words]
    content = (
        b"" if damage is None else nasty.content(dice, (prepared_folder() / damage).read_bytes())
    )

    def run() -> None:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder) / "here"
            shutil.copytree(prepared_folder(), place)
            if damage is not None:
                (place / damage).write_bytes(content)
            with inside(place), quiet() as (_, errors):
                status = main(words)
            said = errors.getvalue()
            assert status in (0, 1, 2, 3, 4), status
            assert "Traceback" not in said, said
            # 3 and 4 say how a study stands.
            assert status in (0, 3, 4) or said, "no word of what is wrong"

    shown = f"{words!r}" + (f" with {damage} as {content[:200]!r}" if damage else "")
    return shown, run


def targets() -> dict[str, Callable[[random.Random], Any]]:
    """The commands that are no groups, by name."""
    return {
        f"mislid {' '.join(path)}": partial(prepared, path, command)
        for path, command in every_command()
        if not isinstance(command, click.Group)
    }
