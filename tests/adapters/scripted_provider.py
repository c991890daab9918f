"""A provider whose model says what a script says, for real programs that are driven for a long time.

A prompt has a word that names its script. A request with tools gets the next answer of the newest prompt whose script
has any left; any other request, such as one for a title or a summary, gets a text. It speaks as much of
Anthropic's messages, OpenAI's responses and chat, and Gemini's contents as the programs read.
"""

import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from reel.said.formats import Format
from tests.adapters.asked_blocks import Block, prompts_in, tools_in
from tests.adapters.scripted.answers import Answer, Failure, Held, Part, Shell, Thought, Use, Words
from tests.adapters.scripted.anthropic import Anthropic
from tests.adapters.scripted.chat import Chat
from tests.adapters.scripted.gemini import Gemini
from tests.adapters.scripted.responses import Responses
from tests.adapters.scripted.writer import Event, Writer
from tests.background import in_background
from tests.patience import Deadline

_SHELLS = ("Bash", "exec_command", "shell", "bash", "run_shell_command")
_WORD = re.compile(r"script-\d+")
# Between two looks whether the time is over, in seconds.
_LOOK = 1.0
# Between two looks whether a program has gone away.
_PAUSE = 0.05
# What a path has, and the format that is spoken there.
_APIS: Mapping[str, Format] = {
    "/messages": "anthropic",
    "/responses": "openai-responses",
    "/chat/completions": "openai-chat",
    "enerateContent": "gemini",
}
_WRITERS: Mapping[Format, type[Writer]] = {
    "anthropic": Anthropic,
    "openai-responses": Responses,
    "openai-chat": Chat,
    "gemini": Gemini,
}


@dataclass
class Asked:
    """A request, and what was answered.

    Args:
        number: its number.
        api: the format: ``anthropic``, ``openai-responses``, ``openai-chat`` or ``gemini``.
        body: the request.
        program: what the program calls itself.
        scripted: whether a script answered: titles and summaries are of no conversation.
        word: that of the script.
    """

    number: int
    api: Format
    body: dict[str, Any]
    program: str
    scripted: bool
    word: str
    # The blocks of the answer that were sent whole.
    said: list[Block] = field(default_factory=list)
    is_whole: bool = False
    has_failed: bool = False


class Provider(ThreadingHTTPServer):
    """The provider."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[Asked] = []
        self._scripts: dict[str, list[Answer]] = {}
        self._changed = threading.Condition()
        self._held: set[str] = set()
        self._answering: dict[str, int] = {}

    @property
    def address(self) -> str:
        """The address of the API."""
        return f"http://127.0.0.1:{self.server_port}"

    def script(self, answers: Callable[[str], list[Answer]]) -> str:
        """Add a script, which may say its own word, and return that."""
        with self._changed:
            word = f"script-{len(self._scripts) + 1:05}"
            self._scripts[word] = answers(word)
        return word

    def spent(self, word: str) -> bool:
        """Wait until all answers of a script were given, or the time is over; return whether they were."""
        return self._wait(lambda: not self._scripts[word] and not self._answering.get(word))

    def held(self, word: str) -> bool:
        """Wait until an answer of a script is held."""
        return self._wait(lambda: word in self._held)

    def _wait(self, condition: Callable[[], bool]) -> bool:
        deadline = Deadline()
        with self._changed:
            while not self._changed.wait_for(condition, _LOOK):
                if deadline.is_over:
                    return False
        return True

    def begin(self, api: Format, body: dict[str, Any], program: str) -> tuple[Asked, Answer]:
        """Take a request, and return it with the answer."""
        prompts = prompts_in(api, body) if tools_in(api, body) else []
        found = [word for prompt in prompts for word in _WORD.findall(prompt)]
        with self._changed:
            number = len(self.asked) + 1
            word = next((word for word in reversed(found) if self._scripts[word]), "")
            rest = self._scripts.get(word)
            answer: Answer = rest.pop(0) if rest else [Words(_unscripted(number, body))]
            asked = Asked(number, api, body, program, rest is not None, word)
            self.asked.append(asked)
            self._answering[word] = self._answering.get(word, 0) + 1
        return asked, answer

    def hold(self, word: str) -> None:
        """Say that the answer of a script is held."""
        with self._changed:
            self._held.add(word)
            self._changed.notify_all()

    def end(self, word: str) -> None:
        """Say that an answer ended, whole or not."""
        with self._changed:
            self._answering[word] -= 1
            self._changed.notify_all()


def _unscripted(number: int, body: dict[str, Any]) -> str:
    """Return the answer to a request without a script, in JSON if that is asked for, as programs do for titles."""
    text = f"Unscripted answer {number}."
    return json.dumps({"title": text}) if "json_schema" in json.dumps(body) else text


def scripted_provider() -> AbstractContextManager[Provider]:
    """Run a provider for a block."""
    return in_background(Provider())


class _Handler(BaseHTTPRequestHandler):
    server: Provider

    def log_message(self, *_args: Any) -> None:
        """Say nothing of each request."""

    def _reply(self, status: int, value: Any) -> None:
        raw = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def do_GET(self) -> None:
        """List no models."""
        self._reply(200, {"object": "list", "data": [], "models": [], "has_more": False})

    def do_HEAD(self) -> None:
        """Say that it is there."""
        self._reply(200, {})

    def _body(self) -> dict[str, Any]:
        if self.headers.get("transfer-encoding", "").lower() != "chunked":
            return json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")  # type: ignore[no-any-return]
        raw = b""
        while size := int(self.rfile.readline().strip() or b"0", 16):
            raw += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return json.loads(raw)  # type: ignore[no-any-return]

    def do_POST(self) -> None:
        """Answer a request."""
        body, path = self._body(), self.path.split("?")[0]
        api = next((api for sign, api in _APIS.items() if sign in path), None)
        if api is None or "ount" in path:  # count_tokens, countTokens
            self._reply(200, {"input_tokens": 100, "totalTokens": 100})
            return
        asked, answer = self.server.begin(api, body, self.headers.get("user-agent") or "")
        # The program may go away in the middle.
        with suppress(OSError):
            try:
                self._answer(asked, answer)
            finally:
                self.server.end(asked.word)

    def _answer(self, asked: Asked, answer: Answer) -> None:
        if isinstance(answer[0], Failure):
            asked.has_failed = True
            error = {"type": "api_error", "message": "scripted", "code": answer[0].status, "status": "INTERNAL"}
            self._reply(answer[0].status, {"type": "error", "error": error})
            return
        writer = _WRITERS[asked.api](asked.number, asked.body)
        if not (asked.body.get("stream") or "stream" in self.path.lower()):
            (text,) = (part.text for part in answer if isinstance(part, Words))
            self._reply(200, writer.whole(text))
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        self._send(writer.begin())
        for part in answer:
            if isinstance(part, Held):
                self._send(writer.half(part.text))
                self.server.hold(asked.word)
                while True:
                    self.wfile.write(b": \n\n")
                    time.sleep(_PAUSE)  # between two looks
            self._send(writer.part(_called(part, asked)))
            asked.said = [*writer.said]
        self._send(writer.end())
        asked.is_whole = True

    def _send(self, events: Iterator[Event]) -> None:
        for event in events:
            kind = f"event: {event['type']}\n" if "type" in event else ""
            self.wfile.write(f"{kind}data: {json.dumps(event)}\n\n".encode())
            self.wfile.flush()


def _called(part: Part, asked: Asked) -> Thought | Words | Use:
    """Return a call of the shell as one of the program's own tool."""
    if not isinstance(part, Shell):
        assert not isinstance(part, Held | Failure)
        return part
    tools = tools_in(asked.api, asked.body)
    name = next((name for name in _SHELLS if name in tools), "")
    if not name:
        return Words("There is no shell.")
    schema = tools[name]
    key = "cmd" if "cmd" in schema.get("properties", {}) else "command"
    more = {"description": "Scripted"} if "description" in schema.get("properties", {}) else {}
    return Use(name, {key: part.command, **more})
