"""The time to render a long conversation, and to render it again after one more message."""

import json
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, NamedTuple

from reel.msgpack_codec import packer
from reeld.core.events import Entry, entry, read
from reeld.core.validation import rows_from
from reeld.formats.body import RenderRequest
from reeld.formats.render import render
from reeld.formats.table import FORMATS

_ROUNDS = 2500
_TIMES = 5
_WORDS = "The quick brown fox jumps over the lazy dog. " * 4


class Times(NamedTuple):
    """Seconds for all of it, after one more message, and for encoding the body alone; the body's bytes."""

    cold: float
    again: float
    encoding: float
    size: int


def render_times() -> Iterator[tuple[str, Times]]:
    """Render 10,000 messages, half of them tool calls and results, in every format; return the best of several runs."""
    entries = list(_entries())
    encode = _encoder()
    for name in FORMATS:
        cold, again = [], []
        for _ in range(_TIMES):
            began = time.perf_counter()
            _, kept = render(RenderRequest(name), entries[:-1])
            cold.append(time.perf_counter() - began)
            began = time.perf_counter()
            found, _ = render(RenderRequest(name), entries, None, kept)
            again.append(time.perf_counter() - began)
        body = json.loads(found.body)
        yield name, Times(min(cold), min(again), min(_took(encode, body) for _ in range(_TIMES)), len(found.body))


def _entries() -> Iterator[Entry]:
    messages: list[Any] = []
    for number in range(_ROUNDS):
        call = {"type": "tool_call", "id": f"call_{number}", "name": "look", "arguments": '{"path": "/tmp/x"}'}
        result = {"type": "tool_result", "tool_call_id": f"call_{number}", "content": _WORDS}
        messages += [
            f"{number} {_WORDS}",
            {"role": "assistant", "content": [{"type": "text", "text": "Let me look"}, call]},
            {"role": "tool", "content": [result]},
            {"role": "assistant", "content": _WORDS},
        ]
    pack = packer()
    for seq, (row, _) in enumerate(rows_from([*messages, "One more"])[0], 1):
        message, tools = read(pack, row.kind, row.content, row.data_json, seq, 0)
        yield entry(seq, seq, row.kind, row.content, row.data_json, 0, message, tools)


def _encoder() -> Callable[[Any], Any]:
    """Return msgspec's encoder if it is installed, else the standard library's."""
    try:
        encode: Callable[[Any], Any] = import_module("msgspec.json").encode
    except ImportError:
        return json.dumps
    return encode


def _took(action: Callable[[Any], Any], value: Any) -> float:
    began = time.perf_counter()
    action(value)
    return time.perf_counter() - began
