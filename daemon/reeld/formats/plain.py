"""The fast path of rendering, for plain texts, calls and results, as most messages are.

Theory of operation
-------------------

Unpacking, repairing and writing a message takes 70 function calls. Two of these steps can be skipped.

*Writing.* A format always writes the same bytes around the texts of a turn: a template
(:mod:`~reeld.formats.templates`). The templates of a run of turns are filled together.

*Repair.* A plain exchange needs none. It is a user text, or all results of the calls before it, in order; then one
assistant message, with a text, calls, or both. None of them has metadata, no text is blank, all arguments are objects,
no result is an error, and no call has to be renamed. A user message or a result follows it, so it is settled. It only
passes its calls on to the next exchange.

Everything before a plain exchange is settled when it begins. If no server tool is still running, the repair state then
has everything that a plain exchange needs: the calls that wait for results, and the ids in use.

A property test compares the results of both paths.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from reel.kinds import ROLES
from reel.msgpack_codec import unpack_raw
from reeld.core.events import Entry, plain_texts
from reeld.formats.format import Format, LoopThinking
from reeld.formats.json_values import stored_object
from reeld.formats.model import ToolCall
from reeld.formats.naming import sent_name
from reeld.formats.render_state import RenderState, ServerState, TurnExtents, extents_of
from reeld.formats.templates import (
    Call,
    Shape,
    Template,
    fill,
    result_texts,
)

# How many entries are processed together, so that their intermediate data stays small.
_WINDOW = 500
# The number of messages of most exchanges.
_PAIR = 2
# The most calls in a message, because each number of calls has its own template.
_MOST_CALLS = 8
# The letters for entries: u and a, a text of the user and of the assistant; c, calls; r, results; U and A, anything
# else of the user (or a tool) and of the assistant; and entries that are not messages.
_NO_MESSAGE = "-"
# Exchanges, after an assistant message. A text is followed by the user, calls by a result. A single one is not worth
# it: everything before it would have to be repaired separately.
_RUN = re.compile("(?<=[acA])(?:(?:u|r+)(?:a(?=[uU])|c(?=[rU]))){2,}")
# An exchange of a run.
_EXCHANGE = re.compile("(?:u|r+)[ac]")
# The units that are added together: exchanges of texts alone, or another exchange.
_STEP = re.compile("(?:ua)+|(?:u|r+)[ac]")
_CALL_KEYS = len(("type", "id", "name", "arguments"))
_TEXT_KEYS = len(("type", "text"))
_RESULT_KEYS = len(("type", "tool_call_id", "content", "is_error"))
# First bytes that are certainly not white space: ASCII letters, digits and punctuation.
_FIRST_SIGN, _AFTER_SIGNS = b"!", b"\x7f"
# Creates a named tuple in half the time that calling its class takes.
_new = tuple.__new__


class Calls(NamedTuple):
    """An assistant message: whether a text is before the calls, all its texts for a template, and the calls."""

    has_text: bool
    texts: list[bytes]
    calls: list[Call]


class Results(NamedTuple):
    """A tool message: the ids of the calls that it answers, and the results."""

    ids: list[bytes]
    texts: list[bytes]


Said: TypeAlias = bytes | Calls | Results | None


class PlainRun(NamedTuple):
    """Consecutive plain exchanges: the index of the first entry, a letter for each entry, and the content of each."""

    start: int
    letters: str
    said: list[Any]

    def without(self, entries: int, exchanges: int) -> "PlainRun | None":
        """Return the run without its first entries and then some exchanges; ``None`` if nothing is left."""
        starts = [found.start() for found in _EXCHANGE.finditer(self.letters, entries)]
        if len(starts) <= exchanges:
            return None
        first = starts[exchanges]
        return PlainRun(self.start + first, self.letters[first:], self.said[first:])


def plain_runs(entries: Sequence[Entry], start: int) -> Iterator[PlainRun]:
    """Find plain exchanges that are settled, two or more in a row.

    Args:
        entries: the entries of a conversation.
        start: the index of the first one to examine; all before it are settled.
    """
    # The letter of the previous entry; before the first one there is nothing that an exchange could continue.
    before = "A"
    for begin in range(start, len(entries), _WINDOW):
        window = entries[begin : begin + _WINDOW]
        said: list[Said] = [*plain_texts(window)]
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
    # Most texts need not be decoded.
    return _FIRST_SIGN <= text < _AFTER_SIGNS or bool(text.decode().strip())


def _read_tools(window: Sequence[Entry], said: list[Said]) -> None:
    """Find the plain calls and results among entries, and record their content."""
    places = [place for place, entry in enumerate(window) if entry.tools is not None]
    # Texts are not decoded, because they are sent unchanged.
    messages = unpack_raw([window[place].message or b"" for place in places])
    for place, message in zip(places, messages, strict=True):
        if not message[b"provider_metadata"]:
            read = _calls if message[b"role"] == b"assistant" else _results
            said[place] = read(message[b"content"])


def _calls(blocks: list[dict[bytes, Any]]) -> Calls | None:
    """Return the calls of an assistant message; ``None`` if anything in it is not plain."""
    first, texts = blocks[0], []
    has_text = first[b"type"] == b"text"
    if has_text:
        text, blocks = first[b"text"], blocks[1:]
        if len(first) != _TEXT_KEYS or not _is_said(text):
            return None
        texts.append(text)
    if len(blocks) > _MOST_CALLS:
        return None
    calls = []
    for block in blocks:
        if block[b"type"] != b"tool_call" or len(block) != _CALL_KEYS:
            return None
        call_id, name, arguments = block[b"id"], block[b"name"], block[b"arguments"]
        value = stored_object(arguments.decode())
        if value is None:
            return None
        calls.append(_new(Call, (call_id, name, arguments, value)))
        texts += (call_id, name, arguments)
    return _new(Calls, (has_text, texts, calls))


def _results(blocks: list[dict[bytes, Any]]) -> Results | None:
    """Return the results of a tool message; ``None`` if one of them is not plain."""
    ids, texts = [], []
    for block in blocks:
        text = block[b"content"]
        if type(text) is not bytes or len(block) != _RESULT_KEYS or block[b"is_error"] or not _is_said(text):
            return None
        ids.append(block[b"tool_call_id"])
        texts.append(text)
    return _new(Results, (ids, texts))


def _joined(said: Sequence[Results]) -> Results:
    """Return the results of consecutive messages."""
    return Results([given for one in said for given in one.ids], [text for one in said for text in one.texts])


def settle_plain(state: RenderState, entries: Sequence[Entry], run: PlainRun, target: Format) -> int:
    """Extend a state by plain exchanges, up to the first one that needs repair after all.

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
    """Writes the exchanges of a run in order.

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
        # The bytes around the texts of the exchanges, and the texts.
        self._arounds: list[bytes] = []
        self._texts: list[bytes] = []
        # The number of items of each turn; and for each exchange its seq, and whether the user spoke.
        self._items: list[int] = []
        self._seqs: list[int] = []
        self._spoke = bytearray()
        # Templates by the number of results, whether a text is before the calls, and the number of calls.
        self._templates: dict[tuple[int, ...], Template | None] = {}
        # By tool name: whether its calls are sent unchanged.
        self._names: dict[bytes, bool] = {}

    def settle(self, entries: Sequence[Entry], run: PlainRun) -> int:
        """Settle as many entries as possible, and return their number."""
        state, (start, letters, said) = self._state, run
        done = 0
        for found in _STEP.finditer(letters):
            if not self._add(entries, run, *found.span()):
                break
            done = found.end()
        if done:
            state.turns.add_encoded(*fill(self._arounds, self._texts), self._extents())
            # A message follows each exchange of a run.
            state.cover(entries, start + done, settled_by=start + done)
            self._leave(entries[start + done - 1].seq, began="u" in letters[:done])
            called = letters.rfind("c", 0, done)
            if called >= 0:
                self._note_server_state(said[called].calls, entries[start + called].seq)
        return done

    def _add(self, entries: Sequence[Entry], run: PlainRun, place: int, end: int) -> bool:
        """Add exchanges of texts alone, or another exchange; return whether that was possible without repair."""
        start, letters, said = run
        answer, calls = said[end - 1], self._calls
        spoke = letters[place] == "u"
        if not spoke:
            ids, texts = said[place] if end - place == _PAIR else _joined(said[place : end - 1])
            if [call[0] for call in calls] != ids:
                return False
            texts = result_texts(calls, texts)
        elif calls:
            return False
        elif letters[end - 1] == "a":
            return self._add_texts(entries[start + place : start + end : 2], said[place:end])
        else:
            texts = [said[place]]
        if type(answer) is Calls:
            has_text, more, made = answer
            texts += more
        else:
            has_text, made = False, []
            texts.append(answer)
        template = self._template(len(calls), has_text, len(made))
        if template is None or (made and not self._takes(made, entries[start + end - 1].seq, has_text)):
            return False
        self._calls = made
        self._arounds.append(template.around_objects(made) if template.objects else template.around)
        self._texts += texts if template.choose is None else template.choose(texts)
        self._items += template.items
        self._seqs.append(entries[start + place].seq)
        self._spoke.append(spoke)
        return True

    def _add_texts(self, asked: Sequence[Entry], texts: list[bytes]) -> bool:
        """Add alternating texts of user and assistant; return whether a template can write them."""
        template, number = self._template(0, False, 0), len(asked)
        if template is None:
            return False
        self._arounds += [template.around] * number
        self._texts += texts
        self._items += template.items * number
        self._seqs += [entry.seq for entry in asked]
        self._spoke += b"\1" * number
        return True

    def _template(self, *key: int) -> Template | None:
        """Return the template of an exchange; ``None`` if the format does not write all of this shape alike.

        Args:
            key: the number of results, whether a text is before the calls, and their number.
        """
        if key not in self._templates:
            results, has_text, calls = key
            answer = Shape(calls, is_user=False, has_text=bool(has_text) or not calls, follows_results=results > 0)
            shapes = Shape(results, is_user=True, has_text=not results), answer
            user, assistant = (self._state.template(self._target, shape) for shape in shapes)
            self._templates[key] = None if user is None or assistant is None else user.then(assistant)
        return self._templates[key]

    def _takes(self, calls: list[Call], seq: int, before: int) -> bool:
        """Note the ids of the calls after some blocks, and return whether all are sent unchanged."""
        used, sent_id = self._used, self._target.sent_id
        count = len(used)
        for index, call in enumerate(calls, before):
            given = call[0].decode()
            if sent_id(given, used, seq, index) != given or not self._is_sent(call[1]):
                while len(used) > count:
                    used.popitem()
                return False
            used[given] = None
        return True

    def _is_sent(self, name: bytes) -> bool:
        """Whether calls of a tool are sent as calls, under its own name."""
        known = self._names.get(name)
        if known is None:
            given, tools = name.decode(), self._state.settings.tools
            known = self._names[name] = sent_name(given) == given and (tools is None or given in tools)
        return known

    def _extents(self) -> TurnExtents:
        """Return the places of the turns: one of the user's and one of the assistant's for each exchange."""
        number = len(self._seqs)
        seqs, can_begin = [0] * (2 * number), bytearray(b"\1" * (2 * number))
        seqs[::2] = seqs[1::2] = self._seqs
        can_begin[::2] = self._spoke
        return extents_of(self._items, seqs, b"\1\0" * number, can_begin)

    def _leave(self, seq: int, *, began: bool) -> None:
        """Pass the calls and the tool loop on to the next exchange.

        Args:
            seq: the seq of the last message.
            began: whether the tool loop, if there is one, began in the run.
        """
        repair = self._state.repair
        names = [(call.id.decode(), call.name.decode()) for call in self._calls]
        repair.pending = tuple(ToolCall(call_id, name, call_id, name, seq, {}) for call_id, name in names)
        repair.loop = LoopThinking(not began and repair.loop is not None and repair.loop.first, last=False)

    def _note_server_state(self, calls: list[Call], seq: int) -> None:
        """Note the server state if it consists in the presence of calls; all other state is in metadata."""
        blocks = [{"type": "tool_call", "id": call.id.decode(), "name": call.name.decode()} for call in calls]
        value = self._target.server_state({"role": "assistant", "content": blocks, "provider_metadata": {}})
        if value is not None:
            self._state.server_state = ServerState(seq, value)
