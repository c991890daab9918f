"""The list of conversations beside a page, or the results of a search."""

from collections.abc import Iterator
from html import escape
from itertools import islice

from reel.reading.hits import PARTIAL, grouped
from reel.reading.when_said import said_at
from reel.reading.wording import PLUMBING, age
from reel.replies import AgentRow, Hit, HitsPage
from reel.viewing.frame import address, marked

# The maximum number of marks in a snippet.
_MATCHES = 50


def search_form(query: str) -> str:
    """Return the search field, and the link to the full list."""
    return (
        '<form id="search" role="search" action="/">\n'
        f'<input type="search" name="q" value="{escape(query)}" placeholder="Search (key: /)"'
        ' aria-label="Search in everything that was said" autocomplete="off" aria-controls="list">\n'
        "</form>\n"
    )


def listed(rows: list[AgentRow], current: str | None, following: str | None) -> Iterator[str]:
    """Yield the list of agents.

    Args:
        rows: the agents.
        current: the id of the displayed agent.
        following: the address of the list after these.
    """
    if not rows:
        yield '<p class="note">No conversations.</p>\n'
        return
    yield '<ul class="agents">\n'
    for row in rows:
        yield _row(row, current)
    if following is not None:
        yield f'<li class="more"><a href="{escape(address("/list", after=following))}">More conversations</a></li>\n'
    yield "</ul>\n"


def _row(row: AgentRow, current: str | None) -> str:
    about = row.title or row.first_words or ""
    tags = [f"{name}={value}" for name, value in row.tags.items() if name not in PLUMBING]
    writing = [f"{client or 'somebody'} writes" for client in islice(row.drafts or (), 1)]
    facts = ["killed"] * (not row.alive) + writing + tags
    details = "".join(f"<span>{escape(fact)}</span>" for fact in facts)
    return (
        f'<li><a href="{escape(address("/conversation", agent=row.id))}"'
        f"{marked(is_current=row.id == current)}>"
        f"<b>{escape(row.name)}</b><time>{age(row.updated)}</time>"
        + (f'<span class="about">{escape(about)}</span>' if about else "")
        + (f'<span class="facts">{details}</span>' if details else "")
        + "</a></li>\n"
    )


def found(rows: list[AgentRow], page: HitsPage, late: str = "") -> Iterator[str]:
    """Yield the results of a search.

    Args:
        rows: the agents whose names, titles or tags match.
        page: the messages found.
        late: what could not be found because the index does not have it yet.
    """
    if rows:
        yield '<h2>Names and titles</h2>\n<ul class="agents">\n'
        for row in rows:
            yield _row(row, None)
        yield "</ul>\n"
    if page.hits:
        yield "<h2>What was said</h2>\n"
        for word, others in (page.instead or {}).items():
            yield f'<p class="note">Nothing has {escape(word)}: results for {escape(" and ".join(others))}.</p>\n'
    for group in grouped(page.hits):
        yield f"<h3>{escape(group[0].title or group[0].name)}</h3>\n<ul>\n"
        for hit in group:
            yield _hit(hit)
        yield "</ul>\n"
    if not rows and not page.hits:
        yield '<p class="note">Nothing was found.</p>\n'
    if page.partial:
        yield f'<p class="note">{PARTIAL.capitalize()}.</p>\n'
    if page.more:
        yield '<p class="note">There is more. Add a word to narrow it down.</p>\n'
    if late:
        yield f'<p class="note">{late.capitalize()}.</p>\n'


def _hit(hit: Hit) -> str:
    when = age(said_at(hit))
    if hit.live:
        target = address("/conversation", f"#m{hit.seq}", agent=hit.agent, around=hit.seq)
    else:
        target = address("/conversation", f"#m{hit.seq}", agent=hit.agent, at=hit.seq)
    gone = "" if hit.live else "<span>not in the conversation</span>"
    lacks = f"<span>without: {escape(', '.join(hit.without))}</span>" if hit.without else ""
    return (
        f'<li><a href="{escape(target)}"><span class="facts"><span>#{hit.seq}</span>'
        f"<span>{escape(hit.role or hit.kind)}</span><span>{when}</span>{gone}{lacks}</span>"
        f'<span class="snippet">{_marked(hit)}</span></a></li>\n'
    )


def _marked(hit: Hit) -> str:
    pieces, done = [], 0
    for begin, end in islice(hit.matches, _MATCHES):
        pieces += [escape(hit.snippet[done:begin]), f"<mark>{escape(hit.snippet[begin:end])}</mark>"]
        done = end
    return "".join([*pieces, escape(hit.snippet[done:])])
