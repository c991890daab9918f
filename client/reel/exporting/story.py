"""The content of an export: the heading of a conversation, and all its messages, including removed ones.

The daemon provides the current conversation. Removed messages (undone, rewound, cleared) are only in the log. Both are
read page by page, and only one page is in memory.
"""

import json
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from html import escape
from typing import Any, TypeAlias

from reel.base.light_typing import NamedTuple
from reel.reading.approvals import step_of, told_in
from reel.reading.layout import Shown
from reel.said.blocks import InvalidRecord
from reel.said.messages import Event, Message
from reel.said.records import message_from_record

# Events between messages that explain how the conversation continues.
_TOLD = ("mark", "rewind", "clear", "restore", "clone", "interrupted")
# A string of JSON, a sign, or anything else.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')


class Heading(NamedTuple):
    """The heading of an exported conversation.

    Args:
        name: the agent's name.
        title: its title, if it has one.
        tags: its tags.
        system: the system prompt, if there is one.
        at: the seq up to which it was exported.
    """

    name: str
    title: str | None
    tags: dict[str, str]
    system: str | None
    at: int


def shown_time(milliseconds: int) -> str:
    """Return a time in readable form, in UTC, because the reader may be anywhere."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M")


class Said(NamedTuple):
    """A message, and whether it is in the current conversation."""

    message: Message
    is_live: bool

    @property
    def seq(self) -> int:
        """The seq of the message."""
        return self.message["seq"]


class Happened(NamedTuple):
    """An event between messages."""

    event: Event

    @property
    def seq(self) -> int:
        """The seq of the event."""
        return self.event["seq"]


Part: TypeAlias = Said | Happened


def story(live: Iterable[Message], log: Iterable[Event]) -> Iterator[Part]:
    """Yield all messages, oldest first, with the events that changed the conversation.

    Args:
        live: the messages of the conversation, in their order.
        log: the agent's events in their order, inherited ones included.
    """
    current = iter(live)
    following = next(current, None)
    # Questions of a graph that were written before the messages that led to them, and the newest checkpoint so far.
    early: list[Event] = []
    newest = ""
    for event in log:
        while following is not None and following["seq"] < event["seq"]:
            yield Said(following, is_live=True)
            following = next(current, None)
        message = _message_in(event)
        if message is None:
            made, follows = step_of(event)
            if follows > newest and told_in(event):
                early.append(event)
            elif event["kind"] in _TOLD or (event["kind"] == "note" and event["content"]) or told_in(event):
                yield Happened(event)
            if made > newest:
                newest = made
                yield from (Happened(each) for each in early if step_of(each)[1] <= newest)
                early = [each for each in early if step_of(each)[1] > newest]
        elif following is None or not _is_same(following, message):
            yield Said(message, is_live=False)
    while following is not None:
        yield Said(following, is_live=True)
        following = next(current, None)
    yield from map(Happened, early)


def told(event: Event) -> str:
    """Return a short description of an event."""
    data = _data(event)
    match event["kind"]:
        case "command":
            return told_in(event) or "command"
        case "mark":
            return f"mark {label}" if (label := data.get("label")) else "mark"
        case "rewind" if "before" in data:
            return f"back to before #{data['before']}"
        case "rewind":
            return f"back to #{data.get('target')}"
        case "restore" if "undoes" in data:
            return f"#{data['undoes']} undone"
        case "restore" if "redoes" in data:
            return f"#{data['redoes']} redone"
        case "restore":
            return f"back to #{data.get('to')}"
        case "clear":
            return "cleared"
        case "clone":
            return "cloned from another conversation"
        case "note" if event["content"]:
            return f"note: {event['content']}"
    return event["kind"]


def _data(event: Event) -> dict[str, Any]:
    try:
        data = json.loads(event["data_json"] or "{}")
    except (ValueError, RecursionError):  # a damaged row
        return {}
    return data if isinstance(data, dict) else {}


def _message_in(event: Event) -> Message | None:
    try:
        return message_from_record(event)
    except InvalidRecord:  # a damaged row: it is not in the conversation either
        return None


def _is_same(one: Message, other: Message) -> bool:
    # An inherited conversation may have a different message with the same seq.
    return one["seq"] == other["seq"] and one["role"] == other["role"] and one["content"] == other["content"]


def title_of(block: Shown, tag: str) -> str:
    """Return what a block is folded below, as HTML.

    Args:
        block: thinking, a call, a result, a question, a decision or a hand-off.
        tag: the element that the name of a tool is in; a result has the id of its call if the tool is not known.
    """
    if block.words:
        return escape(f"{block.words[0].upper()}{block.words[1:]}")
    what = {"thinking": "Thinking", "call": "Call", "result": "Result", "error": "Error"}[block.kind]
    name = escape(block.tool or block.call_id)
    named = f"{what} of <{tag}>{name}</{tag}>" if name else what
    return f"Later {named[0].lower()}{named[1:]}, which counts" if block.is_later else named


def pretty_json(text: str) -> str:
    """Return a JSON text with indentation; text that is not JSON, such as a partial call, is unchanged.

    Nothing but white space and the escapes of characters change: a parser would round numbers, and would drop all
    but the last of the fields with one name.
    """
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return text
    pieces: list[str] = []
    depth, before = 0, ""
    for part in _TOKEN.findall(text):
        begins, ends = part in ("{", "["), part in ("}", "]")
        depth -= ends
        if before == "," or ends != (before in ("{", "[")):
            pieces.append("\n" + "  " * depth)
        depth += begins
        pieces.append(": " if part == ":" else _unescaped(part))
        before = part
    return "".join(pieces)


def _unescaped(part: str) -> str:
    """Return a string without needless escapes, and any other part as it is."""
    if "\\u" not in part:
        return part
    readable = json.dumps(json.loads(part), ensure_ascii=False)
    try:
        readable.encode()
    except UnicodeEncodeError:  # half of a surrogate pair is no character
        return part
    return readable
