"""What changes studies: only with `--write`, and each call once, by its key."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from mislid._validation import as_text
from mislid.errors import ContradictedWarning, ImplausibleValueWarning, ProblemError
from mislid.io import as_plain
from mislid.server.answers import packed
from mislid.server.bodies import Body, body_of
from mislid.server.reading import hub_of, opened
from mislid.study import Study, Trial
from mislid.study.manage import create_study

_CREATE = (
    *("study_name", "candidates", "m", "delta", "misspecification", "noise", "tolerance"),
    *("direction", "seed", "algorithm", "stopping", "columns", "intercept", "reward_range"),
    *("rewards", "decide_at", "budget", "cost"),
)  # fmt: skip


def _only(body: Body, *names: str) -> Body:
    """The arguments of a call; refuses others, which may be misspelled."""
    for name in body:
        if name not in names:
            raise ProblemError(f"{name[:40]!r} is none of the arguments: {', '.join(names)}")
    return body


def _key(request: Request, body: Body) -> str | None:
    """What lets a call count once, of the body or of the header."""
    key = body.pop("key", None)
    if key is not None:
        return as_text(key, "key")
    return request.headers.get("idempotency-key")


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


# Others may come from other threads.
_DOUBTS = (ContradictedWarning, ImplausibleValueWarning)


async def create(request: Request) -> Response:
    """Begin a study."""
    body = await body_of(request)
    key, given = _key(request, body), _only(body, *_CREATE)
    for name in ("candidates", "m"):
        if name not in given:
            raise ProblemError(f"{name} must be given")
    if key is not None and given.get("study_name") is None:
        given["study_name"] = f"study-{hashlib.sha256(key.encode()).hexdigest()[:32]}"
    storage = hub_of(request).storage

    def make() -> Any:
        name = create_study(**given, load_if_exists=key is not None, storage=storage).study_name
        return {"id": storage.find(name), "name": name}

    made = await hub_of(request).writer.do(make)
    return Response(packed(made), 201, media_type="application/json")


Call = Callable[[Study, Body, str | None], Any]


def _asked(study: Study, body: Body, key: str | None) -> Any:
    given = _only(body, "n", "worker", "lease", "at_most", "same_arm", "replicates")
    n = given.pop("n", None)
    trials = study.ask(1 if n is None else n, **given, key=key)
    return {"trials": [trial_json(one) for one in trials]}


def _changed(method: str, *names: str) -> Call:
    """A call of a method that takes these names."""

    def change(study: Study, body: Body, key: str | None) -> Any:
        getattr(study, method)(**{"trial": None, **_only(body, *names)}, key=key)
        return {"status": study.status, "samples": study.samples}

    return change


CALLS: dict[str, Call] = {
    "ask": _asked,
    "tell": _changed("tell", "trial", "value", "state", "n", "sd"),
    "correct": _changed("correct", "trial", "row", "value", "reason"),
    "void": _changed("void", "trial", "row", "reason"),
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
            return found | {
                "warnings": [str(one.message) for one in said if one.category in _DOUBTS]
            }

        content = packed(await hub_of(request).writer.do(make))
        return Response(content, media_type="application/json")

    return done
