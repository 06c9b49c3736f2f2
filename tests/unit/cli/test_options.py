"""Options that commands share."""

import click
import pytest

from helpers.command_line import without_notice
from mislid import Instance, Model, identify
from mislid.cli import main
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
    words: list[str], misspelt: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["study", *words, "--storage", "none.db"]) == 2
    said = capsys.readouterr().err
    assert f"No such option {misspelt!r}." in said
    assert repr(meant) in said


def test_misspelt_commands(capsys: pytest.CaptureFixture[str]) -> None:
    for words, meant in ((["studdy"], "study"), (["study", "staus"], "status")):
        assert main(words) == 2
        assert f"Did you mean {meant!r}?" in capsys.readouterr().err


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
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    rules: dict[str, Broken],
    said: str,
) -> None:
    instance = Instance(Model([[1, 0], [0, 1], [1, 1]], 0.1), [0.1, 0.5, 0.9])

    def running() -> None:
        identify(instance, 1, **rules)

    monkeypatch.setattr(app, "get_command", lambda *_: click.Command("x", callback=running))
    assert main(["data"]) == 1
    printed = without_notice(capsys.readouterr().err)
    called = "propose" if "algorithm" in rules else "judge"
    blamed = f"raised by a rule written in Python, Broken.{called}"
    assert printed.startswith(f"Error: {said}")
    assert blamed in printed
    with pytest.raises((ZeroDivisionError, KeyError)) as caught:
        identify(instance, 1, **rules)
    assert caught.value.__notes__ == [blamed]
