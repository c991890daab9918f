"""A conversation as Markdown for pasting into an issue; tool calls and results are folded."""

import re
from collections.abc import Iterable, Iterator
from html import escape

from reel.exporting.open_blocks import closed
from reel.exporting.story import Heading, pretty_json, title_of
from reel.reading.attribution import speaker_of
from reel.reading.layout import Layout, Shown, fence_around
from reel.said.messages import Message

_ROLES = {"user": "User", "assistant": "Assistant"}


def markdown(heading: Heading, messages: Iterable[Message]) -> Iterator[str]:
    """Yield a conversation in pieces.

    Args:
        heading: its heading.
        messages: its messages.
    """
    yield f"# {_inline(heading.title or heading.name)}\n"
    if heading.title:
        yield f"\n`{heading.name}`\n"
    if heading.system is not None:
        yield f"\n{_folded('System prompt', _fenced(heading.system))}"
    layout = Layout()
    last = None
    for message in messages:
        # An answer continues after the results that it asked for.
        who = _ROLES.get(message["role"])
        if who is not None and (name := speaker_of(message)):
            who = f"{who} · {_inline(name)}"
        if who is not None and (message["role"] == "user" or who != last):
            last = who
            yield f"\n### {who}\n"
        for block in layout.blocks(message["content"]):
            if piece := _block(block):
                yield f"\n{piece}"


def _block(block: Shown) -> str:
    match block.kind:
        case "text":
            return closed((block.text or "").strip("\r\n"))
        case "thinking" if not block.text:
            return ""
        case "media":
            return _media(block)
        case "question" | "decision" | "handoff" if not block.text:
            return f"**{_inline(block.label)}**\n"
        case "thinking" | "call" | "result" | "error" | "question" | "decision" | "handoff":
            return _folded(title_of(block, "code"), _body(block))
    return ""  # only its provider can read it


def _body(block: Shown) -> str:
    if block.text is None:
        # What a tool returns is shown verbatim, in blocks as in one text.
        pieces = (_fenced(inner.text or "") if inner.kind == "text" else _block(inner) for inner in block.inner)
        return "\n".join(filter(None, pieces))
    if block.kind in ("call", "question"):
        return _fenced(pretty_json(block.text), "json" if block.kind == "call" else "")
    return _fenced(block.text)


def _media(media: Shown) -> str:
    block = media.block
    if url := block.get("url"):
        return f"{_inline(block.get('name') or block['mime_type'])}: <{escape(url)}>\n"
    return f"*{_inline(media.instead)}*\n"


def _folded(title: str, body: str) -> str:
    return f"<details>\n<summary>{title}</summary>\n\n{body}\n</details>\n"


def _fenced(text: str, language: str = "") -> str:
    """Return a text as a code block whose fence is longer than any in the text."""
    fence = fence_around([text])
    return f"{fence}{language}\n{text.strip(chr(10))}\n{fence}\n"


def _inline(text: str) -> str:
    """Return a text with inline Markdown markup escaped."""
    return re.sub(r"([\\`*_\[\]<>#])", r"\\\1", " ".join(text.split()))
