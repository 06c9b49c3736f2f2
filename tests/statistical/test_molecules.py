"""Studies of made-up molecules whose activities are not as linear as declared."""

import numpy as np
import pytest

import mislid
from helpers.molecules import MISSED, NOISE, Molecules, made_up_molecules
from mislid.study import Study

SEEDS, M = 20, 3
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::mislid.errors.ContradictedWarning"),
]


class Lab:
    """Measures molecules for a study."""

    def __init__(self, seed: int, **declared: object) -> None:
        self.molecules: Molecules = made_up_molecules(seed)
        self.rng = np.random.default_rng([11, seed])
        self.study: Study = mislid.create_study(
            candidates=self.molecules.descriptors,
            names=self.molecules.labels,
            m=M,
            noise=NOISE,
            **declared,  # type: ignore[arg-type]
        )
        self._activity = dict(
            zip(self.molecules.labels, self.molecules.activities.tolist(), strict=True)
        )

    def value(self, arm: str) -> float:
        return self._activity[arm] + NOISE * float(self.rng.normal())

    def plate(self) -> None:
        """Every molecule once, as labs do: features that mislead are found out by that."""
        self.study.add_observations([(arm, self.value(arm)) for arm in self.molecules.labels])

    def is_right(self) -> bool:
        return set(self.study.result.answer) == self.molecules.best(M)


def test_declared_too_small() -> None:
    """Nothing is claimed once it is refuted, and what is redeclared is right."""
    contradicted = decided = 0
    for seed in range(SEEDS):
        lab = Lab(seed, misspecification=0.3)
        study = lab.study
        for _ in range(30):
            lab.plate()
            if study.status == "contradicted":
                break
        if study.status == "contradicted":
            contradicted += 1
            assert study.result is None or not study.result.proven
            study.redeclare(misspecification=MISSED * 1.01)
            study.optimize(lambda trial, lab=lab: lab.value(trial.arm), n_trials=2_000)
        if study.status == "decided":
            decided += 1
            assert lab.is_right()
    assert contradicted == SEEDS
    assert decided >= SEEDS // 4


def test_declared_nothing() -> None:
    """What is refuted is below the truth, and what is proved at or above it is right."""
    decided = 0
    for seed in range(SEEDS):
        lab = Lab(seed)
        for _ in range(3):
            lab.study.optimize(lambda trial, lab=lab: lab.value(trial.arm), n_trials=600)
            found = lab.study.sensitivity()
            assert found.smallest < MISSED
            if lab.study.status == "running" and (found.largest or 0.0) >= MISSED:
                lab.study.redeclare(misspecification=found.largest)
        if lab.study.status == "decided":
            decided += 1
            assert lab.is_right()
    assert decided >= SEEDS // 4
