"""Markdown of a conversation as HTML that neither runs nor loads anything; see :mod:`reel.exporting.page`."""

from functools import cache
from html import escape
from typing import Any

from markdown_it import MarkdownIt

# A longer text is shown verbatim. A megabyte of Markdown takes seconds, and nobody reads it as prose.
_LONGEST = 200_000


def rich_text(text: str) -> str:
    """Return a text's Markdown as HTML.

    It contains no HTML of the text, no pictures, and only links to the web and to mail addresses.
    """
    if len(text) <= _LONGEST:
        try:
            return str(_parser().render(text))
        except RecursionError:
            pass
    return f'<div class="plain">{escape(text)}</div>\n'


@cache
def _parser() -> MarkdownIt:
    # Fetching a picture would tell its server who reads the conversation, and when.
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("image")
    parser.validateLink = _is_harmless  # type: ignore[method-assign]
    parser.add_render_rule("link_open", _link)
    for cell in ("th_open", "td_open"):
        parser.add_render_rule(cell, _cell)
    return parser


def _is_harmless(url: str) -> bool:
    return url.lower().startswith(("https://", "http://", "mailto:", "#"))


def _link(renderer: Any, tokens: Any, index: int, options: Any, _env: Any) -> str:
    tokens[index].attrSet("rel", "noopener noreferrer")
    return str(renderer.renderToken(tokens, index, options, _env))


def _cell(renderer: Any, tokens: Any, index: int, options: Any, _env: Any) -> str:
    # The policy of a page forbids the style attribute, which would normally align a column.
    if style := tokens[index].attrs.pop("style", None):
        tokens[index].attrSet("class", str(style).removeprefix("text-align:"))
    return str(renderer.renderToken(tokens, index, options, _env))
