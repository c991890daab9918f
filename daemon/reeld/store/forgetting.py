"""Forgets purged agents: their keys, and the agents themselves as soon as nothing refers to them any more."""

from reeld.store.connection import Connection, transaction
from reeld.store.plans import Plan, pages
from reeld.store.remains import PARENT, remains_of
from reeld.store.spans import NEWEST

# Keys that a slice looks at, and those that it deletes: their places in the index are far apart, so the WAL may get a
# page for each. And the agents of a slice.
_LOOKED_AT = 2000
_KEYS = 500
_AGENTS = 500
_FORGET_KEYS = """
    DELETE FROM keys WHERE id IN (
        SELECT k.id FROM keys k WHERE k.id > :after AND k.id <= :last
        AND (k.agent IN (SELECT id FROM agents WHERE name = '') OR k.about IN (SELECT id FROM agents WHERE name = ''))
        ORDER BY k.id LIMIT :most)
    RETURNING id
"""


def forget_purged() -> Plan[None]:
    """Forget the agents that are purged, in slices."""
    yield from pages(_forget_keys)
    yield from pages(_forget_agents, NEWEST)


def _forget_keys(connection: Connection, after: int) -> int | None:
    """Delete a slice of the keys of purged agents; return where the next slice begins, ``None`` at the end."""
    (newest,) = connection.execute("SELECT coalesce(max(id), 0) FROM keys").fetchone()
    last = after + _LOOKED_AT
    with transaction(connection):
        gone = connection.execute(_FORGET_KEYS, {"after": after, "last": last, "most": _KEYS}).fetchall()
    if len(gone) == _KEYS:
        (last,) = max(gone)
    return last if last < newest else None


def _forget_agents(connection: Connection, after: int) -> int | None:
    """Delete purged agents that have no events left, are not the source of another agent, and have no sub-agents.

    A clone has a greater row than its source. So the rows descend, and a source comes after its clones.

    Args:
        after: where the slice begins: only agents whose row is less.

    Returns:
        where the next slice begins, ``None`` at the end.
    """
    query = "SELECT id, tags FROM agents WHERE name = '' AND id < ? ORDER BY id DESC LIMIT ?"
    with transaction(connection):
        found = connection.execute(query, (after, _AGENTS)).fetchall()
        for row, _ in found:
            connection.execute(
                "INSERT INTO purged_agents SELECT uid FROM agents WHERE id = ? ON CONFLICT DO NOTHING", (row,)
            )
        names = {row: remains_of("", tags).names for row, tags in found}
        parents = _parents(connection) if any(names.values()) else {}
        while names:
            held = frozenset(parents.values())
            free = [row for row in names if not names[row] & held]
            if not free:
                break
            for row in free:
                del names[row]
                if _forget_agent(connection, row):
                    parents.pop(row, None)  # its own agent may go, too
    return found[-1][0] if len(found) == _AGENTS else None


def _forget_agent(connection: Connection, row: int) -> bool:
    """Delete a purged agent, unless it has events left or is the source of another agent; return whether it is gone."""
    deleted = connection.execute(
        "DELETE FROM agents WHERE id = :row AND NOT EXISTS (SELECT 1 FROM events WHERE agent = :row)"
        " AND NOT EXISTS (SELECT 1 FROM agents WHERE source = :row)",
        {"row": row},
    ).rowcount
    if not deleted:
        connection.execute(
            "UPDATE agents SET head = (SELECT coalesce(max(place), 0) FROM ("
            "SELECT max(seq) AS place FROM events WHERE agent = :row"
            " UNION ALL SELECT max(source_at) FROM agents WHERE source = :row) AS places) WHERE id = :row",
            {"row": row},
        )
    return bool(deleted)


def _parents(connection: Connection) -> dict[int, str]:
    """Return a digest of the name of the agent that each sub-agent names, by the rows of the sub-agents."""
    query = "SELECT id, name, tags FROM agents WHERE instr(tags, ?) > 0"
    found = connection.execute(query, (f'"{PARENT}": ',)).fetchall()
    return {row: parent for row, name, tags in found if (parent := remains_of(name, tags).parent) is not None}
