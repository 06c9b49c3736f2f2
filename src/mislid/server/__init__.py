"""`mislid serve`: studies on pages that follow them, and for programs of any language.

`access` says who may talk to it, `live` follows logs, `views` computes what is shown, `reading`
and `writing` are the HTTP interface, `pages` what a browser gets first; docs/server.md tells more.
"""

from mislid.server.app import new_app
from mislid.server.running import serve

__all__ = ["new_app", "serve"]
