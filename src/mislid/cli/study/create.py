"""`mislid study create`: begin a study of the candidates in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from mislid.cli.options import examples, format_option, one_sentence_errors
from mislid.cli.run import STOPPING
from mislid.cli.study._opening import as_address, name_argument, open_storage, storage_option
from mislid.cli.study._words import guarantee, is_proven, one

if TYPE_CHECKING:
    from mislid.study import Study


@click.command(
    "create",
    epilog=examples(
        "mislid study create potency --candidates compounds.csv --m 3 --misspecification 0.1",
        "mislid study create taste --candidates names.csv --m 1 --noise 1 --storage taste.db",
        "mislid study create cost --candidates sites.csv --m 2 --misspecification 0 --noise sd",
    ),
)
@name_argument
@storage_option
@click.option(
    "--candidates",
    "file",
    metavar="FILE",
    type=click.Path(),
    required=True,
    help=".csv with a label and features in every line, or a .npz instance.",
)
@click.option(
    "--label-column", metavar="COLUMN", help="Column of the labels; by default the first."
)
@click.option(
    "--ignore",
    "ignored",
    metavar="COLUMN",
    multiple=True,
    help="A column that is no feature; may be repeated.",
)
@click.option("--m", type=click.IntRange(1), required=True, help="Number of candidates to find.")
@click.option(
    "--delta",
    type=click.FloatRange(0, 0.5, min_open=True),
    default=0.05,
    show_default=True,
    help="Error rate.",
)
@click.option(
    "--misspecification",
    type=click.FloatRange(0),
    help="How far a mean may be from linear in the features, inf for no structure; by default "
    "what the file declares. Left out without features.",
)
@click.option(
    "--noise",
    metavar="NUMBER|COLUMN",
    help="Standard deviation of a measurement, or the column that has one per candidate; by "
    "default the file's own, or 1.",
)
@click.option(
    "--reward-range",
    nargs=2,
    type=float,
    metavar="LOW HIGH",
    help="Measurements are within these bounds: noise that is safe for them.",
)
@click.option(
    "--tolerance",
    type=click.FloatRange(0),
    default=0.0,
    show_default=True,
    help="How much better than a candidate of the answer one outside it may be.",
)
@click.option(
    "--direction",
    type=click.Choice(["maximize", "minimize"]),
    default="maximize",
    show_default=True,
    help="Whether large or small values are best.",
)
@click.option(
    "--algorithm",
    default="mislid",
    show_default=True,
    help="What chooses: mislid, lingape, lucb, uniform or another that `mislid run` knows.",
)
@click.option(
    "--stopping",
    type=click.Choice(STOPPING),
    default="guaranteed",
    show_default=True,
    help="When to stop; heuristic comes with no proof.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option(
    "--load-if-exists",
    is_flag=True,
    help="Go on with a study of this name and these settings; others are refused.",
)
@format_option
@one_sentence_errors
def command(
    name: str,
    storage: str | None,
    file: str,
    label_column: str | None,
    ignored: tuple[str, ...],
    noise: str | None,
    misspecification: float | None,
    reward_range: tuple[float, float] | None,
    load_if_exists: bool,
    form: str,
    **settings: Any,
) -> None:
    """Begin the study NAME: which m of the candidates in FILE are best?

    FILE.csv has a heading line and one line per candidate: its label in the first column, numbers
    in the others. Without other columns nothing is known about candidates but what is measured.
    """
    as_address(storage)
    from mislid.cli.study._candidates import read_candidates
    from mislid.study import create_study

    given = read_candidates(file, label_column, noise, ignored)
    declared = given.misspecification if misspecification is None else misspecification
    settings |= given.candidates() | {"misspecification": declared, "reward_range": reward_range}
    if given.noise is not None and (noise is not None or reward_range is None):
        settings["noise"] = given.noise  # a range takes the place of what a file says
    create_study(**settings)  # in memory: what is wrong with the question leaves no file behind
    with open_storage(storage, new=True) as place:
        study = create_study(
            study_name=name, storage=place, load_if_exists=load_if_exists, **settings
        )
        click.echo(one(form, _facts(study), _table(study)))


def _facts(study: Study) -> dict[str, Any]:
    settings, candidates = study.settings, study.candidates
    features = candidates.features
    plain = settings.plain()
    noise = plain["noise"]
    return {
        "study": study.study_name,
        "candidates": candidates.K,
        "features": 0 if features is None else features.shape[1],
        **plain,
        "noise": noise[0] if len(noise) == 1 else list(noise),
        "proven": is_proven(settings.stopping),
        "guarantee": guarantee(settings),
    }


def _table(study: Study) -> list[tuple[str, str]]:
    facts = _facts(study)
    noise = facts["noise"]
    if isinstance(noise, list):
        noise = f"{min(noise):g} to {max(noise):g}"
    lines = [
        ("study", facts["study"]),
        ("candidates", f"{facts['candidates']}, with {facts['features'] or 'no'} features each"),
        ("question", f"the {facts['m']} best, {facts['direction']}"),
        ("misspecification", str(facts["misspecification"])),
        ("noise", str(noise)),
        ("tolerance", f"{facts['tolerance']:g}"),
        ("algorithm", facts["algorithm"]),
        ("stopping", f"{facts['stopping']}, error rate {facts['delta']:g}"),
        ("guarantee", facts["guarantee"]),
    ]
    return [line for line in lines if line[0] != "tolerance" or facts["tolerance"]]
