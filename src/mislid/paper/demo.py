"""The demonstration: mislid and its rivals on an embedded instance.

The features of the instance help, but are misspecified: with them, mislid needs far fewer
measurements than a method without features, and a method that trusts them gives a wrong answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mislid.geometry.time import CharacteristicTime, characteristic_time
from mislid.model import Instance, Model
from mislid.simulation.identify import INTERRUPTED, Identification, identify

if TYPE_CHECKING:
    from matplotlib.figure import Figure

M, DELTA, MISSPECIFICATION, NOISE = 3, 0.05, 0.25, 0.5
# Rivals may never stop; mislid takes about 1,400 measurements.
BUDGET = 50_000
# Three standardised descriptors, and the gain in potency over a reference, in log units.
COMPOUNDS = {
    "MX-01": (0.3, -0.2, -0.9, -0.74),
    "MX-02": (-0.1, 0.5, 0.2, 0.71),
    "MX-03": (0.2, 0.3, 0.4, 0.77),
    "MX-04": (0.9, 1.0, 0.4, 1.11),
    "MX-05": (-0.3, 0.5, 0.3, 0.68),
    "MX-06": (-0.3, -0.4, 1.0, 0.31),
    "MX-07": (0.9, 0.7, 0.0, 1.17),
    "MX-08": (-0.2, 1.0, 0.3, 0.62),
    "MX-09": (0.5, -1.0, -0.3, -1.00),
    "MX-10": (-1.0, 0.9, -0.7, 0.22),
    "MX-11": (-1.0, 0.0, -1.0, -1.15),
    "MX-12": (0.1, 0.9, 0.7, 0.88),
}


@dataclass(frozen=True, slots=True)
class Method:
    """An algorithm with a stopping rule, and how it uses the descriptors."""

    algorithm: str
    stopping: str
    descriptors: str


METHODS: Mapping[str, Method] = {
    "mislid": Method("mislid", "guaranteed", f"within {MISSPECIFICATION:g}"),
    "LUCB": Method("lucb", "guaranteed", "ignored"),
    "uniform": Method("uniform", "guaranteed", "ignored"),
    "LinGapE": Method("lingape", "heuristic", "trusted"),
}


@dataclass(frozen=True, slots=True, eq=False)
class Demo:
    """Results of the demonstration: runs by method, and characteristic times of the instance."""

    instance: Instance
    found: Mapping[str, Identification]
    time: CharacteristicTime
    time_without_features: CharacteristicTime


def demo_instance() -> Instance:
    """Twelve compounds whose potency is linear in three descriptors to within 0.25.

    Examples
    --------
    >>> instance = demo_instance()
    >>> instance.K, instance.d, [instance.label(arm) for arm in instance.top(3)]
    (12, 4, ['MX-07', 'MX-04', 'MX-12'])
    """
    table = np.array(list(COMPOUNDS.values()))
    features = np.column_stack([np.ones(len(table)), table[:, :3]])
    model = Model(features, MISSPECIFICATION)
    return Instance(model, table[:, 3], noise=NOISE, names=list(COMPOUNDS))


def run_demo(seed: int = 0) -> Demo:
    """Run every method on the instance."""
    instance = demo_instance()
    found: dict[str, Identification] = {}
    for name, method in METHODS.items():
        found[name] = identify(
            instance,
            M,
            delta=DELTA,
            algorithm=method.algorithm,
            stopping=method.stopping,
            seed=seed,
            max_samples=BUDGET,
        )
        if found[name].status == INTERRUPTED:
            raise KeyboardInterrupt
    models = instance.model, Model(instance.model.features, np.inf)
    times = [characteristic_time(m, instance.means, M, noise=instance.noise) for m in models]
    return Demo(instance, found, *times)


def draw_demo(demo: Demo) -> Figure:
    """Draw how often mislid measured each compound, and what each method proved."""
    from mislid.plotting import plot_counts, plot_proved
    from mislid.plotting.theme import drawing, new_figure

    with drawing():
        figure = new_figure(4.6, 11.5)
        left, right = figure.subplots(1, 2, width_ratios=[1.0, 1.15])
        plot_counts(left, demo.instance, M, demo.found["mislid"].counts)
        left.set_title(f"Where mislid measured: most at the border of the best {M}")
        left.set_xlabel("compound, most potent first")
        plot_proved(right, demo.found)
        others = demo.instance.K - M
        right.set_title(f"How the proof grows: each of the best {M} against the other {others}")
        figure.suptitle(
            f"The {M} most potent of {demo.instance.K} compounds, at error rate {DELTA:g}"
        )
    return figure
