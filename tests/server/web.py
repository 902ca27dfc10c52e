"""A small web of its own on a port of this machine, for what fetches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from types import MappingProxyType

NO_HEADERS: Mapping[str, str] = MappingProxyType({})


@dataclass
class Web:
    """Answers what it was given by path. `asked` are the paths that were asked for."""

    origin: str = ""
    pages: dict[str, tuple[int, dict[str, str], bytes]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    held: set[str] = field(default_factory=set)
    """Paths that are answered byte by byte, for ever."""
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
        """Answer `path` with this. Returns its address."""
        data = body.encode() if isinstance(body, str) else body
        self.pages[path] = (status, {"content-type": kind, **headers}, data)
        return self.origin + path

    def move(self, path: str, location: str) -> str:
        """Lead from `path` to another address."""
        return self.put(path, "", status=302, headers={"location": location})

    def hold(self, path: str) -> str:
        """Answer `path` slower than anybody waits."""
        self.held.add(path)
        return self.origin + path


@contextmanager
def open_web() -> Iterator[Web]:
    web = Web()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            web.asked.append(self.path)
            if self.path in web.held:
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
                pass  # nobody waits any longer

        def log_message(self, format: str, *args: object) -> None:
            """Nothing is said."""

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
