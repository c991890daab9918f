"""A conversation as people read it: roles, texts, tool calls and their results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from reel.base.light_typing import TYPE_CHECKING, NamedTuple
from reel.cli.screen import markdown
from reel.cli.screen.output import Line, Span
from reel.reading.attribution import speaker_of, tokens_of
from reel.reading.cuts import remarks_on
from reel.reading.layout import Layout, Shown
from reel.reading.wording import count, flat, wrap
from reel.said.media import media_in_short

if TYPE_CHECKING:
    from reel.said.messages import Message, Record

_STEP = "  "
# The blocks of tools, each in its own style, and folded if they are long.
_TOOL = ("call", "result", "error")
# What is not dim, as what the model thinks is.
_SAID = (*_TOOL, "question", "decision")


class Fold(NamedTuple):
    """How many lines are not folded yet, and how many are shown of more than that."""

    above: int
    to: int


class Transcript:
    """Shows messages on a terminal.

    Args:
        width: how many columns there are; with ``None`` lines are not wrapped.
        clock: formats a time.
        styled: whether Markdown has a style.
        fold: how much of a tool's arguments and output is shown; with ``None`` all of it.
        brief: whether one line of them is shown, and of thinking none.
        unfold: the command that shows all of a message, but for its seq.
        continues: whether something is above the first message.
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
        continues: bool = False,
    ) -> None:
        self._width = width
        self._clock = clock
        self._styled = styled
        self._fold = Fold(1, 1) if brief else fold
        self._brief = brief
        self._unfold = unfold
        self._layout = Layout()
        self._begun = continues
        self._seq = 0

    def prompt(self, text: str) -> Iterator[Line]:
        """Lay out the system prompt."""
        yield from self._header(("system", "system"))
        yield from self._text(text, 1)

    def message(self, message: Message) -> Iterator[Line]:
        """Lay out one message."""
        role, self._seq = message["role"], message["seq"]
        place = self._place(message["seq"], message.get("sent", message["time"]))
        speaker, tokens = speaker_of(message), tokens_of(message)
        counted: list[Span] = [] if tokens is None else [(f"  {tokens}", "dim")]
        remarks: list[Span] = [(f"  {remark}", "warn") for remark in remarks_on(message)]
        yield from self._header((f"{role} · {speaker}" if speaker else role, role), place, *counted, *remarks)
        for block in self._layout.blocks(message["content"]):
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

    def waiting(self, words: str) -> Iterator[Line]:
        """Lay out what the conversation waits for."""
        yield from self._header((words, "warn"))

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

    def _block(self, block: Shown, depth: int) -> Iterator[Line]:
        if block.kind == "text":
            return self._text(block.text or "", depth)
        if block.is_folded:
            return self._labelled(block, depth)
        return self._body(block.label, depth, "dim")

    def _labelled(self, block: Shown, depth: int) -> Iterator[Line]:
        """Lay out a block below its label."""
        style = block.kind if block.kind in _TOOL else "warn" if block.kind == "question" else "dim"
        note: list[Span] = [(f"  {block.call_id}", "dim")] if block.call_id else []
        yield self._label(depth, (block.label, style), *note)
        if block.kind == "thinking" and self._brief:
            return
        if block.text is None:
            lines: Iterator[Line] = (line for inner in block.inner for line in self._block(inner, depth + 1))
        else:
            lines = self._body(block.text, depth + 1, "" if block.kind in _SAID else "dim")
        yield from self._folded(lines, depth + 1) if block.kind in _TOOL else lines

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
