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
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mislid.server.answers import LOG, refusal, refused
from mislid.server.bodies import Bounded, RequestTooLargeError, is_too_long

LOGIN, STATIC = "/login", "/static/"
READING = ("GET", "HEAD")
# Requests a second of one address, and how many it may save up: a room full of people, whom the
# network shows as one address, may open pages at once.
RATE, BURST = 200.0, 2_000.0
# Requests that are answered at once, streams included.
MOST_AT_ONCE = 1_100
# Seconds after which a browser is asked for the token again.
LONGEST_VISIT = 7 * 86_400
# Addresses whose rates are remembered.
_REMEMBERED = 10_000

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    # Without any referrer, browsers hide the origin of their own forms as well.
    "referrer-policy": "same-origin",
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
    proxies
        Addresses of proxies, which are believed when they say who asks, and by which scheme.
    """

    hosts: frozenset[str]
    token: str | None = field(default=None, repr=False)
    write: bool = False
    proxies: tuple[str, ...] = ()

    @property
    def cookie_name(self) -> str:
        """Its name: servers on one computer share their cookies, whatever the port."""
        return f"mislid_{self._seal('name')[:12]}"

    def new_cookie(self, client: str, now: float | None = None) -> str:
        """What the browser of somebody who knows the token keeps; it is not the token.

        It holds for a time, and for requests of one address: it is of no use to a thief elsewhere.
        """
        until = int(time.time() if now is None else now) + LONGEST_VISIT
        return f"{until}.{self._seal(f'browser {until} {client}')}"

    def knows_cookie(self, cookie: str, client: str, now: float | None = None) -> bool:
        """Whether a browser at this address was given this cookie, and not too long ago."""
        until, _, seal = cookie.partition(".")
        is_ours = hmac.compare_digest(
            seal.encode(), self._seal(f"browser {until} {client}").encode()
        )
        return is_ours and (time.time() if now is None else now) < int(until)

    def _seal(self, text: str) -> str:
        return hmac.new((self.token or "").encode(), text.encode(), hashlib.sha256).hexdigest()

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
    usual = names if port == 80 else []  # browsers leave it out
    found = {f"{name}:{port}" for name in names}
    return frozenset({*found, *usual, *(one.lower() for one in more)})


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host.lower()


class Gate:
    """Refuses what the policy does not allow, and tells browsers what pages may do."""

    def __init__(self, app: ASGIApp, policy: Policy) -> None:
        self._app, self._policy = app, policy
        self._rates = Rates()
        self._open = 0
        self._has_warned = False

    @property
    def app(self) -> ASGIApp:
        """What answers requests that pass."""
        return self._app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        self._warn(headers)
        handler = self._refused(scope, headers) or self._app
        sent = _Guarded(send)
        self._open += 1
        try:
            await handler(scope, Bounded(receive).receive, sent)
        except Exception:
            if not sent.is_complete:
                raise  # and the connection is closed
        finally:
            self._open -= 1

    def _warn(self, headers: Headers) -> None:
        """Say once that there seems to be a proxy, which nobody has declared."""
        if not (self._policy.proxies or self._has_warned) and "x-forwarded-for" in headers:
            self._has_warned = True
            LOG.warning(
                "requests seem to come through a proxy: without --trusted-proxy ADDRESS all who "
                "use it count as one client, and cookies are not kept from plain HTTP"
            )

    def _refused(self, scope: Scope, headers: Headers) -> Response | None:
        policy, path = self._policy, scope["path"]
        if headers.get("host", "").lower() not in policy.hosts:
            return refusal(421, "Host", "this server is not known under that name: see --name")
        is_page = scope["method"] in READING and not path.startswith("/api/")
        if _is_foreign(headers, policy, is_page=is_page):
            return refusal(403, "Origin", "requests of other sites are not answered")
        if self._open >= MOST_AT_ONCE:
            return refusal(503, "Busy", "too many requests at once", {"retry-after": "5"})
        if not self._rates.allow(client_of(scope)):
            return refusal(429, "Rate", "too many requests: wait a second", {"retry-after": "1"})
        if is_too_long(headers.get("content-length", "0")):
            return refused(RequestTooLargeError())
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
        cookie = _cookie(headers, self._policy.cookie_name)
        if self._policy.knows_cookie(cookie, client_of(scope)):
            if scope["method"] in READING or "origin" in headers:
                return None
            return refusal(403, "Origin", "a browser that writes has to say where it comes from")
        if scope["path"].startswith("/api/"):
            said = "give the token: 'Authorization: Bearer TOKEN'"
            return refusal(401, "Token", said, {"www-authenticate": "Bearer"})
        return RedirectResponse(LOGIN, 303)


def client_of(scope: Scope) -> str:
    """The address that a request comes from."""
    return str(scope["client"][0]) if scope.get("client") else ""


def _cookie(headers: Headers, name: str) -> str:
    # Other programs of this computer share the cookies, and may write them as they like.
    return cookie_parser(headers.get("cookie", "")).get(name, "")


def _is_foreign(headers: Headers, policy: Policy, *, is_page: bool) -> bool:
    """Whether another site let the browser ask; a link from there to a page is fine."""
    origin = headers.get("origin")
    if origin is not None:
        scheme, _, host = origin.partition("://")
        return scheme not in ("http", "https") or host.lower() not in policy.hosts
    site = headers.get("sec-fetch-site", "none")
    is_link = is_page and headers.get("sec-fetch-mode") == "navigate"
    return site not in ("same-origin", "none") and not is_link


class _Guarded:
    """An answer, with what browsers have to know."""

    def __init__(self, send: Send) -> None:
        self._send, self.is_complete = send, False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
            headers.setdefault("cache-control", "no-store")
        await self._send(message)
        is_body = message["type"] == "http.response.body"
        self.is_complete = is_body and not message.get("more_body", False)


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


def logged_in(policy: Policy, scope: Scope) -> Response:
    """Let a browser keep what stands for the token, and go to the first page."""
    answer = RedirectResponse("/", 303)
    flags: Any = {"httponly": True, "samesite": "strict", "path": "/", "max_age": LONGEST_VISIT}
    flags["secure"] = scope["scheme"] == "https"
    answer.set_cookie(policy.cookie_name, policy.new_cookie(client_of(scope)), **flags)
    return answer
