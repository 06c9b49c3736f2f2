"""`mislid study create`: begin a study of the candidates in a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from mislid._formatting import the_best, visible
from mislid.cli.options import (
    all_of,
    examples,
    file_option,
    flag,
    format_option,
    noise_of,
    question_options,
    rule_options,
    seed_option,
    setting,
)
from mislid.cli.output import did_you_mean, print_facts
from mislid.cli.study._opening import as_address, open_storage, storage_option
from mislid.errors import FileFormatError, ProblemError

if TYPE_CHECKING:
    from mislid._validation import Labels
    from mislid.io import Sheet
    from mislid.study import Study

# Columns of an instance's file that hold no feature.
_RESERVED = {
    "mean": "leave it out with --ignore mean",
    "noise": "use it with --noise noise, or leave it out with --ignore noise",
}
# Words for --noise that name no column.
_MODELS = ("unknown", "unknown-equal", "bernoulli")

table_options = all_of(
    file_option(
        "--candidates",
        ".csv or .xlsx with a label and features in every line, or a .npz instance.",
        "FILE",
        "file",
        required=True,
    ),
    click.option(
        "--label-column",
        "label",
        metavar="COLUMN",
        help="Column of the labels; by default the first.",
    ),
    click.option(
        "--ignore",
        "ignored",
        metavar="COLUMN",
        multiple=True,
        help="A column that is no feature; may be repeated.",
    ),
    click.option(
        "--noise",
        metavar="NOISE",
        help="Standard deviation of a measurement, the column that has one per candidate, unknown "
        "or unknown-equal (the same for all) for Gaussian values, LOW:HIGH for values in a range, "
        "or bernoulli for values 0 and 1; by default the file's own standard deviations.",
    ),
    click.option(
        "--cost",
        metavar="COLUMN",
        help="Column of what a measurement costs, in any unit: what proves most for its cost is "
        "measured.",
    ),
)


@click.command(
    "create",
    epilog=examples(
        "mislid study create potency --candidates compounds.csv --m 3 --noise 0.2",
        "mislid study create taste --candidates names.csv --m 1 --noise 0:10 --storage taste.db",
        "mislid study create cost --candidates sites.csv --m 2 --misspecification 0 --noise sd",
    ),
)
@click.argument("name")
@storage_option
@table_options
@click.option(
    "--intercept/--no-intercept",
    default=None,
    help="Whether a column of ones is added to the features, for a common level; by default, "
    "unless they contain one.",
)
@question_options()
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
@setting(
    "--direction",
    click.Choice(["maximize", "minimize"]),
    "maximize",
    "Whether large or small values are best.",
)
@rule_options()
@seed_option
@flag("--load-if-exists", "Continue a study of this name and these settings; refuse others.")
@format_option()
def command(
    name: str,
    storage: str | None,
    file: str,
    label: str | None,
    ignored: tuple[str, ...],
    noise: str | None,
    cost: str | None,
    misspecification: float | None,
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

    given = read_candidates(file, label, ignored, noise, cost)
    declared = given.misspecification if misspecification is None else misspecification
    settings |= given.arguments() | {"misspecification": declared}
    create_study(**settings)  # in memory: what is wrong with the question leaves no file behind
    with open_storage(storage, new=True) as place:
        study = create_study(
            study_name=name, storage=place, load_if_exists=load_if_exists, **settings
        )
        facts = _facts(study)
        table = _table(facts, study)
    if form == "csv":
        facts |= {key: facts[key] and facts[key]["statement"] for key in ("check", "expected")}
    print_facts(form, facts, table)


def _facts(study: Study) -> dict[str, Any]:
    from mislid.forecast.overview import guarantee
    from mislid.io import as_plain
    from mislid.stopping.rules import stopping_rule_called

    settings, candidates = study.settings, study.candidates
    features = candidates.features
    checks = {
        "check": None if features is None else study.features_check(),
        "expected": None if settings.budget is None else study.budget_check(),
    }
    plain = settings.plain() | {"misspecification": as_plain(settings.declared)}
    noise = plain["noise"] if settings.noise_model == "known" else [settings.noise_model]
    return {
        "study": study.study_name,
        "candidates": candidates.K,
        "features": 0 if features is None else features.shape[1],
        "columns": None if features is None else candidates.columns,
        **plain,
        "noise": noise[0] if len(noise) == 1 else list(noise),
        "proven": stopping_rule_called(settings.stopping).guaranteed,
        "guarantee": guarantee(settings),
        **{
            name: None if check is None else {**check.to_dict(), "statement": check.statement}
            for name, check in checks.items()
        },
    }


def _table(facts: dict[str, Any], study: Study) -> list[tuple[str, str]]:
    lines = [
        ("study", facts["study"]),
        ("candidates", _sizes(facts, study.candidates.labels)),
        ("question", f"{the_best(facts['m'])}, {facts['direction']}"),
        ("misspecification", str(facts["misspecification"])),
        ("noise", study.settings.noise_words),
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
    """How many, with the first and last labels, so that a wrong column is seen."""
    from mislid.study.candidates import ONES

    words = [visible(str(label)) for label in labels]
    some = ", ".join(words if len(words) <= 4 else [*words[:2], "...", words[-1]])
    added = ONES in (facts["columns"] or ())
    given = facts["features"] - added
    features = "a feature" if given == 1 else f"{given or 'no'} features"
    level = " and a common level" if added else ""
    return f"{facts['candidates']} ({some}), with {features} each{level}"


class Given(NamedTuple):
    """Candidates in a file: labels, features, noise, misspecification, columns and costs."""

    labels: Labels
    features: list[list[float]] | None
    noise: Any
    misspecification: float | None = None
    columns: list[str] | None = None
    cost: list[float] | None = None

    def arguments(self) -> dict[str, Any]:
        """As `create_study` and `Study.add_candidates` take them."""
        rest: dict[str, Any] = {"noise": self.noise, "cost": self.cost}
        if self.features is None:
            return {"candidates": list(self.labels), **rest}
        columns = {"names": self.labels, "columns": self.columns}
        return {"candidates": self.features, **columns, **rest}


def read_candidates(
    file: str, label: str | None, ignored: Sequence[str], noise: str | None, cost: str | None
) -> Given:
    """Read candidates from a sheet, or from the .npz file of an instance."""
    if Path(file).suffix.lower() != ".npz":
        return _from_sheet(file, label, ignored, noise, cost)
    for option, value in {"--label-column": label, "--ignore": ignored, "--cost": cost}.items():
        if value:
            raise ProblemError(
                f"{option} must be left out for {file!r}: a .npz file has no columns"
            )
    from mislid.io import read_table

    table = read_table(file)
    own = None if table.noise is None else table.noise.tolist()
    return Given(
        labels=tuple(range(len(table.features))) if table.names is None else table.names,
        features=table.features.tolist(),
        noise=own if noise is None else _noise(noise, file, []),
        misspecification=table.misspecification,
    )


def _from_sheet(
    path: str, label: str | None, ignored: Sequence[str], noise: str | None, cost: str | None
) -> Given:
    from mislid.cli.study._sheets import refuse_unknown_columns
    from mislid.io import declared_misspecification, read_sheet

    sheet = read_sheet(path, "candidate")
    naming = sheet.headings[0] if label is None else label
    refuse_unknown_columns(sheet, {"--label-column": naming})
    for one in ignored:
        refuse_unknown_columns(sheet, {"--ignore": one})
    apart = {naming, *ignored}
    costs = None
    if cost is not None:
        refuse_unknown_columns(sheet, {"--cost": cost})
        apart.add(cost)
        costs = sheet.numbers(cost).tolist()
    if noise is not None and sheet.has(noise):
        apart.add(noise)
        declared = sheet.numbers(noise).tolist()
    else:
        declared = None if noise is None else _noise(noise, path, sheet.headings)
    columns = [heading for heading in sheet.headings if heading not in apart]
    for column in columns:
        if column in _RESERVED:
            raise FileFormatError(
                f"{path!r} has a column {column!r}, which is hardly a feature: {_RESERVED[column]}"
            )
    return Given(
        labels=_labels(sheet, naming),
        features=sheet.matrix(columns).tolist() if columns else None,
        noise=declared,
        misspecification=declared_misspecification(sheet),
        columns=columns or None,
        cost=costs,
    )


def _labels(sheet: Sheet, naming: str) -> Labels:
    """Texts, also where they look like numbers."""
    cells = sheet.texts(naming)
    if "" in cells:
        line = sheet.line(cells.index(""))
        raise FileFormatError(
            f"{sheet.path!r} must name every candidate; line {line}, column {naming!r} is empty"
        )
    return tuple(cells)


def _noise(text: str, path: str, headings: Sequence[str]) -> Any:
    found = noise_of(text)
    if isinstance(found, str) and found not in _MODELS:
        known = f", one of {', '.join(map(repr, headings))}" if headings else ""
        raise ProblemError(
            f"--noise must be a number, LOW:HIGH, {', '.join(_MODELS)}, or a column of {path!r}"
            f"{known}; got {text!r}{did_you_mean(text, [*_MODELS, *headings])}"
        )
    return found
