"""The parts of a conversation as HTML, from which pages are built."""

from collections.abc import Callable, Iterable, Iterator
from html import escape
from typing import Any

from reel.exporting.rich_text import rich_text
from reel.exporting.story import Happened, Part, Said, pretty_json, shown_time, title_of, told
from reel.reading.attribution import speaker_of, tokens_of
from reel.reading.cuts import remarks_on
from reel.reading.layout import Layout, Shown
from reel.said.messages import Event, Message

ROLES = {"user": "User", "assistant": "Assistant", "tool": "Tool"}
# The types that a browser shows as a picture without running anything.
_PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp", "image/avif")
# The maximum length of a text on one line: of a prompt in the contents, of folded arguments and results.
_WORDS = 90


class Articles:
    """Writes parts; remembers the prompts for the contents, and the tool of each call.

    Args:
        clock: formats a time.
    """

    def __init__(self, clock: Callable[[int], str] = shown_time) -> None:
        self._clock = clock
        self._layout = Layout()
        self._prompts: list[tuple[str, str]] = []

    def learn(self, parts: Iterable[Part]) -> None:
        """Remember the tools of calls that are not laid out here, although their results may be."""
        for part in parts:
            if isinstance(part, Said):
                self._layout.learn(part.message["content"])

    def parts(self, parts: Iterable[Part]) -> Iterator[str]:
        """Yield the parts as HTML; fold each stretch that is no longer in the conversation."""
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
        # An inherited part may have the same seq as a removed message of this log.
        anchor = f"m{seq}" if is_live else f"gone{seq}"
        if is_live and role == "user":
            self._prompts.append((anchor, _in_short(message)))
        when = f"<time>{self._clock(message.get('sent', message['time']))}</time>"
        remarks = "".join(f'<span class="remark">{escape(remark)}</span>' for remark in remarks_on(message))
        speaker, tokens = speaker_of(message), tokens_of(message)
        counted = "" if tokens is None else f'<span class="tokens">{tokens}</span>'
        named = f"{ROLES[role]} · {escape(speaker)}" if speaker else ROLES[role]
        who = f'{named}<a href="#{anchor}">#{seq}</a>{when}{counted}{remarks}'
        yield from self.article(anchor, role, who, message["content"])

    def article(self, anchor: str, role: str, who: str, content: Iterable[Any], kind: str = "") -> Iterator[str]:
        """Yield a message as an article.

        Args:
            anchor: the id of the element.
            role: the role of the speaker.
            who: the heading, as HTML.
            content: the blocks.
            kind: an additional class of the element.
        """
        yield f'<article id="{anchor}" class="{f"{role} {kind}".strip()}">\n'
        yield f'<p class="who">{who}</p>\n<div class="says">\n'
        for block in self._layout.blocks(content):
            yield self._block(block, role)
        yield "</div>\n</article>\n"

    def _block(self, block: Shown, role: str) -> str:
        match block.kind:
            case "text":
                # User input is shown verbatim: it may be a log or a program.
                text = block.text or ""
                return rich_text(text) if role == "assistant" else f'<div class="plain">{escape(text)}</div>\n'
            case "thinking":
                return folded(title_of(block, "b"), code(block.text)) if block.text else _note("thinking, encrypted")
            case "call":
                title = f"{title_of(block, 'b')} {escape(one_line(block.text or ''))}"
                return folded(title, code(pretty_json(block.text or "")))
            case "result" | "error":
                return self._result(block)
            case "question" | "decision" | "handoff":
                title = f"<b>{title_of(block, 'b')}</b>"
                return folded(title, code(pretty_json(block.text))) if block.text else f'<p class="told">{title}</p>\n'
            case "media":
                return _media(block)
        return _note(block.instead)

    def _result(self, block: Shown) -> str:
        title, kind = title_of(block, "b"), "bad" if block.kind == "error" else ""
        if block.text is not None:
            return folded(f"{title} {escape(one_line(block.text))}", code(block.text), kind)
        body = (code(inner.text or "") if inner.kind == "text" else self._block(inner, "tool") for inner in block.inner)
        return folded(title, "".join(body), kind)


def _event(event: Event) -> str:
    return f'<p class="event">{escape(one_line(told(event)))} <span>(#{event["seq"]})</span></p>\n'


def _media(media: Shown) -> str:
    block, words = media.block, escape(media.instead)
    if (data := block.get("data_base64")) and block["mime_type"] in _PICTURES:
        # Base64 needs no escaping, but the stored data may be anything.
        return f'<img alt="{words}" src="data:{block["mime_type"]};base64,{escape(data)}">\n'
    if (url := block.get("url")) and url.startswith(("https://", "http://")):
        return f'<p class="note"><a rel="noopener noreferrer" href="{escape(url)}">{escape(url)}</a></p>\n'
    return _note(media.instead)


def folded(title: str, body: str, kind: str = "") -> str:
    """Return HTML that is folded below a title, which is also HTML."""
    attributes = f' class="{kind}"' if kind else ""
    return f"<details{attributes}><summary>{title}</summary>\n{body}</details>\n"


def code(text: str) -> str:
    """Return a text with whitespace preserved."""
    # The first line break after <pre> is ignored.
    return f"<pre>\n{escape(text)}</pre>\n"


def _note(text: str) -> str:
    return f'<p class="note">{escape(text)}</p>\n'


def _in_short(message: Message) -> str:
    texts = [block["text"] for block in message["content"] if block["type"] == "text"]
    return one_line(" ".join(texts)) or "(no text)"


def one_line(text: str) -> str:
    """Return the beginning of a text on one line."""
    words = " ".join(text[: 4 * _WORDS].split())
    return words if len(words) <= _WORDS else f"{words[: _WORDS - 1]}…"
