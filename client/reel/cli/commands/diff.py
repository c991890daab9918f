"""The command ``diff``: what differs between two conversations, or two moments of one."""

from __future__ import annotations

from reel.base.light_typing import TYPE_CHECKING
from reel.cli.commands.shared.pager import paged
from reel.cli.line.arguments import UsageError
from reel.cli.line.context import Context
from reel.cli.line.exits import OK, REFUSED
from reel.cli.line.positions import resolve_position
from reel.reading.positions import FORMS, split_name
from reel.reading.wording import count, cut, flat

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from reel.cli.screen.output import Line
    from reel.reading.difference import Compared, Hunk

# How much of a message is shown: lines, and columns where no terminal sets the limit.
_LINES, _COLUMNS = 3, 200
_STYLES = {"-": "error", "+": "ok"}


def diff(ctx: Context) -> int:
    """Print what differs, and return 1 if anything does."""
    (first, first_at), (second, second_at) = (_moment(ctx, word) for word in ctx.words)
    hunks = ctx.client.difference(first, second, first_at, second_at)
    differs = any(hunk.sign != "=" for hunk in hunks)
    if ctx.out.as_json:
        ctx.out.documents(_document(hunk) for hunk in hunks)
    elif differs:
        with paged(ctx):
            ctx.out.lines(lines(hunks, ctx.out.width))
    return REFUSED if differs else OK


def _document(hunk: Hunk) -> dict[str, Any]:
    if hunk.sign == "=":
        return {"op": "=", "messages": len(hunk.messages)}
    return {"op": hunk.sign, "messages": [message._asdict() for message in hunk.messages]}


def _moment(ctx: Context, word: str) -> tuple[str, int | None]:
    """Return an agent, and a position in its past. The name of an agent may contain an @ itself."""
    if (named := split_name(word)) is not None and not ctx.client.has(word):
        return named[0], resolve_position(ctx.client, *named)
    if "@" in word and named is None and not ctx.client.has(word):
        raise UsageError(f"no conversation {word}, and the part after @ is not a position; write {FORMS}")
    return word, None


def lines(hunks: Iterable[Hunk], width: int | None) -> Iterator[Line]:
    """Yield the lines of a comparison; what both have is one line."""
    for sign, messages in hunks:
        if sign == "=":
            prompts = sum(message.seq is None for message in messages)
            said = [count(len(messages) - prompts, "message")] if len(messages) > prompts else []
            both = " and ".join(["the system prompt"] * bool(prompts) + said)
            yield [(cut(f"  {both} in common", width or _COLUMNS), "dim")]
        else:
            for message in messages:
                yield from _message(sign, message, width or _COLUMNS)


def _message(sign: str, message: Compared, width: int) -> Iterator[Line]:
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
