"""The simulated laboratory and benchmark of the tutorials.

`python made_up.py` writes molecules.csv and prompts.csv beside this file. The true values are in
here.
"""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd


@dataclass
class World:
    """Candidates that can be measured, and what is true of them."""

    table: pd.DataFrame
    truth: pd.Series
    noise: float | None = None
    random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(2))

    def measure(self, label: str) -> float:
        """One measurement of a candidate, with two decimals."""
        return round(self.random.normal(self.truth[label], self.noise), 2)

    def count(self, label: str, n: int) -> int:
        """How many of n tries succeed, where values are 0 or 1."""
        return int(self.random.binomial(n, self.truth[label]))


def laboratory() -> World:
    """Forty molecules; potency is nearly linear in three descriptors, an assay adds noise."""
    random = np.random.default_rng(70)
    table = pd.DataFrame(
        {
            "weight": random.normal(350, 60, 40).round(1),
            "logp": random.normal(2.5, 1.0, 40).round(2),
            "polar_area": random.normal(80, 20, 40).round(1),
        },
        index=_named("molecule", "M", 40),
    )
    standard = (table - table.mean()) / table.std()
    truth = 6.2 + standard @ [0.35, 0.6, -0.45] + random.uniform(-0.04, 0.04, 40)
    return World(table, truth, noise=0.6)


def benchmark() -> World:
    """Sixty prompts; their embeddings nearly tell how good they are, and their looks nothing."""
    random = np.random.default_rng(7)
    meaning = random.normal(size=(60, 4))
    embeddings = meaning @ random.normal(size=(4, 64)) + 0.1 * random.normal(size=(60, 64))
    names = _named("prompt", "P", 60)
    table = pd.DataFrame(embeddings.round(2), names, [f"e{k:02d}" for k in range(1, 65)])
    table["words"] = random.integers(10, 200, 60)
    table["examples"] = random.integers(0, 6, 60)
    table["capitals"] = random.integers(0, 12, 60)
    truth = 0.6 + meaning @ [0.07, 0.05, -0.04, 0.03] + random.uniform(-0.01, 0.01, 60)
    return World(table, pd.Series(truth, names))


def _named(kind: str, letter: str, count: int) -> pd.Index:
    return pd.Index([f"{letter}{k:02d}" for k in range(1, count + 1)], name=kind)


FILES = {"molecules.csv": laboratory, "prompts.csv": benchmark}


def write(folder: Path) -> None:
    """The tables that the tutorials read, without what is true."""
    for name, world in FILES.items():
        world().table.to_csv(folder / name)


if __name__ == "__main__":
    write(Path(__file__).parent)
