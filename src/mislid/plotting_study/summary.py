"""What a study has come to, in a few sentences."""

from __future__ import annotations

import math

from mislid.plotting_study.contents import Contents
from mislid.plotting_study.markup import Html, element, markup
from mislid.plotting_study.words import about, listed, measurements, number, percent, rate
from mislid.study.events import Decided
from mislid.study.settings import MAXIMIZE

_LONG = 90


def question(contents: Contents) -> str:
    """What the study is to find out."""
    facts = contents.facts
    extreme = "largest" if facts.settings.direction == MAXIMIZE else "smallest"
    m, of = facts.settings.m, f"of {facts.K:,} candidates has the {extreme} mean"
    return f"Which {of}?" if m == 1 else f"Which {m:,} {of}s?".replace(" has ", " have ")


def headline(contents: Contents) -> Html:
    """The answer or how far it is, and what that rests on."""
    decision = contents.facts.decision
    large, *rest = _running(contents) if decision is None else _decided(contents, decision)
    kind = "answer long" if len(large) > _LONG else "answer"
    return markup(element("p", large, class_=kind), *(element("p", text) for text in rest if text))


def _names(contents: Contents, arms: tuple[int, ...]) -> str:
    return listed([contents.facts.labels[arm] for arm in arms])


def _decided(contents: Contents, decision: Decided) -> list[str]:
    after = f"Decided after {measurements(decision.samples)} by the rule “{decision.rule}”"
    later = contents.facts.samples - decision.samples
    return [
        _names(contents, decision.answer),
        f"{after}: {_promise(contents)}",
        f"{measurements(later).capitalize()} came later. {_agreement(contents)}" if later else "",
    ]


def _promise(contents: Contents) -> str:
    settings = contents.facts.settings
    if not contents.rule.guaranteed:
        return "there is no proof of how often it is wrong."
    slack = f" by more than {number(settings.tolerance)}" if settings.tolerance > 0.0 else ""
    return (
        f"the probability that a better candidate was left out{slack} is proven to be at most "
        f"{rate(settings.delta)}, if the declared noise and misspecification hold."
    )


def _agreement(contents: Contents) -> str:
    if set(contents.best_now) in (set(), set(contents.answer)):
        return "They agree with the answer."
    return (
        f"By all measurements {_names(contents, contents.best_now)} would come first now; the "
        "answer stands, since a decision is never revoked."
    )


def _running(contents: Contents) -> list[str]:
    facts = contents.facts
    if facts.samples == 0:
        return ["Nothing has been measured yet.", _open_trials(contents)]
    if not contents.best_now or contents.history is None:
        missing = int((facts.counts == 0.0).sum())
        so_far = (
            f"{measurements(facts.samples)} so far; {missing:,} of {facts.K:,} candidates have not "
            "been measured, and there is no estimate before the first round is complete."
        )
        return ["Not decided yet.", so_far, _open_trials(contents)]
    so_far = (
        f"{measurements(facts.samples)} so far have brought {percent(contents.history.share)} of "
        "the evidence that the hardest pair needs. "
        f"In front now: {_names(contents, contents.best_now)}."
    )
    return ["Not decided yet.", so_far, _forecast(contents), _open_trials(contents)]


def _forecast(contents: Contents) -> str:
    asked = contents.outlook.as_asked
    if asked is None:
        return ""
    if math.isinf(asked.more):
        return f"There is no end in sight. {asked.note[:1].upper()}{asked.note[1:]}"
    between = f"between {about(asked.low)} and {about(asked.high)}"
    known = between if math.isfinite(asked.high) else f"at least {about(asked.low)}"
    return f"About {about(asked.more)} more are expected to be needed ({known})."


def _open_trials(contents: Contents) -> str:
    pending = contents.facts.pending
    if pending == 0:
        return ""
    return "1 trial is open." if pending == 1 else f"{pending:,} trials are open."


def key_figures(contents: Contents) -> Html:
    """A few numbers at a glance."""
    facts, asked = contents.facts, contents.outlook.as_asked
    shown = {
        "state": "decided" if contents.decided else "running",
        "measurements": f"{facts.samples:,}",
    }
    if contents.history is not None:
        needed = "was" if contents.decided else "is"
        shown[f"evidence, of what {needed} needed"] = percent(contents.history.share)
    if asked is not None and not contents.decided and math.isfinite(asked.more):
        shown["to go, about"] = about(asked.more)
    shown["error rate"] = f"{'≤ ' if contents.rule.guaranteed else 'wanted: '}" + rate(
        facts.settings.delta
    )
    return element(
        "dl",
        *(
            element("div", element("dt", name), element("dd", value))
            for name, value in shown.items()
        ),
        class_="figures",
    )


def cautions(contents: Contents) -> Html:
    """A box with all that speaks against trusting the answer; empty where nothing does."""
    found = []
    rule = contents.rule
    if not rule.guaranteed:
        found.append(
            markup(
                element("strong", "No guarantee. "),
                f"The stopping rule “{rule.name}” is a heuristic without a proof: "
                "its answers may be wrong more often than the error rate asked for.",
            )
        )
    found += [
        markup(element("strong", f"{one.kind.capitalize()}. "), one.message)
        for one in contents.outlook.suspicions
    ]
    if not found:
        return Html()
    items = element("ul", *(element("li", text) for text in found))
    return element("div", items, class_="box", role="note")
