"""A conversation as Markdown for pasting into an issue; tool calls and results are folded."""

import re
from collections.abc import Iterable, Iterator
from html import escape
from typing import Any

from reel.exporting.story import Heading, call_name, pretty_json, size_of
from reel.messages import Message

_ROLES = {"user": "User", "assistant": "Assistant"}
# CommonMark 4.5: the fence that opens or closes a code block.
_FENCE = re.compile(r"^ {0,3}(?P<fence>`{3,}|~{3,})(?P<rest>.*)$", re.MULTILINE)


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
    tools: dict[str, str] = {}
    role = None
    for message in messages:
        # An answer continues after the results that it asked for.
        if message["role"] == "user" or (message["role"] == "assistant" and role != "assistant"):
            role = message["role"]
            yield f"\n### {_ROLES[role]}\n"
        for block in message["content"]:
            if piece := _block(block, tools):
                yield f"\n{piece}"


def _block(block: Any, tools: dict[str, str]) -> str:
    match block["type"]:
        case "text":
            return _closed(block["text"].strip("\r\n"))
        case "thinking":
            return _folded("Thinking", _fenced(block["text"])) if block["text"] else ""
        case "tool_call":
            tools[block["id"]] = block["name"]
            return _folded(
                f"Call of <code>{escape(block['name'])}</code>", _fenced(pretty_json(block["arguments"]), "json")
            )
        case "tool_result":
            what = "Error" if block["is_error"] else "Result"
            title = f"{what} of <code>{escape(call_name(block, tools))}</code>"
            content = block["content"]
            if isinstance(content, str):
                return _folded(title, _fenced(content))
            return _folded(title, "\n".join(filter(None, (_block(inner, tools) for inner in content))))
        case "media":
            return _media(block)
    return ""  # only its provider can read it


def _media(block: Any) -> str:
    if url := block.get("url"):
        return f"{_inline(block.get('name') or block['mime_type'])}: <{escape(url)}>\n"
    return f"*{_inline(size_of(block))}*\n"


def _folded(title: str, body: str) -> str:
    return f"<details>\n<summary>{title}</summary>\n\n{body}\n</details>\n"


def _fenced(text: str, language: str = "") -> str:
    """Return a text as a code block whose fence is longer than any in the text."""
    longest = max((len(found) for found in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.strip(chr(10))}\n{fence}\n"


def _closed(text: str) -> str:
    """Return a text with an open fence, as left by an interrupted answer, closed; it would swallow the rest."""
    fence = ""
    for found in _FENCE.finditer(text):
        run, rest = found["fence"], found["rest"]
        if fence:
            if run[0] == fence[0] and len(run) >= len(fence) and not rest.strip(" \t"):
                fence = ""
        elif run[0] == "~" or "`" not in rest:
            fence = run
    return f"{text}\n{fence}\n" if fence else f"{text}\n"


def _inline(text: str) -> str:
    """Return a text with inline Markdown markup escaped."""
    return re.sub(r"([\\`*_\[\]<>#])", r"\\\1", " ".join(text.split()))
