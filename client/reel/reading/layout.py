"""What a person is shown of a message, said once: for terminals, Markdown, pages and editors.

A message is laid out in two steps. *What* is shown of each block is a :class:`Shown`: its kind, the words above it, and
a text or further blocks below. *How* it looks is for each medium to say; a :class:`Section` is how it looks as lines,
for editors: headings, folds, and code between fences.

The texts are other people's. In a section a text begins a line only where it has a line break, and has no control
characters but tabs; the words of headings and labels stay on one line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from reel.base.light_typing import TYPE_CHECKING, NamedTuple
from reel.reading.attribution import speaker_of, tokens_of
from reel.reading.cuts import remarks_on
from reel.reading.lazy_json import parsed
from reel.reading.questions import decision_in, question_in
from reel.reading.wording import safe, writing
from reel.said.media import media_in_short, media_size

if TYPE_CHECKING:
    from typing import Any

    from reel.said.messages import Message

# The bytes of a line of a section; editors need seconds for a line of a megabyte. A mark says how much was cut.
MAX_LINE = 1 << 16
_FOLDED = frozenset(("thinking", "call", "result", "error", "question", "decision", "handoff", "opaque"))
# The tool by which the ADK lets another agent speak.
_TRANSFER = "transfer_to_agent"


class Shown(NamedTuple):
    """What is shown of a block.

    Args:
        kind: ``text``, ``thinking``, ``sealed`` (thinking that only its provider can read), ``call``, ``result``,
            ``error`` (a result that is one), ``question`` (a person is asked for an approval, or something else),
            ``decision`` (what was answered), ``handoff`` (another agent goes on), ``media``, ``opaque`` or ``unknown``.
        block: the block.
        tool: the name of the tool that is called, or whose result it is, if that is known.
        text: the text below the label, if any.
        inner: the blocks below the label, of a result that consists of blocks.
        is_later: whether it is a result of a call that had one: the last one counts.
        words: the words above a question, a decision or a hand-off.
    """

    kind: str
    block: Any
    tool: str = ""
    text: str | None = None
    inner: tuple[Any, ...] = ()
    is_later: bool = False
    words: str = ""

    @property
    def call_id(self) -> str:
        """The id of the call that is shown, or whose result it is."""
        return str(self.block.get("id" if self.block["type"] == "tool_call" else "tool_call_id") or "")

    @property
    def is_folded(self) -> bool:
        """Whether it is not a part of what is said, so that it may be folded below its label."""
        return self.kind in _FOLDED

    @property
    def label(self) -> str:
        """The words above it, without the id of its call; a text has none."""
        block = self.block
        match self.kind:
            case "text":
                return ""
            case "sealed":
                return f"thinking, redacted ({len(block['data'])} characters)"
            case "call":
                return f"call {self.tool}"
            case "result" | "error":
                named = f"{self.kind} of {self.tool}" if self.tool else self.kind
                return f"later {named}, which counts" if self.is_later else named
            case "question" | "decision" | "handoff":
                return self.words
            case "media":
                return media_in_short(block)
            case "opaque":
                return f"opaque block of {block['provider']}"
            case "unknown":
                return f"block of type {block['type']} (a newer reel can show it)"
        return self.kind

    @property
    def instead(self) -> str:
        """What stands for it where neither its text nor its data is shown: what it is, and its size."""
        block = self.block
        match self.kind:
            case "media":
                words = [block.get("name"), block["mime_type"], f"{media_size(block):,} bytes"]
            case "opaque":
                words = [f"a block of {block['provider']}", f"{len(block['data_json']):,} characters"]
            case "sealed":
                words = ["thinking, encrypted by the provider"]
            case _:
                words = [f"a block of type {block['type']}"]
        return ", ".join(filter(None, words))


class Layout:
    """Lays out messages in their order.

    It remembers the tool of each call, to name it with the result, and which calls have a result, to mark a later one.
    """

    def __init__(self) -> None:
        self.tools: dict[str, str] = {}
        self.answered: set[str] = set()

    def learn(self, content: Iterable[Any]) -> None:
        """Remember the calls and results of a message that is not laid out, although what belongs to them may be."""
        for call_id, tool in calls_and_results(content):
            self.note(call_id, tool)

    def note(self, call_id: str, tool: str | None = None) -> None:
        """Remember a call of a tool, or that a call has a result."""
        if tool is None:
            self.answered.add(call_id)
        else:
            self.tools[call_id] = tool
            self.answered.discard(call_id)

    def blocks(self, content: Iterable[Any]) -> Iterator[Shown]:
        """Yield what is shown of each block."""
        for block in content:
            yield self._shown(block)

    def _shown(self, block: Any) -> Shown:
        match block["type"]:
            case "text" | "thinking" as kind:
                return Shown(kind, block, text=block["text"])
            case "redacted_thinking":
                return Shown("sealed", block)
            case "tool_call":
                self.note(block["id"], block["name"])
                if other := _next_agent(block["name"] == _TRANSFER, block["arguments"], "agent_name"):
                    return Shown("handoff", block, block["name"], words=f"hands over to {other}")
                return _asked(block) or Shown("call", block, block["name"], block["arguments"])
            case "tool_result":
                kind, content = "error" if block["is_error"] else "result", block["content"]
                call_id = block["tool_call_id"]
                tool, is_later = self.tools.get(call_id, ""), call_id in self.answered
                self.note(call_id)
                if decided := _decided(block, tool):
                    return decided
                # The Agents SDK says in the result of such a call who goes on.
                if other := _next_agent(tool.startswith("transfer_to_"), content, "assistant"):
                    return Shown("handoff", block, tool, words=f"handed over to {other}")
                if isinstance(content, str):
                    return Shown(kind, block, tool, content, is_later=is_later)
                return Shown(kind, block, tool, inner=tuple(self.blocks(content)), is_later=is_later)
            case "media":
                return Shown("media", block)
            case "opaque":
                return _asked(block) or _decided(block, "") or Shown("opaque", block, text=block["data_json"])
        return Shown("unknown", block)

    def message(self, message: Message) -> Section:
        """Lay out a message as lines."""
        seq, role = message["seq"], message["role"]
        speaker, tokens = speaker_of(message), tokens_of(message)
        title = f"{role} · {speaker} #{seq}" if speaker else f"{role} #{seq}"
        made = Section.begin(title, role, seq, message.get("sent", message["time"]))
        if remarks := [*remarks_on(message), *([] if tokens is None else [f"{tokens}"])]:
            made.marks.append((0, "; ".join(remarks)))
        for shown in self.blocks(message["content"]):
            made.add(shown)
        return made


def _asked(block: Any) -> Shown | None:
    found = question_in(block)
    return found and Shown("question", block, found.what, found.text or None, words=found.words)


def _decided(block: Any, tool: str) -> Shown | None:
    found = decision_in(block, tool)
    return found and Shown("decision", block, tool, found.text or None, words=found.words)


def _next_agent(hands_over: bool, said: Any, key: str) -> str:  # noqa: FBT001 - whether the tool is one that does
    """Return the name of the agent that goes on; empty if no tool of a framework has handed over to it."""
    if not hands_over or not isinstance(said, str):
        return ""
    found = parsed(said)
    name = found[key] if found.keys() == {key} else ""
    return name if isinstance(name, str) else ""


def calls_and_results(content: Iterable[Any]) -> Iterator[tuple[str, str | None]]:
    """Yield the id and the tool of each call, and the id of the call of each result with ``None``."""
    for block in content:
        if block["type"] == "tool_call":
            yield block["id"], block["name"]
        elif block["type"] == "tool_result":
            yield block["tool_call_id"], None


class Heading(NamedTuple):
    """Where a message begins.

    Args:
        row: its row in the section, from 0.
        role: the role of who speaks, ``system``, or ``draft``.
        seq: the message's, if it has one.
        time: when it was said, in milliseconds since the epoch.
    """

    row: int
    role: str
    seq: int | None
    time: int | None


class Section(NamedTuple):
    """A message as lines.

    Args:
        lines: the lines.
        folds: the first and the last row of what may be folded.
        headings: where messages begin.
        marks: rows, and what is to be shown at the end of each that is not a part of its text.
    """

    lines: list[str]
    folds: list[tuple[int, int]]
    headings: list[Heading]
    marks: list[tuple[int, str]]

    @classmethod
    def begin(cls, title: str, role: str, seq: int | None = None, time: int | None = None) -> Section:
        """Return a section with nothing below its heading."""
        made = cls([], [], [Heading(0, role, seq, time)], [])
        made.write(f"## {_joined(title)}", "")
        return made

    def write(self, *lines: str) -> None:
        """Append lines; one that is too long is cut."""
        for line in lines:
            shown = _fitting(line)
            if len(shown) < len(line):
                self.marks.append((len(self.lines), f"… {len(line) - len(shown):,} more characters"))
            self.lines.append(shown)

    def extend(self, other: Section, row: int) -> None:
        """Append another section, which begins at a row of the buffer."""
        self.lines.extend(other.lines)
        self.folds.extend((row + first, row + last) for first, last in other.folds)
        self.headings.extend(each._replace(row=row + each.row) for each in other.headings)
        self.marks.extend((row + at, text) for at, text in other.marks)

    def add(self, shown: Shown) -> None:
        """Append a block, and a blank line."""
        first = len(self.lines)
        self.write(*_lines(shown))
        if shown.is_folded:
            self.folds.append((first, len(self.lines) - 1))
        self.write("")


def prompt_section(text: str) -> Section:
    """Lay out the system prompt as lines."""
    return _plain(Section.begin("system", "system"), text)


def draft_section(client: str | None, text: str) -> Section:
    """Lay out as lines what another client is writing.

    Args:
        client: its name, if it has one.
        text: what it has written so far.
    """
    return _plain(Section.begin(f"assistant · {writing(client)}", "draft"), text)


def waiting_section(words: str) -> Section:
    """Lay out as lines what a conversation waits for; it is below all else, as what others write."""
    return Section.begin(f"assistant · {words}", "draft")


def text_section(text: str) -> Section:
    """Lay out as lines the rest of a text whose heading and beginning are shown already."""
    return _plain(Section([], [], [], []), text)


def _plain(section: Section, text: str) -> Section:
    section.write(*_safe_lines(text), "")
    return section


def _lines(shown: Shown) -> list[str]:
    """Return the lines of a block."""
    if shown.kind == "text":
        return _safe_lines(shown.text or "")
    label = f"### {_joined(f'{shown.label} {shown.call_id}')}"
    if shown.text is None and not shown.inner:
        return [label]
    below = (
        _safe_lines(shown.text) if shown.text is not None else [line for each in shown.inner for line in _lines(each)]
    )
    if shown.kind in ("thinking", "decision"):
        return [label, *below]
    fence = fence_around(below)
    is_json = shown.kind in ("call", "opaque") or (shown.kind == "question" and below[0].startswith("{"))
    return [label, f"{fence}json" if is_json else fence, *below, fence]


def fence_around(lines: Iterable[str]) -> str:
    """Return a fence that is longer than any in some lines."""
    longest = max((len(found) for line in lines for found in re.findall("`{3,}", line)), default=2)
    return "`" * (longest + 1)


def _safe_lines(text: str) -> list[str]:
    return [safe(line) for line in text.replace("\r\n", "\n").split("\n")]


def _joined(words: str) -> str:
    """Return words on one line."""
    return safe(" ".join(words.split()))


def _fitting(line: str) -> str:
    """Return as much of a line as it may have."""
    if 4 * len(line) <= MAX_LINE:
        return line
    data = line.encode(errors="surrogatepass")
    return line if len(data) <= MAX_LINE else data[:MAX_LINE].decode(errors="ignore")
