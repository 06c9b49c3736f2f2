"""A first look: one identification on an embedded instance, beside its rivals and the lower bound.

The instance is made up so that the features help and mislead at once. They spare most of the
measurements that a method without them needs; and a method that trusts them picks a wrong answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mislid.geometry.time import CharacteristicTime, characteristic_time
from mislid.model import Instance, Model
from mislid.simulation.identify import INTERRUPTED, Identification, identify
from mislid.simulation.progress import Progress

if TYPE_CHECKING:
    from matplotlib.figure import Figure

M, DELTA, MISSPECIFICATION, NOISE = 3, 0.05, 0.25, 0.5
# Rivals may never be sure; mislid takes about 1,400.
BUDGET = 50_000
EVERY = 20
# Three standardised descriptors, and the gain in potency over a reference in log units.
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
    """An algorithm with a stopping rule, and what the sampling makes of the descriptors."""

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
    """What the demonstration found: by method the outcome and how the run went, and two bounds."""

    instance: Instance
    found: Mapping[str, Identification]
    seen: Mapping[str, list[Progress]]
    time: CharacteristicTime
    time_without_features: CharacteristicTime


def demo_instance() -> Instance:
    """Twelve compounds whose potency is linear in three descriptors to within 0.25.

    They are made up so that descriptors help and mislead at once.

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


def run_demo(tell: Callable[[str, Progress], object], seed: int = 0) -> Demo:
    """Identify with every method; `tell` gets a method's name and progress now and then."""
    instance = demo_instance()
    found: dict[str, Identification] = {}
    seen: dict[str, list[Progress]] = {name: [] for name in METHODS}
    for name, method in METHODS.items():

        def look(progress: Progress, name: str = name) -> None:
            seen[name].append(progress)
            tell(name, progress)

        found[name] = identify(
            instance,
            M,
            delta=DELTA,
            algorithm=method.algorithm,
            stopping=method.stopping,
            seed=seed,
            max_samples=BUDGET,
            callback=look,
            every=EVERY,
        )
        if found[name].status == INTERRUPTED:
            raise KeyboardInterrupt
    models = instance.model, Model(instance.model.features, np.inf)
    times = [characteristic_time(m, instance.means, M, noise=instance.noise) for m in models]
    return Demo(instance, found, seen, *times)


def draw_demo(demo: Demo) -> Figure:
    """Draw where mislid measured, and how the evidence of every method grew, side by side."""
    from mislid.plotting import plot_allocation, plot_evidence
    from mislid.plotting.run import name_lines
    from mislid.plotting.theme import CONTRAST, drawing, new_figure

    found, unproven = demo.found["mislid"], demo.found["LinGapE"]
    proven = {name: demo.seen[name] for name in METHODS if name != "LinGapE"}
    with drawing():
        figure = new_figure(4.8, 11.5)
        left, right = figure.subplots(1, 2, width_ratios=[1.0, 1.15])
        plot_allocation(left, demo.instance, M, found.counts, optimal=demo.time.allocation)
        left.set_title(f"Where mislid measured ({found.samples:,} measurements)")
        left.set_xlabel("compound, most potent first")
        plot_evidence(right, proven, bound=demo.time.samples(DELTA))
        if unproven.correct is False:
            label = f"LinGapE, by its own test: {unproven.samples:,}, wrong"
            (mark,) = right.plot([unproven.samples], [0.0], "X", color=CONTRAST, label=label)
            mark.set(ms=9, clip_on=False)
            name_lines(right)
        right.set_title(f"Evidence for the answer, at error rate {DELTA:g}")
        figure.suptitle(f"The {M} most potent of {demo.instance.K} compounds")
    return figure
