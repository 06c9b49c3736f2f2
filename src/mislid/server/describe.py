"""The HTTP interface, described for programs that write clients (OpenAPI 3.1)."""

from __future__ import annotations

from typing import Any

from mislid import __version__

_READ = {
    "state": "How the study stands: `Overview.to_dict()`, and the same in words.",
    "estimates": "A row for every candidate: `EstimateRow.to_dict()`.",
    "forecast": "What is left to do: `StudyProgress.to_dict()`, and for other questions.",
    "sensitivity": "The answer for every misspecification: `Sensitivity.to_dict()`.",
    "allocation": "Where measurements went, and the optimal shares.",
    "evidence": "How the evidence of pairs grew, as shares of what each needs.",
    "events": "Events after a number.",
    "revisions": "Corrections and other changes, the newest first, before a number.",
    "stream": "Server-sent events; `id` is the number of the event.",
    "certificate": "The certificate of a decided study: `Certificate.to_dict()`.",
    "verification": "What the independent check says of it: `Verification.to_dict()`.",
    "what-if": "A forecast for another question: `WhatIf.to_dict()`.",
}
_QUERY = {
    "events": {"after": "integer", "most": "integer"},
    "revisions": {"before": "integer", "most": "integer"},
    "stream": {"after": "integer", "views": "integer"},
    "what-if": dict.fromkeys(("m", "delta", "misspecification", "tolerance"), "number"),
}
_WRITE = {
    "ask": ("Hand out trials.", ("n", "worker", "lease", "at_most", "same_arm", "replicates")),
    "tell": ("Tell what a trial gave.", ("trial", "value", "state", "n", "sd")),
    "correct": ("Mend a value.", ("trial", "row", "value", "reason")),
    "void": ("Let a value not count.", ("trial", "row", "reason")),
}
_KINDS: dict[str, Any] = {
    **dict.fromkeys(("n", "at_most", "same_arm", "replicates", "trial", "row"), "integer"),
    **dict.fromkeys(("lease", "value", "sd"), "number"),
    **dict.fromkeys(("worker", "state", "reason", "key"), "string"),
}
_ID = {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}
_ONCE = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "Any text; the same call with it counts once.",
    "schema": {"type": "string"},
}


def description(write: bool) -> dict[str, Any]:
    """The document, with what changes studies where that is allowed."""
    listed = _operation("All studies, or the one of a name.", [_query("name", "string")])
    paths: dict[str, Any] = {"/api/studies": {"get": listed}}
    for kind, words in _READ.items():
        asked = [_query(*pair) for pair in _QUERY.get(kind, {}).items()]
        paths[f"/api/studies/{{id}}/{kind}"] = {"get": _operation(words, [_ID, *asked])}
    if write:
        paths["/api/studies"]["post"] = _operation(
            "Begin a study: the arguments of `create_study`.", [], {"type": "object"}
        )
        for kind, (words, names) in _WRITE.items():
            fields = {name: {"type": _KINDS[name]} for name in (*names, "key")}
            schema = {"type": "object", "properties": fields, "additionalProperties": False}
            made = _operation(words, [_ID, _ONCE], schema)
            paths[f"/api/studies/{{id}}/{kind}"] = {"post": made}
    return {
        "openapi": "3.1.0",
        "info": {"title": "mislid", "version": __version__},
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Error": _ERROR},
        },
        "security": [{}, {"token": []}],
    }


_ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["kind", "message"],
            "properties": {"kind": {"type": "string"}, "message": {"type": "string"}},
        }
    },
}


def _query(name: str, kind: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": False, "schema": {"type": kind}}


def _operation(
    words: str, parameters: list[dict[str, Any]], body: dict[str, Any] | None = None
) -> dict[str, Any]:
    error = {"$ref": "#/components/schemas/Error"}
    found: dict[str, Any] = {
        "summary": words,
        "parameters": parameters,
        "responses": {
            "2XX": {"description": "What was asked for."},
            "4XX": {
                "description": "What is wrong with the request.",
                "content": {"application/json": {"schema": error}},
            },
        },
    }
    if body is not None:
        found["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": body}},
        }
    return found
