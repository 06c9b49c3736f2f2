"""Studies over HTTP: live pages, and JSON for programs; docs/server.md describes it.

`access` checks requests, `answers` has JSON and errors, `live` has views of studies and streams of
events, and `app` has addresses, pages and the server itself.
"""
