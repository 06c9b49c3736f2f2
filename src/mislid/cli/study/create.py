"""`mislid study create`: begin a study of the candidates in a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from mislid._words import the_best, visible
from mislid.cli.options import (
    F,
    flag,
    printed,
    question_options,
    rule_options,
    seed_option,
    setting,
)
from mislid.cli.study._opening import as_address, open_storage, study_command
from mislid.cli.study._words import print_facts
from mislid.errors import FileFormatError, ProblemError

if TYPE_CHECKING:
    from mislid._validation import Labels
    from mislid.forecast import BudgetCheck, FeatureCheck
    from mislid.io import Sheet
    from mislid.study import Study

# What the columns of an instance's file are called that hold no feature.
_RESERVED = {
    "mean": "leave it out with --ignore mean",
    "noise": "use it with --noise noise, or leave it out with --ignore noise",
}


def candidates_option(text: str) -> Callable[[F], F]:
    """--candidates, a file."""
    kind = click.Path()
    return click.option("--candidates", "file", metavar="FILE", type=kind, required=True, help=text)


label_option = click.option(
    "--label-column", metavar="COLUMN", help="Column of the labels; by default the first."
)
ignore_option = click.option(
    "--ignore",
    "ignored",
    metavar="COLUMN",
    multiple=True,
    help="A column that is no feature; may be repeated.",
)
cost_option = click.option(
    "--cost",
    metavar="COLUMN",
    help="The column that has what a measurement costs, in any unit: what proves most for its cost "
    "is measured.",
)


@study_command(
    "create",
    "mislid study create potency --candidates compounds.csv --m 3 --noise 0.2",
    "mislid study create taste --candidates names.csv --m 1 --noise 1 --storage taste.db",
    "mislid study create cost --candidates sites.csv --m 2 --misspecification 0 --noise sd",
)
@candidates_option(".csv or .xlsx with a label and features in every line, or a .npz instance.")
@label_option
@ignore_option
@click.option(
    "--intercept/--no-intercept",
    default=None,
    help="Whether a column of ones is added to the features, for a common level; by default, "
    "unless they contain one.",
)
@question_options()
@click.option(
    "--noise",
    metavar="NUMBER|COLUMN|unknown|unknown-equal",
    help="Standard deviation of a measurement, the column that has one per candidate, or for "
    "Gaussian values unknown, and unknown-equal if it is the same for all; by default the file's "
    "own. This, --reward-range or --rewards must be given.",
)
@click.option(
    "--reward-range",
    nargs=2,
    type=float,
    metavar="LOW HIGH",
    help="Measurements are within these bounds, whatever their distribution.",
)
@click.option("--rewards", type=click.Choice(["bernoulli"]), help="Measurements are 0 or 1.")
@click.option(
    "--decide-at",
    type=click.FloatRange(0),
    help="Decide when the answer is proved for every misspecification up to this.",
)
@click.option(
    "--budget",
    type=click.IntRange(1),
    help="Measurements that there can be in all: what they can be expected to prove is printed.",
)
@cost_option
@setting(
    "--direction",
    click.Choice(["maximize", "minimize"]),
    "maximize",
    "Whether large or small values are best.",
)
@rule_options()
@seed_option
@flag("--load-if-exists", "Go on with a study of this name and these settings; others are refused.")
@printed()
def command(
    name: str,
    storage: str | None,
    file: str,
    label_column: str | None,
    ignored: tuple[str, ...],
    noise: str | None,
    cost: str | None,
    misspecification: float | None,
    reward_range: tuple[float, float] | None,
    rewards: str | None,
    load_if_exists: bool,
    form: str,
    **settings: Any,
) -> None:
    """Begin the study NAME: which m of the candidates in FILE are best?

    FILE has a heading line and one line per candidate: its label in the first column, numbers
    in the others. Without other columns nothing is known about candidates but what is measured, and
    --misspecification is left out; with them, leaving it out means that it is not known.
    """
    as_address(storage)
    from mislid.study import create_study

    given = read_candidates(file, label_column, ignored, noise, cost)
    declared = given.misspecification if misspecification is None else misspecification
    settings |= given.candidates() | {"misspecification": declared, "reward_range": reward_range}
    settings |= {"rewards": rewards, "cost": given.cost}
    if given.noise is not None and (noise is not None or (reward_range or rewards) is None):
        settings["noise"] = given.noise  # what values are takes the place of what a file says
    create_study(**settings)  # in memory: what is wrong with the question leaves no file behind
    with open_storage(storage, new=True) as place:
        study = create_study(
            study_name=name, storage=place, load_if_exists=load_if_exists, **settings
        )
        facts = _facts(study)
        table = _table(facts, study.candidates.labels, study.settings.noise_words)
    if form == "csv":
        for name in ("check", "expected"):
            facts[name] = facts[name] and facts[name]["statement"]
    print_facts(form, facts, table)


def _facts(study: Study) -> dict[str, Any]:
    from mislid.forecast.overview import guarantee, is_proven
    from mislid.io import as_plain
    from mislid.stopping.noise import UNDECLARED

    settings, candidates = study.settings, study.candidates
    features = candidates.features
    plain = settings.plain() | {"misspecification": as_plain(settings.declared)}
    noise = plain["noise"]
    if settings.noise_model in UNDECLARED:
        noise = [settings.noise_model]
    return {
        "study": study.study_name,
        "candidates": candidates.K,
        "features": 0 if features is None else features.shape[1],
        "columns": None if features is None else candidates.columns,
        **plain,
        "noise": noise[0] if len(noise) == 1 else list(noise),
        "proven": is_proven(settings.stopping),
        "guarantee": guarantee(settings),
        "check": None if features is None else _said(study.features_check()),
        "expected": None if settings.budget is None else _said(study.budget_check()),
    }


def _said(check: FeatureCheck | BudgetCheck) -> dict[str, Any]:
    return {**check.to_dict(), "statement": check.statement}


def _table(facts: dict[str, Any], labels: Labels, noise: str) -> list[tuple[str, str]]:
    lines = [
        ("study", facts["study"]),
        ("candidates", _sizes(facts, labels)),
        ("question", f"{the_best(facts['m'])}, {facts['direction']}"),
        ("misspecification", str(facts["misspecification"])),
        ("noise", noise),
        ("tolerance", f"{facts['tolerance']:g}"),
        ("algorithm", facts["algorithm"]),
        ("stopping", f"{facts['stopping']}, error rate {facts['delta']:g}"),
        ("guarantee", facts["guarantee"]),
    ]
    for name, check in (("features", facts["check"]), ("budget", facts["expected"])):
        if check is not None:
            lines.append((name, check["statement"]))
    return [line for line in lines if line[0] != "tolerance" or facts["tolerance"]]


def _sizes(facts: dict[str, Any], labels: Labels) -> str:
    from mislid.study.candidates import ONES

    added = ONES in (facts["columns"] or ())
    given = facts["features"] - added
    features = "a feature" if given == 1 else f"{given or 'no'} features"
    return f"{facts['candidates']} ({_some(labels)}), with {features} each" + (
        " and a common level" if added else ""
    )


def _some(labels: Labels) -> str:
    """The first and the last, so that a wrong column is seen."""
    words = [visible(str(label)) for label in labels]
    return ", ".join(words if len(words) <= 4 else [*words[:2], "...", words[-1]])


class Given(NamedTuple):
    """What a file says: labels, features per candidate, noise and misspecification, if any."""

    labels: Labels
    features: list[list[float]] | None
    noise: float | list[float] | str | None
    misspecification: float | None
    columns: list[str] | None = None
    cost: list[float] | None = None

    def candidates(self) -> dict[str, Any]:
        """As `create_study` takes them."""
        if self.features is None:
            return {"candidates": list(self.labels)}
        return {"candidates": self.features, "names": self.labels, "columns": self.columns}


def read_candidates(
    file: str,
    label_column: str | None,
    ignored: Sequence[str],
    noise: str | None,
    cost: str | None,
) -> Given:
    """Read the file; `noise` is a number or the column that has one per candidate."""
    if Path(file).suffix.lower() != ".npz":
        return _from_csv(file, label_column, noise, ignored, cost)
    apart = {"--label-column": label_column, "--ignore": ignored, "--cost": cost}
    if any(apart.values()):
        option = next(name for name, value in apart.items() if value)
        raise ProblemError(f"{option} must be left out for {file!r}: a .npz file has no columns")
    from mislid.io import read_table

    table = read_table(file)
    spread = table.noise if noise is None else _number(noise, file, [])
    names = tuple(range(len(table.features))) if table.names is None else table.names
    declared = None if spread is None or isinstance(spread, float | str) else spread.tolist()
    return Given(
        labels=names,
        features=table.features.tolist(),
        noise=spread if isinstance(spread, float | str) else declared,
        misspecification=table.misspecification,
    )


def _from_csv(
    path: str, label: str | None, noise: str | None, ignored: Sequence[str], cost: str | None
) -> Given:
    from mislid.cli.study._sheets import refuse_unknown_columns
    from mislid.io import declared_misspecification, read_sheet

    sheet = read_sheet(path, "candidate")
    naming = sheet.headings[0] if label is None else label
    options = [("--label-column", naming), *(("--ignore", name) for name in ignored)]
    if cost is not None:
        options.append(("--cost", cost))
    refuse_unknown_columns(sheet, options)
    spread: float | list[float] | str | None = None
    apart = {naming, *ignored, *([] if cost is None else [cost])}
    if noise is not None and sheet.has(noise):
        apart.add(noise)
        spread = sheet.numbers(noise).tolist()
    elif noise is not None:
        spread = _number(noise, path, sheet.headings)
    columns = [heading for heading in sheet.headings if heading not in apart]
    for column in columns:
        if column in _RESERVED:
            raise FileFormatError(
                f"{path!r} has a column {column!r}, which is hardly a feature: {_RESERVED[column]}"
            )
    return Given(
        labels=_labels(sheet, naming),
        features=sheet.matrix(columns).tolist() if columns else None,
        noise=spread,
        misspecification=declared_misspecification(sheet),
        columns=columns or None,
        cost=None if cost is None else sheet.numbers(cost).tolist(),
    )


def _labels(table: Sheet, naming: str) -> Labels:
    """Texts, also where they look like numbers, unless a line above the headings says otherwise."""
    cells = table.texts(naming)
    if "" in cells:
        line = table.line(cells.index(""))
        raise FileFormatError(
            f"{table.path!r} must name every candidate; line {line}, column {naming!r} is empty"
        )
    if table.facts.get("names") != "integers":
        return tuple(cells)
    try:
        return tuple(int(cell) for cell in cells)
    except ValueError as problem:
        raise FileFormatError(
            f"{table.path!r} must have integers for names, as its first lines say: {problem}"
        ) from None


def _number(text: str, path: str, headings: Sequence[str]) -> float | str:
    from mislid.stopping.noise import UNDECLARED

    if text in UNDECLARED:
        return text
    try:
        return float(text)
    except ValueError:
        known = f", one of {', '.join(map(repr, headings))}" if headings else ""
        raise ProblemError(
            f"--noise must be a number or a column of {path!r}{known}, unknown or unknown-equal; "
            f"got {text!r}"
        ) from None
