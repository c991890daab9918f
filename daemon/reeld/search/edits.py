"""Jobs of a reading connection: what calls did to files and in shells, the newest first.

A call is found in the table of :mod:`reeld.search.touched`; :mod:`reeld.search.shown_edits` reads its texts in the log.
"""

import json
import re
import sqlite3
import time
from itertools import zip_longest
from typing import Any

from reel.base.light_typing import NamedTuple
from reel.touches.touch import Deed
from reeld.search.attached_log import log_of
from reeld.search.finding import OutOfTime, Paths
from reeld.search.shown_edits import Calls, Row, Spot, shown
from reeld.search.touched import DEEDS, DONE, plain

# Characters of a page, after which it ends.
MAX_PAGE = 4 << 20
# Seconds after which one part of a search yields to other jobs, and rows that are read together.
_SECONDS = 0.03
_TOGETHER = 256
# Rows in the order of time that are looked through together: 9 ms if none is wanted. All of 10^6 took 680.
LOOKED_AT = 20_000
_DIRECTORY = "cwd"
_SPOT = "(said, event, block, number)"
_LATEST_FIRST = "ORDER BY said DESC, event DESC, block DESC, number DESC"
_COLUMNS = "said, event, block, number, agent, deed, path, command, failed, status"
_OF_AGENTS = "agent IN (SELECT value FROM json_each(?))"
_TAGS = "SELECT tags FROM log.agents WHERE id = ?"
# With more agents than this, rows are read in the order of time, and those of others are left out.
_FEW_AGENTS = 8
# Before and after every call.
_BEGINNING, END = Spot(0, 0, 0, 0), Spot(1 << 62, 0, 0, 0)


class WantedEdits(NamedTuple):
    """Which edits are wanted; ``None`` excludes nothing.

    Args:
        path: a file: its absolute path, or the last parts of one.
        agents: the rows of the agents that did it.
        hidden: the rows of agents that are left out.
        deed: what was done.
        command: words that follow one another in a command.
        texts: whether the texts that were replaced and written are wanted.
    """

    path: str | None = None
    agents: frozenset[int] | None = None
    hidden: frozenset[int] = frozenset()
    deed: Deed | None = None
    command: str | None = None
    texts: bool = True

    @property
    def is_by_time(self) -> bool:
        """Whether rows are looked through in the order of time: neither a file nor few agents choose them."""
        return self.path is None and (self.agents is None or len(self.agents) > _FEW_AGENTS)

    def query(self, before: Spot, down_to: Spot) -> tuple[str, list[object]]:
        """Return a query for the rows between two places that may be wanted, the latest first, and its parameters."""
        conditions = [DONE, f"{_SPOT} < (?, ?, ?, ?)", f"{_SPOT} >= (?, ?, ?, ?)"]
        values: list[object] = [*before, *down_to]
        if self.path is not None:
            conditions.append("name = ?")
            values.append(_name_of(self.path))
        if self.agents is not None:
            # A plus keeps SQLite from sorting all rows of these agents.
            conditions.append(f"+{_OF_AGENTS}" if self.is_by_time or self.path is not None else _OF_AGENTS)
            values.append(json.dumps(sorted(self.agents)))
        if self.hidden:
            conditions.append(f"NOT +{_OF_AGENTS}")
            values.append(json.dumps(sorted(self.hidden)))
        if self.deed is not None:
            conditions.append("deed = ?")
            values.append(DEEDS.index(self.deed))
        for word in (self.command or "").split():
            conditions.append("instr(command, ?)")
            values.append(word)
        where = " AND ".join(conditions)
        query = f"SELECT {_COLUMNS} FROM touches WHERE {where} {_LATEST_FIRST} LIMIT {_TOGETHER}"  # noqa: S608 - ours
        return query, values

    def accepts(self, path: str, command: str | None) -> bool:
        """Return whether a file is the wanted one, and a command has the wanted words."""
        if self.path is not None:
            wanted = plain(self.path)
            if path != wanted and (wanted.startswith("/") or not path.endswith(f"/{wanted}")):
                return False
        return self.command is None or _is_in(command or "", self.command)


class EditsPart(NamedTuple):
    """Some edits, before which place there may be more (``None`` if there are no more), and how long they are."""

    edits: list[dict[str, Any]]
    reached: Spot | None
    size: int = 0


def find(connection: sqlite3.Connection, wanted: WantedEdits, paths: Paths, before: Spot, limit: int) -> EditsPart:
    """Return the newest edits before a place, as clients receive them, as many as there is time for."""
    ends = time.monotonic() + _SECONDS
    found: list[dict[str, Any]] = []
    directories, calls, size = _Directories(connection), Calls(connection), 0
    down_to = _down_to(connection, before) if wanted.is_by_time else _BEGINNING
    rows = [Row(Spot(*row[:4]), *row[4:]) for row in connection.execute(*wanted.query(before, down_to)).fetchall()]
    for row, following in zip_longest(rows, rows[1:]):
        path = _absolute(row.path, directories[row.agent])
        if wanted.accepts(path, row.command):
            try:
                edit = shown(connection, calls, row, path, paths, ends)
            except OutOfTime:
                return EditsPart(found, before, size)
            if edit is not None:
                found.append(edit if wanted.texts else {**edit, "before": None, "after": None})
                size += sum(len(found[-1][field] or "") for field in ("before", "after", "command"))
        before = row.spot
        # A call may be long: the rest of what it did costs less than to read it again.
        is_between = following is None or following.spot.event != row.spot.event
        if len(found) == limit or size > MAX_PAGE or (is_between and time.monotonic() > ends):
            return EditsPart(found, before, size)
    if len(rows) < _TOGETHER:
        return EditsPart(found, None if down_to == _BEGINNING else down_to, size)
    return EditsPart(found, before, size)


def _down_to(connection: sqlite3.Connection, before: Spot) -> Spot:
    """Return the place down to which rows are looked through at once, so that a job ends soon if none is wanted."""
    query = f"SELECT said, event, block, number FROM touches WHERE {_SPOT} < (?, ?, ?, ?) {_LATEST_FIRST}"  # noqa: S608
    row = connection.execute(f"{query} LIMIT 1 OFFSET {LOOKED_AT}", before).fetchone()
    return _BEGINNING if row is None else Spot(*row)


def agents_with(connection: sqlite3.Connection, path: str) -> set[int]:
    """Return the rows of the agents that read or wrote a file."""
    directories, wanted = _Directories(connection), WantedEdits(path)
    query = f"SELECT DISTINCT agent, path FROM touches WHERE name = ? AND {DONE}"  # noqa: S608 - ours
    rows = connection.execute(query, (_name_of(path),)).fetchall()
    return {agent for agent, found in rows if wanted.accepts(_absolute(found, directories[agent]), None)}


class _Directories(dict[int, str]):
    """Where agents were begun; empty where that is not known."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__()
        self._log = log_of(connection)

    def __missing__(self, agent: int) -> str:
        row = self._log.execute(_TAGS, (agent,)).fetchone()
        directory = str(json.loads(row[0]).get(_DIRECTORY, "")) if row is not None else ""
        self[agent] = directory if directory.startswith("/") else ""
        return self[agent]


def _absolute(path: str, directory: str) -> str:
    """Return a path as it is in the directory in which its agent was begun, if that is known."""
    return plain(f"{directory}/{path}") if directory and not path.startswith(("/", "~")) else path


def _name_of(path: str) -> str:
    return plain(path).rpartition("/")[2]


def _is_in(command: str, words: str) -> bool:
    """Return whether words follow one another in a command; a program may stand behind its directory."""
    wanted = r"\s++".join(map(re.escape, words.split()))
    return re.search(rf"(?<![^\s;&|()'\"/]){wanted}(?![^\s;&|()'\"])", command) is not None
