"""A study in a few sentences, for reports, notebooks and the server's pages."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from mislid._formatting import (
    Html,
    element,
    listed,
    markup,
    measurements,
    number,
    percent,
    rate,
    roughly,
)
from mislid.forecast.overview import Overview
from mislid.study.events import Decided
from mislid.study.settings import MAXIMIZE

_LONG = 90


@cache
def style_sheet() -> str:
    """The rules of style.css."""
    return Path(__file__).with_name("style.css").read_text(encoding="utf-8")


def fragment(overview: Overview) -> Html:
    """The state of a study, as notebooks show it."""
    name = element("p", element("strong", overview.name))
    return element("div", name, summary(overview, ahead=False))


def summary(overview: Overview, *, ahead: bool = True) -> Html:
    """Question, answer or progress, reasons for doubt, and numbers; `ahead` adds the forecast."""
    m, settings = overview.settings.m, overview.settings
    largest = "largest mean" if settings.direction == MAXIMIZE else "smallest mean"
    asked = f"Which of {overview.K:,} candidates has the {largest}?"
    if m > 1:
        asked = f"Which {m:,} of {overview.K:,} candidates have the {largest}s?"
    if overview.contradictions:
        large, *rest = _contradicted(overview)
    elif overview.decision is not None:
        large, *rest = _decided(overview, overview.decision)
    else:
        large, *rest = _running(overview, ahead)
    return markup(
        element("p", asked, class_="note"),
        element("p", large, class_="answer long" if len(large) > _LONG else "answer"),
        *(element("p", text) for text in rest if text),
        _cautions(overview),
        _key_numbers(overview, ahead),
    )


def _names(overview: Overview, arms: tuple[int, ...]) -> str:
    return listed([str(label) for label in overview.names(arms)])


def _contradicted(overview: Overview) -> list[str]:
    sentences = ["The data contradict what was declared: nothing is proven."]
    sentences += [f"{words[:1].upper()}{words[1:]}." for words in overview.contradictions]
    if overview.decision is not None:
        names = _names(overview, overview.decision.answer)
        sentences.append(f"The study had decided for {names} before; this is not proven.")
    return sentences


def _decided(overview: Overview, decision: Decided) -> list[str]:
    settings, later = overview.settings, overview.samples - decision.samples
    promise = "there is no proof of how often it is wrong."
    if overview.rule.guaranteed:
        slack = f" by more than {number(settings.tolerance)}" if settings.tolerance > 0.0 else ""
        promise = (
            f"the probability that a better candidate was left out{slack} is proven to be at most "
            f"{rate(settings.error_rate)}, if the declared noise and misspecification hold."
        )
    agreement = "They agree with the answer."
    if set(overview.best_now) not in (set(), set(overview.leaders)):
        agreement = (
            f"By all measurements {_names(overview, overview.best_now)} would come first now; the "
            "answer stands, since later measurements never revoke it."
        )
    return [
        _names(overview, decision.answer),
        f"Decided after {measurements(decision.samples)} by the rule “{decision.rule}”: {promise}",
        f"{measurements(later).capitalize()} came later. {agreement}" if later else "",
    ]


def _running(overview: Overview, ahead: bool) -> list[str]:
    pending = overview.summary.pending
    trials = f"{pending:,} trial{' is' if pending == 1 else 's are'} open." if pending else ""
    if overview.samples == 0:
        return ["Nothing has been measured yet.", trials]
    so_far = f"{measurements(overview.samples)} so far"
    if not overview.best_now:
        missing = int((overview.counts == 0.0).sum())
        so_far += (
            f"; {missing:,} of {overview.K:,} candidates have not been measured, and there is no "
            "estimate before the first round is complete."
        )
        return ["Not decided yet.", so_far, trials]
    if ahead and overview.history is not None:
        share = percent(overview.history.share)
        so_far += f" have brought {share} of the evidence that the hardest pair needs"
    so_far += f". In front now: {_names(overview, overview.best_now)}."
    forecast = overview.progress.statement if ahead else ""
    forecast = f"{forecast[:1].upper()}{forecast[1:]}." if forecast else ""
    return ["Not decided yet.", so_far, forecast, trials]


def _key_numbers(overview: Overview, ahead: bool) -> Html:
    shown = {"state": overview.status, "measurements": f"{overview.samples:,}"}
    if ahead and overview.history is not None and not overview.contradictions:
        needed = "was" if overview.decided else "is"
        shown[f"evidence, of what {needed} needed"] = percent(overview.history.share)
    if ahead and overview.progress.more:
        shown["to go, about"] = roughly(overview.progress.more)
    bound = "≤ " if overview.proven else "wanted: "
    shown["error rate"] = bound + rate(overview.settings.error_rate)
    pairs = [
        element("div", element("dt", name), element("dd", value)) for name, value in shown.items()
    ]
    return element("dl", *pairs, class_="numbers")


def _cautions(overview: Overview) -> Html:
    """A box with the reasons for doubt; empty where there are none."""
    found = [(f"{one.kind.capitalize()}. ", one.message) for one in overview.warnings]
    if not overview.rule.guaranteed:
        words = (
            f"The stopping rule “{overview.rule.name}” comes without a proof: its answers may be "
            "wrong more often than the error rate asked for."
        )
        found.insert(0, ("No guarantee. ", words))
    if not found:
        return Html()
    items = [element("li", element("strong", kind), words) for kind, words in found]
    return element("div", element("ul", *items), class_="box", role="note")
