"""Run the benchmarks: `python -m benchmarks [proof rounds ...] [--quick]`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from .report import Tables, machine, progress, shown, write

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "tables"
BENCHMARKS = ("proof", "rivals", "rounds", "time", "noise", "studies", "forecasts", "compile")
# Benchmarks with another name than their module, and the function that runs them.
HOMES = {"proof": ("samples", "proof"), "rivals": ("samples", "rivals"), "time": ("times", "run")}


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    """Read and check the options."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "benchmarks", nargs="*", metavar="benchmark", help=f"any of {', '.join(BENCHMARKS)}"
    )
    parser.add_argument("--quick", action="store_true", help="few repeats; nothing is written")
    parser.add_argument("--output", type=Path, default=FOLDER, help="where CSV files are written")
    options = parser.parse_args(given)
    unknown = sorted(set(options.benchmarks) - set(BENCHMARKS))
    if unknown:
        parser.error(f"benchmark must be any of {', '.join(BENCHMARKS)}; got {unknown[0]}")
    return options


def main(given: Sequence[str] | None = None) -> None:
    """Print the tables that are asked for, and write them as CSV files."""
    options = arguments(given)
    progress(machine())
    for name in options.benchmarks or BENCHMARKS:
        progress(f"{name}: starts")
        module, function = HOMES.get(name, (name, "run"))
        run = getattr(import_module(f".{module}", package=__package__), function)
        tables: Tables = run(options.quick)
        for title, table in tables.items():
            print(f"{title}\n{shown(table)}\n", flush=True)
        if not options.quick:
            write(options.output, tables)


if __name__ == "__main__":
    main()
