"""Options that commands share."""

import click
import pytest
from click.testing import CliRunner

from mislid import Instance, Model, identify
from mislid.cli.options import one_sentence_errors, rule_options
from mislid.cli.study import command as study_commands
from mislid.engine import Verdict, View
from mislid.stopping.rules import RETIRED, STOPPING_RULES, as_stopping_rule


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> click.Command:
    """One that prints its rules, where another package has added an algorithm."""
    monkeypatch.setattr("mislid.algorithms.algorithm_names", lambda: ("mislid", "coin"))

    @click.command()
    @rule_options()
    def printing(algorithm: str, stopping: str) -> None:
        click.echo(f"{algorithm}, {stopping}")

    return printing


def test_algorithms_of_other_packages_can_be_named(command: click.Command) -> None:
    assert CliRunner().invoke(command, ["--algorithm", "coin"]).output == "coin, guaranteed\n"
    refused = CliRunner().invoke(command, ["--algorithm", "dice"])
    assert refused.exit_code == 2
    assert "'dice' is not one of 'mislid', 'coin'" in refused.output


def test_help_names_the_algorithms_and_all_rules_without_a_proof(command: click.Command) -> None:
    words = " ".join(CliRunner().invoke(command, ["--help"]).output.split())
    assert "What chooses: mislid, coin" in words
    assert "paper-printed and heuristic come with no proof" in words
    unproven = [name for name, rule in STOPPING_RULES.items() if not rule.guaranteed]
    assert unproven == ["paper-printed", "heuristic"]


@pytest.mark.parametrize("name", RETIRED)
def test_retired_rules_are_taken_and_said_to_be(command: click.Command, name: str) -> None:
    with pytest.warns(DeprecationWarning, match=name) as caught:
        as_stopping_rule(name)
    done = CliRunner().invoke(command, ["--stopping", name])
    assert (done.exit_code, done.stdout) == (0, "mislid, guaranteed\n")
    assert done.stderr == f"Warning: {caught[0].message}.\n"
    unknown = CliRunner().invoke(command, ["--stopping", "mixtures"])
    assert unknown.exit_code == 2
    assert not any(retired + "'" in unknown.output.split("one of")[1] for retired in RETIRED)
    words = CliRunner().invoke(command, ["--help"]).output
    assert name not in words


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
    done = CliRunner().invoke(study_commands, [*words, "--storage", "none.db"])
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
    done = CliRunner(env={"MISLID_STORAGE": "none.db"}).invoke(study_commands, words)
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
def test_a_rule_of_others_that_fails_is_named(rules: dict[str, Broken], said: str) -> None:
    instance = Instance(Model([[1, 0], [0, 1], [1, 1]], 0.1), [0.1, 0.5, 0.9])

    @click.command()
    @one_sentence_errors
    def running() -> None:
        identify(instance, 1, **rules)

    done = CliRunner().invoke(running)
    called = "propose" if "algorithm" in rules else "judge"
    blamed = f"raised by a rule written in Python, Broken.{called}"
    assert done.output.startswith(f"Error: {said}")
    assert blamed in done.output
    with pytest.raises((ZeroDivisionError, KeyError)) as caught:
        identify(instance, 1, **rules)
    assert caught.value.__notes__ == [blamed]


def test_a_mistake_of_the_program_keeps_its_traceback() -> None:
    @click.command()
    @one_sentence_errors
    def running() -> None:
        raise RuntimeError("a mistake")

    assert isinstance(CliRunner().invoke(running).exception, RuntimeError)
