"""The ask-measure-tell loop of `Study.optimize`, in one thread or several."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from mislid._formatting import shown
from mislid._validation import LONGEST_WORKER, as_count, as_line, as_number
from mislid.errors import ProblemError
from mislid.study.measurements import as_value
from mislid.study.results import Trial

if TYPE_CHECKING:
    from mislid.study.study import Study

MOST_JOBS = 1000
"""The most threads that measure concurrently."""
PAUSE = 0.1
"""Seconds between looks at a budget that trials under way may use up."""


class Loop:
    """Loop that measures until the study has decided, or trials, time or budget are used up."""

    def __init__(
        self,
        study: Study,
        measure: Callable[[Trial], float],
        n_trials: int | None,
        timeout: float | None,
        catch: tuple[type[Exception], ...],
        callbacks: Sequence[Callable[[Study, Trial], object]],
        worker: str | None,
        lease: float | None,
    ) -> None:
        if not isinstance(callbacks, list | tuple):
            raise ProblemError(f"callbacks must be a sequence; got {shown(callbacks)}")
        for name, function in (("measure", measure), *(("callbacks", one) for one in callbacks)):
            if not callable(function):
                raise ProblemError(f"{name} must be callable; got {shown(function)}")
        _refuse_catch(catch)
        if worker is not None:  # check it before job numbers are appended
            as_line(worker, "worker", LONGEST_WORKER, "a name, or None")
        self.study, self.measure, self.catch, self.callbacks = study, measure, catch, callbacks
        self.worker, self.lease = worker, lease
        self.left = None if n_trials is None else as_count(n_trials, "n_trials", 0)
        self.until = float("inf")
        if timeout is not None:
            limit = as_number(timeout, "timeout", low=0, high=float("inf"))
            self.until = time.monotonic() + limit
        self.budget = study.settings.budget
        # Open trials of this loop, which count towards the budget.
        self.under_way = 0
        self.stopped = threading.Event()
        self.alone = threading.Condition()

    def run(self, n_jobs: int) -> None:
        """Measure in `n_jobs` threads."""
        jobs = as_count(n_jobs, "n_jobs", 1, MOST_JOBS)
        if jobs == 1:
            self._work(self.worker)
            return
        with ThreadPoolExecutor(jobs) as pool:
            names = [None if self.worker is None else f"{self.worker}-{k}" for k in range(jobs)]
            working = [pool.submit(self._work, name) for name in names]
            try:
                for work in working:
                    work.result()
            finally:
                self.stopped.set()  # the other threads end after their current trial

    def _work(self, worker: str | None) -> None:
        try:
            while self._goes_on():
                self._one(self.study.ask(worker=worker, lease=self.lease))
        except BaseException:
            self.stopped.set()
            raise

    def _goes_on(self) -> bool:
        """Whether to begin another trial; if so, count it."""
        with self.alone:
            while not self.stopped.is_set() and time.monotonic() < self.until:
                if self.study.status != "running":
                    return False
                if self.budget is None or self.study.samples + self.under_way < self.budget:
                    return self._begin()
                if self.under_way == 0:
                    return False
                self.alone.wait(PAUSE)  # a trial under way may fail, and leave its measurement
        return False

    def _begin(self) -> bool:
        """Count a trial, unless all that were wanted have begun."""
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                return False
        self.under_way += 1
        return True

    def _one(self, trial: Trial) -> None:
        try:
            value = as_value(self.measure(trial))
        except Exception as problem:
            self.study.tell(trial, state="fail")
            if not isinstance(problem, self.catch):
                raise
        else:
            self.study.tell(trial, value)
        finally:
            with self.alone:
                self.under_way -= 1
                self.alone.notify_all()
        with self.alone:
            for callback in self.callbacks:
                callback(self.study, trial)


def _refuse_catch(catch: Any) -> None:
    kinds = catch if isinstance(catch, tuple) else (catch,)
    for kind in kinds:
        if not isinstance(kind, type) or not issubclass(kind, BaseException):
            raise ProblemError(f"catch must be types of exceptions; got {shown(catch)}")
