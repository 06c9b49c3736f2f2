"""`mislid serve`: studies in a browser, and for programs of any language."""

from __future__ import annotations

from typing import Any

import click

from mislid.cli.options import examples, file_option, flag
from mislid.cli.study._opening import open_storage
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
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen to.")
@click.option("--port", type=click.IntRange(0, 65535), default=8600, show_default=True)
@flag("--write", "Let those who know the token change studies.")
@file_option(
    "--token-file",
    "A file with the token; without it, one is made up and printed where one is needed.",
)
@click.option(
    "--name",
    "names",
    metavar="NAME",
    multiple=True,
    help="Another name, with a port if it is not the usual one, under which browsers know the "
    "server; may be repeated.",
)
@click.option(
    "--trusted-proxy",
    "proxies",
    metavar="ADDRESS",
    multiple=True,
    help="The address of a proxy in front of this server, such as 127.0.0.1, whose "
    "X-Forwarded-For and X-Forwarded-Proto are believed; may be repeated.",
)
def command(
    storage: str, host: str, port: int, write: bool, token_file: str | None, **policy: Any
) -> None:
    """Show the studies of STORAGE on pages that follow them, at http://127.0.0.1:8600, and to
    programs as JSON. Only this computer can ask, and nothing can be changed, unless --host and
    --write say otherwise; then a token is needed.
    """
    try:
        from mislid.server import running
    except ImportError as problem:
        raise MissingPackageError(
            f"a server needs more packages (pip install 'mislid[serve]'): {problem}"
        ) from None
    token = None if token_file is None else running.read_token(token_file)
    is_new = token is None and (write or host not in running.LOCAL)
    token = running.new_token() if is_new else token
    with open_storage(storage, new=write) as opened, running.listen(host, port) as at:
        port = at.getsockname()[1]
        rules = running.policy_for(host, port, write=write, token=token, **policy)
        if is_new:
            click.echo(f"token: {token}")
        changed = "; studies may be changed" if write else ""
        click.echo(f"http://{_address(host)}:{port} (Ctrl-C ends it{changed})", err=True)
        running.serve(opened, rules, at)


def _address(host: str) -> str:
    if host in ("0.0.0.0", "::"):  # noqa: S104 - that is what was asked for
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host
