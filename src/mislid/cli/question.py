"""Commands `mislid study create`, `delete`, `add`, `retire` and `redeclare`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mislid._formatting import did_you_mean
from mislid.cli.options import (
    FILE,
    WHOLE,
    all_of,
    as_noise,
    examples,
    flag,
    format_option,
    misspecification_option,
    on_storage,
    on_study,
    open_storage,
    option,
    question_options,
    reason_option,
    rule_options,
    seed_option,
    several,
    storage_option,
    study_group,
)
from mislid.cli.output import print_facts, record_change
from mislid.errors import FileFormatError, ProblemError

if TYPE_CHECKING:
    from mislid.study import Study
    from mislid.study.storage import Storage

_NOISE_MODELS = ("unknown", "unknown-equal", "bernoulli")
_SHOWN = ("m", "delta", "tolerance", "direction", "algorithm", "stopping", "seed", "budget")
_DIRECTIONS = click.Choice(["maximize", "minimize"])

table_options = all_of(
    option("--candidates", FILE, "Their table, or an instance.", None, "file", required=True),
    several("--ignore", "ignored", "A column that is no feature."),
    option(
        "--noise",
        str,
        "Standard deviation of a measurement, or a column with one per candidate; unknown or "
        "unknown-equal (the same for all), if values are Gaussian; LOW:HIGH, the range of values; "
        "or bernoulli, for 0 and 1. An instance has its own.",
    ),
    option("--cost", str, "Column of what a measurement costs: less is spent in all."),
)


@study_group.command(
    "create",
    epilog=examples(
        "mislid study create potency --candidates compounds.csv --m 3 --noise 0.2",
        "mislid study create cost --candidates sites.csv --m 2 --misspecification 0 --noise sd",
    ),
)
@click.argument("name")
@storage_option
@table_options
@click.option("--intercept/--no-intercept", default=None, help="Add a common level (default).")
@question_options()
@option("--budget", WHOLE, "Largest number of measurements; prints what they may prove.")
@option("--direction", _DIRECTIONS, "Whether large or small values are best.", "maximize")
@rule_options
@seed_option
@flag("--load-if-exists", "Continue a study of this name and these settings; refuse others.")
@format_option()
def create_command(
    name: str, storage: str | Path, load_if_exists: bool, form: str, **settings: Any
) -> None:
    """Begin a study: which m of the candidates in a file are best?

    FILE has a heading line and one line per candidate: its label in the first column, numbers
    in the others. Without other columns, leave out --misspecification: only measurements tell
    about candidates. With them, leaving it out means that it is not known. In the
    file of an instance, .npz or .csv with a column mean, the means are ignored.
    """
    from mislid.study import create_study

    table = {key: settings.pop(key) for key in ("file", "ignored", "noise", "cost")}
    given, declared = _read_candidates(**table)
    settings |= given
    if settings["misspecification"] is None:
        settings["misspecification"] = declared
    create_study(**settings)  # in memory first: an invalid question creates no file
    with open_storage(storage, new=True) as place:
        study = create_study(
            study_name=name, storage=place, load_if_exists=load_if_exists, **settings
        )
        _print_question(form, study)


def _print_question(form: str, study: Study) -> None:
    from mislid.forecast.overview import guarantee

    settings, candidates = study.settings, study.candidates
    facts = {
        "study": study.study_name,
        "candidates": candidates.K,
        "columns": candidates.columns,
        **{name: getattr(settings, name) for name in _SHOWN},
        "misspecification": settings.declared,
        "noise": settings.arguments()["noise"],
        "guarantee": guarantee(settings),
        "features": None if candidates.features is None else study.features_check().statement,
        "expected": None if settings.budget is None else study.budget_check().statement,
    }
    # The first and last labels reveal a wrong column.
    labels = list(map(str, candidates.labels))
    some = ", ".join(labels if len(labels) <= 4 else [*labels[:2], "...", labels[-1]])
    given = len(candidates.shown)
    d = 0 if candidates.features is None else candidates.features.shape[1]
    features = "a feature" if given == 1 else f"{given or 'no'} features"
    level = " and a common level" if d > given else ""
    sizes = f"{candidates.K} ({some}), with {features}{level}"
    shown = {"candidates": sizes, "columns": None, "noise": settings.noise_words}
    print_facts(form, facts, (facts | shown).items())


def _read_candidates(
    file: str, ignored: Sequence[str], noise: str | None, cost: str | None
) -> tuple[dict[str, Any], float | None]:
    """Arguments of `create_study` from a sheet or an instance, and its misspecification."""
    from mislid.io import read_sheet, read_table

    sheet = None if Path(file).suffix.lower() == ".npz" else read_sheet(file, "candidate")
    if sheet is None or (sheet.has("mean") and "mean" not in ignored):
        if ignored or cost:
            raise ProblemError(f"--ignore and --cost must be left out for the instance {file!r}")
        table = read_table(file)
        found = table.noise if noise is None else _declared_noise(noise, file, [])
        arms = {"candidates": table.features, "names": table.names, "noise": found}
        return arms, table.misspecification
    for column in ignored:
        sheet.column(column)
    naming, *others = sheet.headings
    columns = [one for one in others if one not in {*ignored, cost, noise}]
    if "noise" in columns:
        raise FileFormatError(
            f"{file!r} has a column 'noise', which is hardly a feature: use it with --noise noise, "
            "or leave it out with --ignore noise"
        )
    labels = sheet.texts(naming)
    if "" in labels:
        line = sheet.line(labels.index(""))
        raise FileFormatError(
            f"{file!r} must name every candidate; line {line}, column {naming!r} is empty"
        )
    given: dict[str, Any] = {"candidates": labels}
    if columns:
        given = {"candidates": sheet.matrix(columns), "names": labels, "columns": columns}
    if cost is not None:
        given["cost"] = sheet.numbers(cost)
    if noise is not None:
        is_column = sheet.has(noise)
        given["noise"] = sheet.numbers(noise) if is_column else _declared_noise(noise, file, others)
    return given, None


def _declared_noise(text: str, path: str, headings: Sequence[str]) -> Any:
    found = as_noise(text)
    if isinstance(found, str) and found not in _NOISE_MODELS:
        raise ProblemError(
            f"--noise must be a number, LOW:HIGH, {', '.join(_NOISE_MODELS)} or a column of "
            f"{path!r}; got {text!r}{did_you_mean(text, [*_NOISE_MODELS, *headings])}"
        )
    return found


@on_storage("delete", "mislid study delete rehearsal --yes")
@click.argument("name")
@flag("--yes", "Do not ask.")
def delete_command(storage: Storage, name: str, yes: bool, form: str) -> None:
    """Delete a study and its log, for good."""
    from mislid.study import delete_study

    size = len(storage.read(storage.find(name)))
    if not yes:
        asked = f"Delete study {name!r} for good? Events in its log: {size}"
        click.confirm(asked, abort=True, err=True)
    delete_study(study_name=name, storage=storage)
    print_facts(form, {"deleted": name, "events": size})


@on_study("add", "mislid study add potency --candidates plate2.csv --reason 'second delivery'")
@table_options
@reason_option
def add_command(study: Study, reason: str | None, form: str, **table: Any) -> None:
    """Add candidates to a study.

    Their file has the same columns as for `create`. No measurement is lost. A decision is withdrawn
    until the new candidates are compared.
    """
    given, _ = _read_candidates(**table)
    record_change(form, study, lambda: study.add_candidates(**given, reason=reason))


@on_study("retire", "mislid study retire potency cmpd-7 --reason 'used up'")
@click.argument("candidate")
@flag("--leave", "Remove it from the question; by default it stays in the comparison.")
@reason_option
def retire_command(study: Study, candidate: str, form: str, **options: Any) -> None:
    """Stop measuring a candidate, or exclude it."""
    label = study.candidates.called(candidate)
    record_change(form, study, lambda: study.retire(label, **options))


@on_study("redeclare", "mislid study redeclare potency --noise 0.5 --reason 'new estimate'")
@misspecification_option
@option("--noise", float, "Standard deviation of a measurement.")
@reason_option
def redeclare_command(study: Study, form: str, **given: Any) -> None:
    """Declare another misspecification or noise.

    No measurement is lost: the decision is made again from all of them.
    """
    record_change(form, study, lambda: study.redeclare(**given))
