"""A web server on this machine."""

import contextlib
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Page:
    content: bytes


class WebServer:
    def __init__(self):
        self.pages: dict[str, Page] = {}
        self.requests: list[str] = []

    def url(self, path):
        return f"http://127.0.0.1:{self.port}{path}"

    def answer(self, request):
        self.requests.append(request.path)
        page = self.pages.get(request.path)
        if page is None:
            request.send_error(404)
            return
        request.send_response(200)
        request.send_header("Content-Length", str(len(page.content)))
        request.end_headers()
        request.wfile.write(page.content)


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
