"""`mislid serve`: studies in a browser, and over HTTP for programs of any language.

`access` checks requests, `api` answers programs, `app` has pages and addresses, `live` follows
logs, `views` computes what is shown, and `running` starts it all; docs/server.md describes it.
"""
