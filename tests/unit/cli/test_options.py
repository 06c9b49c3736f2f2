"""Options that commands share."""

import click
import pytest
from click.testing import CliRunner

from mislid import Instance, Model, identify
from mislid.cli.app import app
from mislid.cli.options import noise_of, rule_options
from mislid.engine import Verdict, View
from mislid.stopping.rules import STOPPING_RULES


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> click.Command:
    """One that prints its rules, where another package has added an algorithm."""
    monkeypatch.setattr("mislid.algorithms.algorithm_names", lambda: ("mislid", "coin"))

    @click.command()
    @rule_options()
    def printing(algorithm: str, stopping: str) -> None:
        click.echo(f"{algorithm}, {stopping}")

    return printing


def test_help_names_the_algorithms_and_all_rules_without_a_proof(command: click.Command) -> None:
    words = " ".join(CliRunner().invoke(command, ["--help"]).output.split())
    assert "What chooses: mislid, coin" in words
    assert "paper-printed and heuristic come with no proof" in words
    unproven = [name for name, rule in STOPPING_RULES.items() if not rule.guaranteed]
    assert unproven == ["paper-printed", "heuristic"]


@pytest.mark.parametrize(
    ("words", "misspelt", "meant"),
    [
        (["tell", "p", "0", "--fial"], "--fial", "--fail"),
        (["tell", "p", "0", "-0.5", "--formt=csv"], "--formt", "--format"),
        (["threshold", "p", "-1.5", "--fromat", "json"], "--fromat", "--format"),
        (["correct", "p", "0", "-0.4", "--raeson", "typo"], "--raeson", "--reason"),
    ],
)
def test_misspelt_options_beside_negative_numbers(
    words: list[str], misspelt: str, meant: str
) -> None:
    done = CliRunner().invoke(app, ["study", *words, "--storage", "none.db"])
    assert done.exit_code == 2
    assert "No such option" in done.output
    assert misspelt in done.output
    assert meant in done.output


@pytest.mark.parametrize(
    "words",
    [
        ["tell", "p", "0", "-0.5", "--storage", "--none.db"],
        ["tell", "p", "--csv", "--none.csv"],
        ["correct", "p", "0", "-0.4", "--reason", "-- see note"],
        ["correct", "p", "0", "-0.4", "--reason=--typo"],
        ["threshold", "p", "--", "--1"],
    ],
)
def test_values_of_options_may_begin_with_dashes(words: list[str]) -> None:
    done = CliRunner(env={"MISLID_STORAGE": "none.db"}).invoke(app, ["study", *words])
    assert "No such option" not in done.output
    assert "none.db" in done.output or "VALUE" in done.output


class Broken:
    """A rule of another package, with a mistake."""

    def propose(self, view: View) -> int:
        return 1 // 0

    def judge(self, view: View) -> Verdict:
        return {}["answer"]


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ({"algorithm": Broken()}, "ZeroDivisionError: integer division or modulo by zero"),
        ({"stopping": Broken()}, "KeyError: 'answer'"),
    ],
)
def test_a_rule_of_others_that_fails_is_named(
    monkeypatch: pytest.MonkeyPatch, rules: dict[str, Broken], said: str
) -> None:
    instance = Instance(Model([[1, 0], [0, 1], [1, 1]], 0.1), [0.1, 0.5, 0.9])

    def running() -> None:
        identify(instance, 1, **rules)

    monkeypatch.setattr(app, "get_command", lambda *_: click.Command("x", callback=running))
    done = CliRunner().invoke(app, ["data"])
    called = "propose" if "algorithm" in rules else "judge"
    blamed = f"raised by a rule written in Python, Broken.{called}"
    assert done.output.startswith(f"Error: {said}")
    assert blamed in done.output
    with pytest.raises((ZeroDivisionError, KeyError)) as caught:
        identify(instance, 1, **rules)
    assert caught.value.__notes__ == [blamed]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["bond"], "did you mean 'bound'?"),
        (["study", "staus", "s"], "did you mean 'status'?"),
        (["study", "list", "--formt", "csv"], "--format"),
    ],
)
def test_close_words_are_suggested(words: list[str], said: str) -> None:
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 2
    assert said in done.output


@pytest.mark.parametrize(
    ("text", "value"),
    [("0.5", 0.5), ("-1:3", (-1.0, 3.0)), ("bernoulli", "bernoulli"), ("a:b", "a:b"), (None, None)],
)
def test_noise_in_an_option(text: str | None, value: object) -> None:
    assert noise_of(text) == value
