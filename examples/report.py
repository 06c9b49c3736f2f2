"""A study from the first plate to the report, with a simulated laboratory.

    python examples/report.py --output compounds.html --picture compounds.png

Twelve compounds, three descriptors each: which 3 are most potent? Plates of 8 are measured until
the study has decided. Takes some seconds.
"""

import argparse
from io import BytesIO
from pathlib import Path

import matplotlib as mpl
import numpy as np

import mislid
from mislid.paper.demo import MISSPECIFICATION, NOISE, M, demo_instance
from mislid.plotting import as_png, draw_candidates
from mislid.report import write_report
from mislid.study import Study

PLATE = 8


def main() -> None:
    """Run the study and write the report."""
    arguments = parsed()
    study = measured(arguments.seed)
    print(study.result)
    write_report(study, arguments.output)
    print(f"report in {arguments.output}")
    if arguments.picture is not None:
        save_picture(study, arguments.picture)
        print(f"picture in {arguments.picture}")


def measured(seed: int) -> Study:
    """A study that has decided."""
    instance = demo_instance()
    labels = [str(instance.label(arm)) for arm in range(instance.K)]
    potency = dict(zip(labels, instance.means.tolist(), strict=True))
    draw = np.random.default_rng(seed)
    study = mislid.create_study(
        study_name="potency",
        candidates=instance.model.features,
        intercept=False,
        names=labels,
        m=M,
        misspecification=MISSPECIFICATION,
        noise=NOISE,
        seed=seed,
    )
    while study.status == "running":
        for trial in study.ask(PLATE, worker="lab-1"):
            study.tell(trial, potency[str(trial.arm)] + NOISE * draw.standard_normal())
    return study


def save_picture(study: Study, path: Path) -> None:
    """The report's picture, with a margin."""
    image = mpl.image.imread(BytesIO(as_png(draw_candidates(study.overview()), 120)))
    white = np.pad(image, ((24, 24), (24, 24), (0, 0)), constant_values=1)
    mpl.image.imsave(path, white, metadata={"Software": None})


def parsed() -> argparse.Namespace:
    """The arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("report.html"), help="the page")
    parser.add_argument("--picture", type=Path, help="its picture, as a PNG file")
    parser.add_argument("--seed", type=int, default=0, help="of choices and measurements")
    return parser.parse_args()


if __name__ == "__main__":
    main()
