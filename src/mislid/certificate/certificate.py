"""Certificates of decisions by the rule `guaranteed`.

It rests on the measurements that led to the decision, whatever came later. `mislid.verify` checks
it; `docs/certificate.md` describes the file.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from mislid import __version__
from mislid._validation import Vector
from mislid.certificate.proof import Claim, Moment, Search, Settlement
from mislid.engine import Engine, EventBatch
from mislid.errors import CertificateError
from mislid.geometry.coordinates import coordinates
from mislid.geometry.duality import all_pairs
from mislid.io import as_plain, new_place, write_whole
from mislid.stopping.noise import scatter_after, scatter_over_time
from mislid.study.assumption_tests import Tallies, tests_of
from mislid.study.candidates import Candidates
from mislid.study.events import Added, Contradicted, Decided, Event, Retired
from mislid.study.roster import Roster
from mislid.study.settings import GUARANTEED, KNOWN, Settings, question_of
from mislid.study.state import Correction, Observation

SCHEMA, VERSION = "mislid-certificate", 3
SETTINGS = (
    "m", "delta", "misspecification", "noise", "tolerance", "direction", "algorithm", "stopping",
    "seed", "mean_bound",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mended:
    """What a log has besides measurements and decisions.

    Attributes
    ----------
    corrections, declarations
        Values that were mended, and events that declared something anew.
    contradictions
        What the data have refuted of the present declaration.
    roster, changes
        All candidates that there were, and events that added or retired some.
    """

    corrections: tuple[Correction, ...] = ()
    declarations: tuple[Event, ...] = ()
    contradictions: tuple[Contradicted, ...] = ()
    roster: Roster | None = None
    changes: tuple[Event, ...] = ()

    def plain(self, candidates: Candidates, promised: float) -> dict[str, Any]:
        """Values of JSON; of changes, and of the promise, only where there are any."""
        known = candidates if self.roster is None else self.roster.register
        plain: dict[str, Any] = {
            "corrections": [
                {
                    "event": one.sequence,
                    "trial": one.of.trial,
                    "row": one.of.row,
                    "arm": known.labels[one.of.arm],
                    "was": one.was,
                    "value": one.value,
                    "reason": one.reason,
                }
                for one in self.corrections
            ],
            "declarations": [
                {
                    "event": event.sequence,
                    "kind": type(event.fact).__name__.lower(),
                    **as_plain(event.fact._asdict()),
                }
                for event in self.declarations
            ],
            "contradictions": [one._asdict() for one in self.contradictions],
        }
        if self.roster is not None and self.changes:
            plain["changes"] = [_plain_change(event, known) for event in self.changes]
            plain["promised"] = promised
        return plain


def _plain_change(event: Event, known: Candidates) -> dict[str, Any]:
    """Which candidates came, or left, or cannot be measured any more."""
    fact = event.fact
    if isinstance(fact, Added):
        labels, kind = list(fact.candidates.labels), "added"
    elif isinstance(fact, Retired):
        labels, kind = [known.labels[fact.arm]], "left" if fact.leaves else "retired"
    else:
        raise TypeError(f"no change: {fact!r}")
    return {
        "event": event.sequence,
        "kind": kind,
        "labels": labels,
        "reason": fact.reason,
    }


class Certificate:
    """What a decision rests on, made when first looked at; `StudyResult.certificate` is one.

    Parameters
    ----------
    study_name, settings, candidates
        The study, its question and its arms.
    decision
        What the stopping rule said.
    observations
        All measurements by now. Those after the decision only show whether what was declared is
        refuted.
    mended
        What was corrected, declared and contradicted.

    Examples
    --------
    >>> import mislid
    >>> study = mislid.create_study(candidates=["a", "b", "c"], m=1, noise=0.1)
    >>> value = {"a": 0.2, "b": 0.9, "c": 0.4}
    >>> study.optimize(lambda trial: value[trial.arm])
    >>> certificate = study.result.certificate
    >>> plain = certificate.to_dict()
    >>> plain["decision"]["answer"], len(plain["evidence"])
    (['b'], 2)

    A file of it can be given to others, who need the package but not the study:

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "certificate.json"
    ...     certificate.save(file)
    ...     file.read_text() == certificate.to_json(), bool(mislid.verify(file))
    (True, True)
    """

    def __init__(
        self,
        study_name: str,
        settings: Settings,
        candidates: Candidates,
        decision: Decided,
        observations: Sequence[Observation],
        mended: Mended | None = None,
    ) -> None:
        self._study_name = study_name
        self._settings, self._candidates, self._decision = settings, candidates, decision
        self._observations = observations  # only ever grows at its end
        self._now = len(observations)
        self._mended = mended or Mended()

    def to_dict(self) -> dict[str, Any]:
        """The certificate as values of JSON.

        Returns
        -------
        dict
            What the file holds, in fresh containers.

        Raises
        ------
        CertificateError
            As in `to_json`.
        """
        found: dict[str, Any] = json.loads(self.to_json())
        return found

    def to_json(self) -> str:
        """The text of the file.

        Returns
        -------
        str
            One line of JSON.

        Raises
        ------
        CertificateError
            If the stopping rule is another than `guaranteed`, or the decision cannot be derived
            from the measurements.
        """
        return self._text

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the file, whole or not at all.

        Parameters
        ----------
        path
            Where it goes, in a directory that exists.

        Raises
        ------
        ProblemError
            If it is no path of a file in a directory that exists and can be written to.
        CertificateError
            As in `to_json`.
        OSError
            If the system cannot write the file, as on a full disk.
        """
        write_whole(new_place(path), self._text.encode("ascii"))

    @cached_property
    def _text(self) -> str:
        record = self._record()
        record["seal"] = sha256_of(record)
        return json.dumps(record, allow_nan=False) + "\n"

    def _record(self) -> dict[str, Any]:
        settings = self._settings
        if settings.stopping != GUARANTEED:
            raise CertificateError(
                f"there is no certificate: only decisions by the stopping rule {GUARANTEED!r} are "
                f"certified; got {settings.stopping!r}"
            )
        plain, declared = self._candidates.plain(), settings.plain()
        return {
            "schema": SCHEMA,
            "version": VERSION,
            "study": self._study_name,
            "versions": {
                "mislid": __version__,
                "numpy": np.__version__,
                "python": platform.python_version(),
            },
            "candidates": {**plain, "sha256": sha256_of(plain)},
            "settings": {
                **{name: declared[name] for name in SETTINGS},
                "structured": settings.is_structured,
                "noise_model": settings.noise_model,
                "reward_range": None if settings.oriented_range is None else settings.reward_range,
            },
            "model": None if plain["features"] is None else self._plain_model(),
            **self._settled(),
        }

    def _plain_model(self) -> dict[str, Any]:
        model = self._candidates.model(self._settings.misspecification)
        found = {"columns": list(model.columns), "spanner": coordinates(model).basis.tolist()}
        return found | ({"late": list(self._candidates.late)} if self._candidates.late else {})

    def _settled(self) -> dict[str, Any]:
        """When every pair was settled, and by what; whether the declaration stands."""
        log = Log(self._settings, self._candidates, self._observations[: self._decision.samples])
        evidence = log.settle(self._decision.answer)
        limiting = min(evidence, key=lambda one: one.evidence)
        times = sorted({one.samples for one in evidence} - {self._decision.samples})
        now, tests = self._declared()
        labels = self._candidates.labels
        refuted = self._mended.contradictions or any(
            test["evidence"] > test["threshold"] for test in tests
        )
        return {
            "data": _plain_moment(log.after(self._decision.samples)),
            "times": [_plain_moment(log.after(samples)) for samples in times],
            "decision": {
                "answer": [labels[arm] for arm in self._decision.answer],
                "rule": GUARANTEED,
                "proven": not refuted,
                "pair": [labels[arm] for arm in limiting.pair],
                "evidence": _finite(limiting.evidence),
                "level": -math.log(self._settings.delta),
            },
            "evidence": [self._plain_settlement(one) for one in evidence],
            "now": now,
            "tests": tests,
            "log": self._mended.plain(self._candidates, self._settings.error_rate),
        }

    def _declared(self) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """All data by now, and the evidence against what was declared."""
        observations = self._observations[: self._now]
        tallies = Tallies(self._candidates.K)
        tallies.take_in(observations)
        data = Log(self._settings, self._candidates, observations).after(self._now)
        tests = [
            {"of": of, "level": level, "evidence": evidence, "threshold": -math.log(level)}
            for of, level, evidence in tests_of(self._settings, self._candidates, tallies)
        ]
        # Only the test of the noise asks for them.
        squares = _plain(tallies.squares) if self._settings.noise_model == KNOWN else None
        return {**_plain_moment(data), "squares": squares}, tests

    def _plain_settlement(self, one: Settlement) -> dict[str, Any]:
        challenger, incumbent = (self._candidates.labels[arm] for arm in one.pair)
        found: dict[str, Any] = {
            "challenger": challenger,
            "incumbent": incumbent,
            "family": one.family,
            "samples": one.samples,
            "evidence": _finite(one.evidence),
        }
        if one.values is not None:
            values = _plain(self._settings.sign * one.values)
            found |= {"scale": one.scale, "values": values, "alpha": one.alpha}
        return found


def sha256_of(plain: Any) -> str:
    """SHA-256 of the canonical text: keys sorted, no spaces, ASCII, shortest exact decimals.

    >>> sha256_of({"labels": ["a", "b"], "features": None})[:12]
    '05ad6f4545ae'
    """
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


class Data(NamedTuple):
    """Counts (K,) and sums (K,) of the measurements, in the user's sign.

    `scatter` (K,) is that of `Engine.scatter`, None where the noise model does not ask for it.
    """

    counts: Vector
    sums: Vector
    scatter: Vector | None = None


class Log:
    """The measurements up to a decision, in their order and in the user's sign."""

    def __init__(
        self, settings: Settings, candidates: Candidates, observations: Sequence[Observation]
    ) -> None:
        self._settings, self._candidates = settings, candidates
        self._observations = observations
        self._arms = np.array([one.arm for one in observations], dtype=np.int64)
        self._values = np.array([one.value for one in observations])

    def after(self, samples: int) -> Data:
        """Counts, sums and scatter; sums are rounded once, as those of the rules nearly are."""
        arms, values, K = self._arms[:samples], self._values[:samples], self._candidates.K
        counts = np.bincount(arms, minlength=K)
        parts = np.split(values[np.argsort(arms, kind="stable")], np.cumsum(counts)[:-1])
        sums = np.array([math.fsum(part.tolist()) for part in parts])
        scatter = scatter_after(self._scatter, self._arms, samples, K)
        return Data(counts.astype(np.float64), sums, scatter)

    @cached_property
    def _scatter(self) -> Vector | None:
        settings = self._settings
        noise = settings.noise_model, settings.oriented_range
        return scatter_over_time(*noise, self._arms, settings.sign * self._values)

    def settle(self, answer: tuple[int, ...]) -> list[Settlement]:
        """What settled every pair of an answer, sorted by pair."""
        claim, last = Claim(self._settings, self._candidates), self._arms.size
        sign = self._settings.sign

        def moment(samples: int) -> Moment:
            counts, sums, scatter = self.after(samples)
            return Moment(claim, counts, sign * sums, scatter)

        search = Search(moment, last, self._replayed(), self._looks)
        left = search.settle(all_pairs(self._candidates.K, np.sort(np.array(answer))))
        if len(left):
            labels = self._candidates.labels
            i, j = (labels[arm] for arm in left[0].tolist())
            raise CertificateError(
                f"there is no certificate: the {last} measurements of the decision do not prove "
                f"{j!r} better than {i!r} ({len(left)} such pairs)"
            )
        return [search.settled[pair] for pair in sorted(search.settled)]

    @property
    def _looks(self) -> list[int]:
        """Numbers of measurements after each event that had any."""
        events = [one.sequence for one in self._observations]
        ends = np.flatnonzero(np.diff(events, append=events[-1] + 1)) + 1
        return [int(end) for end in ends]

    def _replayed(self) -> dict[tuple[int, int], int]:
        """When the rule settled pairs: a replay of the measurements, told as they came."""
        engine = Engine(
            question_of(self._settings, self._candidates),
            "uniform",
            GUARANTEED,
            every_arm=self._candidates.features is None,
        )
        script = EventBatch()
        for _, told in groupby(self._observations, key=lambda one: one.sequence):
            group = list(told)
            script.tell(
                [one.arm for one in group], [self._settings.sign * one.value for one in group]
            )
        engine.follow(script)
        return engine.settled()


def _plain_moment(data: Data) -> dict[str, Any]:
    counts = [int(count) for count in data.counts]
    return {
        "samples": sum(counts),
        "counts": counts,
        "sums": _plain(data.sums),
        "scatter": None if data.scatter is None else _plain(data.scatter),
    }


def _plain(values: Vector) -> list[float]:
    plain: list[float] = (values + 0.0).tolist()  # no -0.0
    return plain


def _finite(statistic: float) -> float | str:
    """JSON has no infinity."""
    return "inf" if math.isinf(statistic) else statistic
