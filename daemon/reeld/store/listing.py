"""The list of agents, with the details that a person wants to see without opening them.

A list loads no agent. The order by the newest change has no index, because every command would have to update it:
SQLite sorts the rows on demand, 100,000 in 30 ms. Counts are not stored either: a page of details walks the newest
messages of each of its agents, and one of values reads these from their index.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from reel.base.light_typing import NamedTuple
from reel.reading.short_names import digits_of, stands_for
from reel.wire.msgpack_codec import unpack
from reeld.core.events import Pack, data_of, late_by
from reeld.core.paging import PackedPage, packed_page
from reeld.core.state import Profile
from reeld.protocol.params import Agents, State
from reeld.store.connection import Connection, Numbers, Texts
from reeld.store.directories import Directories
from reeld.store.first_words import MOST_MESSAGES, first_words, stretches
from reeld.store.positions import tip_of
from reeld.store.queries import profile_of
from reeld.store.short_names import STANDS_FOR, shortened
from reeld.store.values import values
from reeld.store.waiting import waits_for

# How many of an agent's values a list has, and how many bytes of them.
_VALUES = State(limit=1000, max_bytes=1 << 20)
# Of how many agents the names are shortened at once.
_TOGETHER = 1000
# How many tags of a filter are looked for in the stored text.
_TAGS = 8
_ORDERS = {
    "created": ("a.id > (SELECT id FROM agents WHERE uid = :after)", "ORDER BY a.id"),
    "updated": (
        "(a.updated, a.id) < (SELECT updated, id FROM agents WHERE uid = :after)",
        "ORDER BY a.updated DESC, a.id DESC",
    ),
}
_SPOKEN = "SELECT coalesce(sent, time), kind, data_json FROM events WHERE id = ?"
# The stored description of an agent; and whether it has non-ASCII characters, or a NUL, at which `length` stops.
_STORED = "a.name || ' ' || coalesce(a.title, '') || ' ' || a.tags"
_IS_NOT_ASCII = f"length({_STORED}) <> length(CAST({_STORED} AS BLOB))"


class Listing(NamedTuple):
    """Selects the agents of a page, at least one, and says what each is shown with.

    Args:
        asked: what the client asked for.
        drafts: the names of the clients that are writing to each agent, for a page with details.
        accepts: a predicate of the lines that describe an agent: its name, its title, and each tag as ``key=value``.
        pieces: lower-case ASCII texts that every accepted agent's description contains, unless it is not ASCII.
        hidden: the rows of agents that are not listed.
    """

    asked: Agents = Agents()
    drafts: Mapping[int, list[str | None]] | None = None
    accepts: Callable[[str], bool] | None = None
    pieces: Sequence[str] = ()
    hidden: frozenset[int] = frozenset()


def agents(connection: Connection, listing: Listing, pack: Pack) -> PackedPage:
    """Return a page of the agents."""
    rows = (pack(row) for row in _rows(connection, listing, pack))
    return packed_page(rows, listing.asked.limit, listing.asked.max_bytes)


def _rows(connection: Connection, listing: Listing, pack: Pack) -> Iterator[dict[str, Any]]:
    profiles = _profiles(connection, listing)
    while some := list(islice(profiles, min(_TOGETHER, listing.asked.limit + 1))):
        short = {} if listing.drafts is None else shortened(connection, (profile.name for profile in some))
        for profile in some:
            shown = profile.as_map()
            if listing.drafts is not None:
                drafts = listing.drafts.get(profile.row, [])
                details = _details(connection, profile, pack)
                shown |= {**details, "drafts": drafts, "short": short[profile.name]}
            if listing.asked.state:
                shown |= _values(connection, profile, pack)
            yield shown


def _profiles(connection: Connection, listing: Listing) -> Iterator[Profile]:
    """Yield the agents that are listed."""
    asked, tags = listing.asked, (listing.asked.tags or {}).items()
    places = Directories(asked.dirs) if asked.dirs else None
    for (row,) in connection.execute(*_candidates(listing, places)):
        profile = profile_of(connection, row)
        if not tags <= profile.tags.items() or (places is not None and not places.have(profile.tags)):
            continue
        if listing.accepts is not None and not listing.accepts(_labels(profile)):
            continue
        if asked.short is None or stands_for(asked.short, profile.name):
            yield profile


def _candidates(listing: Listing, places: Directories | None) -> tuple[str, dict[str, Any]]:
    """Return a query for the agents that may be listed, in order, and its parameters.

    SQLite only prefilters the stored text: of 100,000 agents it finds the candidates in 40 ms for tags and 300 ms for
    words. Checking a candidate takes 8 us, and ends with the page. Parsing the tags of each agent in SQL took a second.
    SQLite limits how many conditions and parameters a query has, so only the first tags are among them.
    """
    asked, tags = listing.asked, listing.asked.tags or {}
    later, order = _ORDERS[asked.order]
    where = ["substr(a.name, 1, length(:prefix)) = :prefix", "a.name <> ''"]
    values: dict[str, Any] = {"prefix": asked.prefix, "after": asked.after}
    if (alive := asked.alive) is not None:
        where.append(f"a.killed IS {'' if alive else 'NOT '}NULL")
    if asked.after is not None:
        where.append(later)
    if asked.short is not None:
        where.append(STANDS_FOR if digits_of(asked.short) else "1 = 0")
        values["digits"] = digits_of(asked.short)
    if asked.source is not None:
        where.append("a.source = (SELECT id FROM agents WHERE uid = :source)")
        values["source"] = asked.source
    if asked.ids is not None:
        where.append("a.uid IN (SELECT value FROM json_each(:ids))")
        values["ids"] = Texts(asked.ids)
    if places is not None:
        where.append("EXISTS (SELECT 1 FROM json_each(:places) WHERE instr(a.tags, value) > 0)")
        values["places"] = Texts(places.stored)
    if listing.hidden:
        where.append("a.id NOT IN (SELECT value FROM json_each(:hidden))")
        values["hidden"] = Numbers(sorted(listing.hidden))
    for number, (key, value) in enumerate(islice(tags.items(), _TAGS)):
        where.append(f"instr(a.tags, :tag{number}) > 0")
        values[f"tag{number}"] = json.dumps({key: value}, ensure_ascii=False)[1:-1]
    if listing.pieces:
        has_all = " AND ".join(f"instr(lower({_STORED}), :piece{number}) > 0" for number in range(len(listing.pieces)))
        where.append(f"({has_all} OR {_IS_NOT_ASCII})")
        values |= {f"piece{number}": piece for number, piece in enumerate(listing.pieces)}
    query = f"SELECT a.id FROM agents a WHERE {' AND '.join(where)} {order}"
    if tags or places is not None or listing.accepts is not None or asked.short is not None:
        return query, values
    return f"{query} LIMIT :limit", {**values, "limit": asked.limit + 1}


def _labels(profile: Profile) -> str:
    """Return the lines that describe an agent."""
    return "\n".join([profile.name, profile.title or "", *(f"{key}={value}" for key, value in profile.tags.items())])


def _details(connection: Connection, profile: Profile, pack: Pack) -> dict[str, Any]:
    """Return how many messages an agent has, its first words, when the newest was said, and what it waits for."""
    tip = tip_of(connection, profile.row)
    way = list(stretches(connection, tip, MOST_MESSAGES, pack))
    count = sum(stretch.messages for stretch in way)
    newest = next((stretch.newest for stretch in way if stretch.newest is not None), None)
    said, turn = None, None
    if newest is not None:
        said, *spoken = connection.execute(_SPOKEN, (newest,)).fetchone()
        turn = _turn(*spoken)
    words = first_words(connection, tip, way, pack)
    waits = waits_for(connection, profile, tip, newest, pack, asks=any(stretch.asks for stretch in way))
    return {"messages": count, "first_words": words, "said": said, "turn": turn, "waits": waits or None}


def _values(connection: Connection, profile: Profile, pack: Pack) -> dict[str, Any]:
    """Return the values of an agent at its head, up to the limit of a list, and the key after which there are more."""
    page = values(connection, profile.row, profile.head, _VALUES, pack)
    shown: dict[str, Any] = {"values": [unpack(each) for each in page.items]}
    return shown if page.after is None else {**shown, "next": page.after}


def _turn(kind: str, data_json: str | None) -> str:
    """Return whose turn is next after a message of this kind: the user, the assistant, or a tool if it calls one."""
    if kind == "tool_call":
        return "tool"
    if kind != "assistant":
        return "assistant"
    data = data_of(data_json)
    blocks, metadata = data.get("blocks"), data.get("provider_metadata")
    calls = isinstance(blocks, list) and any(
        isinstance(each, dict) and each.get("type") == "tool_call" for each in blocks
    )
    if calls:
        return "tool"
    return "assistant" if isinstance(metadata, dict) and late_by(metadata) else "user"
