"""What `status` says of a study."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mislid.cli.output import as_table, number
from mislid.cli.study._words import NO_PROOF, guarantee, is_proven, listed

if TYPE_CHECKING:
    from mislid.study import Study

_FORECAST = (
    "best_now",
    "pair",
    "statistic",
    "threshold",
    "more",
    "more_low",
    "more_high",
    "note",
    "lower_bound",
)


def facts_of(study: Study) -> dict[str, Any]:
    """All facts."""
    result, settings = study.result, study.settings
    progress = study.progress().to_dict()
    return {
        "study": study.study_name,
        "status": study.status,
        "samples": study.samples,
        "pending": len(study.pending),
        "candidates": study.candidates.K,
        "m": settings.m,
        "delta": settings.delta,
        "stopping": settings.stopping,
        "proven": is_proven(settings.stopping),
        "guarantee": guarantee(settings),
        "answer": None if result is None else list(result.answer),
        **{name: progress[name] for name in _FORECAST},
        "warnings": [warning.to_dict() for warning in study.warnings()],
    }


def table_of(facts: dict[str, Any]) -> str:
    """For people."""
    decided = facts["status"] == "decided"
    label = "" if facts["proven"] else f", {NO_PROOF}"
    rows = [
        ("study", facts["study"]),
        ("status", f"{facts['status']}{label if decided else ''}"),
        ("question", f"the {facts['m']} best of {facts['candidates']} candidates"),
        ("guarantee", facts["guarantee"]),
        ("measurements", f"{facts['samples']:,}"),
        ("pending trials", f"{facts['pending']:,}"),
    ]
    if decided:
        rows.append(("answer", listed(facts["answer"])))
        if facts["best_now"] and set(facts["best_now"]) != set(facts["answer"]):
            rows.append(("best now", f"{listed(facts['best_now'])}: later data disagree"))
    else:
        rows += _undecided(facts)
    rows += [("warning", warning["message"]) for warning in facts["warnings"]]
    return as_table(rows)


def _undecided(facts: dict[str, Any]) -> list[tuple[str, str]]:
    rows = []
    if facts["best_now"]:
        rows.append(("best now", f"{listed(facts['best_now'])} (no answer yet)"))
    if facts["pair"]:
        challenger, incumbent = facts["pair"]
        rows.append(("limiting pair", f"{challenger} against {incumbent}"))
    if facts["statistic"] is not None and facts["threshold"] is not None:
        rows.append(("evidence", evidence(facts)))
    if facts["more"] is not None or facts["note"]:
        rows.append(("forecast", forecast(facts)))
    if facts["lower_bound"] is not None:
        rows.append(("any method needs", f"about {number(facts['lower_bound'])} in all"))
    return rows


def evidence(facts: dict[str, Any]) -> str:
    """How far the limiting pair is.

    >>> evidence({"statistic": 3.0, "threshold": 12.0})
    '3 of 12'
    """
    return f"{number(facts['statistic'])} of {number(facts['threshold'])}"


def forecast(facts: dict[str, Any]) -> str:
    """How many measurements are to go, where None is beyond what can be said.

    >>> forecast({"more": 40, "more_low": 20, "more_high": 90})
    'about 40 more measurements (20 to 90)'
    >>> forecast({"more": None, "more_low": 20, "more_high": None, "note": "too far"})
    'at least 20 more measurements (too far)'
    >>> forecast({"more": 1, "more_low": 1, "more_high": None})
    'about 1 more measurement (at least 1)'
    """
    more, low, high = (facts[name] for name in ("more", "more_low", "more_high"))
    note = facts.get("note")
    if more is None and not low:
        return note or "unknown"
    if more is None:
        return f"at least {_more(low)}" + (f" ({note})" if note else "")
    if low is None:
        return f"about {_more(more)}"
    span = f"at least {number(low)}" if high is None else f"{number(low)} to {number(high)}"
    return f"about {_more(more)} ({span})"


def _more(n: float) -> str:
    return f"{number(n)} more measurement{'' if n == 1 else 's'}"
