"""The list of agents, and what a person wants to know of each without opening it.

Nothing is loaded for a list. The order by the newest change has no index, because every command would have to update
it: SQLite sorts the rows when it is asked, 100,000 in 30 ms. Counts are not stored either: a page of details walks the
newest messages of each of its agents.
"""

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from reeld.core.events import Pack
from reeld.core.paging import PackedPage, packed_page
from reeld.store.checksums import CONTENT, EVENT_COLUMNS, PARENT, is_intact
from reeld.store.queries import AGENTS, read_profile
from reeld.store.states import tip_of

# How many of an agent's messages details are about, and how many characters the first words have.
MOST_MESSAGES = 1000
_WORDS = 200
# The largest id that SQLite has.
_NEWEST = (1 << 63) - 1

_ORDERS = {
    "created": ("a.id > (SELECT id FROM agents WHERE uid = :after)", "ORDER BY a.id"),
    "updated": (
        "(a.updated, a.id) < (SELECT updated, id FROM agents WHERE uid = :after)",
        "ORDER BY a.updated DESC, a.id DESC",
    ),
}
# Of the nodes down to the root, or to where another agent's begin: the number of messages, the newest message, the
# oldest one of a user, and the last node.
_SUMMARY = """
    WITH RECURSIVE path (id, agent, kind, parent, messages) AS (
        SELECT id, agent, kind, parent, kind NOT IN ('system', 'mark') FROM events
        WHERE id = :tip AND id < :before
        UNION ALL
        SELECT e.id, e.agent, e.kind, e.parent, messages + (e.kind NOT IN ('system', 'mark'))
        FROM path JOIN events e ON e.id = path.parent AND e.id < path.id AND e.agent = path.agent
        WHERE messages < :most
    )
    SELECT max(messages), max(id) FILTER (WHERE kind NOT IN ('system', 'mark')),
        min(id) FILTER (WHERE kind = 'user'), min(id) FROM path
"""
# The kind of a message, and whether it calls a tool.
_SPEAKER = """
    SELECT kind, CASE
        WHEN kind = 'tool_call' THEN 1
        WHEN json_valid(data_json) THEN EXISTS (
            SELECT 1 FROM json_each(data_json, '$.blocks') WHERE data_json ->> (fullkey || '.type') = 'tool_call'
        )
    END FROM events WHERE id = ?
"""
# Whether an agent has all of some tags.
_HAS_TAGS = """
    NOT EXISTS (
        SELECT 1 FROM json_each(:tags) w WHERE w.value IS NOT (SELECT value FROM json_each(a.tags) WHERE key = w.key)
    )
"""
# What describes an agent, in lines. To read the tags takes most of the time: of 0.7 s for 100,000 agents that all have
# tags, 0.4 s.
_LABELS = """
    a.name || char(10) || coalesce(a.title, '') || CASE a.tags WHEN '{}' THEN '' ELSE (
        SELECT char(10) || group_concat(key || '=' || value, char(10)) FROM json_each(a.tags)
    ) END
"""
_EVENT = f"SELECT {EVENT_COLUMNS} FROM events e WHERE e.id = ?"


class Listing(NamedTuple):
    """Which agents a page has: at most ``limit`` and ``max_bytes``, and at least one."""

    prefix: str = ""
    alive: bool | None = None
    limit: int = 1000
    # The id of the last agent on the page before.
    after: str | None = None
    max_bytes: int = 8 << 20
    # "created", the oldest first, or "updated", the newest first.
    order: str = "created"
    # The names of the clients that are writing to each agent, for a page with details.
    drafts: Mapping[int, list[str | None]] | None = None
    # Tags that each agent has.
    tags: Mapping[str, str] = {}
    # Whether an agent with these lines is listed: its name, its title, and each tag as ``key=value``.
    accepts: Callable[[str], bool] | None = None


def agents(connection: sqlite3.Connection, listing: Listing, pack: Pack) -> PackedPage:
    """Return a page of the agents."""
    return packed_page((pack(row) for row in _rows(connection, listing, pack)), listing.limit, listing.max_bytes)


def _rows(connection: sqlite3.Connection, listing: Listing, pack: Pack) -> Iterator[dict[str, Any]]:
    later, order = _ORDERS[listing.order]
    where = ["substr(a.name, 1, length(:prefix)) = :prefix"]
    if (alive := listing.alive) is not None:
        where.append(f"a.killed IS {'' if alive else 'NOT '}NULL")
    if listing.after is not None:
        where.append(later)
    if listing.tags:
        where.append(_HAS_TAGS)
    if (accepts := listing.accepts) is not None:
        connection.create_function("is_accepted", 1, accepts)
        where.append(f"is_accepted({_LABELS})")
    # Only the ids are sorted: with all columns, and the source of each, it takes three times as long.
    chosen = ["SELECT a.id FROM agents a WHERE", " AND ".join(where), order, "LIMIT :limit"]
    query = " ".join([AGENTS, "WHERE a.id IN (", *chosen, ")", order])
    values = {
        "prefix": listing.prefix,
        "after": listing.after,
        "limit": listing.limit + 1,
        "tags": json.dumps(dict(listing.tags)),
    }
    for row in connection.execute(query, values):
        profile = read_profile(row)
        if listing.drafts is None:
            yield profile.as_map()
        else:
            yield {
                **profile.as_map(),
                **_details(connection, profile.row, pack),
                "drafts": listing.drafts.get(profile.row, []),
            }


def _details(connection: sqlite3.Connection, agent: int, pack: Pack) -> dict[str, Any]:
    """Return how many messages an agent has, its first words, and whose turn it is."""
    count, newest, first = 0, None, None
    tip, before = tip_of(connection, agent), _NEWEST
    while tip is not None and count < MOST_MESSAGES:
        place = {"tip": tip, "before": before, "most": MOST_MESSAGES - count}
        messages, last, words, before = connection.execute(_SUMMARY, place).fetchone()
        if before is None:  # there is no such event, or it is not older
            break
        count += messages
        newest, first = newest or last, words or first
        # A clone goes on in its source. If the link there is damaged, it may lead into any conversation.
        row = _intact_event(connection, before, pack)
        tip = None if row is None else row[PARENT]
    return {
        "messages": count,
        "first_words": None if first is None else _first_words(connection, first, pack),
        "turn": None if newest is None else _turn(*connection.execute(_SPEAKER, (newest,)).fetchone()),
    }


def _first_words(connection: sqlite3.Connection, event_id: int, pack: Pack) -> str | None:
    """Return the beginning of a message; ``None`` if it has no text, or is damaged."""
    row = _intact_event(connection, event_id, pack)
    content: str | None = None if row is None else row[CONTENT]
    return None if content is None else content[:_WORDS]


def _intact_event(connection: sqlite3.Connection, event_id: int, pack: Pack) -> list[Any] | None:
    """Return the columns of an event; ``None`` if it is damaged."""
    *row, stored = connection.execute(_EVENT, (event_id,)).fetchone()
    return row if is_intact(pack, row, stored) else None


def _turn(kind: str, calls: int | None) -> str:
    """Return who comes after a message of this kind: the user, the assistant, or a tool if it calls one."""
    if kind in ("tool_call", "assistant"):
        return "tool" if calls else "user"
    return "assistant"
