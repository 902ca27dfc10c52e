"""A small web server on a local port."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from types import MappingProxyType

NO_HEADERS: Mapping[str, str] = MappingProxyType({})


@dataclass
class WebServer:
    """Serves responses by path. `requested_paths` has the paths of all requests."""

    origin: str = ""
    pages: dict[str, tuple[int, dict[str, str], bytes]] = field(default_factory=dict)
    requested_paths: list[str] = field(default_factory=list)
    endless: set[str] = field(default_factory=set)
    """Paths with endless responses."""
    closing: Event = field(default_factory=Event)

    def put(
        self,
        path: str,
        body: str | bytes,
        kind: str = "text/html",
        *,
        status: int = 200,
        headers: Mapping[str, str] = NO_HEADERS,
    ) -> str:
        """Set the response of a path, and return its URL."""
        data = body.encode() if isinstance(body, str) else body
        self.pages[path] = (status, {"content-type": kind, **headers}, data)
        return self.origin + path

    def move(self, path: str, location: str) -> str:
        """Redirect a path to another URL, and return the URL of the path."""
        return self.put(path, "", status=302, headers={"location": location})

    def make_endless(self, path: str) -> str:
        """Make the response of a path endless, byte by byte. Return its URL."""
        self.endless.add(path)
        return self.origin + path


@contextmanager
def run_web_server() -> Iterator[WebServer]:
    web = WebServer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            web.requested_paths.append(self.path)
            if self.path in web.endless:
                self.drip()
                return
            status, headers, body = web.pages.get(self.path, (404, {"content-type": "text/plain"}, b"nothing here"))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            if "content-length" not in headers:
                self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def drip(self) -> None:
            self.send_response(200)
            self.end_headers()
            try:
                while not web.closing.wait(0.02):
                    self.wfile.write(b" ")
            except OSError:
                pass  # The client is gone.

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    web.origin = f"http://127.0.0.1:{server.server_port}"
    try:
        yield web
    finally:
        web.closing.set()
        server.shutdown()
        thread.join()
        server.server_close()
