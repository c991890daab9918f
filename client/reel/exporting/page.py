"""A conversation as one page for a browser, which needs no network and runs no script.

No text of a conversation can run anything in it. Everything is escaped; Markdown is rendered without HTML, pictures
from elsewhere, or links that are not to the web; and the page's own Content-Security-Policy forbids scripts, requests,
forms and any style but its own, so that a mistake here has no effect.
"""

from base64 import b64encode
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any

from reel.exporting.blocks import call_name, pretty_json, size_of
from reel.exporting.heading import Heading, shown_time
from reel.exporting.rich_text import rich_text
from reel.exporting.story import Happened, Part, Said, told
from reel.messages import Event, Message

_ROLES = {"user": "User", "assistant": "Assistant", "tool": "Tool"}
# What a browser shows as a picture, and cannot run.
_PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp", "image/avif")
# How much of a text is in a line: of a prompt in the contents, of arguments and results while they are folded.
_WORDS = 90


@cache
def style() -> str:
    """Return the style sheet of every page."""
    return files("reel.exporting").joinpath("page.css").read_text(encoding="utf-8")


def policy() -> str:
    """Return the Content-Security-Policy: the style sheet, and pictures that are in the page itself."""
    digest = b64encode(sha256(style().encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"


def page(heading: Heading, parts: Iterable[Part]) -> Iterator[str]:
    """Yield a page in pieces.

    Args:
        heading: what is written above the conversation.
        parts: what was said and what happened, the oldest first.
    """
    yield from _head(heading)
    layout = _Layout()
    yield from layout.parts(parts)
    yield "</main>\n"
    yield from layout.contents()
    yield "</div>\n</body>\n</html>\n"


def _head(heading: Heading) -> Iterator[str]:
    title = escape(heading.title or heading.name)
    facts = [heading.name, f"up to #{heading.at}", *(f"{name}={value}" for name, value in heading.tags.items())]
    yield (
        "<!DOCTYPE html>\n"
        '<html lang="en">\n'
        "<head>\n"
        '<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy())}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{title}</title>\n"
        f"<style>{style()}</style>\n"
        "</head>\n"
        '<body>\n<div class="page">\n'
        f"<header>\n<h1>{title}</h1>\n"
        f'<p class="facts">{"".join(f"<span>{escape(fact)}</span>" for fact in facts)}</p>\n'
        '<p class="skip"><a href="#contents">Contents</a></p>\n'
    )
    if heading.system is not None:
        yield _folded("<b>System prompt</b>", _code(heading.system))
    yield "</header>\n<main>\n"


class _Layout:
    """Lays out parts; remembers the prompts for the contents, and the tool of each call."""

    def __init__(self) -> None:
        self._tools: dict[str, str] = {}
        self._prompts: list[tuple[str, str]] = []
        self._gone = 0

    def parts(self, parts: Iterable[Part]) -> Iterator[str]:
        """Yield what was said; what is no longer in the conversation is folded, each stretch as one."""
        gone: list[Message] = []
        for part in parts:
            match part:
                case Said(message, is_live=False):
                    gone.append(message)
                    continue
                case Said(message):
                    yield from self._taken_back(gone)
                    yield from self._article(message, is_live=True)
                case Happened(event):
                    yield from self._taken_back(gone)
                    yield _event(event)
            gone.clear()
        yield from self._taken_back(gone)

    def contents(self) -> Iterator[str]:
        """Yield links to the prompts."""
        yield '<nav id="contents" aria-label="Contents">\n<h2>Contents</h2>\n<ol>\n'
        for anchor, words in self._prompts:
            yield f'<li><a href="#{anchor}">{escape(words)}</a></li>\n'
        yield "</ol>\n</nav>\n"

    def _taken_back(self, messages: list[Message]) -> Iterator[str]:
        if not messages:
            return
        first, last = messages[0]["seq"], messages[-1]["seq"]
        what = (
            f"One message, #{first}, is"
            if len(messages) == 1
            else f"{len(messages)} messages, #{first} to #{last}, are"
        )
        yield f'<details class="gone"><summary>{what} no longer in the conversation</summary>\n'
        for message in messages:
            yield from self._article(message, is_live=False)
        yield "</details>\n"

    def _article(self, message: Message, *, is_live: bool) -> Iterator[str]:
        seq, role = message["seq"], message["role"]
        anchor = f"m{seq}"
        if not is_live:
            self._gone += 1
            anchor = f"gone{self._gone}"
        elif role == "user":
            self._prompts.append((anchor, _in_short(message)))
        yield f'<article id="{anchor}" class="{role}">\n'
        yield (
            f'<p class="who">{_ROLES[role]}<a href="#{anchor}">#{seq}</a>'
            f"<time>{shown_time(message.get('sent', message['time']))}</time></p>\n"
        )
        yield '<div class="says">\n'
        for block in message["content"]:
            yield self._block(block, role)
        yield "</div>\n</article>\n"

    def _block(self, block: Any, role: str) -> str:
        match block["type"]:
            case "text":
                # What a person typed is shown as it was typed: it may be a log or a program.
                text = block["text"]
                return rich_text(text) if role == "assistant" else f'<div class="plain">{escape(text)}</div>\n'
            case "thinking":
                return _folded("Thinking", _code(block["text"])) if block["text"] else _note("thinking, encrypted")
            case "tool_call":
                self._tools[block["id"]] = block["name"]
                title = f"Call of <b>{escape(block['name'])}</b> {escape(_line(block['arguments']))}"
                return _folded(title, _code(pretty_json(block["arguments"])))
            case "tool_result":
                return self._result(block)
            case "media":
                return _media(block)
        return _note(size_of(block))

    def _result(self, block: Any) -> str:
        content, failed = block["content"], block["is_error"]
        title = f"{'Error' if failed else 'Result'} of <b>{escape(call_name(block, self._tools))}</b>"
        if isinstance(content, str):
            title, body = f"{title} {escape(_line(content))}", _code(content)
        else:
            body = "".join(
                _code(inner["text"]) if inner["type"] == "text" else self._block(inner, "tool") for inner in content
            )
        return _folded(title, body, "bad" if failed else "")


def _event(event: Event) -> str:
    return f'<p class="event">{escape(_line(told(event)))} <span>(#{event["seq"]})</span></p>\n'


def _media(block: Any) -> str:
    words = escape(size_of(block))
    if (data := block.get("data_base64")) and block["mime_type"] in _PICTURES:
        # Base64 needs no escaping, but what is stored may be anything.
        return f'<img alt="{words}" src="data:{block["mime_type"]};base64,{escape(data)}">\n'
    if (url := block.get("url")) and url.startswith(("https://", "http://")):
        return f'<p class="note"><a rel="noopener noreferrer" href="{escape(url)}">{escape(url)}</a></p>\n'
    return _note(size_of(block))


def _folded(title: str, body: str, kind: str = "") -> str:
    attributes = f' class="{kind}"' if kind else ""
    return f"<details{attributes}><summary>{title}</summary>\n{body}</details>\n"


def _code(text: str) -> str:
    # The first line break after <pre> does not count.
    return f"<pre>\n{escape(text)}</pre>\n"


def _note(text: str) -> str:
    return f'<p class="note">{escape(text)}</p>\n'


def _in_short(message: Message) -> str:
    texts = [block["text"] for block in message["content"] if block["type"] == "text"]
    return _line(" ".join(texts)) or "(no text)"


def _line(text: str) -> str:
    """Return the beginning of a text on one line."""
    words = " ".join(text[: 4 * _WORDS].split())
    return words if len(words) <= _WORDS else f"{words[: _WORDS - 1]}…"
