"""Rows about rendering a long conversation for the first time and again: plain texts, or half calls and results.

A body is measured as the bytes that are sent, as what stands beside it is. Making a text of them, which the daemon does
only for a peer that speaks JSON, took one to three times as long as the second rendering itself, by chance: its memory
is often new.
"""

import gc
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from reel.wire.msgpack_codec import packer
from reeld.core.events import Entry, entry, read
from reeld.core.validation import rows_from
from reeld.formats.body import RenderRequest
from reeld.formats.render import render
from reeld.formats.table import FORMATS
from reeld.memory import collect_rarely
from tests.bench.search import caught_up
from tests.bench.setting import Setting
from tests.bench.table import Line, timed

_ROUNDS = 2500
_TIMES = 5
# What both should take, in times of encoding the body.
_FIRST, _AGAIN = "<= 25, aim 15", "<= 2, aim 1.2"
_WORDS = "The quick brown fox jumps over the lazy dog. " * 4


def first(setting: Setting) -> Iterator[Line]:
    """Render 10,000 messages in every format."""
    yield from _lines(setting, "plain", _chat(), "first", _FIRST)
    yield from _lines(setting, "calls", _tool_loops(), "first", _FIRST)


def again(setting: Setting) -> Iterator[Line]:
    """Render 10,000 messages after one more was added."""
    yield from _lines(setting, "plain", _chat(), "again", _AGAIN)
    yield from _lines(setting, "calls", _tool_loops(), "again", _AGAIN)
    client = setting.daemon.client()
    client.create("rendered")
    for begin in range(0, 4 * _ROUNDS, 500):
        client.add("rendered", [f"{begin} {_WORDS}", {"role": "assistant", "content": _WORDS}] * 250)
    caught_up(client)  # the index would be filled meanwhile
    took, encoding = [], []
    for _ in range(_TIMES):
        client.add("rendered", ["One more", {"role": "assistant", "content": "Yes"}])
        rendered: list[Any] = []
        took.append(timed(lambda: rendered.append(client.render("rendered", "openai-chat", extra={"model": "m"}))))  # noqa: B023
        body = json.loads(rendered[0].body)
        encoding.append(timed(lambda: _encoder(setting)(body)))  # noqa: B023
    beside = f"the time of encoding the body ({min(encoding) * 1e3:.1f} ms)"
    yield Line("again, over the socket", f"{min(took) * 1e3:.1f} ms", beside, min(took) / min(encoding), _AGAIN)


def _lines(setting: Setting, kind: str, messages: list[Any], which: str, goal: str) -> Iterator[Line]:
    entries = list(_entries(messages))
    for name in FORMATS:
        times: list[float] = []
        with _collecting_as_the_daemon():
            for _ in range(_TIMES):
                began = time.perf_counter()
                found, kept = render(RenderRequest(name), entries[:-1])
                if which == "again":
                    began = time.perf_counter()
                    found, _ = render(RenderRequest(name), entries, None, kept)
                sent = bytes(found.text)
                times.append(time.perf_counter() - began)
        body = json.loads(sent)
        encoding = min(timed(lambda: _encoder(setting)(body)) for _ in range(_TIMES))  # noqa: B023
        beside = f"the time of encoding the body ({encoding * 1e3:.1f} ms)"
        yield Line(f"{which}, {kind}, {name}", f"{min(times) * 1e3:.1f} ms", beside, min(times) / encoding, goal)


@contextmanager
def _collecting_as_the_daemon() -> Iterator[None]:
    """Look for garbage as often as the daemon does: more often, it takes up to a sixth of a rendering."""
    usual = gc.get_threshold()
    collect_rarely()
    try:
        yield
    finally:
        gc.set_threshold(*usual)
        gc.unfreeze()


def _chat() -> list[Any]:
    """Return an exchange of two texts, again and again."""
    asked = [f"{number} {_WORDS}" for number in range(2 * _ROUNDS)]
    return [said for text in asked for said in (text, {"role": "assistant", "content": _WORDS})]


def _tool_loops() -> list[Any]:
    """Return a text, a call, its result and an answer, again and again."""
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
    return messages


def _entries(messages: list[Any]) -> Iterator[Entry]:
    pack = packer()
    for seq, (row, _) in enumerate(rows_from([*messages, "One more"])[0], 1):
        message, tools = read(pack, row.kind, row.content, row.data_json, seq, 0)
        yield entry(seq, seq, row.kind, row.content, row.data_json, 0, message, tools)


def _encoder(setting: Setting) -> Callable[[Any], Any]:
    """Return msgspec's encoder if it is installed, else the standard library's."""
    if not setting.has("msgspec (json.dumps takes its place)", "msgspec", install="msgspec"):
        return json.dumps
    encode: Callable[[Any], Any] = import_module("msgspec.json").encode
    return encode
