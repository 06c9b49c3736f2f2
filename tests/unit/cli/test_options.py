"""Options that commands share."""

import click
import pytest
from click.testing import CliRunner

from mislid.cli.options import rule_options
from mislid.rules.stopping import STOPPING_RULES


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> click.Command:
    """One that prints its rules, where another package has added an algorithm."""
    monkeypatch.setattr("mislid.algorithms.algorithm_names", lambda: ("mislid", "coin"))

    @click.command()
    @rule_options
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
