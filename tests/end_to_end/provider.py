"""A provider's API on this machine: it checks each body that it receives, and returns prepared responses."""

import json
import re
from contextlib import AbstractContextManager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

from tests.background import in_background
from tests.formats.checker import Problem, check

Json = dict[str, Any]
# The path of each API; Gemini's contains the model.
_PATHS = {
    "openai_chat": re.compile(r"/v1/chat/completions$"),
    "openai_responses": re.compile(r"/v1/responses$"),
    "anthropic": re.compile(r"/v1/messages$"),
    "gemini": re.compile(r"/v1(?:beta)?/models/([^:]+):(?:generateContent|streamGenerateContent\?alt=sse)$"),
    "gemini_interactions": re.compile(r"/v1(?:beta)?/interactions$"),
}


class Provider(ThreadingHTTPServer):
    """One API; ``url`` is where it is, ``bodies`` what it was sent, ``problems`` what is wrong with that.

    Args:
        api: a key of the checker.
    """

    daemon_threads = True

    def __init__(self, api: str) -> None:
        self.api = api
        self.answers: list[Json | list[Json]] = []
        self.bodies: list[Json] = []
        self.problems: list[Problem] = []
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def answer(self, path: str, body: Json) -> Json | list[Json]:
        """Check a body, and return the next prepared response, or the events of one."""
        found = _PATHS[self.api].search(path)
        assert found is not None, path
        self.bodies.append(body)
        self.problems += check(self.api, body, found[1] if found.groups() else None)
        return self.answers.pop(0)


class _Handler(BaseHTTPRequestHandler):
    server: Provider
    protocol_version = "HTTP/1.1"
    # How each stream ends: only OpenAI's Chat Completions has an end marker.
    _END: ClassVar[dict[str, str]] = {"openai_chat": "data: [DONE]\n\n"}

    def do_POST(self) -> None:
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = self.server.answer(self.path, sent)
        if isinstance(answer, list):
            text = "".join(map(event, answer)) + self._END.get(self.server.api, "")
            self._send("text/event-stream", text)
        else:
            self._send("application/json", json.dumps(answer))

    def _send(self, kind: str, text: str) -> None:
        data = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's word
        """Log nothing."""


def event(data: Json) -> str:
    """Write a server-sent event."""
    name = f"event: {data['type']}\n" if "type" in data else ""
    return f"{name}data: {json.dumps(data)}\n\n"


def serving(api: str) -> AbstractContextManager[Provider]:
    """Run a provider during the block."""
    return in_background(Provider(api))
