"""What a study has come to, in a few sentences."""

from __future__ import annotations

import math

from mislid._html import Html, element, markup
from mislid._words import listed, measurements, number, percent, rate, roughly
from mislid.errors import MislidError
from mislid.forecast.overview import Overview
from mislid.plotting.forecast import AS_ASKED, Forecast
from mislid.study.events import Decided
from mislid.study.settings import MAXIMIZE

_LONG = 90


def question(overview: Overview) -> str:
    """What the study is to find out."""
    m, largest = overview.settings.m, overview.settings.direction == MAXIMIZE
    of = f"of {overview.K:,} candidates has the {'largest' if largest else 'smallest'} mean"
    return f"Which {of}?" if m == 1 else f"Which {m:,} {of}s?".replace(" has ", " have ")


def headline(overview: Overview, *, ahead: bool = True) -> Html:
    """The answer or how far it is, and what that rests on; `ahead` says what is to come as well."""
    decision = overview.decision
    if overview.contradictions:
        large, *rest = _contradicted(overview)
    else:
        large, *rest = (
            _running(overview, ahead) if decision is None else _decided(overview, decision)
        )
    kind = "answer long" if len(large) > _LONG else "answer"
    return markup(element("p", large, class_=kind), *(element("p", text) for text in rest if text))


def _names(overview: Overview, arms: tuple[int, ...]) -> str:
    return listed([overview.labels[arm] for arm in arms])


def _contradicted(overview: Overview) -> list[str]:
    before = ""
    if overview.decision is not None:
        names = _names(overview, overview.decision.answer)
        before = f"Before that, the study had decided for {names}; this is not proven."
    return [
        "The data contradict what was declared: nothing is proven.",
        *(f"{words[:1].upper()}{words[1:]}." for words in overview.contradictions),
        before,
    ]


def _decided(overview: Overview, decision: Decided) -> list[str]:
    after = f"Decided after {measurements(decision.samples)} by the rule “{decision.rule}”"
    later = overview.samples - decision.samples
    return [
        _names(overview, decision.answer),
        f"{after}: {_promise(overview)}",
        f"{measurements(later).capitalize()} came later. {_agreement(overview)}" if later else "",
    ]


def _promise(overview: Overview) -> str:
    settings = overview.settings
    if not overview.rule.guaranteed:
        return "there is no proof of how often it is wrong."
    slack = f" by more than {number(settings.tolerance)}" if settings.tolerance > 0.0 else ""
    return (
        f"the probability that a better candidate was left out{slack} is proven to be at most "
        f"{rate(settings.error_rate)}, if the declared noise and misspecification hold."
    )


def _agreement(overview: Overview) -> str:
    if set(overview.best_now) in (set(), set(overview.leaders)):
        return "They agree with the answer."
    return (
        f"By all measurements {_names(overview, overview.best_now)} would come first now; the "
        "answer stands, since later measurements never revoke it."
    )


def _running(overview: Overview, ahead: bool) -> list[str]:
    if overview.samples == 0:
        return ["Nothing has been measured yet.", _open_trials(overview)]
    measured = measurements(overview.samples)
    if not overview.best_now:
        missing = int((overview.counts == 0.0).sum())
        so_far = (
            f"{measured} so far; {missing:,} of {overview.K:,} candidates have not been measured, "
            "and there is no estimate before the first round is complete."
        )
        return ["Not decided yet.", so_far, _open_trials(overview)]
    so_far = f"{measured} so far."
    if ahead and overview.history is not None:
        so_far = (
            f"{measured} so far have brought {percent(overview.history.share)} of the evidence "
            "that the hardest pair needs."
        )
    so_far += f" In front now: {_names(overview, overview.best_now)}."
    expected = _forecast(overview) if ahead else ""
    return ["Not decided yet.", so_far, expected, _open_trials(overview)]


def _forecast(overview: Overview) -> str:
    asked = _as_asked(overview)
    if asked is None:
        return ""
    if math.isinf(asked.more):
        return f"There is no end in sight. {asked.note[:1].upper()}{asked.note[1:]}"
    between = f"between {roughly(asked.low)} and {roughly(asked.high)}"
    known = between if math.isfinite(asked.high) else f"at least {roughly(asked.low)}"
    return f"About {roughly(asked.more)} more are expected to be needed ({known})."


def _as_asked(overview: Overview) -> Forecast | None:
    if overview.forecaster is None:
        return None
    try:
        return Forecast.of(AS_ASKED, overview.progress)
    except MislidError:
        return None  # its section says why


def _open_trials(overview: Overview) -> str:
    pending = overview.summary.pending
    if pending == 0:
        return ""
    return "1 trial is open." if pending == 1 else f"{pending:,} trials are open."


def key_numbers(overview: Overview, *, ahead: bool = True) -> Html:
    """A few numbers at a glance; without `ahead`, only those that take no time."""
    asked = _as_asked(overview) if ahead else None
    shown = {
        "state": overview.summary.status,
        "measurements": f"{overview.samples:,}",
    }
    if ahead and overview.history is not None and not overview.contradictions:
        needed = "was" if overview.decided else "is"
        shown[f"evidence, of what {needed} needed"] = percent(overview.history.share)
    if asked is not None and not overview.decided and math.isfinite(asked.more):
        shown["to go, about"] = roughly(asked.more)
    shown["error rate"] = f"{'≤ ' if overview.proven else 'wanted: '}" + rate(
        overview.settings.error_rate
    )
    return element(
        "dl",
        *(
            element("div", element("dt", name), element("dd", value))
            for name, value in shown.items()
        ),
        class_="numbers",
    )


def cautions(overview: Overview) -> Html:
    """A box with all that speaks against trusting the answer; empty where nothing does."""
    found = []
    rule = overview.rule
    if not rule.guaranteed:
        found.append(
            markup(
                element("strong", "No guarantee. "),
                f"The stopping rule “{rule.name}” comes without a proof: its answers may be "
                "wrong more often than the error rate asked for.",
            )
        )
    found += [
        markup(element("strong", f"{warning.kind.capitalize()}. "), warning.message)
        for warning in overview.warnings
    ]
    if not found:
        return Html()
    items = element("ul", *(element("li", text) for text in found))
    return element("div", items, class_="box", role="note")


def fragment(overview: Overview) -> Html:
    """How a study stands, for a page of others: without anything that takes long."""
    return element(
        "div",
        element("p", element("strong", overview.name), f": {question(overview)}"),
        headline(overview, ahead=False),
        cautions(overview),
        key_numbers(overview, ahead=False),
    )
