"""Run the benchmarks: `python -m benchmarks [rounds runs ...] [--quick]`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from mislid.paper.experiments.words import wrapped

from .cases import MissingData
from .report import machine, progress, with_section

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "benchmarks.md"
# Name of the benchmark and of its section, and the module that runs it.
BENCHMARKS = {
    "pairs": "pairs",
    "closest": "closest",
    "warm": "warm",
    "growth": "growth",
    "time": "characteristic",
    "rounds": "rounds",
    "runs": "runs",
    "sizes": "round_growth",
    "samples": "samples",
    "proof": "proof",
    "rivals": "rivals",
    "noise": "noise",
    "speed": "speed",
    "studies": "studies",
    "writers": "writers",
    "forecasts": "forecasts",
    "compile": "compile",
}


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "benchmarks", nargs="*", metavar="benchmark", help=f"any of {', '.join(BENCHMARKS)}"
    )
    parser.add_argument("--quick", action="store_true", help="few repeats; the document stays")
    parser.add_argument("--output", type=Path, help="another document with the same markers")
    parser.add_argument("--repeats", type=int, help="of compile: how often to start each process")
    parser.add_argument(
        "--against",
        type=Path,
        help="of compile: a checkout of another version, with src/mislid; the document stays",
    )
    parser.add_argument(
        "--kept", action="store_true", help="of rivals: tables of finished runs; nothing is run"
    )
    options = parser.parse_args(given)
    unknown = sorted(set(options.benchmarks) - BENCHMARKS.keys())
    if unknown:
        parser.error(f"benchmark must be any of {', '.join(BENCHMARKS)}; got {unknown[0]}")
    if options.repeats is not None and options.repeats < 1:
        parser.error(f"--repeats must be at least 1; got {options.repeats}")
    if options.against is not None and not (options.against / "src" / "mislid").is_dir():
        parser.error(f"--against must be a directory with src/mislid; got {options.against}")
    if options.output is None and not options.quick and options.against is None:
        options.output = DOCUMENT
    if options.output is not None:
        refuse_document(parser, options.output, options.benchmarks or list(BENCHMARKS))
    return options


def refuse_document(parser: argparse.ArgumentParser, place: Path, names: Sequence[str]) -> None:
    """Refuse a document without the sections, before anything is measured."""
    try:
        text = place.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        parser.error(f"--output must be a document that can be read; got {place} ({problem})")
    for name in names:
        if f"<!-- {name}:begin -->" not in text or f"<!-- {name}:end -->" not in text:
            parser.error(
                f"--output must have the markers <!-- {name}:begin --> and :end; got {place}"
            )


def main(given: Sequence[str] | None = None) -> None:
    """Print every table that is asked for and put it in its place in the document."""
    options = arguments(given)
    more = {
        "compile": {"repeats": options.repeats, "against": options.against},
        "rivals": {"kept": options.kept},
    }
    for name in options.benchmarks or BENCHMARKS:
        progress(f"{name}: starts")
        module = import_module(f".{BENCHMARKS[name]}", package=__package__)
        try:
            found = module.run(options.quick, **more.get(name, {}))
        except MissingData as missing:
            found = str(missing)
            progress(f"{name}: {found}")
        body = wrapped(f"{found}\n\n{machine()}")
        print(f"## {name}\n\n{body}\n", flush=True)
        if options.output is not None:
            text = options.output.read_text(encoding="utf-8")
            options.output.write_text(with_section(text, name, body), encoding="utf-8")


if __name__ == "__main__":
    main()
