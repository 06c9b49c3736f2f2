"""What changes studies: only with `--write`, and each call once, by its key."""

from __future__ import annotations

import asyncio
import json
import warnings
from collections.abc import Callable
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from mislid.errors import ProblemError
from mislid.files import as_plain
from mislid.server.answers import packed
from mislid.server.reading import hub_of, opened
from mislid.study import Study, Trial
from mislid.study.manage import create_study

# Seconds in which the body of a request has to come.
PATIENCE = 10.0
Body = dict[str, Any]
_CREATE = (
    *("study_name", "candidates", "m", "delta", "misspecification", "noise", "tolerance"),
    *("direction", "seed", "algorithm", "stopping", "columns", "intercept", "reward_range"),
    *("rewards", "decide_at", "budget", "cost"),
)  # fmt: skip


async def body_of(request: Request) -> Body:
    """The JSON object that a request brings."""
    try:
        content = await asyncio.wait_for(request.body(), PATIENCE)
    except TimeoutError:
        raise ProblemError(f"the request must be complete within {PATIENCE:g} seconds") from None
    except ClientDisconnect:
        raise ProblemError("the request must be complete, and of at most 1 MiB") from None
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        raise ProblemError("the request must be JSON") from None
    if not isinstance(found, dict):
        raise ProblemError("the request must be a JSON object")
    return found


def _only(body: Body, *names: str) -> Body:
    """The arguments of a call; refuses others, which may be misspelled."""
    for name in body:
        if name not in names:
            raise ProblemError(f"{name[:40]!r} is none of the arguments: {', '.join(names)}")
    return body


def _key(request: Request, body: Body) -> str | None:
    """What lets a call count once, of the body or of the header."""
    return body.pop("key", None) or request.headers.get("idempotency-key")


def trial_json(trial: Trial) -> dict[str, Any]:
    """A trial as programs get it."""
    features = None if trial.features is None else trial.features.tolist()
    plain: dict[str, Any] = as_plain({
        "id": trial.id,
        "arm": trial.arm,
        "features": features,
        "worker": trial.worker,
        "expires": trial.expires,
    })  # fmt: skip
    return plain


async def create(request: Request) -> Response:
    """Begin a study."""
    given = _only(await body_of(request), *_CREATE)
    for name in ("candidates", "m"):
        if name not in given:
            raise ProblemError(f"{name} must be given")
    hub = hub_of(request)
    study = await asyncio.to_thread(lambda: create_study(**given, storage=hub.storage))
    keys = await asyncio.to_thread(hub.storage.names)
    made = {"id": keys[study.study_name], "name": study.study_name}
    return Response(packed(made), 201, media_type="application/json")


def _asked(study: Study, body: Body, key: str | None) -> Any:
    given = _only(body, "n", "worker", "lease", "at_most", "same_arm", "replicates")
    trials = study.ask(**{"n": 1, **given}, key=key)
    return {"trials": [trial_json(one) for one in trials]}


def _told(study: Study, body: Body, key: str | None) -> Any:
    given = _only(body, "trial", "value", "state", "n", "sd")
    study.tell(given.pop("trial", None), **given, key=key)
    return {"status": study.status, "samples": study.samples}


def _corrected(study: Study, body: Body, key: str | None) -> Any:
    given = _only(body, "trial", "row", "value", "reason")
    study.correct(**given, key=key)
    return {"status": study.status, "samples": study.samples}


def _voided(study: Study, body: Body, key: str | None) -> Any:
    given = _only(body, "trial", "row", "reason")
    study.void(**given, key=key)
    return {"status": study.status, "samples": study.samples}


CALLS: dict[str, Callable[[Study, Body, str | None], Any]] = {
    "ask": _asked,
    "tell": _told,
    "correct": _corrected,
    "void": _voided,
}


def call(name: str) -> Callable[[Request], Any]:
    """The address of a call; warnings come with the answer."""

    async def done(request: Request) -> Response:
        study, body = await opened(request), await body_of(request)
        key = _key(request, body)

        def make() -> Any:
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                found = CALLS[name](study, body, key)
            return found | {"warnings": [str(one.message) for one in said]}

        content = packed(await asyncio.to_thread(make))
        return Response(content, media_type="application/json")

    return done
