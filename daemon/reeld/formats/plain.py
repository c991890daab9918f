"""The short way through rendering, for texts, calls and results: most messages are nothing else.

Theory of operation
-------------------

To unpack, repair and write a message takes 70 calls of functions. Two of these steps can be left out.

*Writing.* What a format writes around the texts of a turn is the same each time: a template
(:mod:`~reeld.formats.templates`).

*Repair.* A plain exchange needs none. It is a text of the user's, or all results of the calls before it, in their
order; then one message of the assistant's, with a text, calls, or both. None of them has metadata, no text is blank,
arguments are those of an object, no result is an error, and no call has to be renamed. A message of the user's or a
result follows it, so it is settled. It leaves its calls to the exchange after it, and nothing else.

What is before a plain exchange is settled as soon as that begins. If it is, and no server's tool still works, the
repair state says all that a plain exchange has to know: the calls that wait for results, and the ids in use.

A property test compares what both ways return.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import cycle
from typing import Any, NamedTuple, TypeAlias

from reel.kinds import ROLES
from reel.msgpack_codec import unpack_raw
from reel.strict_json import encode_text
from reeld.core.events import Entry, plain_text
from reeld.formats.format import Format, LoopThinking
from reeld.formats.json_values import stored_object
from reeld.formats.model import ToolCall
from reeld.formats.naming import sent_name
from reeld.formats.render_state import RenderState, ServerState, TurnExtent
from reeld.formats.templates import Call, Shape, TurnTemplate, call_values, find_turn_template, result_values

# How many entries are looked at together: what is kept of them is freed before there is much of it.
_WINDOW = 500
# Each number of calls is tried out by itself.
_MOST_CALLS = 8
# What an entry is: u and a, a text of the user's and of the assistant's; c, calls; r, results; U and A, anything else
# of the user's (or a tool's) and of the assistant's; and what is no message.
_NO_MESSAGE = "-"
# Exchanges, after a message of the assistant's. A text is followed by the user, calls by a result. One alone is not
# worth it: what is before it would have to be repaired by itself.
_RUN = re.compile("(?<=[acA])(?:(?:u|r+)(?:a(?=[uU])|c(?=[rU]))){2,}")
# Exchanges of texts alone.
_TEXTS = re.compile("(?:ua)+")
# An exchange of a run.
_EXCHANGE = re.compile("(?:u|r+)[ac]")
_CALL_KEYS = len(("type", "id", "name", "arguments"))
_TEXT_KEYS = len(("type", "text"))
_RESULT_KEYS = len(("type", "tool_call_id", "content", "is_error"))
# Creates a named tuple in half the time that calling its class takes.
_new = tuple.__new__


class Calls(NamedTuple):
    """A message of the assistant's: the text, if there is one, and the calls after it."""

    text: bytes | None
    calls: list[Call]


class Results(NamedTuple):
    """A message of a tool's: the ids of the calls that it answers, and what it returned."""

    ids: list[bytes]
    texts: list[bytes]


Said: TypeAlias = bytes | Calls | Results | None


class PlainRun(NamedTuple):
    """Plain exchanges in a row: the number of the first entry, a letter for each entry, and what each says."""

    start: int
    letters: str
    said: list[Any]

    def without(self, entries: int, exchanges: int) -> "PlainRun | None":
        """Return the run without its first entries, and then without some exchanges; ``None`` if nothing is left."""
        starts = [found.start() for found in _EXCHANGE.finditer(self.letters, entries)]
        if len(starts) <= exchanges:
            return None
        first = starts[exchanges]
        return PlainRun(self.start + first, self.letters[first:], self.said[first:])


def plain_runs(entries: Sequence[Entry], start: int) -> Iterator[PlainRun]:
    """Find plain exchanges that are settled, two or more in a row.

    Args:
        entries: the entries of a conversation.
        start: the number of the first one that is looked at. All before it are settled.
    """
    # Of the entry before; before the first one there is nothing that an exchange could continue.
    before = "A"
    for begin in range(start, len(entries), _WINDOW):
        window = entries[begin : begin + _WINDOW]
        said: list[Said] = [plain_text(entry) for entry in window]
        _read_tools(window, said)
        letters = "".join([
            entry.kind[0] if type(text) is bytes and _is_said(text) else _letter(entry, text)
            for entry, text in zip(window, said, strict=True)
        ])  # fmt: skip
        after = "".join(_letter(entry, None) for entry in entries[begin + _WINDOW : begin + _WINDOW + 1])
        for found in _RUN.finditer(before + letters + after):
            first, end = found.start() - 1, found.end() - 1
            yield PlainRun(begin + first, found[0], said[first:end])
        before = letters[-1]


def _letter(entry: Entry, said: Said) -> str:
    if type(said) is Calls:
        return "c"
    if type(said) is Results:
        return "r"
    if entry.message is None:
        return _NO_MESSAGE
    return "A" if ROLES[entry.kind] == "assistant" else "U"


def _is_said(text: bytes) -> bool:
    """Whether a text is more than white space."""
    # Most texts begin with a letter, and need not be decoded.
    return text[:1].isalnum() or bool(text.decode().strip())


def _read_tools(window: Sequence[Entry], said: list[Said]) -> None:
    """Find the plain calls and results among entries, and put what they say in its place."""
    places = [place for place, entry in enumerate(window) if entry.tools is not None]
    # Texts are not decoded: they go out as they are.
    messages = unpack_raw([window[place].message or b"" for place in places])
    for place, message in zip(places, messages, strict=True):
        if not message[b"provider_metadata"]:
            blocks = message[b"content"]
            said[place] = _calls(blocks) if message[b"role"] == b"assistant" else _results(blocks)


def _calls(blocks: list[dict[bytes, Any]]) -> Calls | None:
    """Return the calls of a message of the assistant's; ``None`` if it has anything else that is not plain."""
    first, text = blocks[0], None
    if first[b"type"] == b"text":
        text, blocks = first[b"text"], blocks[1:]
        if len(first) != _TEXT_KEYS or not _is_said(text):
            return None
    if len(blocks) > _MOST_CALLS:
        return None
    calls = []
    for block in blocks:
        if block[b"type"] != b"tool_call" or len(block) != _CALL_KEYS:
            return None
        arguments = block[b"arguments"]
        value = stored_object(arguments.decode())
        if value is None:
            return None
        calls.append(_new(Call, (block[b"id"], block[b"name"], arguments, value)))
    return _new(Calls, (text, calls))


def _results(blocks: list[dict[bytes, Any]]) -> Results | None:
    """Return the results of a message of a tool's; ``None`` if one of them is not plain."""
    ids, texts = [], []
    for block in blocks:
        text = block[b"content"]
        if type(text) is not bytes or len(block) != _RESULT_KEYS or block[b"is_error"] or not _is_said(text):
            return None
        ids.append(block[b"tool_call_id"])
        texts.append(text)
    return _new(Results, (ids, texts))


def settle_plain(state: RenderState, entries: Sequence[Entry], run: PlainRun, target: Format) -> int:
    """Extend a state by plain exchanges, up to the first one that has to be repaired after all.

    Args:
        state: the state.
        entries: the entries of the conversation.
        run: the exchanges.
        target: the format.

    Returns:
        how many entries of the run the state covers now.
    """
    calls = _pending(state)
    if state.count != run.start or state.repair.waiting or calls is None:
        return 0
    return _Settling(state, target, calls).settle(entries, run)


def _pending(state: RenderState) -> list[Call] | None:
    """Return the calls that wait for results; ``None`` if their results are not plain, or too many."""
    calls = state.repair.pending
    if len(calls) > _MOST_CALLS or any(call[:2] != call[2:4] or call.metadata for call in calls):
        return None
    return [Call(call.id.encode(), call.name.encode(), b"", {}) for call in calls]


class _Settling:
    """Writes the exchanges of a run, one after the other.

    Args:
        state: the state that is extended.
        target: the format.
        calls: the calls that wait for results.
    """

    def __init__(self, state: RenderState, target: Format, calls: list[Call]) -> None:
        self._state = state
        self._target = target
        self._calls = calls
        self._used = state.repair.used_ids
        self._items: list[bytes] = []
        self._extents: list[TurnExtent] = []
        # By their name: whether it is sent as it is, as a call.
        self._names: dict[bytes, bool] = {}

    def settle(self, entries: Sequence[Entry], run: PlainRun) -> int:
        """Settle what can be, and return how many entries that are."""
        state, (start, letters, said) = self._state, run
        before, done = -1, 0
        while before < done < len(letters):
            texts = None if self._calls else _TEXTS.match(letters, done)
            before = done
            done = self._exchange(entries, run, done) if texts is None else self._texts(entries, run, *texts.span())
        if done:
            state.turns.add_turns(self._items, self._extents)
            state.count, state.last = start + done, entries[start + done - 1].id
            self._leave(entries[start + done - 1].seq, began="u" in letters[:done])
            called = letters.rfind("c", 0, done)
            if called >= 0:
                self._note_server_state(said[called].calls, entries[start + called].seq)
        return done

    def _texts(self, entries: Sequence[Entry], run: PlainRun, place: int, end: int) -> int:
        """Add texts of user and assistant in turn; return as :meth:`_exchange` does."""
        user, assistant, _ = self._state.templates
        if user is None or assistant is None:
            return place
        items = run.said[place:end]
        items[::2], items[1::2] = user.fill_all(items[::2]), assistant.fill_all(items[1::2])
        seqs = [entry.seq for entry in entries[run.start + place : run.start + end : 2] for _ in range(2)]
        turns = zip(items, seqs, cycle((True, False)), strict=False)
        self._items += items
        self._extents += [_new(TurnExtent, (1, len(item) + 1, seq, is_user, True)) for item, seq, is_user in turns]
        return end

    def _exchange(self, entries: Sequence[Entry], run: PlainRun, place: int) -> int:
        """Add an exchange, and return where the next one begins; if it has to be repaired, where it begins itself."""
        start, letters, said = run
        user, assistant, after_results = self._state.templates
        spoke, end = letters[place] == "u", place + 1
        while letters[end] == "r":
            end += 1
        found, ids = said[end], len(self._used)
        if not spoke:
            asked = self._answered(said[place:end])
        else:
            asked = None if self._calls or user is None else [user.fill(said[place])]
        if type(found) is Calls:
            answer = self._called(found, entries[start + end].seq, follows_results=not spoke)
        else:
            template = assistant if spoke else after_results
            answer = None if template is None else [template.fill(found)]
        if asked is None or answer is None:
            while len(self._used) > ids:
                self._used.popitem()
            return place
        self._calls = found.calls if type(found) is Calls else []
        seq = entries[start + place].seq
        for items, is_user, can_begin in ((asked, True, spoke), (answer, False, True)):
            self._items += items
            size = sum(map(len, items)) + len(items)
            self._extents.append(_new(TurnExtent, (len(items), size, seq, is_user, can_begin)))
        return end + 1

    def _leave(self, seq: int, *, began: bool) -> None:
        """Leave to the next exchange the calls, and the tool loop.

        Args:
            seq: the seq of the last message.
            began: whether the tool loop, if it is one, began in the run.
        """
        repair = self._state.repair
        names = [(call.id.decode(), call.name.decode()) for call in self._calls]
        repair.pending = tuple(ToolCall(call_id, name, call_id, name, seq, {}) for call_id, name in names)
        repair.loop = LoopThinking(not began and repair.loop is not None and repair.loop.first, last=False)

    def _note_server_state(self, calls: list[Call], seq: int) -> None:
        """Note the state that the server keeps, if there being calls is one: all else is in metadata."""
        blocks = [{"type": "tool_call", "id": call.id.decode(), "name": call.name.decode()} for call in calls]
        value = self._target.server_state({"role": "assistant", "content": blocks, "provider_metadata": {}})
        if value is not None:
            self._state.server_state = ServerState(seq, value)

    def _answered(self, said: list[Results]) -> list[bytes] | None:
        """Return the items of results; ``None`` if they do not answer all calls, each once and in their order."""
        ids, texts = said[0]
        if len(said) > 1:
            ids, texts = [given for one in said for given in one.ids], [text for one in said for text in one.texts]
        if [call.id for call in self._calls] != ids:
            return None
        template = self._template(_new(Shape, (len(ids), True, False, False)))
        return None if template is None else template.fill(result_values(self._calls, texts))

    def _called(self, found: Calls, seq: int, *, follows_results: bool) -> list[bytes] | None:
        """Return the items of calls; ``None`` if one of them is not sent as it is."""
        text, calls = found
        template = self._template(_new(Shape, (len(calls), False, text is not None, follows_results)))
        if template is None:
            return None
        values = [] if text is None else [encode_text(text)]
        for index, (call_id, name, arguments, value) in enumerate(calls, len(values)):
            given = call_id.decode()
            if self._target.sent_id(given, self._used, seq, index) != given or not self._is_sent(name):
                return None
            self._used[given] = None
            values += call_values(call_id, name, arguments, value if template.has_objects else None)
        return template.fill(values)

    def _is_sent(self, name: bytes) -> bool:
        """Whether calls of a tool are sent as calls, under its own name."""
        known = self._names.get(name)
        if known is None:
            given, tools = name.decode(), self._state.settings.tools
            known = self._names[name] = sent_name(given) == given and (tools is None or given in tools)
        return known

    def _template(self, shape: Shape) -> TurnTemplate | None:
        shapes = self._state.shapes
        if shape not in shapes:
            shapes[shape] = find_turn_template(self._target, self._state.context(), shape)
        return shapes[shape]
