"""The session store of the Claude Agent SDK: each transcript is an agent. docs/frameworks.md has an example."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from reel import requests
from reel.base.errors import Conflict, Exists, NotFound
from reel.base.strict_json import Json, encode
from reel.base.values import is_clean
from reel.importing.values import text_in
from reel.integrations.claude_agent_sdk.entries import checked_entry, require_size
from reel.integrations.claude_agent_sdk.keys import FIELDS, LONGEST, checked_key, checked_text
from reel.integrations.claude_agent_sdk.session import NAME, SUMMARY, Converted, Session, transcript_of
from reel.integrations.naming import named
from reel.integrations.worker import Worker
from reel.replies import AgentRow
from reel.sync.client import Client

if TYPE_CHECKING:
    from claude_agent_sdk import SessionKey, SessionStoreEntry, SessionStoreListEntry, SessionSummaryEntry
    from claude_agent_sdk.types import SessionListSubkeysKey

# The tag of an agent with the name of the tool.
_TOOL: Final = "tool"
# The number of agents that are purged in one request.
_TOGETHER = 10_000
# The number of transcripts kept in memory, to which entries are added without reading.
_MOST_KNOWN = 32


class ReelSessionStore:
    """A session store, for ``ClaudeAgentOptions(session_store=ReelSessionStore())``.

    It can be used from several event loops, threads and processes, on asyncio and on trio. If the daemon is restarted,
    a call waits for it, and is carried out once. A killed agent can be loaded; ``append`` to it raises
    :class:`reel.Killed`.

    Args:
        socket: the socket of the daemon. Default: ``$REEL_SOCKET``, else the usual one.
        autostart: start a daemon if none answers.
        prefix: the prefix of the agents' names.

    Raises:
        InvalidParams: the prefix is not valid in a name.
    """

    def __init__(self, *, socket: str | None = None, autostart: bool = False, prefix: str = "claude/") -> None:
        named(prefix, "")
        self._prefix = prefix
        self._worker = Worker(socket, autostart=autostart, name=NAME)
        # The most recently used last.
        self._known: dict[str, Session] = {}

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        """Add entries in their order, except those whose ``uuid`` is already stored.

        Args:
            key: the transcript.
            entries: the entries.

        Raises:
            InvalidParams: the key is invalid; see :meth:`agent_name`.
            InvalidMessage: an entry is not an object, or JSON cannot represent it; nothing was added.
            TooLarge: an entry exceeds the daemon's limit, about 16 MiB; nothing was added.
            Killed: the agent was killed; ``reel revive`` brings it back.
        """
        fields = checked_key(key)
        checked = [checked_entry(number, entry) for number, entry in enumerate(entries)]
        if checked:
            await self._worker.run(lambda client: self._append(client, fields, checked))

    async def load(self, key: SessionKey) -> list[Any] | None:
        """Return the entries of a transcript, or ``None`` if it is empty.

        Messages added by other clients are included, and messages that they removed are left out.
        """
        fields = checked_key(key)
        return await self._worker.run(lambda client: self._load(client, fields))

    async def list_sessions(self, project_key: str) -> list[SessionStoreListEntry]:
        """Return the sessions of a project, with the time of their last change."""
        return [
            {"session_id": session_id, "mtime": stored}
            for session_id, stored, _ in await self._worker.run(lambda client: self._sessions(client, project_key))
        ]

    async def list_session_summaries(self, project_key: str) -> list[SessionSummaryEntry]:
        """Return the SDK's summary of each session of a project, without loading the sessions."""
        return [
            {"session_id": session_id, "mtime": stored, "data": data}
            for session_id, stored, data in await self._worker.run(lambda client: self._sessions(client, project_key))
            if data is not None
        ]

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        """Return the subpaths of a session's sub-agents."""
        fields = checked_key(key)
        rows = await self._worker.run(lambda client: self._rows(client, fields))
        return [key["subpath"] for key, _ in rows if "subpath" in key]

    async def delete(self, key: SessionKey) -> None:
        """Remove a transcript for good, as ``reel purge`` does; for a session, including those of its sub-agents."""
        fields = checked_key(key)

        def purge(client: Client) -> None:
            while ids := [row.id for _, row in self._rows(client, fields, alive=None)]:
                with suppress(NotFound):  # one of them was removed in the meantime: list them again
                    client.purge(ids[0], also=ids[1:_TOGETHER])

        await self._worker.run(purge)

    def agent_name(self, key: SessionKey) -> str:
        """Return the name of the agent that stores a transcript.

        It joins the prefix, the project, the session and the subpath. If that is not a valid name, it ends with a hash.

        Raises:
            InvalidParams: a part of the key is missing, is not a string, or is too long for its tag.
        """
        return self._name_of(checked_key(key))

    def close(self) -> None:
        """Close the connection to the daemon; the next call opens another."""
        self._worker.close()

    def _name_of(self, fields: Mapping[str, str]) -> str:
        parts = [fields[field] for field in FIELDS if field in fields]
        is_plain = not any("/" in part for part in parts[:2])
        return named(self._prefix, "/".join(parts) if is_plain else encode(parts)).name

    def _rows(
        self, client: Client, fields: dict[str, str], *, alive: bool | None = True
    ) -> list[tuple[dict[str, str], AgentRow]]:
        """Return the agents whose keys have these fields, with their keys: the living ones, or all."""
        asked = [requests.agents(self._prefix, alive=alive, tags={_TOOL: NAME, **fields})]
        if "session_id" in fields:  # a clone has the tags of its source, and the id of its own session in its name
            project = {_TOOL: NAME, "project_key": fields["project_key"]}
            asked.append(requests.agents(self._name_of(fields), alive=alive, tags=project))
        rows = {row.id: row for call in asked for page in client.pages(call) for row in page.agents}
        keyed = ((key, row) for row in rows.values() if (key := self._key_of(row)) is not None)
        return [(key, row) for key, row in keyed if fields.items() <= key.items()]

    def _key_of(self, row: AgentRow) -> dict[str, str] | None:
        """Return the key of an agent; ``None`` if it is that of no transcript."""
        key: dict[str, str] = {name: row.tags[name] for name in FIELDS if name in row.tags}
        if row.name == self._name_of(key):
            return key
        clone = {**key, "session_id": row.name.rpartition("/")[2]}
        return clone if "subpath" not in key and row.name == self._name_of(clone) else None

    def _sessions(self, client: Client, project_key: str) -> list[tuple[str, int, Json | None]]:
        """Return the sessions of a project: the id, the time of the last entry, and the SDK's summary."""
        found = []
        for key, row in self._rows(client, {"project_key": checked_text("project_key", project_key)}):
            if "subpath" not in key:
                with suppress(NotFound):  # it was removed in the meantime
                    values = client.state(row.id, [SUMMARY]).values
                    stored = max([row.updated, *(value.time for value in values)])
                    data = values[0].value if values else None
                    found.append((key["session_id"], stored, data if type(data) is dict else None))
        return found

    def _load(self, client: Client, fields: dict[str, str]) -> list[Json] | None:
        try:
            agent = client.agent(self._name_of(fields))
            transcript = transcript_of(client, agent)
        except NotFound:
            return None
        return transcript.entries(Converted(client, agent).of) or None

    def _append(self, client: Client, fields: dict[str, str], entries: list[tuple[str, Json]]) -> None:
        name = self._name_of(fields)
        for ref, entry in entries:
            require_size(client, ref, entry)
        while True:
            session = self._known.pop(name, None)
            try:
                if session is None or not session.is_open(client):
                    session = self._open(client, name, fields, entries)
                session.add(entries)
            except (Conflict, NotFound):
                continue  # another client wrote to it, or removed it, in the meantime
            break
        self._known[name] = session
        if len(self._known) > _MOST_KNOWN:
            del self._known[next(iter(self._known))]

    def _open(self, client: Client, name: str, fields: dict[str, str], entries: list[tuple[str, Json]]) -> Session:
        try:
            agent = client.agent(name)
        except NotFound:
            cwd = next(filter(None, (text_in(entry, "cwd") for _, entry in entries)), "")
            about = {"cwd": cwd[:LONGEST]} if cwd and is_clean(cwd) else {}
            try:
                agent = client.create(name, tags={_TOOL: NAME, **fields, **about})
            except Exists:
                agent = client.agent(name)
        return Session(client, agent, fields)
