"""A conversation as a single HTML page, which needs no network and runs no script.

No text of a conversation can execute in it. Everything is escaped; Markdown is rendered without HTML, remote
pictures, or links other than to the web; and the page's own Content-Security-Policy forbids scripts, requests,
forms and all styles but its own, so that a bug here has no effect.
"""

from base64 import b64encode
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files

from reel.exporting.articles import Articles, code, folded
from reel.exporting.story import Heading, Part


@cache
def style() -> str:
    """Return the style sheet of every page."""
    return files("reel.exporting").joinpath("page.css").read_text(encoding="utf-8")


def policy() -> str:
    """Return the Content-Security-Policy: only the style sheet and embedded pictures are allowed."""
    digest = b64encode(sha256(style().encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"


def page(heading: Heading, parts: Iterable[Part]) -> Iterator[str]:
    """Yield a page in pieces.

    Args:
        heading: the heading of the conversation.
        parts: messages and events, oldest first.
    """
    yield from _head(heading)
    articles = Articles()
    yield from articles.parts(parts)
    yield "</main>\n"
    yield from articles.contents()
    yield "</div>\n</body>\n</html>\n"


def _head(heading: Heading) -> Iterator[str]:
    yield (
        "<!DOCTYPE html>\n"
        '<html lang="en">\n'
        "<head>\n"
        '<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy())}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{escape(heading.title or heading.name)}</title>\n"
        f"<style>{style()}</style>\n"
        "</head>\n"
        '<body>\n<div class="page">\n'
        "<header>\n"
    )
    yield title(heading, [heading.name, f"up to #{heading.at}"])
    yield '<p class="skip"><a href="#contents">Contents</a></p>\n'
    yield prompt(heading)
    yield "</header>\n<main>\n"


def title(heading: Heading, facts: Iterable[str]) -> str:
    """Return the title of a conversation, with some facts and its tags below it."""
    words = [*facts, *(f"{name}={value}" for name, value in heading.tags.items())]
    spans = "".join(f"<span>{escape(fact)}</span>" for fact in words)
    return f'<h1>{escape(heading.title or heading.name)}</h1>\n<p class="facts">{spans}</p>\n'


def prompt(heading: Heading) -> str:
    """Return the folded system prompt, or nothing if the conversation has no system prompt."""
    return "" if heading.system is None else folded("<b>System prompt</b>", code(heading.system))
