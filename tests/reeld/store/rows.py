"""Rows put directly into a database, right ones and wrong ones."""

from typing import Any

from reel.wire.msgpack_codec import packer
from reeld.store.checksums import COLUMNS, ORIGIN, checksum, counted
from reeld.store.connection import Connection
from tests.reeld.store.making import NODES, unlock

_TIP: Any = object()


class Rows:
    """A database that is filled by hand; an event's parent is the newest node of its agent, unless it is given."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._tips: dict[int, int | None] = {}
        self._seqs: dict[int, int] = {}
        self._pack = packer()

    def agent(self, row: int, name: str = "", source: int | None = None, at: int = 0, killed: int | None = None) -> int:
        """Insert an agent and return its row."""
        self.connection.execute(
            "INSERT INTO agents VALUES (?, ?, ?, NULL, '{}', ?, ?, 1, 1, ?, 0)",
            (row, f"{row:032x}", name or f"agent-{row}", source, None if source is None else at, killed),
        )
        self._seqs[row] = at
        return row

    def event(
        self,
        agent: int,
        kind: str = "user",
        content: str | None = "hi",
        data_json: str | None = None,
        *,
        command: int | None = None,
        parent: int | None = _TIP,
        sent: int | None = None,
        ref: str | None = None,
    ) -> int:
        """Insert an event with the next seq and return its id."""
        seq = self._seqs[agent] = self._seqs[agent] + 1
        parent = self._tips.get(agent) if parent is _TIP else parent
        (newest,) = self.connection.execute("SELECT coalesce(max(id), 0) FROM events").fetchone()
        event_id: int = newest + 1
        row = (event_id, agent, seq, command or seq, kind, content, data_json, parent, None, 1000 + seq, sent, ref)
        names, places = ", ".join((*COLUMNS, *ORIGIN, "checksum")), ", ".join("?" * (len(row) + 1))
        self.connection.execute(
            f"INSERT INTO events ({names}) VALUES ({places})",
            (*row, checksum(self._pack, counted(row))),
        )
        self._tips[agent] = event_id if kind in NODES else parent
        self.connection.execute("UPDATE agents SET head = ? WHERE id = ?", (seq, agent))
        return event_id

    def skip(self, agent: int, seq: int) -> None:
        """Let the next event of an agent come after a seq, as a ``clone`` into it does."""
        self._seqs[agent] = max(self._seqs[agent], seq)

    def unlock(self) -> None:
        """Let events be changed and deleted."""
        unlock(self.connection)
