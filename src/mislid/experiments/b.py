"""B: MisLid is told a misspecification that is too small, right, or too large."""

from mislid.experiments.recipes import Recipe
from mislid.experiments.spec import GUARANTEED, Case, Experiment, Method

RECIPE = Recipe(K=15, d=8, m=3, gap=0.2, deviation=1.0)


def _declared(told: float) -> tuple[Method, ...]:
    name = f"eps={told:g}"
    return (
        Method(
            f"MisLid {name}", "mislid-authors", published=f"MisLid {name}", misspecification=told
        ),
        Method(f"our default {name}", "mislid", misspecification=told),
        Method(f"our default {name}", "mislid", GUARANTEED, misspecification=told),
        Method(
            f"MisLid by the text {name}",
            "mislid-paper",
            GUARANTEED,
            misspecification=told,
            most=100,
        ),
    )


EXPERIMENT = Experiment(
    name="B",
    title="A declared misspecification of 0.5, 1 or 2 where the deviations were drawn with size 1",
    runs=500,
    cases=(
        Case(
            name="B",
            title="declared 0.5, 1 and 2",
            instance="B",
            m=3,
            misspecification=1.0,
            recipe=RECIPE,
            methods=(
                *_declared(0.5),
                *_declared(1.0),
                *_declared(2.0),
                Method("LUCB, standard width", "lucb"),
                Method("LUCB", "lucb-authors"),
                Method("LinGapE", "lingape"),
            ),
        ),
    ),
    notes=(
        (
            "The deviations were drawn with largest size 1, but the means lie within 0.373 of a "
            "linear model: even 0.5 is not too small."
        ),
    ),
)
