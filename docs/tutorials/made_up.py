"""Worlds that the tutorials measure. All of it is made up, from seeds.

    python made_up.py    writes molecules.csv beside this file

What is true is in here. Whoever wants to live what a user lives looks at it at the end.
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
    noise: float
    random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(2))

    def measure(self, label: str) -> float:
        """One measurement of a candidate, with two decimals."""
        return round(self.random.normal(self.truth[label], self.noise), 2)


def laboratory() -> World:
    """Forty molecules; potency is nearly linear in three descriptors, an assay adds noise."""
    random = np.random.default_rng(70)
    table = pd.DataFrame(
        {
            "weight": random.normal(350, 60, 40).round(1),
            "logp": random.normal(2.5, 1.0, 40).round(2),
            "polar_area": random.normal(80, 20, 40).round(1),
        },
        index=pd.Index([f"M{k:02d}" for k in range(1, 41)], name="molecule"),
    )
    standard = (table - table.mean()) / table.std()
    truth = 6.2 + standard @ [0.35, 0.6, -0.45] + random.uniform(-0.04, 0.04, 40)
    return World(table, truth, noise=0.6)


FILES = {"molecules.csv": laboratory}


def write(folder: Path) -> None:
    """The tables that the tutorials read, without what is true."""
    for name, world in FILES.items():
        world().table.to_csv(folder / name)


if __name__ == "__main__":
    write(Path(__file__).parent)
