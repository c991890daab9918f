"""The requests of a browser, and the responses to them."""

from collections.abc import Awaitable, Callable
from html import escape
from typing import TypeAlias

from reel.base.light_typing import NamedTuple

# Sends a piece of a response.
Send: TypeAlias = Callable[[bytes], Awaitable[None]]


class Request(NamedTuple):
    """A request; the names of headers are in lower case."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]

    def number(self, name: str) -> int | None:
        """Return a parameter as a seq; ``None`` if it is missing or not a number."""
        return as_seq(self.query.get(name, ""))


# No seq has more digits.
_DIGITS = 15


def as_seq(text: str) -> int | None:
    """Return a text from a browser as a seq; ``None`` if it is not a number."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _DIGITS else None


class Response(NamedTuple):
    """A response; its body may be a function that sends it piece by piece."""

    status: int
    content_type: str
    body: bytes | Callable[[Send], Awaitable[None]]
    headers: tuple[tuple[str, str], ...] = ()


def html_response(text: str, status: int = 200, *headers: tuple[str, str]) -> Response:
    """Return a response of HTML."""
    return Response(status, "text/html; charset=utf-8", text.encode(errors="replace"), headers)


def message_page(title: str, text: str, head: str = "") -> str:
    """Return a page with one message.

    Args:
        title: what it says.
        text: what to do about it.
        head: more elements of its head.
    """
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<link rel="icon" href="data:,">\n<link rel="stylesheet" href="/view.css">\n{head}'
        f'<title>{escape(title)}</title>\n</head>\n<body>\n<main class="message">\n<h1>{escape(title)}</h1>\n'
        f'<p>{escape(text)}</p>\n<p><a href="/">All conversations</a></p>\n</main>\n</body>\n</html>\n'
    )
