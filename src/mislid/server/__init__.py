"""HTTP server of studies: live pages, and JSON for programs (docs/server.md).

`access` has access control, `answers` JSON and errors, `live` views of studies and event streams,
`app` the routes, the pages and the server.
"""
