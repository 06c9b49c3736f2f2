"""What the features of the candidates are worth, said before anything is measured."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mislid.errors import ProblemError
from mislid.study.candidates import Candidates
from mislid.study.prospects import Prospects
from mislid.study.result import Label, PlainRecord
from mislid.study.settings import UNKNOWN, Settings

# From here on little but its own measurements says anything of a candidate.
ALONE = 0.9


@dataclass(frozen=True, slots=True)
class FeatureCheck(PlainRecord):
    """What features are worth to a study.

    Attributes
    ----------
    K, d, rank
        Candidates, features, and how many of the features do not follow from others.
    anything_fits
        Whether rank is at least K: any means are linear in the features then, which say nothing.
    leverage, leverage_of
        The largest leverage, and whose it is: the share of its own measurement in a candidate's
        prediction when all are measured equally often. At 1 the others say nothing of it.
    gap, unit
        A plausible distance of two candidates, the noise of one measurement, and what it is called:
        half of the range, where values have one. None where the noise is not known; then the
        numbers of measurements are those for the noise itself, whatever it is.
    samples_without
        Measurements in all to tell any two candidates apart that differ by `gap`, without features.
    samples_linear, samples_with
        The same with features, if means are linear in them, and with the declared misspecification;
        the latter is None where that is not known, or the noise is not. Both are where features
        prove nothing. docs/studies.md says how they are worked out.
    misspecification
        The declared one; infinite where it is not known.
    """

    K: int
    d: int
    rank: int
    anything_fits: bool
    leverage: float
    leverage_of: Label
    gap: float | None
    unit: str
    samples_without: int | None
    samples_linear: int | None
    samples_with: int | None
    misspecification: float

    @property
    def statement(self) -> str:
        """What matters, in a sentence or two."""
        if self.anything_fits:
            return (
                f"the features say nothing: with {self.rank} of them that are independent, any "
                f"means of {self.K} candidates are linear in them; use fewer features"
            )
        if self.gap is None and self.samples_linear is None:
            return (
                "the features help to choose what to measure, and prove nothing: that needs a "
                "noise that is known"
            )
        apart = self.unit if self.gap is None else f"{self.gap:.3g}, {self.unit}"
        words = (
            f"to tell apart two candidates whose means differ by {apart}, it takes about "
            f"{_count(self.samples_without)} measurements in all without the features, "
            f"{_count(self.samples_linear)} if means are linear in them"
        )
        if self.samples_with is not None and self.misspecification > 0.0:
            within = f"to within {self.misspecification:.3g}"
            words += f", {_count(self.samples_with)} if that holds {within}"
        if self.leverage > ALONE:
            words += (
                f". The features say little of {self.leverage_of!r}, which is unlike all others "
                f"(leverage {self.leverage:.2f})"
            )
        return words


def _count(samples: int | None) -> str:
    return "endlessly many" if samples is None else f"{samples:,}"


def check_features(settings: Settings, candidates: Candidates) -> FeatureCheck:
    """What the features of a study are worth."""
    if candidates.features is None:
        raise ProblemError(
            "features_check needs candidates with features: of these nothing is known but what is "
            "measured"
        )
    # As the model takes them: without columns that follow from others, in any unit.
    used = candidates.model(math.inf).features
    basis = np.linalg.qr(used / np.linalg.norm(used, axis=0))[0]
    leverages = np.einsum("kd,kd->k", basis, basis)
    most = int(np.argmax(leverages))
    rank, K = used.shape[1], candidates.K
    prospects = Prospects(settings, candidates)
    gap, declared = prospects.noise, settings.misspecification
    says_something = rank < K
    without = prospects.samples_without(gap)

    def samples(misspecification: float) -> int | None:
        # Of a noise that is not known, no misspecification but 0 is a known number.
        if not prospects.is_known and (misspecification > 0.0 or settings.noise_model == UNKNOWN):
            return None
        return prospects.samples_with(gap, misspecification) if says_something else without

    return FeatureCheck(
        K=K,
        d=candidates.features.shape[1],
        rank=rank,
        anything_fits=not says_something,
        leverage=min(1.0, float(leverages[most])),
        leverage_of=candidates.labels[most],
        gap=gap if prospects.is_known else None,
        unit=prospects.unit,
        samples_without=without,
        samples_linear=samples(0.0),
        samples_with=None if math.isinf(declared) else samples(declared),
        misspecification=declared,
    )
