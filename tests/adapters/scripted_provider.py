"""A provider whose model says what a script says, for real programs that are driven for a long time.

A prompt has a word that names its script. A request with tools gets the next answer of the newest prompt whose script
has any left; any other request, such as one for a title or a summary, gets a text. It speaks as much of
Anthropic's messages, OpenAI's responses and chat, and Gemini's contents as the programs read.
"""

import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from reel.said.formats import Format
from tests.adapters.asked_blocks import Block, prompts_in, tools_in
from tests.background import in_background
from tests.patience import Deadline

Event = dict[str, Any]
_SHELLS = ("Bash", "exec_command", "shell", "bash", "run_shell_command")
_WORD = re.compile(r"script-\d+")
# Between two looks whether the time is over, in seconds.
_LOOK = 1.0
# Between two looks whether a program has gone away.
_PAUSE = 0.05


class Thought(NamedTuple):
    """What the model thinks."""

    text: str


class Words(NamedTuple):
    """What the model says."""

    text: str


class Use(NamedTuple):
    """A call of a tool: its name, after its namespace and a slash if it has one, and its arguments."""

    name: str
    given: dict[str, Any]


class Shell(NamedTuple):
    """A call of the program's shell."""

    command: str


class Held(NamedTuple):
    """A text of which half arrives; then the connection stays open until the program closes it."""

    text: str


class Failure(NamedTuple):
    """An error instead of an answer."""

    status: int


Part = Thought | Words | Use | Shell | Held | Failure
Answer = Sequence[Part]


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
        writer = _WRITERS[asked.api](asked.number, asked.body, self.path)
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


class _Writer:
    """Writes the events of one answer.

    Args:
        number: that of the request.
        body: the request.
        path: the path that it was sent to.
    """

    def __init__(self, number: int, body: dict[str, Any], path: str) -> None:
        self.number = number
        self.model = body.get("model", "fake")
        self.path = path
        # Gemini CLI keeps a summary only if it has fewer tokens than what was asked.
        self.tokens = len(json.dumps(body)) // 3
        self.said: list[Block] = []

    def id_of_call(self) -> str:
        """Return the id of a call that comes next."""
        return f"call_{self.number:05}x{len(self.said)}"

    def _say(self, kind: str, *values: Any) -> None:
        self.said.append((kind, *values))

    @property
    def calls(self) -> bool:
        """Whether the answer has calls."""
        return any(block[0] == "call" for block in self.said)


class _Anthropic(_Writer):
    @property
    def _message(self) -> Event:
        kept = {"id": f"msg_{self.number:05}", "type": "message", "role": "assistant", "model": self.model}
        usage = {"input_tokens": 100 + self.number, "cache_read_input_tokens": 20, "cache_creation_input_tokens": 3}
        usage["output_tokens"] = 7
        return {**kept, "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}

    def whole(self, text: str) -> Event:
        return {**self._message, "content": [{"type": "text", "text": text}], "stop_reason": "end_turn"}

    def begin(self) -> Iterator[Event]:
        yield {"type": "message_start", "message": self._message}

    def _block(self, empty: Event, *deltas: Event) -> Iterator[Event]:
        index = len(self.said)
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}

    def half(self, text: str) -> Iterator[Event]:
        half = text[: len(text) // 2]
        yield from self._block({"type": "text", "text": ""}, {"type": "text_delta", "text": half})

    def part(self, part: Thought | Words | Use) -> Iterator[Event]:
        index = len(self.said)
        match part:
            case Thought(text):
                signature = f"U2lnbmVk{self.number:04}"
                said = {"type": "thinking_delta", "thinking": text}
                signed = {"type": "signature_delta", "signature": signature}
                yield from self._block({"type": "thinking", "thinking": "", "signature": ""}, said, signed)
                self._say("thought", text, signature)
            case Words(text):
                halves = text[: len(text) // 2], text[len(text) // 2 :]
                deltas = [{"type": "text_delta", "text": half} for half in halves]
                yield from self._block({"type": "text", "text": ""}, *deltas)
                self._say("assistant", text)
            case Use(name, given):
                call = self.id_of_call()
                delta = {"type": "input_json_delta", "partial_json": json.dumps(given)}
                yield from self._block({"type": "tool_use", "id": call, "name": name, "input": {}}, delta)
                self._say("call", call, name, json.dumps(given, sort_keys=True))
        yield {"type": "content_block_stop", "index": index}

    def end(self) -> Iterator[Event]:
        reason = "tool_use" if self.calls else "end_turn"
        yield {
            "type": "message_delta",
            "delta": {"stop_reason": reason, "stop_sequence": None},
            "usage": {"output_tokens": 50},
        }
        yield {"type": "message_stop"}


class _Responses(_Writer):
    def __init__(self, number: int, body: dict[str, Any], path: str) -> None:
        super().__init__(number, body, path)
        self._items: list[Event] = []

    def _response(self, status: str) -> Event:
        kept = {"id": f"resp_{self.number:05}", "object": "response", "created_at": 0, "model": self.model}
        return {**kept, "status": status, "output": self._items, "usage": _USAGE_OF_RESPONSES}

    def _message(self, text: str) -> Event:
        content = [{"type": "output_text", "text": text, "annotations": []}]
        kept = {"type": "message", "id": f"msg_{self.number}_{len(self._items)}", "role": "assistant"}
        return {**kept, "status": "completed", "content": content}

    def whole(self, text: str) -> Event:
        self._items.append(self._message(text))
        return self._response("completed")

    def begin(self) -> Iterator[Event]:
        yield {"type": "response.created", "response": {**self._response("in_progress"), "output": []}}

    def _text(self, item: Event, texts: Sequence[str]) -> Iterator[Event]:
        index, place = len(self._items), {"item_id": item["id"], "content_index": 0}
        part = {"type": "output_text", "text": "", "annotations": []}
        started = {**item, "content": [], "status": "in_progress"}
        yield {"type": "response.output_item.added", "output_index": index, "item": started}
        yield {"type": "response.content_part.added", "output_index": index, **place, "part": part}
        for text in texts:
            yield {"type": "response.output_text.delta", "output_index": index, **place, "delta": text}

    def half(self, text: str) -> Iterator[Event]:
        return self._text(self._message(text), [text[: len(text) // 2]])

    def part(self, part: Thought | Words | Use) -> Iterator[Event]:
        index = len(self._items)
        match part:
            case Thought(text):
                summary = [{"type": "summary_text", "text": text}]
                item = {"type": "reasoning", "id": f"rs_{self.number}_{index}", "summary": summary}
                item["encrypted_content"] = f"RW5j{self.number:04}"
                yield {"type": "response.output_item.added", "output_index": index, "item": {**item, "summary": []}}
                place = {"item_id": item["id"], "output_index": index, "summary_index": 0}
                empty = {"type": "summary_text", "text": ""}
                yield {"type": "response.reasoning_summary_part.added", **place, "part": empty}
                yield {"type": "response.reasoning_summary_text.delta", **place, "delta": text}
                self._say("thought", text, item["encrypted_content"])
            case Words(text):
                item = self._message(text)
                yield from self._text(item, [text[: len(text) // 2], text[len(text) // 2 :]])
                self._say("assistant", text)
            case Use(name, given):
                space, _, name = name.rpartition("/")
                call, arguments = self.id_of_call(), json.dumps(given)
                item = {"type": "function_call", "id": f"fc_{self.number}_{index}", "call_id": call, "name": name}
                item |= {"arguments": arguments, "status": "completed"} | ({"namespace": space} if space else {})
                added = {**item, "arguments": ""}
                yield {"type": "response.output_item.added", "output_index": index, "item": added}
                place = {"item_id": item["id"], "output_index": index}
                yield {"type": "response.function_call_arguments.delta", **place, "delta": arguments}
                yield {"type": "response.function_call_arguments.done", **place, "arguments": arguments}
                self._say("call", call, name, json.dumps(given, sort_keys=True))
        self._items.append(item)
        yield {"type": "response.output_item.done", "output_index": index, "item": item}

    def end(self) -> Iterator[Event]:
        yield {"type": "response.completed", "response": self._response("completed")}


_USAGE_OF_RESPONSES = {
    "input_tokens": 100,
    "input_tokens_details": {"cached_tokens": 20},
    "output_tokens": 50,
    "output_tokens_details": {"reasoning_tokens": 7},
    "total_tokens": 150,
}


class _Chat(_Writer):
    def _chunk(self, delta: Event, reason: str | None = None) -> Event:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return {**self._kept, "object": "chat.completion.chunk", "choices": [choice]}

    @property
    def _kept(self) -> Event:
        return {"id": f"chatcmpl-{self.number:05}", "created": 0, "model": self.model}

    @property
    def _usage(self) -> Event:
        cached = {"prompt_tokens_details": {"cached_tokens": 20}}
        return {"prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150, **cached}

    def whole(self, text: str) -> Event:
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        return {**self._kept, "object": "chat.completion", "choices": [choice], "usage": self._usage}

    def begin(self) -> Iterator[Event]:
        yield self._chunk({"role": "assistant", "content": ""})

    def half(self, text: str) -> Iterator[Event]:
        yield self._chunk({"content": text[: len(text) // 2]})

    def part(self, part: Thought | Words | Use) -> Iterator[Event]:
        match part:
            case Thought(text):
                yield self._chunk({"reasoning_content": text})
                self._say("thought", text, "")
            case Words(text):
                for half in (text[: len(text) // 2], text[len(text) // 2 :]):
                    yield self._chunk({"content": half})
                self._say("assistant", text)
            case Use(name, given):
                index = sum(block[0] == "call" for block in self.said)
                call = self.id_of_call()
                function = {"name": name, "arguments": json.dumps(given)}
                called = {"index": index, "id": call, "type": "function", "function": function}
                yield self._chunk({"tool_calls": [called]})
                self._say("call", call, name, json.dumps(given, sort_keys=True))

    def end(self) -> Iterator[Event]:
        yield self._chunk({}, "tool_calls" if self.calls else "stop")
        yield {**self._kept, "object": "chat.completion.chunk", "choices": [], "usage": self._usage}


class _Gemini(_Writer):
    def _chunk(self, part: Event, reason: str | None = None) -> Event:
        done = {"finishReason": reason} if reason else {}
        candidate = {"content": {"role": "model", "parts": [part]}, "index": 0, **done}
        usage = {"promptTokenCount": self.tokens, "candidatesTokenCount": 50, "totalTokenCount": self.tokens + 50}
        kept = {"modelVersion": "fake", "responseId": f"r{self.number}", "usageMetadata": usage}
        return {"candidates": [candidate], **kept}

    def whole(self, text: str) -> Event:
        return self._chunk({"text": text}, "STOP")

    def begin(self) -> Iterator[Event]:
        yield from ()

    def half(self, text: str) -> Iterator[Event]:
        yield self._chunk({"text": text[: len(text) // 2]})

    def part(self, part: Thought | Words | Use) -> Iterator[Event]:
        match part:
            case Thought(text):
                # It goes back without what it thought.
                yield self._chunk({"text": f"**Subject** {text}", "thought": True})
            case Words(text):
                for half in (text[: len(text) // 2], text[len(text) // 2 :]):
                    yield self._chunk({"text": half})
                self._say("assistant", text)
            case Use(name, given):
                call = self.id_of_call()
                first = {} if self.calls else {"thoughtSignature": f"U2ln{self.number:04}"}
                yield self._chunk({"functionCall": {"id": call, "name": name, "args": given}, **first})
                self._say("call", call, name, json.dumps(given, sort_keys=True))

    def end(self) -> Iterator[Event]:
        yield self._chunk({"text": ""}, "STOP")


# What a path has, and the format that is spoken there.
_APIS: dict[str, Format] = {
    "/messages": "anthropic",
    "/responses": "openai-responses",
    "/chat/completions": "openai-chat",
    "enerateContent": "gemini",
}
_WRITERS: dict[str, type[Any]] = {
    "anthropic": _Anthropic,
    "openai-responses": _Responses,
    "openai-chat": _Chat,
    "gemini": _Gemini,
}
