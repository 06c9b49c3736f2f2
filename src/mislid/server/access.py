"""Access control: names of the server, origins, tokens, cookies and rates.

The usual attacker is a page of another site in the browser of somebody who may see studies. It can
let that browser send requests here, so Host and Origin are checked on every address, and it can let
a name of its own lead to this computer, so the name must be one that the server knows.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mislid.server.answers import refusal

LOGIN, STATIC = "/login", "/static/"
READING = ("GET", "HEAD")
# Requests a second of one address, and how many it may save up: a network may show a room full of
# people as one address.
RATE, BURST = 200.0, 2_000.0
# Addresses whose rates are remembered.
_REMEMBERED = 10_000
# Seconds after which a browser is asked for the token again.
LONGEST_VISIT = 7 * 86_400

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
    """Who may ask for what.

    Attributes
    ----------
    hosts
        Names and ports under which the server is known, such as "127.0.0.1:8600".
    token
        What programs and people must present; None where everybody on this computer may read.
    write
        Whether studies may be changed, which needs a token.
    proxies
        Addresses of proxies whose X-Forwarded headers are believed.
    """

    hosts: frozenset[str]
    token: str | None = field(default=None, repr=False)
    write: bool = False
    proxies: tuple[str, ...] = ()

    def knows(self, token: str) -> bool:
        """Whether this is the token, in a time that does not tell how much of it is right."""
        return self.token is not None and hmac.compare_digest(token.encode(), self.token.encode())

    @property
    def cookie_name(self) -> str:
        """The cookie's name: servers on one computer share cookies, whatever the port."""
        return f"mislid_{self._seal('name')[:12]}"

    def new_cookie(self, client: str, now: float | None = None) -> str:
        """The cookie for one address and a limited time; it is not the token."""
        until = int(time.time() if now is None else now) + LONGEST_VISIT
        return f"{until}.{self._seal(f'{until} {client}')}"

    def knows_cookie(self, cookie: str, client: str, now: float | None = None) -> bool:
        """Whether the cookie was made for this address, and has not expired."""
        until, _, seal = cookie.partition(".")
        is_ours = hmac.compare_digest(seal.encode(), self._seal(f"{until} {client}").encode())
        return is_ours and (time.time() if now is None else now) < int(until)

    def _seal(self, text: str) -> str:
        return hmac.new((self.token or "").encode(), text.encode(), hashlib.sha256).hexdigest()


def host_names(host: str, port: int, more: Iterable[str] = ()) -> frozenset[str]:
    """Names of a server that listens to an address, and those that were given.

    >>> sorted(host_names("127.0.0.1", 8600, ["lab.example.org"]))
    ['127.0.0.1:8600', '[::1]:8600', 'lab.example.org', 'localhost:8600']
    """
    names = {"127.0.0.1", "localhost", "[::1]", f"[{host}]" if ":" in host else host.lower()}
    found = {f"{name}:{port}" for name in names} | {name.lower() for name in more}
    return frozenset(found | names if port == 80 else found)  # browsers leave out 80


class Gate:
    """Middleware that refuses what the policy does not allow, and adds the security headers."""

    def __init__(self, app: ASGIApp, policy: Policy) -> None:
        self._app, self._policy, self._rates = app, policy, Rates()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                headers.setdefault("cache-control", "no-store")
            await send(message)

        refused = self._refused(scope) if scope["type"] == "http" else None
        await (refused or self._app)(scope, receive, guarded)

    def _refused(self, scope: Scope) -> Response | None:
        policy, path, headers = self._policy, scope["path"], Headers(scope=scope)
        is_reading = scope["method"] in READING
        if headers.get("host", "").lower() not in policy.hosts:
            return refusal(421, "this server is not known under that name: see --name")
        if _is_foreign(headers, policy, is_page=is_reading and not path.startswith("/api/")):
            return refusal(403, "requests of other sites are not answered")
        if not self._rates.allow(client_of(scope)):
            return refusal(429, "too many requests: wait a second", headers={"retry-after": "1"})
        if path == LOGIN or (is_reading and path.startswith(STATIC)):
            return None
        if policy.token is not None and (refused := self._unknown(scope, headers)):
            return refused
        if not (is_reading or policy.write):
            return refusal(405, "studies can be changed only if the server runs with --write")
        return None

    def _unknown(self, scope: Scope, headers: Headers) -> Response | None:
        """The answer to somebody without the token and without a cookie."""
        scheme, _, token = headers.get("authorization", "").partition(" ")
        is_bearer = scheme.lower() == "bearer"
        if is_bearer and self._policy.knows(token.strip()):
            return None
        # Other programs of this computer share the cookies, and may write them as they like.
        cookie = cookie_parser(headers.get("cookie", "")).get(self._policy.cookie_name, "")
        if not is_bearer and self._policy.knows_cookie(cookie, client_of(scope)):
            if scope["method"] in READING or "origin" in headers:
                return None
            return refusal(403, "a browser that writes has to say where it comes from")
        if scope["path"].startswith("/api/") or is_bearer:
            said = "give the token of this server: 'Authorization: Bearer TOKEN'"
            return refusal(401, said, headers={"www-authenticate": "Bearer"})
        return RedirectResponse(LOGIN, 303)


def client_of(scope: Scope) -> str:
    """The address that a request comes from."""
    return str(scope["client"][0]) if scope.get("client") else ""


def _is_foreign(headers: Headers, policy: Policy, *, is_page: bool) -> bool:
    """Whether a page of another site made the browser ask; links from there to pages are fine."""
    origin = headers.get("origin")
    if origin is not None:
        scheme, _, host = origin.partition("://")
        return scheme not in ("http", "https") or host.lower() not in policy.hosts
    site = headers.get("sec-fetch-site", "none")
    is_link = is_page and headers.get("sec-fetch-mode") == "navigate"
    return site not in ("same-origin", "none") and not is_link


class Rates:
    """Token buckets: how many requests each address may still make."""

    def __init__(self, rate: float = RATE, burst: float = BURST) -> None:
        self._rate, self._burst = rate, burst
        self._left: dict[str, tuple[float, float]] = {}

    def allow(self, client: str, now: float | None = None) -> bool:
        """Whether the address may make a request now."""
        at = time.monotonic() if now is None else now
        left, since = self._left.pop(client, (self._burst, at))
        left = min(self._burst, left + (at - since) * self._rate)
        allowed = left >= 1.0
        self._left[client] = (left - allowed, at)
        if len(self._left) > _REMEMBERED:
            self._left.pop(next(iter(self._left)))  # the one that has been quiet for longest
        return allowed


def logged_in(policy: Policy, scope: Scope) -> Response:
    """Give a browser its cookie, and send it to the first page."""
    answer = RedirectResponse("/", 303)
    answer.set_cookie(
        policy.cookie_name,
        policy.new_cookie(client_of(scope)),
        max_age=LONGEST_VISIT,
        secure=scope["scheme"] == "https",
        httponly=True,
        samesite="strict",
    )
    return answer
