"""Reads the messages of a session of Strands Agents: its own, and those that other clients added."""

import json
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from strands.types.session import SessionMessage

from reel import requests
from reel.base.light_typing import NamedTuple
from reel.integrations.results_first import results_first
from reel.integrations.strands_agents.blocks import Json, content_of
from reel.sync.client import Client

FORMAT: Final = "x-strands"
# The maximum number of messages on a page.
_PAGE: Final = 10_000


class Entry(NamedTuple):
    """A message of a conversation, as it is stored.

    Args:
        seq: the seq of it, or of its first message.
        item: the framework's message; ``None`` if another client added this one.
        message: that other client's message.
        sent: when it was sent, in milliseconds since the epoch.
    """

    seq: int
    item: Json | None
    message: Any
    sent: int


class Conversation(NamedTuple):
    """The messages of an agent, with its id and its head."""

    agent: str
    head: int
    entries: list[Entry]


class Numbered(NamedTuple):
    """A message of a session, and the entries that it was made of."""

    message: SessionMessage
    entries: list[Entry]


def conversation(client: Client, agent: str, last: int | None = None) -> Conversation:
    """Return the current conversation of an agent, or only so many of the newest messages.

    Raises:
        NotFound: there is no such agent.
    """
    pages = [*client.pages(requests.items(agent, FORMAT, limit=_PAGE, last=last))]
    entries = [_entry(found) for page in pages for found in page.items]
    return Conversation(pages[0].agent, pages[0].head, entries)


def _entry(found: Any) -> Entry:
    sent = found.get("sent") or found["time"]
    if "message" in found:
        return Entry(found["seq"], None, found["message"], sent)
    return Entry(found["seq"], found["item"], None, sent)


def numbered(entries: Sequence[Entry]) -> list[Numbered]:
    """Return the messages that a model is to read, each with its number.

    A model accepts nothing between a call and its result, and the results of one message in one message: what others
    added is moved and joined accordingly.
    """
    foreign = [place for place, entry in enumerate(entries) if entry.item is None]
    ordered = results_first(entries, _calls, _results, _is_prompt, foreign)
    groups = [*_joined(ordered)]
    numbers = _numbers([_own_number(group[0]) for group in groups])
    made = [_session_message(group, number) for group, number in zip(groups, numbers, strict=True)]
    return [Numbered(message, group) for message, group in zip(made, groups, strict=True) if message is not None]


def reaches(client: Client, agent: str, number: int) -> bool:
    """Return whether a conversation has a message with this number or a higher one.

    Raises:
        NotFound: there is no such agent.
    """
    # The newest one says so in most cases.
    found = (numbered(conversation(client, agent, last).entries) for last in (1, None))
    return any(each.message.message_id >= number for messages in found for each in messages)


def _numbers(own: Sequence[int | None]) -> list[int]:
    """Return increasing numbers: each message's own, and that of a foreign one right below the one after it.

    The framework counts the messages that it no longer sends, and leaves that many out when it reads them again. So the
    numbers have to stay, whoever adds messages or takes some back. What others have put in the place of the first
    messages, such as a summary, is right before those that are left.

    Args:
        own: the number with which each was stored; ``None`` for those of others.
    """
    wanted: list[int] = []
    after: int | None = None
    for number in reversed(own):
        after = number if number is not None else None if after is None else after - 1
        wanted.append(-1 if after is None else after)
    numbers: list[int] = []
    for number in reversed(wanted):
        numbers.append(max(number, numbers[-1] + 1 if numbers else 0))
    return numbers


def _own_number(entry: Entry) -> int | None:
    number = None if entry.item is None else entry.item.get("message_id")
    return number if isinstance(number, int) else None


def _joined(entries: Sequence[Entry]) -> Iterator[list[Entry]]:
    """Yield the entries of each message: foreign results that follow each other are one."""
    group: list[Entry] = []
    for entry in entries:
        if group and not (_is_foreign_result(group[-1]) and _is_foreign_result(entry)):
            yield group
            group = []
        group.append(entry)
    if group:
        yield group


def _is_foreign_result(entry: Entry) -> bool:
    return entry.item is None and bool(entry.message["role"] == "tool")


def _session_message(group: Sequence[Entry], number: int) -> SessionMessage | None:
    """Return a message of a session; ``None`` if another client added it, and the framework can read nothing of it."""
    first = group[0]
    if first.item is not None:
        return SessionMessage.from_dict({**first.item, "message_id": number})
    content = [block for entry in group for block in content_of(entry.message)]
    if not content:
        return None
    role = "assistant" if first.message["role"] == "assistant" else "user"
    time = datetime.fromtimestamp(first.sent / 1000, UTC).isoformat()
    said = {"role": role, "content": content}
    return SessionMessage.from_dict({"message": said, "message_id": number, "created_at": time, "updated_at": time})


def _content(entry: Entry) -> list[Json]:
    if entry.item is None:
        return content_of(entry.message)
    found: list[Json] = (entry.item.get("redact_message") or entry.item["message"])["content"]
    return found


def _calls(entry: Entry) -> Collection[str]:
    return [block["toolUse"]["toolUseId"] for block in _content(entry) if "toolUse" in block]


def _results(entry: Entry) -> Collection[str]:
    return [block["toolResult"]["toolUseId"] for block in _content(entry) if "toolResult" in block]


def _is_prompt(entry: Entry) -> bool:
    if entry.item is None:
        return bool(entry.message["role"] == "user")
    return bool(entry.item["message"]["role"] == "user")


def text_of(message: SessionMessage) -> str:
    """Return the JSON of a message of a session, as it is stored."""
    return json.dumps(message.to_dict(), ensure_ascii=False)
