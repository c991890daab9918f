"""The frame of every page: the head, the list beside it, and the data that the script needs."""

from collections.abc import Iterable, Iterator, Mapping
from html import escape
from urllib.parse import urlencode

from reel.base.light_typing import NamedTuple
from reel.replies import AgentInfo

# The keys of the page, and what they do; the script has the same list.
KEYS = (
    ("j, k", "next and previous message, or line of the list"),
    ("Enter", "unfold and fold the message, or open the line"),
    ("/", "search"),
    ("Esc", "leave the search; back to the conversation"),
    ("l", "the list"),
    ("g, G", "the beginning of what is shown; the end"),
    ("c, b, d, u", "conversation, branches, differences, usage"),
    ("?", "these keys"),
)


class Tab(NamedTuple):
    """A view of a conversation: its path, its name, and the key that opens it."""

    path: str
    name: str
    key: str


TABS = (
    Tab("/conversation", "Conversation", "c"),
    Tab("/branches", "Branches", "b"),
    Tab("/differences", "Differences", "d"),
    Tab("/usage", "Usage", "u"),
)


def address(path: str, fragment: str = "", **query: str | int | None) -> str:
    """Return a path with its query, without parameters that are ``None``; it must be escaped in HTML."""
    given = {name: value for name, value in query.items() if value is not None}
    return f"{path}{'?' if given else ''}{urlencode(given)}{fragment}"


def link(words: str, path: str, fragment: str = "", **query: str | int | None) -> str:
    """Return a link with a text."""
    return f'<a href="{escape(address(path, fragment, **query))}">{escape(words)}</a>'


def marked(*, is_current: bool) -> str:
    """Return the attribute that marks the link to the current page."""
    return ' aria-current="page"' if is_current else ""


def opening(title: str, data: Mapping[str, str | int | None]) -> str:
    """Return the beginning of a page.

    Args:
        title: the title of the window.
        data: the data for the script: the agent, and the head of its log.
    """
    attributes = "".join(f' data-{name}="{escape(str(value))}"' for name, value in data.items() if value is not None)
    return (
        "<!DOCTYPE html>\n"
        '<html lang="en">\n'
        "<head>\n"
        '<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)} · reel</title>\n"
        '<link rel="icon" href="data:,">\n'
        '<link rel="stylesheet" href="/view.css">\n'
        '<script type="module" src="/view.js"></script>\n'
        "</head>\n"
        f"<body{attributes}>\n"
        '<a class="jump" href="#sidebar">To the list of conversations</a>\n'
        '<p id="notice" role="status" hidden></p>\n'
        '<div class="page">\n'
    )


def tabs(path: str, agent: AgentInfo, at: int | None = None) -> str:
    """Return the links to the views of a conversation.

    Args:
        path: the current view.
        agent: the agent.
        at: the displayed position, if it is not the newest.
    """
    links = "".join(
        f'<a href="{escape(address(tab.path, agent=agent.id, at=at))}" data-key="{tab.key}" title="Key: {tab.key}"'
        f"{marked(is_current=tab.path == path)}>{tab.name}</a>"
        for tab in TABS
    )
    moment = "" if at is None else f", as it was at #{at}"
    name = f'<span class="name" aria-hidden="true">{escape(agent.title or agent.name)}{moment}</span>'
    return f'<div id="tabs" role="navigation" aria-label="Views">{links}{name}</div>\n'


def closing(sidebar: Iterable[str]) -> Iterator[str]:
    """Yield the end of a page, with the list of conversations."""
    yield '<nav id="sidebar" aria-label="Conversations" tabindex="-1">\n'
    yield from sidebar
    yield "</nav>\n</div>\n"
    yield '<dialog id="keys" aria-labelledby="keys-title"><h2 id="keys-title">Keys</h2>\n<dl>\n'
    for keys, what in KEYS:
        shown = " ".join(f"<kbd>{key}</kbd>" for key in keys.split(", "))
        yield f"<dt>{shown}</dt><dd>{escape(what)}</dd>\n"
    yield '</dl>\n<form method="dialog"><button>Close</button></form></dialog>\n</body>\n</html>\n'
