"""Closes what a text leaves open in Markdown: it would swallow all that follows.

An interrupted answer leaves a code block open, and a pasted file a comment or a script. Whether something is open is
asked of a parser, with a paragraph behind the text: code in a list, or a fence inside a comment, makes guesses from
single lines wrong.
"""

import re
from functools import cache
from typing import Any

from markdown_it import MarkdownIt

# What a line begins with that may stay open: a fence, or HTML. Any other text is not parsed.
_MAY_OPEN = re.compile(r"^[ \t>*+\-0-9.)]*(`{3}|~{3}|<)", re.MULTILINE)
_PROBE = "the end of the text"
# CommonMark 4.6: the beginnings of HTML blocks that do not end with an empty line, and their ends.
_ENDS = {"<!--": "-->", "<?": "?>", "<![cdata[": "]]>", "<!": ">"}
_VERBATIM = re.compile(r"<(script|pre|style|textarea)(?=[\s>]|$)", re.IGNORECASE)
# A folded part of a page ends only with its tag, whatever a parser of Markdown says.
_FOLDED = re.compile(r"<(/?)details(?=[\s>])", re.IGNORECASE)


def closed(text: str) -> str:
    """Return a text with a line break at its end, and before it what closes the text's open blocks."""
    if _MAY_OPEN.search(text) is None:
        return f"{text}\n"
    if end := _end_of(text):
        text = f"{text}\n{end}"
    return text + "\n" + "</details>\n" * _folded(text)


def _folded(text: str) -> int:
    """Return how many folded parts of a page a text leaves open."""
    depth = 0
    if _FOLDED.search(text):
        for token in _parsed(text):
            for found in _FOLDED.finditer(token.content if token.type == "html_block" else ""):
                depth = max(depth - 1, 0) if found[1] else depth + 1
    return depth


def _end_of(text: str) -> str:
    """Return what closes the last block of a text; empty if it is closed."""
    last = _parsed(f"{text}\n\n{_PROBE}")[-1]
    if last.type == "fence":
        return str(last.markup)
    return _end_of_html(last.content) if last.type == "html_block" else ""


def _end_of_html(block: str) -> str:
    start = block.lstrip().lower()
    if verbatim := _VERBATIM.match(start):
        return f"</{verbatim[1]}>"
    return next((end for beginning, end in _ENDS.items() if start.startswith(beginning)), "")


def _parsed(text: str) -> list[Any]:
    return _parser().parse(text)


@cache
def _parser() -> MarkdownIt:
    # The blocks say enough; what is inside of paragraphs takes most of the time.
    parser = MarkdownIt("commonmark")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser
