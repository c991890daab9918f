"""The table of milestones: see :mod:`reeld.core.milestones`.

Each row has a CRC-32 of its own, like events: a damaged milestone is skipped, and recomputed.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from zlib import crc32

from reel.wire.msgpack_codec import unpack
from reeld.core.events import Mark, Pack
from reeld.core.milestones import Extent, Milestone, Waypoint
from reeld.core.open_calls import OpenCall
from reeld.store.connection import Connection, Cursor

_COLUMNS = "id, seq, records, messages, speaker, prompt, previous, marked, marks, open_calls, checksum"
_CHANGED = ", ".join(f"{column} = excluded.{column}" for column in _COLUMNS.split(", ")[1:])
_INSERT = (
    f"INSERT INTO milestones ({_COLUMNS}) VALUES ({', '.join('?' * 11)}) ON CONFLICT (id) DO UPDATE SET {_CHANGED}"
)
_ONE = f"SELECT {_COLUMNS} FROM milestones WHERE id = ?"
# `m.id < chain.id` ends the chain even in a damaged table.
_CHAIN = f"""
    WITH RECURSIVE chain AS (
        SELECT * FROM milestones WHERE id = ?
        UNION ALL
        SELECT m.* FROM chain JOIN milestones m ON m.id = chain.previous AND m.id < chain.id
    )
    SELECT {_COLUMNS} FROM chain
"""


def write_milestones(cursor: Cursor, milestones: Iterable[Milestone], pack: Pack) -> None:
    """Write milestones; an existing one is replaced, because it may be damaged."""
    for made in milestones:
        row = (
            made.id,
            made.seq,
            *made.extent,
            made.speaker,
            made.prompt,
            made.previous,
            made.marked,
            pack(made.marks) if made.marks else None,
            pack(made.open_calls) if made.open_calls else None,
        )
        cursor.execute(_INSERT, (*row, crc32(pack(row))))


def milestone(connection: Connection, node_id: int, pack: Pack) -> Milestone | None:
    """Return the milestone at a node; ``None`` if it is missing or damaged."""
    found = connection.execute(_ONE, (node_id,)).fetchone()
    if found is None or not _is_intact(found, pack):
        return None
    _, seq, records, messages, speaker, prompt, previous, marked, marks, open_calls, _ = found
    return Milestone(
        id=node_id,
        seq=seq,
        extent=Extent(records, messages),
        speaker=speaker,
        prompt=prompt,
        previous=previous,
        marked=marked,
        marks=tuple(Mark(*mark) for mark in unpack(marks)) if marks is not None else (),
        open_calls=tuple(OpenCall(*call) for call in unpack(open_calls)) if open_calls is not None else (),
    )


def chain(connection: Connection, node_id: int, pack: Pack) -> Iterator[Waypoint]:
    """Yield the place of the milestone at a node, and of those before it; stop at a damaged one."""
    for row in connection.execute(_CHAIN, (node_id,)):
        if not _is_intact(row, pack):
            break
        yield Waypoint(row[0], row[1], Extent(row[2], row[3]))


def _is_intact(row: Sequence[Any], pack: Pack) -> bool:
    *columns, checksum = row
    try:
        return bool(crc32(pack(columns)) == checksum)
    except UnicodeEncodeError:
        return False
