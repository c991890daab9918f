"""A conversation as people read it: roles, texts, tool calls and their results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from reel.cli import markdown
from reel.cli.output import Line, Span
from reel.light_typing import TYPE_CHECKING, NamedTuple
from reel.media import media_in_short
from reel.reading.wording import count, flat, wrap

if TYPE_CHECKING:
    from typing import Any

    from reel.messages import Message, Record

_STEP = "  "


class Fold(NamedTuple):
    """How many lines are not folded yet, and how many are shown of more than that."""

    above: int
    to: int


class Transcript:
    """Lays out messages. It remembers the tool of each call, to show it with the result.

    Args:
        width: how many columns there are; with ``None`` lines are not wrapped.
        clock: formats a time.
        styled: whether Markdown has a style.
        fold: how much of a tool's arguments and output is shown; with ``None`` all of it.
        brief: whether one line of them is shown, and of thinking none.
        unfold: the command that shows all of a message, but for its seq.
    """

    def __init__(
        self,
        width: int | None,
        clock: Callable[[int], str],
        *,
        styled: bool = False,
        fold: Fold | None = None,
        brief: bool = False,
        unfold: str = "",
    ) -> None:
        self._width = width
        self._clock = clock
        self._styled = styled
        self._fold = Fold(1, 1) if brief else fold
        self._brief = brief
        self._unfold = unfold
        self._tools: dict[str, str] = {}
        self._begun = False
        self._seq = 0

    def prompt(self, text: str) -> Iterator[Line]:
        """Lay out the system prompt."""
        yield from self._header(("system", "system"))
        yield from self._text(text, 1)

    def message(self, message: Message) -> Iterator[Line]:
        """Lay out one message."""
        role, self._seq = message["role"], message["seq"]
        yield from self._header((role, role), self._place(message["seq"], message.get("sent", message["time"])))
        for block in message["content"]:
            yield from self._block(block, 1)

    def record(self, record: Record) -> Iterator[Line]:
        """Lay out a stored record."""
        kind = record["kind"]
        role = {"tool_call": "assistant", "tool_result": "tool"}.get(kind, kind)
        yield from self._header((kind, role), self._place(record["seq"], record.get("sent", record["time"])))
        if record["content"] is not None:
            yield from self._body(record["content"], 1)
        if record["data_json"] is not None:
            yield from self._body(record["data_json"], 1, "dim")

    def remark(self, lines: Iterable[Line]) -> Iterator[Line]:
        """Lay out lines about events between two messages."""
        for line in lines:
            yield from self._header(*line)

    def _header(self, *spans: Span) -> Iterator[Line]:
        """Begin a message, after a blank line unless it is the first."""
        if self._begun:
            yield []
        self._begun = True
        yield list(spans)

    def _place(self, seq: int, time: int) -> Span:
        return f"  #{seq}  {self._clock(time)}", "dim"

    def _block(self, block: Any, depth: int) -> Iterator[Line]:
        match block["type"]:
            case "text":
                return self._text(block["text"], depth)
            case "thinking":
                return self._thinking(block, depth)
            case "redacted_thinking":
                return self._remark(f"thinking, redacted ({len(block['data'])} characters)", depth)
            case "tool_call":
                return self._tool_call(block, depth)
            case "tool_result":
                return self._tool_result(block, depth)
            case "media":
                return self._remark(media_in_short(block), depth)
            case "opaque":
                return self._opaque(block, depth)
        return self._remark(f"block of type {block['type']} (a newer reel can show it)", depth)

    def _thinking(self, block: Any, depth: int) -> Iterator[Line]:
        yield self._label(depth, ("thinking", "dim"))
        if not self._brief:
            yield from self._body(block["text"], depth + 1, "dim")

    def _tool_call(self, block: Any, depth: int) -> Iterator[Line]:
        self._tools[block["id"]] = block["name"]
        yield self._label(depth, (f"call {block['name']}", "call"), (f"  {block['id']}", "dim"))
        yield from self._folded(self._body(block["arguments"], depth + 1), depth + 1)

    def _tool_result(self, block: Any, depth: int) -> Iterator[Line]:
        call_id, failed = block["tool_call_id"], block["is_error"]
        of = f" of {self._tools[call_id]}" if call_id in self._tools else ""
        title = f"error{of}" if failed else f"result{of}"
        yield self._label(depth, (title, "error" if failed else "result"), (f"  {call_id}", "dim"))
        content = block["content"]
        if isinstance(content, str):
            lines = self._body(content, depth + 1)
        else:
            lines = (line for inner in content for line in self._block(inner, depth + 1))
        yield from self._folded(lines, depth + 1)

    def _opaque(self, block: Any, depth: int) -> Iterator[Line]:
        yield self._label(depth, (f"opaque block of {block['provider']}", "dim"))
        yield from self._body(block["data_json"], depth + 1, "dim")

    def _remark(self, text: str, depth: int) -> Iterator[Line]:
        return self._body(text, depth, "dim")

    def _label(self, depth: int, *spans: Span) -> Line:
        return [_STEP * depth, *spans]

    def _folded(self, lines: Iterator[Line], depth: int) -> Iterator[Line]:
        """Yield the first lines, and how many more there are."""
        if self._fold is None:
            yield from lines
            return
        kept = list(islice(lines, self._fold.above + 1))
        if len(kept) <= self._fold.above:
            yield from kept
            return
        yield from kept[: self._fold.to]
        more = count(len(kept) - self._fold.to + sum(1 for _ in lines), "more line")
        how = f": {self._unfold} {self._seq}" if self._unfold else ""
        yield self._label(depth, (f"… {more}{how}", "dim"))

    def _text(self, text: str, depth: int) -> Iterator[Line]:
        """Lay out a text; code begins at the edge of the screen."""
        margin = _STEP * depth
        width = None if self._width is None else self._width - len(margin)
        for line, is_code in markdown.layout(text.rstrip("\r\n"), width, styled=self._styled):
            yield line if is_code else [margin, *line] if any(line) else []

    def _body(self, text: str, depth: int, style: str = "") -> Iterator[Line]:
        margin = _STEP * depth
        for line in wrap(text, None if self._width is None else self._width - len(margin)):
            yield [margin, (line, style)] if line else []


def in_short(message: Message) -> str:
    """Return a message in a few words."""
    words = []
    for block in message["content"]:
        match block["type"]:
            case "text":
                words.append(flat(block["text"]))
            case "tool_call":
                words.append(f"calls {block['name']}")
            case "tool_result":
                content = block["content"]
                words.append(flat(content) if isinstance(content, str) else "a result")
            case "media":
                words.append(media_in_short(block))
    return "  ".join(words) or "no text"
