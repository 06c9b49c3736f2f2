"""Who may talk to the server: every request passes this gate before anything is done.

A page of another site, in the browser of somebody who may see studies, is the usual attacker. It
can let that browser send requests here (so Host and Origin are checked, on every address), and it
can let a name of its own point to this computer (so the name must be one that the server knows).
"""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mislid.server.answers import refusal

COOKIE = "mislid_session"
LOGIN, STATIC = "/login", "/static/"
READING = ("GET", "HEAD")
# Bytes of a request's body, requests a second of one address, and how many it may save up.
MOST_BYTES, RATE, BURST = 2**20, 200.0, 800.0
# Addresses whose rates are remembered.
_REMEMBERED = 10_000

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


@dataclass(frozen=True)
class Policy:
    """What is asked of requests.

    Attributes
    ----------
    hosts
        Names and ports under which the server is known, such as "127.0.0.1:8600".
    token
        What programs and people have to know; None where everybody on this computer may read.
    write
        Whether studies may be changed, which needs a token.
    """

    hosts: frozenset[str]
    token: str | None = field(default=None, repr=False)
    write: bool = False

    @property
    def cookie(self) -> str:
        """What the browser of somebody who knows the token keeps; it is not the token."""
        key = (self.token or "").encode()
        return hmac.new(key, b"a browser that knows the token", hashlib.sha256).hexdigest()

    def knows(self, token: str) -> bool:
        """Whether this is the token; how long it takes does not tell how much of it is right."""
        return self.token is not None and hmac.compare_digest(token.encode(), self.token.encode())


def host_names(host: str, port: int, more: Iterable[str] = ()) -> frozenset[str]:
    """The names of a server that listens to an address, and those that were given.

    >>> sorted(host_names("127.0.0.1", 8600, ["lab.example.org"]))
    ['127.0.0.1:8600', '[::1]:8600', 'lab.example.org', 'localhost:8600']
    """
    local = ["127.0.0.1", "localhost", "[::1]"]
    names = local if host in ("127.0.0.1", "localhost", "::1") else [*local, _bracketed(host)]
    return frozenset({f"{name}:{port}" for name in names} | {one.lower() for one in more})


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host.lower()


class Gate:
    """Refuses what the policy does not allow, and tells browsers what pages may do."""

    def __init__(self, app: ASGIApp, policy: Policy) -> None:
        self._app, self._policy = app, policy
        self._rates = Rates()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refused = self._refused(scope, headers)
        handler = self._app if refused is None else refused
        body = _Bounded(receive)
        await handler(scope, body.receive, _guarded(send))

    def _refused(self, scope: Scope, headers: Headers) -> Response | None:
        policy, path = self._policy, scope["path"]
        if headers.get("host", "").lower() not in policy.hosts:
            return refusal(421, "Host", "this server is not known under that name: see --name")
        if _is_foreign(headers, policy, is_page=not path.startswith("/api/")):
            return refusal(403, "Origin", "requests of other sites are not answered")
        client = scope["client"][0] if scope.get("client") else ""
        if not self._rates.allow(client):
            return refusal(429, "Rate", "too many requests: wait a second", {"retry-after": "1"})
        if _too_long(headers):
            return refusal(413, "Size", f"a request may have at most {MOST_BYTES} bytes")
        if policy.token is not None and path != LOGIN and not path.startswith(STATIC):
            return self._unknown(scope, headers)
        return None

    def _unknown(self, scope: Scope, headers: Headers) -> Response | None:
        """The answer to somebody who does not show the token, or what stands for it."""
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            if self._policy.knows(given.strip()):
                return None
            return refusal(401, "Token", "the token is another one", {"www-authenticate": "Bearer"})
        if hmac.compare_digest(_cookie(headers).encode(), self._policy.cookie.encode()):
            if scope["method"] in READING or "origin" in headers:
                return None
            return refusal(403, "Origin", "a browser that writes has to say where it comes from")
        if scope["path"].startswith("/api/"):
            said = "give the token: 'Authorization: Bearer TOKEN'"
            return refusal(401, "Token", said, {"www-authenticate": "Bearer"})
        return RedirectResponse(LOGIN, 303)


def _cookie(headers: Headers) -> str:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return "" if found is None else found.value


def _is_foreign(headers: Headers, policy: Policy, *, is_page: bool) -> bool:
    """Whether another site let the browser ask; a link from there to a page is fine."""
    origin = headers.get("origin")
    if origin is not None:
        scheme, _, host = origin.partition("://")
        return scheme not in ("http", "https") or host.lower() not in policy.hosts
    site = headers.get("sec-fetch-site", "none")
    is_link = is_page and headers.get("sec-fetch-mode") == "navigate"
    return site not in ("same-origin", "none") and not is_link


def _too_long(headers: Headers) -> bool:
    length = headers.get("content-length", "0")
    return (
        not length.isascii()
        or not length.isdigit()
        or len(length) > 9
        or (int(length) > MOST_BYTES)
    )


class _Bounded:
    """A body that ends when it is too long, however it is sent."""

    def __init__(self, receive: Receive) -> None:
        self._receive, self._seen = receive, 0

    async def receive(self) -> Message:
        message = await self._receive()
        self._seen += len(message.get("body", b""))
        if self._seen > MOST_BYTES:
            return {"type": "http.disconnect"}
        return message


def _guarded(send: Send) -> Send:
    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
            headers.setdefault("cache-control", "no-store")
        await send(message)

    return guarded


class Rates:
    """How many requests an address may still make: tokens that come back with time."""

    def __init__(self, rate: float = RATE, burst: float = BURST) -> None:
        self._rate, self._burst = rate, burst
        self._left: dict[str, tuple[float, float]] = {}

    def allow(self, client: str, now: float | None = None) -> bool:
        """Whether it may make one now."""
        at = time.monotonic() if now is None else now
        left, since = self._left.pop(client, (self._burst, at))
        left = min(self._burst, left + (at - since) * self._rate)
        allowed = left >= 1.0
        self._left[client] = (left - allowed, at)
        if len(self._left) > _REMEMBERED:
            self._left.pop(next(iter(self._left)))  # the one that has been quiet for longest
        return allowed


def logged_in(policy: Policy, *, secure: bool) -> Response:
    """Let a browser keep what stands for the token, and go to the first page."""
    answer = RedirectResponse("/", 303)
    flags: Any = {"httponly": True, "samesite": "strict", "secure": secure, "path": "/"}
    answer.set_cookie(COOKIE, policy.cookie, **flags)
    return answer
