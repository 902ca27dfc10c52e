"""An HTTP proxy on this machine that forwards requests and can drop the responses of writes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit


class DroppingProxy:
    """A proxy that forwards requests to `upstream`, and whose responses have its own URLs. While `drops_writes` is set, responses of writes are dropped."""

    def __init__(self, upstream: str) -> None:
        self.upstream = urlsplit(upstream).netloc
        self.drops_writes = False
        self.is_down_after_write = False
        """Whether every request after a dropped write is refused too, so that the write cannot be looked for."""
        self.answered_writes = 0
        """Number of writes whose responses are sent all the same."""
        self.writes: list[str] = []
        """Paths of the writes that reached the server."""
        self.written = threading.Event()
        self.origin = ""

    @contextmanager
    def running(self) -> Iterator[DroppingProxy]:
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                proxy.forward(self)

            do_POST = do_PUT = do_PATCH = do_DELETE = do_GET

            def log_message(self, format: str, *args: object) -> None:
                """Log nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        self.origin = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield self
        finally:
            server.shutdown()
            server.server_close()

    def forward(self, request: BaseHTTPRequestHandler) -> None:
        """Forward a request, and send the response unless it is dropped."""
        if self.is_down_after_write and self.drops_writes and len(self.writes) > self.answered_writes:
            request.close_connection = True
            return
        body = request.rfile.read(int(request.headers.get("content-length", 0)))
        headers = {
            name: value for name, value in request.headers.items() if name.lower() not in ("accept-encoding", "host")
        }
        with closing(HTTPConnection(self.upstream, timeout=60)) as connection:
            connection.request(request.command, request.path, body, {**headers, "host": self.upstream})
            response = connection.getresponse()
            content = response.read().replace(self.upstream.encode(), self.origin.removeprefix("http://").encode())
        if request.command != "GET":
            self.writes.append(request.path)
            if self.drops_writes and len(self.writes) > self.answered_writes:
                self.written.set()
                request.close_connection = True
                return
        request.send_response(response.status)
        for name, value in response.getheaders():
            if name.lower() not in ("transfer-encoding", "content-length", "connection", "date", "server"):
                request.send_header(name, value)
        request.send_header("content-length", str(len(content)))
        request.end_headers()
        request.wfile.write(content)
