"""Access control: host names, origins, tokens and cookies.

The usual attacker is a page of another site, open in the browser of a user who may see studies.
The page can make the browser send requests to this server, so every request's Origin is checked.
It can also resolve a foreign host name to this computer, so Host must be a known name.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mislid.errors import ProblemError
from mislid.server.answers import LONGEST_HEAD, counted, refusal

LOGIN, STATIC = "/login", "/static/"
READING = ("GET", "HEAD")
METHODS = (*READING, "POST")
# Requests of one client at once; behind a proxy, connections do not tell clients apart.
MOST_REQUESTS = 64
LOCAL = ("127.0.0.1", "localhost", "::1")
# Length of a token.
SHORTEST, LONGEST = 20, 1_000
# Seconds until a browser must present the token again.
LONGEST_VISIT = 7 * 86_400

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    # With "no-referrer", browsers would send "Origin: null" for the forms of this server too.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


@dataclass(frozen=True)
class Policy:
    """Access policy of a server.

    Attributes
    ----------
    hosts
        Allowed values of the Host header, such as "127.0.0.1:8600".
    token
        The secret that clients must present; None if every user of this computer may read.
    write
        Whether studies may be changed, which needs a token.
    proxies
        Addresses of proxies whose X-Forwarded headers are trusted.
    """

    hosts: frozenset[str]
    token: str | None = field(default=None, repr=False)
    write: bool = False
    proxies: tuple[str, ...] = ()

    def knows(self, token: str) -> bool:
        """Whether this is the token, compared in constant time."""
        return self.token is not None and hmac.compare_digest(token.encode(), self.token.encode())

    @property
    def cookie_name(self) -> str:
        """The cookie's name, made from the token, as servers on one computer share cookies."""
        return f"mislid_{self._seal('name')[:12]}"

    def cookie(self, client: str) -> str:
        """The cookie for one client address, from which the token cannot be computed."""
        return self._seal(f"client {client}")

    def knows_cookie(self, cookie: str, client: str) -> bool:
        """Whether the cookie was issued for this client address."""
        return hmac.compare_digest(cookie.encode(), self.cookie(client).encode())

    def _seal(self, text: str) -> str:
        return hmac.new((self.token or "").encode(), text.encode(), hashlib.sha256).hexdigest()


def policy_for(
    host: str,
    port: int,
    *,
    write: bool,
    token: str | None,
    names: Iterable[str] = (),
    proxies: Iterable[str] = (),
) -> Policy:
    """The policy of a server at an address; `names` are its other host names.

    Raises
    ------
    ProblemError
        A token is missing that writing or access from other computers needs, or a proxy is not
        given by its address.

    Examples
    --------
    >>> policy = policy_for("127.0.0.1", 8600, write=False, token=None, names=["lab.example.org"])
    >>> sorted(policy.hosts)
    ['127.0.0.1:8600', '[::1]:8600', 'lab.example.org', 'localhost:8600']
    """
    if token is None and (write or host not in LOCAL):
        raise ProblemError("a token must be given to write, or to listen to other computers")
    for proxy in proxies:
        try:
            ipaddress.ip_network(proxy)
        except ValueError:
            raise ProblemError(
                "--trusted-proxy must be an address such as 127.0.0.1, or a network such as "
                f"10.0.0.0/28; got {proxy!r}"
            ) from None
    own = {"127.0.0.1", "localhost", "[::1]", f"[{host}]" if ":" in host else host.lower()}
    hosts = {f"{name}:{port}" for name in own} | {name.lower() for name in names}
    hosts |= own if port == 80 else set()  # browsers omit port 80
    return Policy(frozenset(hosts), token, write, tuple(proxies))


def read_token(path: str) -> str:
    """Read the token from a file, which only its owner may be able to read."""
    try:
        with Path(path).open(encoding="utf-8") as file:
            text = file.read(LONGEST + 1).strip()
            mode = os.fstat(file.fileno()).st_mode
    except (OSError, ValueError) as problem:
        raise ProblemError(f"token file {path!r} cannot be read: {problem}") from None
    if os.name == "posix" and mode & 0o077:
        raise ProblemError(
            f"token file {path!r} must be readable by its owner alone: chmod 600 {path}"
        )
    is_word = text.isascii() and text.isprintable() and " " not in text
    if not is_word or not SHORTEST <= len(text) <= LONGEST:
        raise ProblemError(
            f"token file {path!r} must hold {SHORTEST} or more letters and digits, in one word"
        )
    return text


class Gate:
    """Middleware that refuses requests against the policy and adds security headers."""

    def __init__(self, app: ASGIApp, policy: Policy) -> None:
        self._app, self._policy = app, policy
        self._open = Counter[str]()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                headers.setdefault("cache-control", "no-store")
            await send(message)

        refused = self._refused(scope) if scope["type"] == "http" else None
        with counted(self._open, client_of(scope)):
            await (refused or self._app)(scope, receive, guarded)

    def _refused(self, scope: Scope) -> Response | None:
        policy, path, headers = self._policy, scope["path"], Headers(scope=scope)
        is_reading = scope["method"] in READING
        if _head_size(scope) > LONGEST_HEAD:
            return refusal(431, f"the head of a request may have at most {LONGEST_HEAD} bytes")
        if scope["method"] not in METHODS:
            allowed = ", ".join(METHODS)
            return refusal(405, f"the methods are {allowed}", headers={"allow": allowed})
        if self._open[client_of(scope)] >= MOST_REQUESTS:
            said = f"{MOST_REQUESTS} requests of this address are under way"
            return refusal(503, said, headers={"retry-after": "1"})
        if headers.get("host", "").lower() not in policy.hosts:
            return refusal(421, "this server is not known under that name: see --name")
        if _is_foreign(headers, policy, is_page=is_reading and not path.startswith("/api/")):
            return refusal(403, "requests of other sites are not answered")
        if path == LOGIN or (is_reading and path.startswith(STATIC)):
            return None
        if policy.token is not None and (refused := self._unknown(scope, headers)):
            return refused
        if not (is_reading or policy.write):
            return refusal(405, "studies can be changed only if the server runs with --write")
        return None

    def _unknown(self, scope: Scope, headers: Headers) -> Response | None:
        """The response to a client without token and cookie; None for a known client."""
        scheme, _, token = headers.get("authorization", "").partition(" ")
        is_bearer = scheme.lower() == "bearer"
        if is_bearer and self._policy.knows(token.strip()):
            return None
        # Other servers on this computer share the cookies, which may have any format.
        cookie = cookie_parser(headers.get("cookie", "")).get(self._policy.cookie_name, "")
        if not is_bearer and self._policy.knows_cookie(cookie, client_of(scope)):
            if scope["method"] in READING or "origin" in headers:
                return None
            return refusal(403, "a browser that writes has to say where it comes from")
        if scope["path"].startswith("/api/") or is_bearer:
            said = "give the token of this server: 'Authorization: Bearer TOKEN'"
            return refusal(401, said, headers={"www-authenticate": "Bearer"})
        return RedirectResponse(LOGIN, 303)


def _head_size(scope: Scope) -> int:
    """Bytes of the target and the headers."""
    headers = sum(len(name) + len(value) + 4 for name, value in scope["headers"])
    return headers + len(scope.get("raw_path") or b"") + len(scope["query_string"])


def client_of(scope: Scope) -> str:
    """The address that a request comes from."""
    return str(scope["client"][0]) if scope.get("client") else ""


def _is_foreign(headers: Headers, policy: Policy, *, is_page: bool) -> bool:
    """Whether a page of another site caused the request; links from there to pages are allowed."""
    origin = headers.get("origin")
    if origin is not None:
        scheme, _, host = origin.partition("://")
        return scheme not in ("http", "https") or host.lower() not in policy.hosts
    site = headers.get("sec-fetch-site", "none")
    is_link = is_page and headers.get("sec-fetch-mode") == "navigate"
    return site not in ("same-origin", "none") and not is_link


def logged_in(policy: Policy, scope: Scope) -> Response:
    """A redirect to the first page that sets the cookie."""
    answer = RedirectResponse("/", 303)
    answer.set_cookie(
        policy.cookie_name,
        policy.cookie(client_of(scope)),
        max_age=LONGEST_VISIT,
        secure=scope["scheme"] == "https",
        httponly=True,
        samesite="strict",
    )
    return answer
