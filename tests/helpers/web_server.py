"""A web server on this machine."""

import contextlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class WebServer(ThreadingHTTPServer):
    """Serves `pages`, bytes by path, and counts the `requests`."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.pages: dict[str, bytes] = {}
        self.requests: list[str] = []

    def url(self, path):
        return f"http://127.0.0.1:{self.server_port}{path}"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.requests.append(self.path)
        if self.path not in self.server.pages:
            self.send_error(404)
            return
        content = self.server.pages[self.path]
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def web_server():
    with WebServer() as site:
        thread = threading.Thread(target=site.serve_forever, args=[0.01])
        thread.start()
        try:
            yield site
        finally:
            site.shutdown()
            thread.join()
