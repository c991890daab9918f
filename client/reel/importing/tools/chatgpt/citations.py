"""Citations in the messages of ChatGPT's exports: marks in a text, and beside it what they stand for."""

from collections.abc import Iterator
from typing import Any

from reel.base.strict_json import Json
from reel.importing.values import list_in, map_in, text_in

# Newer marks are between two characters of private use. Older ones are in brackets, such as those of browsing and of
# uploaded files. A reference to anything else, such as the space before the footnotes, marks no place in the text.
_NEW, _NEW_END, _OLD, _OLD_END = "\ue200", "\ue201", "\u3010", "\u3011"

# The fields of a reference, and of an older citation, of which links are made, or that say where the mark is.
REFERENCE_FIELDS = frozenset(
    {"matched_text", "start_idx", "end_idx", "type", "alt", "items", "title", "url", "attribution", "safe_urls", "name"}
)
CITATION_FIELDS = frozenset({"start_ix", "end_ix", "metadata"})


def with_links(text: str, metadata: Json) -> str:
    """Return a text whose citation marks are links; a mark that nothing is known of stays as it is.

    Args:
        text: the text of a message.
        metadata: the metadata of the message.
    """
    if _NEW not in text and _OLD not in text:
        return text
    # A longer mark may contain a shorter one.
    marks = {mark: link for mark, link in _links(text, metadata) if mark and _is_mark(mark) and link}
    for mark in sorted(marks, key=len, reverse=True):
        text = text.replace(mark, marks[mark])
    return text


def _is_mark(mark: str) -> bool:
    return (mark[0] == _NEW and mark[-1] == _NEW_END) or (mark[0] == _OLD and mark[-1] == _OLD_END)


def _links(text: str, metadata: Json) -> Iterator[tuple[str, str]]:
    """Yield the marks that the metadata explains, each with its links in Markdown."""
    for citation in list_in(metadata, "citations"):
        about, first, end = map_in(citation, "metadata"), *(_place(citation, key) for key in ("start_ix", "end_ix"))
        yield text[first:end], _link(about)
    for found in list_in(metadata, "content_references"):
        pages = [page for item in list_in(found, "items") for page in (item, *list_in(item, "supporting_websites"))]
        links = [link for page in (*pages, found) if (link := _link(page))]
        links = links or [f"<{url}>" for url in list_in(found, "safe_urls") if _is_web(url)]
        said = f"({', '.join(dict.fromkeys(links))})" if links else ""
        yield text_in(found, "matched_text"), text_in(found, "alt") or said or _named(found)


def _place(citation: Any, key: str) -> int:
    place = citation.get(key) if type(citation) is dict else None
    return place if type(place) is int and place > 0 else 0


def _link(page: Any) -> str:
    """Return a link to a page; empty for anything else."""
    title, url = text_in(page, "title") or text_in(page, "attribution"), text_in(page, "url")
    if not _is_web(url):
        return ""
    label = " ".join(title.split()).replace("[", "(").replace("]", ")")
    # A parenthesis would end the link.
    return f"<{url}>" if not label else f"[{label}](<{url}>)" if "(" in url or ")" in url else f"[{label}]({url})"


def _named(found: Json) -> str:
    """Return the name of an uploaded file."""
    name = text_in(found, "name")
    return f"({name})" if name else ""


def _is_web(url: Any) -> bool:
    return type(url) is str and url.startswith(("https://", "http://")) and not any(char in url for char in " <>\n")
