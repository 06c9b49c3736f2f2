"""`mislid serve`: studies in a browser, and for programs of any language."""

from __future__ import annotations

import secrets
from typing import Any

import click

from mislid.cli.options import FILE, examples, flag, option
from mislid.cli.study import open_storage
from mislid.errors import MissingPackageError


@click.command(
    "serve",
    epilog=examples(
        "mislid serve lab.db",
        "mislid serve lab.db --write --token-file token.txt",
        "mislid serve postgresql://lab@db/studies --host 0.0.0.0 --name lab.example.org "
        "--token-file token.txt",
    ),
)
@click.argument("storage")
@option("--host", str, "The address to listen to.", "127.0.0.1")
@option("--port", click.IntRange(0, 65535), "The port to listen to; 0 is any free one.", 8600)
@flag("--write", "Let clients with the token change studies.")
@option("--token-file", FILE, "A file with the token; by default a random token is printed.")
@option(
    "--name",
    str,
    "Another name of the server in browsers, with a port if it is not the usual one; may be "
    "repeated.",
    (),
    "names",
    multiple=True,
)
@option(
    "--trusted-proxy",
    str,
    "The address of a proxy in front of this server, such as 127.0.0.1, whose X-Forwarded-For and "
    "X-Forwarded-Proto are believed; may be repeated.",
    (),
    "proxies",
    multiple=True,
)
def serve_command(
    storage: str, host: str, port: int, write: bool, token_file: str | None, **policy: Any
) -> None:
    """Show the studies of STORAGE on live pages, at http://127.0.0.1:8600, and to programs as JSON.
    Only this computer can ask, and nothing can be changed, unless --host and --write say otherwise;
    then a token is needed.
    """
    try:
        from mislid.server import access, app
    except ImportError as problem:
        raise MissingPackageError(
            f"a server needs more packages (pip install 'mislid[serve]'): {problem}"
        ) from None
    token = None if token_file is None else access.read_token(token_file)
    is_new = token is None and (write or host not in access.LOCAL)
    token = secrets.token_urlsafe(24) if is_new else token
    with open_storage(storage, new=write) as opened, app.listen(host, port) as at:
        port = at.getsockname()[1]
        rules = access.policy_for(host, port, write=write, token=token, **policy)
        if is_new:
            click.echo(f"token: {token}")
        shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, host)  # noqa: S104 - as asked
        changed = "; studies may be changed" if write else ""
        click.echo(f"http://{shown}:{port} (Ctrl-C ends it{changed})", err=True)
        app.serve(opened, rules, at)
