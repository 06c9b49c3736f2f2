"""Options that commands share."""

import click
import pytest
from click.testing import CliRunner

from helpers.command_line import without_notice
from mislid import Instance, Model, identify
from mislid.cli.app import app
from mislid.engine import Verdict, View


@pytest.mark.parametrize(
    ("words", "misspelt", "meant"),
    [
        (["tell", "p", "0", "-0.5", "--formt=csv"], "--formt", "--format"),
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
    assert without_notice(done.output).startswith(f"Error: {said}")
    assert blamed in done.output
    with pytest.raises((ZeroDivisionError, KeyError)) as caught:
        identify(instance, 1, **rules)
    assert caught.value.__notes__ == [blamed]
