"""A provider whose model calls the tools that a test names, one after the other, for real programs that act as agents.

It speaks as much of Anthropic's messages, of OpenAI's responses and of Gemini's contents as these read, as a stream.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.background import in_background

# A tool, with its namespace before a slash if it has one, and its arguments; None where the model ends its turn.
Call = tuple[str, dict[str, Any]] | None
Calls = Sequence[Call]
Event = dict[str, Any]
# A request without tools, such as one for a title, is not the model's turn.
_DONE = "Done."


class Provider(ThreadingHTTPServer):
    """The provider.

    Args:
        calls: what the model calls, before it ends.
    """

    daemon_threads = True

    def __init__(self, calls: Calls) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.calls = list(calls)
        # The bodies of the requests.
        self.asked: list[str] = []

    @property
    def address(self) -> str:
        """The address of the API."""
        return f"http://127.0.0.1:{self.server_port}"


def provider(calls: Calls) -> AbstractContextManager[Provider]:
    """Run a provider for a block."""
    return in_background(Provider(calls))


class _Handler(BaseHTTPRequestHandler):
    server: Provider

    def log_message(self, *_args: Any) -> None:
        """Say nothing of each request."""

    def do_POST(self) -> None:
        """Answer with the next call."""
        body = self.rfile.read(int(self.headers.get("content-length") or 0)).decode()
        self.server.asked.append(body)
        given = json.loads(body)
        call = self.server.calls.pop(0) if given.get("tools") and self.server.calls else None
        number = len(self.server.asked)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for event in _events(self.path.split("?")[0])(number, call):
            kind = f"event: {event['type']}\n" if "type" in event else ""
            self.wfile.write(f"{kind}data: {json.dumps(event)}\n\n".encode())


def _events(path: str) -> Callable[[int, Call], Iterator[Event]]:
    if path.endswith("/messages"):
        return _messages
    return _contents if "/models/" in path else _responses


def _contents(number: int, call: Call) -> Iterator[Event]:
    """Yield the events of Gemini's."""
    part = {"text": _DONE} if call is None else {"functionCall": {"id": f"g{number}", "name": call[0], "args": call[1]}}
    candidate = {"content": {"role": "model", "parts": [part]}, "index": 0, "finishReason": "STOP"}
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20}
    yield {"candidates": [candidate], "modelVersion": "m", "responseId": f"r{number}", "usageMetadata": usage}


def _messages(number: int, call: Call) -> Iterator[Event]:
    """Yield the events of Anthropic's."""
    usage = {"input_tokens": 10, "output_tokens": 10}
    message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "m", "content": []}
    yield {"type": "message_start", "message": {**message, "stop_reason": None, "stop_sequence": None, "usage": usage}}
    if call is None:
        block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": _DONE}
    else:
        block = {"type": "tool_use", "id": f"toolu_{number}", "name": call[0], "input": {}}  # type: ignore[dict-item]
        delta = {"type": "input_json_delta", "partial_json": json.dumps(call[1])}
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    end = {"stop_reason": "tool_use" if call else "end_turn", "stop_sequence": None}
    yield {"type": "message_delta", "delta": end, "usage": usage}
    yield {"type": "message_stop"}


def _responses(number: int, call: Call) -> Iterator[Event]:
    """Yield the events of OpenAI's."""
    if call is None:
        part = {"type": "output_text", "text": _DONE, "annotations": []}
        item: Event = {"type": "message", "id": f"m_{number}", "role": "assistant", "content": [part]}
    else:
        space, _, name = call[0].rpartition("/")
        item = {"type": "function_call", "id": f"f_{number}", "call_id": f"c_{number}", "name": name}
        item |= {"arguments": json.dumps(call[1])} | ({"namespace": space} if space else {})
    item["status"] = "completed"
    tokens = {"input_tokens": 10, "output_tokens": 10, "total_tokens": 20}
    response = {"id": f"r_{number}", "object": "response", "created_at": 0, "model": "m", "output": []}
    yield {"type": "response.created", "response": {**response, "status": "in_progress"}}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    yield {
        "type": "response.completed",
        "response": {**response, "status": "completed", "output": [item], "usage": tokens},
    }
