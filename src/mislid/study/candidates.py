"""Candidates of a study: labels and features."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mislid._formatting import did_you_mean, shown
from mislid._validation import (
    LONGEST_LABEL,
    Labels,
    Matrix,
    as_array,
    as_labels,
    frozen,
    is_unicode,
    refuse_controls,
)
from mislid.errors import ProblemError
from mislid.geometry.coordinates import set_late
from mislid.model import Model

# Name of the constant column that is added to the features, and the relative residual up to which
# a vector of ones counts as being in their span.
ONES, IN_SPAN = "(ones)", 1e-9


@dataclass(frozen=True, eq=False)
class Candidates:
    """The arms of a study: K labels and, optionally, features.

    Attributes
    ----------
    labels
        The candidates' labels, in order.
    features
        One row per candidate (K, d), or None.
    columns
        Names of the features, or None.
    late
        Indices of candidates that were added to an existing study. Proofs that use features are
        stated in coordinates that are computed without these candidates.

    Examples
    --------
    >>> from mislid import create_study
    >>> doses = {10: [0.1, 0.4], 20: [0.2, 0.1], 40: [0.4, 0.3]}
    >>> known = create_study(candidates=doses, m=1, noise=0.2, intercept=False).candidates
    >>> known.K, known.arm(40), known.arm(known.called("20"))
    (3, 2, 1)
    >>> known.model(misspecification=0.1).features[2].tolist(), known.shown
    ([0.4, 0.3], {'x0': 0, 'x1': 1})

    A common level is one more feature:

    >>> more = known.with_ones()
    >>> more.features[2].tolist(), list(more.shown)
    ([0.4, 0.3, 1.0], ['x0', 'x1'])
    >>> more.plain()["labels"], Candidates.of(more.written()) == more
    ([10, 20, 40], True)
    """

    labels: Labels
    features: Matrix | None
    columns: tuple[str, ...] | None = None
    late: tuple[int, ...] = ()

    @cached_property
    def K(self) -> int:
        """Number of arms."""
        return len(self.labels)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Candidates) and self.plain() == other.plain()

    def __hash__(self) -> int:
        return hash(self.labels)

    @cached_property
    def positions(self) -> dict[str | int, int]:
        """The index of every label."""
        labels: tuple[str | int, ...] = self.labels
        return {label: k for k, label in enumerate(labels)}

    def arm(self, label: Any, name: str = "arm") -> int:
        """The index of a candidate.

        Parameters
        ----------
        label
            The candidate's label.
        name
            The argument's name in error messages.

        Returns
        -------
        int
            Its index in `labels`.

        Raises
        ------
        ProblemError
            If no candidate has this label.

        Examples
        --------
        >>> Candidates(("a", "b"), None).arm("c")
        Traceback (most recent call last):
        ...
        mislid.errors.ProblemError: arm must be one of the 2 candidates, 'a', 'b'; got 'c'
        """
        known = isinstance(label, str | int | np.integer) and not isinstance(label, bool)
        if not known or label not in self.positions:
            some = ", ".join(repr(label) for label in self.labels[:3])
            more = ", ..." if self.K > 3 else ""
            raise ProblemError(
                f"{name} must be one of the {self.K} candidates, {some}{more}; got {shown(label)}"
                f"{did_you_mean(label, self.labels)}"
            )
        return self.positions[label]

    def called(self, text: str) -> str | int:
        """Convert a text to a label.

        Parameters
        ----------
        text
            A text from the command line or from a cell of a spreadsheet.

        Returns
        -------
        str or int
            An integer if the labels are integers. It need not be the label of a candidate.
        """
        try:
            return int(text) if isinstance(self.labels[0], int) else text
        except ValueError:
            return text  # no candidate has this label

    def model(self, misspecification: float) -> Model:
        """The model of the candidates' means.

        Without features it has one constant column and allows deviations of any size. This allows
        all means, and one column is cheaper than K.

        Parameters
        ----------
        misspecification
            How far means may be from linear in the features.

        Returns
        -------
        Model
            The model of all candidates.

        Raises
        ------
        ProblemError
            If the misspecification is negative or not a number.
        """
        return self._linear.with_misspecification(misspecification)

    @cached_property
    def _linear(self) -> Model:
        """The linear model, cached because every new value of a study needs a model."""
        features = np.ones((self.K, 1)) if self.features is None else self.features
        model = Model(features, 0.0)
        if self.late:
            set_late(model, self.late)
        return model

    @property
    def shown(self) -> dict[str, int]:
        """Positions of the features by their names, without the added constant."""
        if self.features is None:
            return {}
        names = self.columns or [f"x{at}" for at in range(self.features.shape[1])]
        return {name: at for at, name in enumerate(names) if name != ONES}

    def with_ones(self) -> Candidates:
        """The candidates with a constant feature added.

        Returns
        -------
        Candidates
            The candidates unchanged if they have no features, or if a constant is already in the
            features' span.
        """
        if self.features is None or _spans_ones(self.features):
            return self
        features = frozen(np.column_stack([self.features, np.ones(self.K)]))
        return Candidates(self.labels, features, (*self.shown, ONES))

    def plain(self) -> dict[str, Any]:
        """Labels and features as JSON-compatible values, as in certificates.

        Returns
        -------
        dict
            Labels, and features or None.
        """
        features = None if self.features is None else self.features.tolist()
        return {"labels": list(self.labels), "features": features}

    def written(self) -> dict[str, Any]:
        """JSON-compatible values for the log.

        Returns
        -------
        dict
            The values of `plain` and, if known, the names of the features.
        """
        return self.plain() | ({} if self.columns is None else {"columns": list(self.columns)})

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Candidates:
        """Candidates from the output of `plain` or `written`.

        Parameters
        ----------
        plain
            Values from a log, which are checked elsewhere. Missing labels or features raise a
            KeyError.

        Returns
        -------
        Candidates
            The original candidates, without `late`.
        """
        features, columns = plain["features"], plain.get("columns")
        given = None if features is None else np.array(features, dtype=np.float64)
        return cls(tuple(plain["labels"]), given, None if columns is None else tuple(columns))


def _spans_ones(features: Matrix) -> bool:
    """Whether a vector of ones is in the columns' span, to about nine digits."""
    sizes = np.linalg.norm(features, axis=0)
    scaled = features[:, sizes > 0.0] / sizes[sizes > 0.0]
    ones = np.ones(len(features))
    rest = ones - scaled @ np.linalg.lstsq(scaled, ones, rcond=None)[0]
    return bool(np.linalg.norm(rest) <= IN_SPAN * np.linalg.norm(ones))


def as_candidates(
    candidates: Any,
    names: Iterable[Any] | None = None,
    columns: Iterable[Any] | None = None,
    *,
    fewest: int = 2,
) -> Candidates:
    """Convert a DataFrame, dict, array or list to candidates.

    A DataFrame has one row per arm, and its index has the labels. A dict maps labels to features.
    An array (K, d) has features only; the labels are `names` or, by default, 0 to K - 1. A list of
    labels, or a table without columns, defines candidates without features. `columns` names the
    features unless a DataFrame does.

    >>> as_candidates({"a": [1, 0], "b": [0, 1]}).labels
    ('a', 'b')
    >>> as_candidates(["a", "b", "c"]).features is None
    True
    """
    if isinstance(candidates, Mapping):
        _refuse_names(names, "a dict")
        return _from_table(list(candidates), list(candidates.values()), columns, fewest)
    if hasattr(candidates, "index") and hasattr(candidates, "to_numpy"):
        _refuse_names(names, "a DataFrame")
        if getattr(candidates, "shape", (0, 1))[1:] == (0,):
            return _from_labels(list(candidates.index), fewest)
        if columns is not None:
            raise ProblemError("columns must be left out where candidates are a DataFrame")
        known = getattr(candidates, "columns", None)
        return _from_table(list(candidates.index), candidates, known, fewest)
    if candidates is None or isinstance(candidates, str | bytes) or not _has_entries(candidates):
        raise ProblemError(
            "candidates must be a DataFrame of features with one row per arm, a dict of them, an "
            f"array (K, d) or a list of labels; got {shown(candidates)}"
        )
    if isinstance(candidates, np.ndarray) and candidates.ndim == 1:
        candidates = candidates.tolist()
    if not isinstance(candidates, np.ndarray):
        candidates = list(candidates)
        if all(np.ndim(entry) == 0 for entry in candidates):
            _refuse_names(names, "labels")
            return _from_labels(candidates, fewest)
    labels = range(len(candidates)) if names is None else names
    return _from_table(labels, candidates, columns, fewest)


def as_intended(candidates: Candidates, intercept: Any) -> Candidates:
    """Candidates with a constant feature, unless `intercept` is false or they have no features."""
    if intercept is not None and not isinstance(intercept, bool | np.bool_):
        raise ProblemError(f"intercept must be True, False or None; got {shown(intercept)}")
    if intercept and candidates.features is None:
        raise ProblemError("intercept must be left out for candidates without features; got True")
    refused = intercept is not None and not intercept
    return candidates if refused else candidates.with_ones()


def _has_entries(candidates: Any) -> bool:
    return isinstance(candidates, Iterable) and np.ndim(np.asarray(candidates, dtype=object)) > 0


def _refuse_names(names: Iterable[Any] | None, what: str) -> None:
    if names is not None:
        raise ProblemError(f"names must be left out where candidates are {what}: they have theirs")


def _as_labels(labels: Iterable[Any], K: int) -> Labels:
    known = as_labels(labels, K, "the labels of candidates")
    for k, label in enumerate(known):
        if isinstance(label, str):
            refuse_controls(label, "the labels of candidates", LONGEST_LABEL, f" for arm {k}")
    return known


def _from_labels(labels: list[Any], fewest: int) -> Candidates:
    if len(labels) < fewest:
        raise ProblemError(f"candidates must be at least {fewest}; got {len(labels)}")
    return Candidates(_as_labels(labels, len(labels)), None)


def _from_table(
    labels: Iterable[Any], features: Any, columns: Iterable[Any] | None, fewest: int
) -> Candidates:
    given = as_array(features, "candidates", 2, "one row per arm and one column per feature")
    known = _as_labels(labels, given.shape[0])
    if len(given) >= min(fewest, 2) > 1:
        Model(given, math.inf)  # refuses invalid features
    called = None if columns is None else _as_columns(columns, given.shape[1])
    return Candidates(known, frozen(given), called)


def _as_columns(columns: Iterable[Any], d: int) -> tuple[str, ...]:
    """Names of features; empty, reserved and duplicate names become numbered ones."""
    try:
        given = [str(name).strip() for name in columns]
    except (TypeError, ValueError):  # not iterable, or an integer with too many digits
        raise ProblemError(
            f"columns must be names of the {d} features; got {shown(columns)}"
        ) from None
    for name in given:
        if not is_unicode(name):
            raise ProblemError(f"columns must be text of Unicode characters; got {shown(name)}")
    if len(given) != d:
        raise ProblemError(f"columns must name all {d} features; got {len(given)} names")
    clear = [
        name if name and name != ONES and given.count(name) == 1 else f"x{at}"
        for at, name in enumerate(given)
    ]
    return tuple(clear if len(set(clear)) == d else (f"x{at}" for at in range(d)))


def refuse_other_candidates(name: str, was: Candidates, now: Candidates) -> None:
    """Refuse to continue a study whose candidates differ from the given ones."""
    if was.K != now.K:
        refuse_difference(name, "the number of candidates", str(was.K), str(now.K))
    for k, (old, new) in enumerate(zip(was.labels, now.labels, strict=True)):
        if old != new:
            refuse_difference(name, f"the label of candidate {k}", repr(old), repr(new))
    shapes = [None if one.features is None else one.features.shape for one in (was, now)]
    if shapes[0] != shapes[1]:
        refuse_difference(name, "the shape of the features", str(shapes[0]), str(shapes[1]))
    if was.features is not None and now.features is not None:
        unequal = np.argwhere(was.features != now.features)
        if unequal.size:
            k, column = (int(index) for index in unequal[0])
            what = f"feature {column} of candidate {was.labels[k]!r}"
            values = (repr(float(one[k, column])) for one in (was.features, now.features))
            refuse_difference(name, what, *values)


def refuse_difference(name: str, what: str, was: str, now: str) -> None:
    """Raise the error for a study that differs in `what` from the given arguments."""
    raise ProblemError(
        f"study_name must be new or of a study with the same settings; got {name!r}, where "
        f"{what} was {was} and now is {now}"
    )
