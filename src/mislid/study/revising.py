"""Changes of a study: of measurements, of what was declared, and of who is compared."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mislid.errors import ProblemError
from mislid.study.candidates import as_candidates
from mislid.study.changes import addition, retirement
from mislid.study.facts import Fact
from mislid.study.history import as_value
from mislid.study.mending import acceptance, correction, declaration
from mislid.study.opened import OpenStudy, request_of
from mislid.study.replay import Replay
from mislid.study.result import Label, Trial, as_trial_id


class RevisableStudy(OpenStudy):
    """What can be changed afterwards; the log keeps what was before."""

    def correct(
        self,
        trial: Trial | int | None = None,
        value: float | None = None,
        *,
        row: int | None = None,
        reason: str | None = None,
        key: str | None = None,
    ) -> None:
        """Put the right value in the place of a wrong one, such as 0.91 for 91.

        The log keeps both. Whatever follows from the data follows from the mended ones: a decision
        that no longer holds is withdrawn. A measurement that was void counts again.

        Parameters
        ----------
        trial, value
            As in `tell`.
        row
            Instead of a trial, for a measurement that none asked for: its row in `observations`.
        reason
            Why, for the log and the certificate. A correction must not depend on whether a value is
            welcome: docs/studies.md says what it does to the guarantee.
        key
            As in `add_observations`: a repeated call does not undo what came in between.

        Raises
        ------
        UnknownTrialError
            If the study has not asked for this trial, as in `tell`.
        ProblemError
            If both a trial and a row are given, or neither; if the trial has no value, or told
            several at once; if there is no such row; or if the new value is not allowed.
        StorageError
            If the log cannot be read or written, as in `ask`.

        Examples
        --------
        >>> from mislid import create_study
        >>> study = create_study(candidates=["a", "b"], m=1, noise=0.1)
        >>> study.add_observations([("a", 0.2), ("b", 0.4), ("a", 0.21), ("b", 0.41)] * 3)
        >>> study.correct(row=1, value=0.37, reason="read from the wrong column")
        >>> study.observation_rows()[1].value
        0.37
        """
        self._mend(trial, row, as_value(value), reason, key)

    def void(
        self,
        trial: Trial | int | None = None,
        *,
        row: int | None = None,
        reason: str | None = None,
        key: str | None = None,
    ) -> None:
        """Let a measurement count no more, such as one of a plate that was dropped.

        The log keeps it. Whatever follows from the data follows from the others: a decision that no
        longer holds without it is withdrawn.

        Parameters
        ----------
        trial, row, reason, key
            As in `correct`, which also brings one back.

        Raises
        ------
        UnknownTrialError, ProblemError, StorageError
            As in `correct`; but a trial that told several values can be voided: all of them go.
        """
        self._mend(trial, row, None, reason, key)

    def _mend(
        self,
        trial: Trial | int | None,
        row: int | None,
        value: float | None,
        reason: str | None,
        key: str | None,
    ) -> None:
        which = None if trial is None else as_trial_id(trial)

        def decide(replay: Replay, _now: float) -> list[Fact]:
            self._refuse_stranger(trial)
            return correction(replay.state, which, row, value, reason)

        self._write_news(decide, request=request_of(key, "mend", which, row, value, reason))

    def redeclare(
        self,
        *,
        misspecification: float | None = None,
        noise: Any = None,
        reason: str | None = None,
        key: str | None = None,
    ) -> None:
        """Declare another misspecification, or another noise; no measurement is lost.

        A decision is made anew, from all measurements. docs/checks.md says what is proven then.

        Parameters
        ----------
        misspecification, noise
            As in `create_study`; what is left out stays.
        reason, key
            As in `correct`.

        Raises
        ------
        ProblemError
            If both are left out or one is not allowed; if the study was begun with another kind of
            noise than a number; or if the noise would become smaller than one by which values that
            were told with `n` or `sd` count.
        StorageError
            As in `ask`.
        """
        if misspecification is None and noise is None:
            raise ProblemError("redeclare needs misspecification or noise; got neither")
        self._write_news(
            lambda replay, _: declaration(replay.state, misspecification, noise, reason),
            request=request_of(key, "redeclare", misspecification, noise, reason),
        )

    def accept(
        self,
        misspecification: float | None = None,
        *,
        reason: str | None = None,
        key: str | None = None,
    ) -> None:
        """Take the present answer, which is proved for every misspecification up to some value.

        What is proved and what is refuted holds for all misspecifications at once, so one may look
        first, as often as one likes: `sensitivity()` says both.

        Parameters
        ----------
        misspecification
            Up to which the answer is wanted; the largest for which it is proved unless given.
        reason, key
            As in `correct`.

        Raises
        ------
        ProblemError
            If the study has decided, or has no estimate yet; if the answer is not proved for this
            misspecification, or the data refute it or the noise; or if features prove nothing
            here: without any, with noise that is "unknown", or by a rule that is not `guaranteed`.
        CertificateError
            If the proof could not be worked out as a certificate has it.
        StorageError
            As in `ask`.

        Examples
        --------
        Nobody knows how far the effects are from linear in the dose. Eight measurements of each
        prove the answer if it is less than 0.05, and the chemists say 0.03.

        >>> from mislid import create_study
        >>> doses = {"1 mg": [1.0], "2 mg": [2.0], "4 mg": [4.0], "8 mg": [8.0]}
        >>> study = create_study(candidates=doses, m=1, noise=0.3)
        >>> effects = {"1 mg": 0.1, "2 mg": 0.2, "4 mg": 0.35, "8 mg": 0.9}
        >>> study.add_observations([*effects.items()] * 8)
        >>> study.status, study.sensitivity().statement
        ('running', 'proved for every misspecification up to 0.0496')
        >>> study.accept(0.03, reason="chemists")
        >>> study.status, study.result.answer, study.result.proven
        ('decided', ('8 mg',), True)
        """
        self._write_news(
            lambda replay, _: acceptance(replay, misspecification, reason),
            request=request_of(key, "accept", misspecification, reason),
        )

    def add_candidates(
        self,
        candidates: Any,
        *,
        names: Iterable[Any] | None = None,
        columns: Iterable[Any] | None = None,
        noise: Any = None,
        cost: Any = None,
        informed: bool = True,
        reason: str | None = None,
        key: str | None = None,
    ) -> None:
        """Ask about more candidates; no measurement is lost, and a decision is made anew.

        They need the features that the others have, and names that were never used.
        docs/changing.md says what is proven then.

        Parameters
        ----------
        candidates, names, columns
            As in `create_study`, with the same features as the others; one is enough.
        noise, cost
            Theirs, where each candidate has its own.
        informed
            Whether they may have been chosen after a look at values of this study. If so, a part of
            delta pays for it; if not, nothing does.
        reason, key
            As in `correct`.

        Raises
        ------
        ProblemError
            If one was in the study before, or its label or features are of another kind than those
            of the others; or if noise or cost is not allowed, or missing where each has its own.
        StorageError
            As in `ask`.

        Examples
        --------
        >>> from mislid import create_study
        >>> study = create_study(candidates=["a", "b"], m=1, noise=0.1)
        >>> study.add_observations([("a", 0.2), ("b", 0.9)] * 5)
        >>> study.result.answer
        ('b',)
        >>> study.add_candidates(["c"], reason="came with the second plate")
        >>> study.status, study.ask().arm
        ('running', 'c')
        """
        more = as_candidates(candidates, names, columns, fewest=1)
        self._write_news(
            lambda replay, _: addition(replay.state, more, noise, cost, informed, reason),
            request=request_of(key, "add", more.plain(), noise, cost, informed, reason),
        )

    def retire(
        self,
        arm: Label,
        *,
        leave: bool = False,
        informed: bool = True,
        reason: str | None = None,
        key: str | None = None,
    ) -> None:
        """Measure a candidate no more, such as one that is used up.

        Trials of it that are still out may be told. docs/changing.md says what is proven when it
        leaves the question.

        Parameters
        ----------
        arm
            Its label.
        leave
            Whether it leaves the question. If not, it stays in the comparison with the values that
            it has, and nothing changes in what is proven.
        informed
            Whether it may leave because of values of this study, as in `add_candidates`.
        reason, key
            As in `correct`.

        Raises
        ------
        ProblemError
            If no candidate has this label, none would be left to measure, m or fewer would be left
            in the question, or one that stays in it was never measured.
        StorageError
            As in `ask`.

        Examples
        --------
        >>> from mislid import create_study
        >>> study = create_study(candidates=["a", "b", "c"], m=1, noise=0.1)
        >>> study.add_observations([("a", 0.2), ("b", 0.9), ("c", 0.85)] * 3)
        >>> study.retire("c", leave=True, informed=False, reason="no longer sold")
        >>> study.status, study.result.answer
        ('decided', ('b',))
        """
        self._write_news(
            lambda replay, _: retirement(replay.state, arm, leave, informed, reason),
            request=request_of(key, "retire", arm, leave, informed, reason),
        )
