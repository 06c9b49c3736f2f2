"""Go through a certificate and derive everything in it again, up to the first thing that fails."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from mislid.verification import _thresholds as thresholds
from mislid.verification._duality import Duality, Pair, alone, cost, multipliers
from mislid.verification._model import Model, model_of
from mislid.verification._reading import (
    Failure,
    Label,
    Matrix,
    Value,
    Vector,
    read,
    sha256_of,
)

SCHEMA, VERSION = "mislid-certificate", 1
# Numbers that are derived again agree to this, relative to their size.
EQUAL = 1e-9
# Arms whose means differ by less, relative to the range of all means, count as tied.
TIED = 1e-6
# Evidence below its threshold by less is accepted: errors grow by a factor exp(ENOUGH threshold).
ENOUGH = 1e-6
PAIRWISE, MIXTURE, GUARANTEED = "pairwise", "mixture", "guaranteed"


@dataclass(frozen=True, slots=True)
class Verification:
    """What came of checking a certificate.

    Attributes
    ----------
    ok
        Whether everything holds.
    failure
        The first thing that does not hold, or None.
    checks
        What was derived again and holds, in order.
    answer
        The answer that the certificate claims, best first; empty where it could not be read.
    rule, proven
        The stopping rule by which it was given, and whether that bounds the error rate by delta;
        None where that could not be checked.
    """

    ok: bool
    failure: str | None
    checks: tuple[str, ...]
    answer: tuple[Label, ...]
    rule: str | None
    proven: bool | None

    def __bool__(self) -> bool:
        return self.ok

    def to_dict(self) -> dict[str, Any]:
        """Values of JSON."""
        return {**asdict(self), "checks": list(self.checks), "answer": list(self.answer)}


def verify(certificate: str | os.PathLike[str] | Mapping[str, Any]) -> Verification:
    """Check the certificate of a study's decision, with nothing but NumPy.

    Parameters
    ----------
    certificate
        The path of a file that `Certificate.save` wrote, or what its `to_dict` gives.

    Examples
    --------
    >>> verify({"schema": "mislid-certificate"}).failure
    'version is missing'
    """
    file = _Checker()
    try:
        with np.errstate(all="ignore"):
            whole = read(certificate)
            for name, check in file.steps():
                check(whole)
                file.done.append(name)
    except Failure as failure:
        return file.verdict(str(failure))
    except (np.linalg.LinAlgError, ArithmeticError, ValueError) as error:
        after = f" after {file.done[-1]}" if file.done else ""
        return file.verdict(f"the numbers{after} cannot be worked with: {error}")
    return file.verdict(None)


@dataclass(frozen=True, slots=True)
class _Evidence:
    """What a file says of one pair."""

    proof: str
    statistic: float
    threshold: float
    values: Vector | None
    alpha: float | None


class _Checker:
    """What has been read and derived so far; each check builds on those before it."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.answer: tuple[Label, ...] = ()
        self.rule: str | None = None
        self.proven: bool | None = None

    def steps(self) -> list[tuple[str, Callable[[Value], None]]]:
        """The checks by name, in order."""
        return [
            ("schema", self.check_schema),
            ("candidates", self.check_candidates),
            ("settings", self.check_settings),
            ("data", self.check_data),
            ("model", self.check_model),
            ("projection", self.check_projection),
            ("answer", self.check_answer),
            ("evidence", self.check_evidence),
            ("limiting pair", self.check_limiting),
            ("seal", self.check_seal),
        ]

    def verdict(self, failure: str | None) -> Verification:
        """What came of it."""
        return Verification(
            failure is None, failure, tuple(self.done), self.answer, self.rule, self.proven
        )

    def check_schema(self, whole: Value) -> None:
        """A certificate of the version that is understood here, with the parts that belong to it."""
        if isinstance(whole.given, Mapping):
            known = {key: Value(whole.given[key], key) for key in whole.given}
            if "schema" in known:
                known["schema"].text(SCHEMA)
            if "version" in known and known["version"].whole(1) != VERSION:
                raise known["version"].fail(f"{VERSION}, which this release can check")
        parts = whole.parts(
            "schema", "version", "study", "versions", "candidates", "settings", "data", "model",
            "projection", "decision", "evidence", "limiting", "seal",
        )  # fmt: skip
        parts["study"].text()
        for version in parts["versions"].parts("mislid", "numpy", "python").values():
            version.text()
        self.parts = parts

    def check_candidates(self, _: Value) -> None:
        """The labels and features are those whose hash is stated."""
        parts = self.parts["candidates"].parts("labels", "features", "sha256")
        self.labels = parts["labels"].labels()
        self.K = len(self.labels)
        features = parts["features"]
        self.features = None if features.absent else features.matrix(self.K)
        plain = {"labels": parts["labels"].given, "features": features.given}
        if parts["sha256"].text() != sha256_of(plain):
            raise Failure("candidates.sha256 must be the hash of labels and features; it is not")

    def check_settings(self, _: Value) -> None:
        """The question is one that can be asked of these candidates."""
        given = self.parts["settings"].parts(
            "m", "delta", "misspecification", "noise", "tolerance", "direction", "algorithm",
            "stopping", "seed", "mean_bound",
        )  # fmt: skip
        self.m = given["m"].whole(1, self.K - 1)
        self.delta = given["delta"].number(0.0, above=True)
        if not self.delta < 1.0:
            raise given["delta"].fail("below 1")
        self.eps = given["misspecification"].number(0.0, infinite=True)
        if self.features is None and self.eps < math.inf:
            raise given["misspecification"].fail('"inf", for candidates without features')
        several = given["noise"].entries()
        noise = given["noise"].vector(1 if len(several) == 1 else self.K)
        for entry in several:
            entry.number(0.0, above=True)
        self.noise: Vector = np.broadcast_to(noise, (self.K,))
        self.tol = given["tolerance"].number(0.0)
        self.sign = 1.0 if given["direction"].text("maximize", "minimize") == "maximize" else -1.0
        self.stopping = given["stopping"].text(*thresholds.PROVEN)
        given["algorithm"].text()
        given["seed"].whole(0)
        given["mean_bound"].number(0.0, above=True, infinite=True)

    def check_data(self, _: Value) -> None:
        """Counts add up, and the means are the sums over them."""
        parts = self.parts["data"].parts("samples", "counts", "sums", "means")
        counts = [entry.whole(0) for entry in parts["counts"].entries(self.K)]
        self.samples = parts["samples"].whole(1)
        if sum(counts) != self.samples:
            raise Failure(f"data.samples must be the sum of data.counts, {sum(counts)}")
        sums = parts["sums"].entries(self.K)
        means = np.zeros(self.K)
        for k, stated in enumerate(parts["means"].entries(self.K)):
            if counts[k] == 0:
                if not stated.absent or sums[k].number() != 0.0:
                    raise Failure(f"{sums[k].name} must be 0, and its mean null: never measured")
                continue
            means[k] = sums[k].number() / counts[k]
            _refuse_other(stated, stated.number(), means[k], 1e-15)
        self.counts = np.array(counts, dtype=np.float64)
        self.weights = self.counts / self.noise**2
        # From here on more is better.
        self.means = self.sign * means
        if not (np.all(np.isfinite(self.means)) and np.all(np.isfinite(self.weights))):
            raise Failure("data.sums and settings.noise must be of sizes that can be divided")

    def check_model(self, _: Value) -> None:
        """The coordinates of the features that bounds and priors are stated in."""
        parts = self.parts["model"].parts("columns", "spanner")
        features: Matrix = np.ones((self.K, 1)) if self.features is None else self.features
        columns = parts["columns"].arms(features.shape[1])
        spanner = parts["spanner"].arms(self.K)
        self.model: Model = model_of(features, columns, spanner, self.eps)
        self.duality = Duality(self.model, self.weights)

    def check_projection(self, _: Value) -> None:
        """The projected means are a model, and none is nearer to the empirical ones."""
        parts = self.parts["projection"].parts("values", "means", "cost", "bound")
        stated = self.sign * parts["means"].vector(self.K)
        d = self.model.X.shape[1]
        self.lost = 0.0
        if math.isinf(self.eps):
            projected, least = self.means, 0.0
            if not parts["values"].absent:
                raise parts["values"].fail("null where the misspecification is infinite")
        else:
            values = self.sign * parts["values"].vector(d)
            linear = self.model.X @ values
            near = self.duality.nearest(self.means, values)
            projected = np.where(self.weights > 0.0, near, linear)
            least = self.duality.projection_bound(self.means, projected, values)
        self._refuse_other_means("projection.means", stated, projected)
        reached = cost(self.means, self.weights, projected)
        _refuse_other(parts["cost"], parts["cost"].number(0.0), reached, EQUAL, EQUAL)
        _refuse_other(parts["bound"], parts["bound"].number(0.0), least, EQUAL, EQUAL)
        if not reached - least <= EQUAL * (1.0 + reached):
            raise Failure(
                f"projection must be the nearest model: its cost is {reached!r}, and only that "
                f"{least!r} is needed is proved"
            )
        # The exact projection is within sqrt(2 gap) of this one, in the norm of the weights.
        self.lost = math.sqrt(max(reached - least - 1e-12 * reached, 0.0))
        self.projected = projected

    def check_answer(self, _: Value) -> None:
        """The answer is the m best of the projected means, best first; the rule is as labelled."""
        parts = self.parts["decision"].parts(
            "answer", "rule", "proven", "pair", "statistic", "threshold"
        )
        answer = [entry.label(self.labels) for entry in parts["answer"].entries(self.m)]
        if len(set(answer)) < self.m:
            raise parts["answer"].fail(f"{self.m} different candidates")
        self.answer = tuple(answer)
        self.arms = [self.labels.index(label) for label in answer]
        means = self.projected
        tied = TIED * float(np.max(means) - np.min(means))
        rest = np.delete(np.arange(self.K), self.arms)
        order = [*self.arms, int(rest[np.argmax(means[rest])])]
        for better, worse in zip(order, order[1:], strict=False):
            if not means[better] >= means[worse] - tied:
                raise Failure(
                    "decision.answer must be the best candidates by projection.means, best first; "
                    f"{self.labels[worse]!r} is better than {self.labels[better]!r}"
                )
        parts["rule"].text(self.stopping)
        self.rule = self.stopping
        if parts["proven"].flag() != thresholds.PROVEN[self.stopping]:
            raise parts["proven"].fail(f"the other way round for the rule {self.stopping}")
        self.proven = thresholds.PROVEN[self.stopping]
        self.decision = parts

    def check_evidence(self, _: Value) -> None:
        """Every pair of a candidate outside the answer and one inside has enough evidence."""
        self.given = self.means if self.stopping in (MIXTURE, GUARANTEED) else self.projected
        largest = float(np.max(np.abs(self.given)))
        self.wide = self.eps >= largest + self.tol
        self.common: float | None = None
        self.pairs: dict[Pair, _Evidence] = {}
        for entry in self.parts["evidence"].entries():
            pair, evidence = self._read_evidence(entry)
            if pair in self.pairs:
                raise Failure(f"{entry.name} repeats a pair")
            self.pairs[pair] = evidence
            self._check_pair(entry, pair, evidence)
        missing = self.m * (self.K - self.m) - len(self.pairs)
        if missing:
            raise Failure(f"evidence must cover every pair of the answer; {missing} are missing")

    def _read_pair(self, challenger: Value, incumbent: Value) -> Pair:
        i = self.labels.index(challenger.label(self.labels))
        j = self.labels.index(incumbent.label(self.labels))
        if i in self.arms:
            raise challenger.fail("a candidate outside the answer")
        if j not in self.arms:
            raise incumbent.fail("a candidate of the answer")
        return i, j

    def _read_evidence(self, entry: Value) -> tuple[Pair, _Evidence]:
        given = entry.given if isinstance(entry.given, Mapping) else {}
        witness = ("values", "alpha") if "values" in given or "alpha" in given else ()
        parts = entry.parts("challenger", "incumbent", "proof", "statistic", "threshold", *witness)
        pair = self._read_pair(parts["challenger"], parts["incumbent"])
        allowed = (MIXTURE, PAIRWISE) if self.stopping == GUARANTEED else (self.stopping,)
        values = alpha = None
        if witness:
            values = self.sign * parts["values"].vector(self.model.X.shape[1])
            alpha = parts["alpha"].number(0.0)
        return pair, _Evidence(
            parts["proof"].text(*allowed),
            parts["statistic"].number(0.0, infinite=True),
            parts["threshold"].number(0.0),
            values,
            alpha,
        )

    def _check_pair(self, entry: Value, pair: Pair, evidence: _Evidence) -> None:
        statistic = self._statistic(entry, pair, evidence)
        stated = Value(entry.given["statistic"], f"{entry.name}.statistic")
        _refuse_other(stated, evidence.statistic, statistic, EQUAL)
        threshold = self._threshold(evidence.proof, pair)
        stated = Value(entry.given["threshold"], f"{entry.name}.threshold")
        _refuse_other(stated, evidence.threshold, threshold, EQUAL)
        left = statistic if evidence.proof in (MIXTURE, PAIRWISE) else self._at_projection(statistic)
        if not left >= threshold * (1.0 - ENOUGH):
            raise Failure(
                f"{entry.name} must reach its threshold {threshold!r}; only {left!r} is proved"
            )

    def _at_projection(self, statistic: float) -> float:
        """What is left of evidence at the projected means on file at the exact projection."""
        return max(math.sqrt(statistic) - self.lost, 0.0) ** 2

    def _statistic(self, entry: Value, pair: Pair, evidence: _Evidence) -> float:
        """The evidence that is proved for a pair."""
        if evidence.proof == PAIRWISE:
            self._refuse_witness(entry, evidence)
            return alone(self.means, self.weights, pair, self.tol)
        if self._is_impossible(pair):
            self._refuse_witness(entry, evidence)
            return math.inf
        if self.wide:
            self._refuse_witness(entry, evidence)
            return alone(self.given, self.weights, pair, self.tol)
        if evidence.values is None or evidence.alpha is None:
            raise Failure(f"{entry.name} must have values and alpha")
        return self.duality.pair_bound(
            self.given, evidence.values, evidence.alpha, pair, self.tol
        )

    def _refuse_witness(self, entry: Value, evidence: _Evidence) -> None:
        if evidence.values is not None:
            raise Failure(f"{entry.name} must not have values: its evidence needs none")

    def _is_impossible(self, pair: Pair) -> bool:
        """Whether no model reverses the pair: equal features are at most 2 eps apart."""
        if self.features is None:
            return False
        same = bool(np.all(self.features[pair[0]] == self.features[pair[1]]))
        return same and self.tol > 2.0 * self.eps

    def _threshold(self, proof: str, pair: Pair) -> float:
        delta = 0.5 * self.delta if self.stopping == GUARANTEED else self.delta
        if proof == PAIRWISE:
            return thresholds.pairwise(self.counts[list(pair)], self.K, self.m, delta)
        if self.common is None:
            self.common = self._common_threshold(proof, delta)
        return self.common

    def _common_threshold(self, proof: str, delta: float) -> float:
        t, model, weights = self.samples, self.model, self.weights
        if proof == MIXTURE:
            return thresholds.mixture(model, weights, self.means, self.noise, delta)
        if proof == "paper":
            return thresholds.paper(t, model, weights, self.noise, delta)
        if proof == "paper-printed":
            return thresholds.paper_printed(t, model, weights, delta)
        return thresholds.heuristic(t, delta)

    def check_limiting(self, _: Value) -> None:
        """The closest alternative of the hardest pair is a model, reverses it, and is closest."""
        challenger, incumbent = self.decision["pair"].entries(2)
        pair = self._read_pair(challenger, incumbent)
        evidence = self.pairs[pair]
        self._refuse_easier(pair, evidence)
        parts = self.parts["limiting"].parts(
            "means", "theta", "deviation", "multipliers", "alpha", "cost", "bound", "gap"
        )
        stated = self.decision["statistic"].number(0.0, infinite=True)
        threshold = self.decision["threshold"]
        _refuse_other(threshold, threshold.number(0.0), evidence.threshold, EQUAL)
        _refuse_other(self.decision["statistic"], stated, evidence.statistic, EQUAL, EQUAL)
        if math.isinf(stated):
            for part in parts.values():
                if not part.absent:
                    raise part.fail("null where no model reverses the pair")
            return
        free = self.wide or evidence.proof == PAIRWISE
        given = self.means if evidence.proof == PAIRWISE else self.given
        self._check_alternative(parts, pair, evidence, given, free)
        self._check_bound(parts, pair, given, free)

    def _refuse_easier(self, pair: Pair, evidence: _Evidence) -> None:
        """Refuse a pair if another one is harder to tell apart by the same proof."""
        if evidence.proof == PAIRWISE and any(one.proof != PAIRWISE for one in self.pairs.values()):
            raise self.decision["pair"].fail("one that the mixture settles")
        ratio = evidence.statistic / evidence.threshold
        for (i, j), other in self.pairs.items():
            if other.proof == evidence.proof:
                if not ratio <= other.statistic / other.threshold * (1.0 + ENOUGH):
                    harder = f"({self.labels[i]!r}, {self.labels[j]!r})"
                    raise self.decision["pair"].fail(f"the hardest to tell apart, {harder}")

    def _check_alternative(
        self, parts: dict[str, Value], pair: Pair, evidence: _Evidence, given: Vector, free: bool
    ) -> None:
        """The alternative is the one that the pair's evidence leads to, and a model."""
        means = self.sign * parts["means"].vector(self.K)
        i, j = pair
        alpha = parts["alpha"].number(0.0)
        if free:
            expected = given.copy()
            gap = max(float(given[j] - given[i]) + self.tol, 0.0)
            share = self.weights[j] / (self.weights[i] + self.weights[j])
            expected[i] += share * gap
            expected[j] -= (1.0 - share) * gap
            pull = 2.0 * evidence.statistic / gap if gap > 0.0 else 0.0
        else:
            assert evidence.values is not None and evidence.alpha is not None  # noqa: PT018, S101
            expected = self.duality.nearest(given, evidence.values, evidence.alpha, pair)
            heavy = self.weights > 0.0
            expected = np.where(heavy, expected, means)
            pull = evidence.alpha
        _refuse_other(parts["alpha"], alpha, pull, EQUAL)
        self._refuse_other_means("limiting.means", means, expected)
        scale = float(np.max(np.abs(means) + np.abs(given))) + self.tol
        if not means[i] >= means[j] + self.tol - EQUAL * scale:
            raise Failure("limiting.means must put the challenger above the incumbent")
        reached = cost(given, self.weights, means)
        _refuse_other(parts["cost"], parts["cost"].number(0.0), reached, EQUAL, EQUAL)
        self._check_membership(parts, means, free and (evidence.proof == PAIRWISE))

    def _check_membership(self, parts: dict[str, Value], means: Vector, free: bool) -> None:
        """Means = features theta + deviation, with deviations within the misspecification."""
        if free or math.isinf(self.eps) or self.features is None:
            for part in (parts["theta"], parts["deviation"]):
                if not part.absent:
                    raise part.fail("null where all means are possible")
            return
        theta = self.sign * parts["theta"].vector(self.features.shape[1])
        deviation = self.sign * parts["deviation"].vector(self.K)
        sizes = np.abs(self.features) @ np.abs(theta) + np.abs(means)
        slack = EQUAL * (sizes + 1e-3 * float(np.max(sizes)))
        missed = np.abs(self.features @ theta + deviation - means)
        if not np.all(missed <= slack):
            worst = int(np.argmax(missed - slack))
            raise Failure(
                f"limiting.means[{worst}] must be features times theta plus deviation; it differs "
                f"by {missed[worst]:.3g}"
            )
        if not np.all(np.abs(deviation) <= self.eps + slack):
            worst = int(np.argmax(np.abs(deviation) - slack))
            raise Failure(f"limiting.deviation[{worst}] must be at most the misspecification")

    def _check_bound(
        self, parts: dict[str, Value], pair: Pair, given: Vector, free: bool
    ) -> None:
        """The multipliers on file prove that no alternative of the pair is closer."""
        z = self.sign * parts["multipliers"].vector(self.K)
        alpha = parts["alpha"].number(0.0)
        v = multipliers(z, -alpha, pair)
        if free:
            if np.any(z != 0.0):
                raise parts["multipliers"].fail("zeros where features say nothing of the pair")
            least = alone(given, self.weights, pair, self.tol)
        else:
            v[self.weights == 0.0] = np.where(
                np.abs(v[self.weights == 0.0]) <= EQUAL * alpha, 0.0, v[self.weights == 0.0]
            )
            values = self.pairs[pair].values
            assert values is not None  # noqa: S101
            least = self.duality.proved(given, v, values, alpha, pair, self.tol)
        _refuse_other(parts["bound"], parts["bound"].number(0.0), least, EQUAL, EQUAL)
        reached = parts["cost"].number(0.0)
        if not abs(reached - least) <= ENOUGH * (1.0 + reached):
            raise Failure(
                f"limiting.bound must prove the cost {reached!r} to be the least; it proves {least!r}"
            )
        _refuse_other(parts["gap"], parts["gap"].number(), reached - least, EQUAL, EQUAL)

    def _refuse_other_means(self, name: str, stated: Vector, derived: Vector) -> None:
        scale = float(np.max(np.abs(derived)))
        off = np.abs(stated - derived) - EQUAL * (np.abs(derived) + 1e-3 * scale)
        worst = int(np.argmax(off))
        if not off[worst] <= 0.0:
            raise Failure(
                f"{name}[{worst}] must be {self.sign * derived[worst]!r}; "
                f"got {self.sign * stated[worst]!r}"
            )

    def check_seal(self, whole: Value) -> None:
        """Nothing else was changed."""
        rest = {key: value for key, value in whole.given.items() if key != "seal"}
        if self.parts["seal"].text() != sha256_of(rest):
            raise Failure(
                "seal must be the hash of all the rest; something that nothing else depends on, "
                "such as a version or a name, was changed"
            )


def _refuse_other(
    value: Value, stated: float, derived: float, relative: float, absolute: float = 0.0
) -> None:
    if stated == derived:
        return
    if not abs(stated - derived) <= relative * abs(derived) + absolute:
        raise Failure(f"{value.name} must be {derived!r}; got {stated!r}")
