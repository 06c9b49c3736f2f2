"""A first look, from the shell: `python -m mislid.demo [PICTURE]`.

Builds an instance, finds its closest alternative with a certificate, the optimal allocation and the
number of samples that any method needs, and saves a picture of them.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from mislid.geometry.alternatives import Alternative, closest_alternative
from mislid.geometry.notice import compiling_notice
from mislid.geometry.time import CharacteristicCurve, characteristic_curve
from mislid.model import Instance, Model

M, DELTA, MISSPECIFICATION = 3, 0.05, 0.15
PICTURE = "mislid-demo.png"


def demo_instance() -> Instance:
    """Twelve candidates, three features, and a response that a plane describes to within 0.15.

    Examples
    --------
    >>> instance = demo_instance()
    >>> instance.K, instance.d, [instance.label(arm) for arm in instance.top(3)]
    (12, 3, ['H', 'D', 'K'])
    """
    rng = np.random.default_rng(16)
    features = np.column_stack([np.ones(12), rng.uniform(-1.0, 1.0, (12, 2))])
    linear = features @ [0.5, 0.9, 0.6]
    means = linear + rng.uniform(-MISSPECIFICATION, MISSPECIFICATION, 12)
    return Instance(Model(features, MISSPECIFICATION), means.round(3), names=list("ABCDEFGHIJKL"))


def describe_instance(instance: Instance) -> None:
    """Print the question."""
    names = ", ".join(str(instance.label(arm)) for arm in instance.top(M))
    width = instance.model.misspecification
    print(f"{instance.K} candidates with {instance.d} features; a linear model of their means is")
    print(f"wrong by at most {width:g}. The {M} best, unknown to an algorithm: {names}.\n")


def describe_alternative(instance: Instance, alternative: Alternative) -> None:
    """Print the closest alternative and what proves it closest."""
    winner, loser = (instance.label(arm) for arm in alternative.pair)
    verdict = alternative.check()
    pairs = M * (instance.K - M)
    print(f"Closest alternative, one sample per candidate: {winner} overtakes {loser}")
    print(f"  cost           {alternative.cost:.9f}")
    print(f"  proved bound   {alternative.bound:.9f}")
    print(f"  pairs solved   {alternative.pairs_solved} of {pairs}")
    print(f"  certificate    {'holds' if verdict else verdict}\n")


def describe_times(curve: CharacteristicCurve, instance: Instance) -> None:
    """Print the samples needed with more and less trust in the model."""
    print(f"Samples that any method needs on average, at error rate {DELTA:g}")
    print("  model              samples   proved range")
    for width, time in zip(curve.misspecifications, curve.times, strict=True):
        name = {0.0: "exactly linear", float("inf"): "none"}.get(float(width))
        if name is None and width != instance.model.misspecification:
            continue
        low, high = (time.samples(DELTA) / time.value * side for side in (time.lower, time.upper))
        row = f"{name or f'within {width:g}':<18} {time.samples(DELTA):7.0f}"
        print(f"  {row}   {low:.1f} to {high:.1f}")
        if width == instance.model.misspecification:
            allocation = time.allocation
    shares = "  ".join(
        f"{instance.label(int(arm))} {allocation[arm]:.0%}"
        for arm in np.argsort(-allocation, kind="stable")[:6]
    )
    print(f"\nOptimal allocation, its largest shares: {shares}\n")


def draw(
    instance: Instance, alternative: Alternative, curve: CharacteristicCurve, path: Path
) -> None:
    """Save the picture."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    from mislid.plotting import plot_allocation, plot_alternative, plot_curve

    width = instance.model.misspecification
    figure, axes = plt.subplots(1, 3, figsize=(13, 3.8), layout="constrained")
    plot_alternative(axes[0], instance, alternative)
    axes[0].set_title("The closest model with another answer", fontsize=10)
    declared = curve.times[curve.misspecifications.tolist().index(width)]
    plot_allocation(axes[1], instance, declared)
    axes[1].set_title("Where an optimal method samples", fontsize=10)
    plot_curve(axes[2], curve, DELTA, width)
    axes[2].set_title("What trust in the model is worth", fontsize=10)
    for one in axes:
        one.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main(arguments: list[str]) -> int:
    """Run the demonstration; the only argument is where to save the picture."""
    path = Path(arguments[0] if arguments else PICTURE)
    instance = demo_instance()
    describe_instance(instance)
    with compiling_notice():
        alternative = closest_alternative(instance.model, instance.means, np.ones(instance.K), M)
    describe_alternative(instance, alternative)
    widths = [*np.linspace(0.0, 4.0, 21) * MISSPECIFICATION, float("inf")]
    widths[5] = MISSPECIFICATION
    curve = characteristic_curve(instance.model, instance.means, M, widths)
    describe_times(curve, instance)
    try:
        draw(instance, alternative, curve, path)
    except ImportError:
        print("No picture: matplotlib is missing (pip install 'mislid[plots]').", file=sys.stderr)
        return 0
    except OSError as error:
        print(f"The picture could not be saved to {path}: {error.strerror}.", file=sys.stderr)
        return 1
    print(f"Picture: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
