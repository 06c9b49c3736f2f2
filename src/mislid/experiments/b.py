"""B: MisLid is told a misspecification that is too small, right, or too large."""

from mislid.experiments.recipes import Recipe
from mislid.experiments.spec import GUARANTEED, Case, Experiment, Method

RECIPE = Recipe(K=15, d=8, m=3, gap=0.2, deviation=1.0)
# They are told nothing of the misspecification.
_RIVALS = (
    Method("LUCB, standard width", "lucb"),
    Method("LUCB, standard width", "lucb", GUARANTEED),
    Method("LUCB", "lucb-authors"),
    Method("LinGapE", "lingape", most=50, max_samples=1_000_000),
)


def _told(misspecification: float, *others: Method) -> Case:
    name = f"eps={misspecification:g}"
    return Case(
        name=f"B_eps{misspecification:g}",
        title=f"declared misspecification {misspecification:g}",
        instance="B",
        m=3,
        misspecification=misspecification,
        recipe=RECIPE,
        published="B",
        methods=(
            Method("MisLid", "mislid-authors", published=f"MisLid {name}"),
            Method("our default", "mislid"),
            Method("our default", "mislid", GUARANTEED),
            Method("MisLid by the text", "mislid-paper"),
            Method("MisLid by the text", "mislid-paper", GUARANTEED, most=100),
            Method("MisLid", "mislid-authors", GUARANTEED, most=100),
            *others,
        ),
    )


EXPERIMENT = Experiment(
    name="B",
    title="Told a misspecification of 0.5, 1 or 2 where deviations were drawn with size 1",
    runs=500,
    cases=(_told(0.5), _told(1.0, *_RIVALS), _told(2.0)),
    notes=(
        (
            "The deviations were drawn with largest size 1, but the means lie within 0.373 of a "
            "linear model: even 0.5 is not too small."
        ),
    ),
)
