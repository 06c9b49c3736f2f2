"""Growth of a round with the number of arms: time, pairs solved, memory, and the exponents."""

from __future__ import annotations

import json
import sys
from itertools import product
from typing import Any

import numpy as np

from .cases import random_case
from .driven import ALGORITHMS, RULES, SOLVED_COLUMNS, Driven, Stretch, instance_of
from .growth import by_size, exponent
from .measuring import peak_bytes
from .report import Spread, digits, table

SIZES = (30, 100, 300, 1000)
QUICK_SIZES = (25, 50)
DIMENSION = 20
COUNTS = 100  # measurements of every arm beforehand: a run that is under way
STRETCHES = 7


def measure(arms: int, rounds: int) -> dict[str, Any]:
    """Processor seconds a round in some stretches of every rule, and this process's memory."""
    case = random_case(arms, DIMENSION)
    found: dict[str, Any] = {"arms": arms}
    for algorithm, stopping in product(ALGORITHMS, RULES):
        run = Driven(instance_of(case), case.m, algorithm, stopping, rounds_first=COUNTS)
        first = run.to(COUNTS * arms + rounds)  # certificates are collected
        if run.stopped:
            raise RuntimeError(f"K={arms}: {algorithm}, {stopping} ended before it was measured")
        parts = [run.to(run.samples + rounds) for _ in range(STRETCHES)]
        total = Stretch.total(parts)
        found[f"{algorithm}, {stopping}"] = {
            "seconds": [part.cpu / part.rounds for part in parts if part.rounds],
            "plays": total.plays / total.rounds,
            "tested": total.tested / total.rounds,
            "played": total.played / total.rounds,
            "first": first.cpu / rounds,
        }
    return found | {"bytes": peak_bytes()}


def run(quick: bool) -> str:
    """The table over sizes and rules, and the exponents."""
    sizes, rounds = (QUICK_SIZES, 20) if quick else (SIZES, 300)
    found = by_size("sizes", __spec__.name, sizes, rounds)
    names = [f"{algorithm}, {stopping}" for algorithm, stopping in product(ALGORITHMS, RULES)]
    rows = [_row(one, name) for name in names for one in found]
    header = ["sampling, stopping", "K", "a round", *SOLVED_COLUMNS, "peak memory"]
    return f"{table(header, rows)}\n\n{_exponents(found, names)}"


def _label(name: str) -> str:
    return ", ".join(f"`{part}`" for part in name.split(", "))


def _row(one: dict[str, Any], name: str) -> list[str]:
    part = one[name]
    return [
        _label(name),
        f"{one['arms']:,}",
        str(Spread.of(part["seconds"])),
        f"{100 * part['plays']:.0f}%",
        f"{part['tested']:.2f}",
        f"{part['played']:.2f}",
        f"{digits(one['bytes'] / 2**20)} MiB",
    ]


def _exponents(found: list[dict[str, Any]], names: list[str]) -> str:
    arms = [one["arms"] for one in found]
    parts = [
        f"K^{exponent(arms, [float(np.median(one[name]['seconds'])) for one in found]):.2f} "
        f"({_label(name)})"
        for name in names
    ]
    return f"A round grows like {', '.join(parts)}."


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]), int(sys.argv[2]))))
