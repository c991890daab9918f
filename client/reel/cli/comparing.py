"""The command ``diff``: what differs between two conversations, or two moments of one."""

from __future__ import annotations

import json
from difflib import SequenceMatcher
from itertools import zip_longest

from reel import requests
from reel.cli.arguments import UsageError
from reel.cli.context import Context
from reel.cli.exits import OK, REFUSED
from reel.cli.pager import paged
from reel.cli.positions import FORMS, FromEnd, parse_position, resolve_position
from reel.light_typing import TYPE_CHECKING, NamedTuple
from reel.reading.wording import count, cut, flat

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from reel.cli.output import Line
    from reel.replies import MessagesPage

# How much of a message is shown: lines, and columns where no terminal sets the limit.
_LINES, _COLUMNS = 3, 200
_STYLES = {"-": "error", "+": "ok"}


class Said(NamedTuple):
    """A message to compare; a system prompt has no seq."""

    seq: int | None
    role: str
    content: Any

    @property
    def key(self) -> str:
        """What makes it the same as another."""
        return f"{self.role} {json.dumps(self.content, sort_keys=True)}"


class Stretch(NamedTuple):
    """Messages that both have (``=``), or only the first (``-``) or the second (``+``)."""

    sign: str
    messages: list[Said]


def diff(ctx: Context) -> int:
    """Print what differs, and return 1 if anything does."""
    first, second = (_conversation(ctx, word) for word in ctx.words)
    stretches = compare(first, second)
    differs = any(stretch.sign != "=" for stretch in stretches)
    if ctx.out.as_json:
        ctx.out.documents(_document(stretch) for stretch in stretches)
    elif differs:
        with paged(ctx):
            ctx.out.lines(lines(stretches, ctx.out.width))
    return REFUSED if differs else OK


def _document(stretch: Stretch) -> dict[str, Any]:
    if stretch.sign == "=":
        return {"op": "=", "messages": len(stretch.messages)}
    return {"op": stretch.sign, "messages": [message._asdict() for message in stretch.messages]}


def split_name(word: str) -> tuple[str, int | FromEnd] | None:
    """Return a word as an agent and a position in its past; ``None`` if it names no position."""
    agent, at, place = word.rpartition("@")
    position = parse_position(place)
    if position is None:
        position = parse_position(f"@{place}")
    return (agent, position) if at and agent and place and position is not None else None


def _conversation(ctx: Context, word: str) -> Iterator[Said]:
    """Yield what a conversation has, the system prompt first. The name of an agent may contain an @ itself."""
    agent, at = word, None
    if (named := split_name(word)) is not None and not ctx.client.has(word):
        agent, position = named
        at = resolve_position(ctx.client, agent, position)
    elif "@" in word and named is None and not ctx.client.has(word):
        raise UsageError(f"no agent {word}, and the part after @ is not a position; write {FORMS}")
    for number, page in enumerate(ctx.client.pages(requests.messages(agent, at=at))):
        yield from said_on(page, first=not number)


def said_on(page: MessagesPage, *, first: bool) -> Iterator[Said]:
    """Yield what is on a page of a conversation; the first one has the system prompt."""
    if first and page.system is not None:
        yield Said(None, "system", [{"type": "text", "text": page.system}])
    for message in page.messages:
        yield Said(message["seq"], message["role"], message["content"])


def compare(first: Iterable[Said], second: Iterable[Said]) -> list[Stretch]:
    """Return the stretches of two conversations, in order; together they have every message."""
    begun: list[Said] = []
    ours: list[Said] = []
    theirs: list[Said] = []
    for one, other in zip_longest(first, second):
        if not (ours or theirs) and one is not None and other is not None and one.key == other.key:
            begun.append(one._replace(content=None))  # they are only counted
            continue
        ours += [] if one is None else [one]
        theirs += [] if other is None else [other]
    stretches = [Stretch("=", begun)]
    matcher = SequenceMatcher(None, [said.key for said in ours], [said.key for said in theirs])
    for operation, begin, end, other_begin, other_end in matcher.get_opcodes():
        if operation == "equal":
            stretches.append(Stretch("=", ours[begin:end]))
        else:
            stretches += [Stretch("-", ours[begin:end]), Stretch("+", theirs[other_begin:other_end])]
    return [stretch for stretch in stretches if stretch.messages]


def lines(stretches: Iterable[Stretch], width: int | None) -> Iterator[Line]:
    """Yield the lines of a comparison; what both have is one line."""
    for sign, messages in stretches:
        if sign == "=":
            prompts = sum(message.seq is None for message in messages)
            said = [count(len(messages) - prompts, "message")] if len(messages) > prompts else []
            both = " and ".join(["the system prompt"] * bool(prompts) + said)
            yield [(cut(f"  {both} in common", width or _COLUMNS), "dim")]
        else:
            for message in messages:
                yield from _message(sign, message, width or _COLUMNS)


def _message(sign: str, message: Said, width: int) -> Iterator[Line]:
    seq = "" if message.seq is None else f"#{message.seq} "
    yield [(cut(f"{sign} {seq}{message.role}", width), _STYLES[sign])]
    texts = [flat(line) for block in message.content for line in text_of(block).splitlines() if line.strip()]
    for text in texts[:_LINES]:
        yield [(f"{sign}   ", _STYLES[sign]), cut(text, max(width - 4, 1))]
    if len(texts) > _LINES:
        yield [(f"{sign}   ", _STYLES[sign]), (cut(f"… {count(len(texts) - _LINES, 'more line')}", width - 4), "dim")]


def text_of(block: dict[str, Any]) -> str:
    """Return what people read of a block."""
    match block["type"]:
        case "text" | "thinking":
            return str(block["text"])
        case "tool_call":
            return f"{block['name']} {block['arguments']}"
        case "tool_result" if isinstance(block["content"], str):
            return block["content"]
        case "tool_result":
            return "\n".join(map(text_of, block["content"]))
    return f"({block['type']})"
