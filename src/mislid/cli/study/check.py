"""`mislid study check`: whether a study's log is what was written."""

from __future__ import annotations

import click

from mislid.cli.options import printed
from mislid.cli.study._opening import open_storage, study_command
from mislid.cli.study._words import print_facts

BROKEN = 1


@study_command("check", "mislid study check potency", "mislid study check potency --head 3f1c...")
@click.option("--head", metavar="SEAL", help="One that was written down: the log must have it.")
@printed()
def command(name: str, storage: str | None, head: str | None, form: str) -> int:
    """Check every seal and every event in the log of study NAME, and derive its decision anew from
    the measurements. Exit status 1, and what is wrong, if anything does not hold.
    """
    with open_storage(storage) as place:
        from mislid.study import check_study

        found = check_study(study_name=name, storage=place, head=head)
    table = [
        ("study", found.study),
        ("events", str(found.events)),
        ("measurements", str(found.samples)),
        ("decision", found.decision),
        ("head", found.head),
        ("log", "holds" if found.ok else "DOES NOT HOLD"),
        *(("problem", words) for words in found.problems),
    ]
    print_facts(form, found.to_dict(), table)
    return 0 if found.ok else BROKEN
