"""A server on a pipe, reached over HTTP, for a suite that drives servers in no other way.

It passes on what it gets, and what comes back. The suite asks for the tools, resources and prompts of an example server
by their names; in these requests, the bridge puts what a server has in their place.
"""

import json
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias

from tests.background import in_background

Frame: TypeAlias = dict[str, Any]


class Bridge(ThreadingHTTPServer):
    """The bridge.

    Args:
        command: starts the server.
        environment: its variables.
        changed: returns what is passed on of a message.
    """

    daemon_threads = True

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], changed: Callable[[Frame], Frame]
    ) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self._command = command
        self._environment = environment
        self._changed = changed
        self._turn = threading.Lock()
        self._server: subprocess.Popen[str] | None = None

    @property
    def address(self) -> str:
        """The address of the server."""
        return f"http://127.0.0.1:{self.server_port}/mcp"

    def reply(self, message: Frame) -> str | None:
        """Return the reply to a message; ``None`` to one that gets none. With ``initialize``, a server is started."""
        with self._turn:
            if message.get("method") == "initialize" or self._server is None:
                self.stop()
                self._server = subprocess.Popen(
                    self._command, env=self._environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
                )
            server = self._server
            assert server.stdin is not None
            assert server.stdout is not None
            server.stdin.write(f"{json.dumps(self._changed(message))}\n")
            server.stdin.flush()
            return server.stdout.readline() if "id" in message else None

    def stop(self) -> None:
        """End the server."""
        if self._server is not None:
            self._server.communicate()
            self._server = None


@contextmanager
def bridge(
    command: Sequence[str], environment: Mapping[str, str], changed: Callable[[Frame], Frame]
) -> Iterator[Bridge]:
    """Run a bridge for a block."""
    made = Bridge(command, environment, changed)
    try:
        with in_background(made) as server:
            yield server
    finally:
        made.stop()


class _Handler(BaseHTTPRequestHandler):
    server: Bridge

    def log_message(self, *_args: Any) -> None:
        """Say nothing of each request."""

    def do_GET(self) -> None:
        """Refuse: there is no stream."""
        self._send(405)

    def do_DELETE(self) -> None:
        """Refuse: there are no sessions."""
        self._send(405)

    def do_POST(self) -> None:
        """Answer with the server's reply."""
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        reply = self.server.reply(message)
        self._send(202 if reply is None else 200, reply or "")

    def _send(self, status: int, body: str = "") -> None:
        data = body.encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
