"""A web server on this machine with the habits, good and bad, of real ones."""

import contextlib
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Page:
    content: bytes
    headers: dict[str, str] = field(default_factory=lambda: {"ETag": '"first"'})
    ranges: bool = True  # whether the server honours Range
    cut: int | None = None  # close the connection after so many bytes of an answer
    status: int | None = None
    shift: int = 0  # send a range that begins so many bytes later than asked
    length: bool = True  # whether Content-Length is told
    first: str | None = None  # what Content-Range says of the first byte, if not the truth


class WebServer:
    def __init__(self):
        self.pages: dict[str, Page] = {}
        self.requests: list[tuple[str, dict[str, str]]] = []

    def url(self, path):
        return f"http://127.0.0.1:{self.port}{path}"

    def answer(self, request):
        self.requests.append((request.path, dict(request.headers)))
        page = self.pages.get(request.path)
        if page is None or page.status is not None:
            request.send_error(404 if page is None else page.status)
            return
        start = self._start(request, page)
        if start is not None and start >= len(page.content):
            request.send_error(416)
            return
        body = page.content[start or 0 :]
        request.send_response(200 if start is None else 206)
        for name, value in page.headers.items():
            request.send_header(name, value)
        if start is not None:
            whole = len(page.content)
            first = start if page.first is None else page.first
            request.send_header("Content-Range", f"bytes {first}-{whole - 1}/{whole}")
        if page.length:
            request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body if page.cut is None else body[: page.cut])
        request.close_connection = True

    @staticmethod
    def _start(request, page):
        asked = request.headers.get("Range")
        same = request.headers.get("If-Range") in page.headers.values()
        if asked is None or not page.ranges or not same:
            return None
        return int(asked.removeprefix("bytes=").rstrip("-")) + page.shift


@contextlib.contextmanager
def web_server():
    site = WebServer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            site.answer(self)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        site.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield site
        finally:
            server.shutdown()
            thread.join()
