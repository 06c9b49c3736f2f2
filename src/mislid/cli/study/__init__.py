"""`mislid study`: an identification with real measurements, from the command line."""

from __future__ import annotations

import click

from mislid.cli.app import LazyGroup
from mislid.cli.options import examples

_COMMANDS = {
    "create": "Begin a study of the candidates in a file.",
    "ask": "What to measure next; as a sheet for the lab, too.",
    "tell": "Tell what trials gave, one at a time or by a filled-in sheet.",
    "import": "Take in measurements that were not asked for.",
    "correct": "Replace a wrong value.",
    "void": "Discard a measurement.",
    "redeclare": "Declare another misspecification or noise, without losing data.",
    "accept": "Take the present answer, proved up to some misspecification.",
    "add": "Add candidates, without losing data.",
    "retire": "Measure a candidate no more, or leave it out of the question.",
    "status": "How far the study is, what limits it, and how much is left.",
    "result": "The answer and the evidence for it; with --now the best answer so far.",
    "threshold": "Which candidates are above a value, and which below.",
    "ranking": "Which place every candidate may have.",
    "estimates": "The mean of every candidate, with an interval.",
    "what-if": "Other misspecifications, error rates or tolerances for the same data.",
    "verify": "Check a certificate, without the study.",
    "export": "Observations, events, certificate or an HTML report.",
    "check": "Check the log's seals and events.",
    "list": "The studies in a storage.",
    "copy": "Copy a study, to another storage or under another name.",
    "delete": "Delete a study, for good.",
}
_MODULES = {
    **dict.fromkeys(("ask", "tell", "import"), "trials"),
    **dict.fromkeys(("correct", "void", "redeclare", "accept", "add", "retire"), "changes"),
    **dict.fromkeys(("result", "estimates", "threshold", "ranking", "what-if"), "answers"),
    **dict.fromkeys(("list", "copy", "delete", "check", "verify", "export"), "manage"),
}


@click.group(
    "study",
    cls=LazyGroup,
    home=__name__,
    summaries=_COMMANDS,
    epilog=examples(
        "export MISLID_STORAGE=lab.db",
        "mislid study create potency --candidates compounds.csv --m 3 --noise 0.2",
        "mislid study ask potency -n 8 --worker lab-1 --csv plate.csv",
        "mislid study tell potency --csv plate.csv",
        "mislid study status potency",
        "mislid study result potency",
    ),
    modules=_MODULES,
)
def command() -> None:
    """Measure for real: what to measure next, when to stop, and the answer.

    A study lives in a storage, named by --storage or MISLID_STORAGE: a file such as lab.db, or
    postgresql://user@host/database. Any number of people and programs may work on it.
    """
