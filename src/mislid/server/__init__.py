"""Studies over HTTP: live pages, and JSON for programs; docs/server.md describes it.

`access` checks requests, `api` answers programs, `answers` has JSON and errors, `live` has views of
studies and streams of events, and `app` has pages, addresses and the server itself.
"""
