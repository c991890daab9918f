"""Finds the keys of commands whose stored reply, or whose agent's former name, has what is removed."""

from functools import partial

from reel.wire.msgpack_codec import packer, unpack
from reeld.core.redaction import Redaction
from reeld.core.reply_redaction import redacted_reply
from reeld.store.connection import Connection, Numbers
from reeld.store.erasures import KeptKey, hidden
from reeld.store.plans import Plan
from reeld.store.spans import NEWEST

# Keys that are read at a time.
_KEYS = 5000


def plan_keys(redaction: Redaction, rows: set[int], before: int = NEWEST) -> Plan[list[KeptKey]]:
    """Find the keys of which the stored reply, or the former name of an agent, contains something removed.

    Args:
        redaction: what is removed.
        rows: the agents.
        before: only the replies to commands before this seq.
    """
    names: dict[str, str] = yield partial(_names, rows=rows)
    made: list[KeptKey] = []
    after: int | None = 0
    while after is not None:
        page, after = yield partial(_keys, after=after, rows=Numbers(sorted(rows)))
        for number, reply, address in page:
            told = unpack(reply)
            if told.get("command", 0) >= before:
                continue
            kept = redacted_reply(redaction, told, names)
            touched = address is not None and not redaction.is_whole and redaction.touches(address)
            left = hidden(address) if touched else address
            if (kept, left) != (told, address):
                made.append(KeptKey(number, packer()(kept), left))
    return made


def _names(connection: Connection, rows: set[int]) -> dict[str, str]:
    """Return the names of the agents in these rows, by their ids."""
    query = "SELECT uid, name FROM agents WHERE id IN (SELECT value FROM json_each(?))"
    return dict(connection.execute(query, (Numbers(sorted(rows)),)).fetchall())


def _keys(connection: Connection, after: int, rows: Numbers) -> tuple[list[tuple[int, bytes, str | None]], int | None]:
    (newest,) = connection.execute("SELECT coalesce(max(id), 0) FROM keys").fetchone()
    found = connection.execute(
        "SELECT id, reply, address FROM keys WHERE id > ? AND id <= ?"
        " AND (agent IN (SELECT value FROM json_each(?)) OR about IN (SELECT value FROM json_each(?)))",
        (after, after + _KEYS, rows, rows),
    ).fetchall()
    return found, after + _KEYS if after + _KEYS < newest else None
