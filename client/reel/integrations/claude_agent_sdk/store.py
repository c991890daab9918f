"""The session store of the Claude Agent SDK: each transcript is an agent. docs/frameworks.md has an example."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from claude_agent_sdk import fold_session_summary
from msgpack import packb

from reel import requests
from reel.base.errors import Conflict, Exists, InvalidMessage, InvalidParams, NotFound
from reel.base.strict_json import Json, encode, parse_bounded
from reel.base.values import is_clean
from reel.importing.adding.conversation import Conversation
from reel.importing.adding.pipeline import OneByOne
from reel.importing.adding.target import Target
from reel.importing.steps import Compacted, Kept, Source
from reel.importing.tools.claude_code.entries import json_of, steps_of
from reel.importing.tools.claude_code.thread import Thread, larger
from reel.importing.tools.claude_code.transcripts import Transcript
from reel.importing.values import text_in, title_of
from reel.integrations.naming import named
from reel.integrations.worker import Worker
from reel.replies import AgentInfo, AgentRow
from reel.sync.client import Client
from reel.wire.frames import too_large

if TYPE_CHECKING:
    from claude_agent_sdk import SessionKey, SessionStoreEntry, SessionStoreListEntry, SessionSummaryEntry
    from claude_agent_sdk.types import SessionListSubkeysKey

# The name under which events are stored.
_NAME: Final = "claude-agent-sdk"
# The tags of an agent, and those of them that hold fields of a key.
_TOOL: Final = "tool"
_FIELDS: Final = ("project_key", "session_id", "subpath")
# The protocol's limit for the value of a tag, in characters.
_TAG = 1024
# The key of the value beside a conversation that holds the SDK's summary of a session, and the value's maximum size.
_SUMMARY: Final = "session_summary"
_LONGEST = 1 << 19
# The entries that contain a title, the best last.
_TITLES = {"ai-title": "aiTitle", "custom-title": "customTitle"}
# An entry with less JSON than this, in characters, never exceeds the daemon's limits; and the bytes that a request may
# need around a message.
_SMALL = 1 << 20
_AROUND = 1 << 12
# The levels of lists and maps in an entry. Some of the code that reads it calls itself twice a level.
_DEEPEST = 400
# The maximum number of events on a page.
_PAGE = 10_000
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
        self._worker = Worker(socket, autostart=autostart, name=_NAME)
        # The most recently used last.
        self._known: dict[str, _Session] = {}

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
        fields = _checked(key)
        checked = [_checked_entry(number, entry) for number, entry in enumerate(entries)]
        if checked:
            await self._worker.run(lambda client: self._append(client, fields, checked))

    async def load(self, key: SessionKey) -> list[Any] | None:
        """Return the entries of a transcript, or ``None`` if it is empty.

        Messages added by other clients are included, and messages that they removed are left out.
        """
        fields = _checked(key)
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
        fields = _checked(key)
        rows = await self._worker.run(lambda client: self._rows(client, fields))
        return [key["subpath"] for key, _ in rows if "subpath" in key]

    async def delete(self, key: SessionKey) -> None:
        """Remove a transcript for good, as ``reel purge`` does; for a session, including those of its sub-agents."""
        fields = _checked(key)

        def purge(client: Client) -> None:
            while ids := [row.id for _, row in self._rows(client, fields, alive=None)]:
                with suppress(NotFound):  # one of them was removed in the meantime: list them again
                    client.purge(ids[0], also=ids[1:_PAGE])

        await self._worker.run(purge)

    def agent_name(self, key: SessionKey) -> str:
        """Return the name of the agent that stores a transcript.

        It joins the prefix, the project, the session and the subpath. If that is not a valid name, it ends with a hash.

        Raises:
            InvalidParams: a part of the key is missing, is not a string, or is too long for its tag.
        """
        return self._name_of(_checked(key))

    def close(self) -> None:
        """Close the connection to the daemon; the next call opens another."""
        self._worker.close()

    def _name_of(self, fields: Mapping[str, str]) -> str:
        parts = [fields[field] for field in _FIELDS if field in fields]
        is_plain = not any("/" in part for part in parts[:2])
        return named(self._prefix, "/".join(parts) if is_plain else encode(parts)).name

    def _rows(
        self, client: Client, fields: dict[str, str], *, alive: bool | None = True
    ) -> list[tuple[dict[str, str], AgentRow]]:
        """Return the agents whose keys have these fields, with their keys: the living ones, or all."""
        asked = [requests.agents(self._prefix, alive=alive, tags={_TOOL: _NAME, **fields})]
        if "session_id" in fields:  # a clone has the tags of its source, and the id of its own session in its name
            project = {_TOOL: _NAME, "project_key": fields["project_key"]}
            asked.append(requests.agents(self._name_of(fields), alive=alive, tags=project))
        rows = {row.id: row for call in asked for page in client.pages(call) for row in page.agents}
        keyed = ((key, row) for row in rows.values() if (key := self._key_of(row)) is not None)
        return [(key, row) for key, row in keyed if fields.items() <= key.items()]

    def _key_of(self, row: AgentRow) -> dict[str, str] | None:
        """Return the key of an agent; ``None`` if it is that of no transcript."""
        key: dict[str, str] = {name: row.tags[name] for name in _FIELDS if name in row.tags}
        if row.name == self._name_of(key):
            return key
        clone = {**key, "session_id": row.name.rpartition("/")[2]}
        return clone if "subpath" not in key and row.name == self._name_of(clone) else None

    def _sessions(self, client: Client, project_key: str) -> list[tuple[str, int, Json | None]]:
        """Return the sessions of a project: the id, the time of the last entry, and the SDK's summary."""
        found = []
        for key, row in self._rows(client, {"project_key": _text("project_key", project_key)}):
            if "subpath" not in key:
                with suppress(NotFound):  # it was removed in the meantime
                    values = client.state(row.id, [_SUMMARY]).values
                    stored = max([row.updated, *(value.time for value in values)])
                    data = values[0].value if values else None
                    found.append((key["session_id"], stored, data if type(data) is dict else None))
        return found

    def _load(self, client: Client, fields: dict[str, str]) -> list[Json] | None:
        try:
            agent = client.agent(self._name_of(fields))
            transcript = _transcript(client, agent)
        except NotFound:
            return None
        return transcript.entries(_Converted(client, agent).of) or None

    def _append(self, client: Client, fields: dict[str, str], entries: list[tuple[str, Json]]) -> None:
        name = self._name_of(fields)
        for ref, entry in entries:
            _require_size(client, ref, entry)
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

    def _open(self, client: Client, name: str, fields: dict[str, str], entries: list[tuple[str, Json]]) -> _Session:
        try:
            agent = client.agent(name)
        except NotFound:
            cwd = next(filter(None, (text_in(entry, "cwd") for _, entry in entries)), "")
            about = {"cwd": cwd[:_TAG]} if cwd and is_clean(cwd) else {}
            try:
                agent = client.create(name, tags={_TOOL: _NAME, **fields, **about})
            except Exists:
                agent = client.agent(name)
        return _Session(client, agent, fields)


class _Converted:
    """The messages of a conversation in Anthropic's format, read at once when the first one is asked for.

    Args:
        client: the connection.
        agent: the agent.
    """

    def __init__(self, client: Client, agent: AgentInfo) -> None:
        self._client = client
        self._agent = agent
        # The seq from which on they are read.
        self._from = agent.head + 1
        self._items: dict[int, list[Json]] = {}

    def of(self, seq: int) -> list[Json]:
        """Return the items of a message."""
        if seq < self._from:
            # They are asked for in the order of the log; only what a clone brought may come before the first one.
            self._from = seq if self._from > self._agent.head else 1
            self._items = {}
            call = requests.items(self._agent.id, "anthropic", self._from - 1, _PAGE, at=self._agent.head)
            for found in (found for page in self._client.pages(call) for found in page.items):
                self._items.setdefault(found["seq"], []).append(found["item"])
        return self._items.get(seq, [])


class _Session:
    """A transcript that entries are added to.

    Args:
        client: the connection.
        agent: its agent.
        fields: its key.
    """

    def __init__(self, client: Client, agent: AgentInfo, fields: dict[str, str]) -> None:
        transcript = _transcript(client, agent)
        log = transcript.log
        log.head = agent.head
        self._client, self._agent, self._fields = client, agent, fields
        self._log = log
        self._thread = transcript.thread()
        row = AgentRow(*(getattr(agent, field) for field in AgentRow._fields[:8]))
        source = Source("", agent.name, 0, 0)
        self._conversation = Conversation(OneByOne(client), source, agent.name, Target(agent.name, row, log))
        self._conversation.go_on(transcript.base, transcript.places())
        self._summary: Any = None
        self._titles: dict[str, str] = {}
        self._describe(transcript.own_entries())

    def is_open(self, client: Client) -> bool:
        """Return whether it was read over this connection, rather than before a fork."""
        return self._client is client

    def add(self, entries: list[tuple[str, Json]]) -> None:
        """Add entries.

        Args:
            entries: each with its uuid, or a generated id.

        Raises:
            Conflict: another client wrote in the meantime; some of the entries may have been added.
        """
        usages: dict[str, Kept] = {}
        new: list[Json] = []
        for ref, entry in entries:
            if self._log.place_of(ref) is not None or self._thread.knows(ref):
                continue
            new.append(entry)
            for step in steps_of(entry, ref, self._thread):
                if isinstance(step, Kept) and step.kind == "usage":
                    usages[step.ref] = larger(usages.get(step.ref), step) or step
                else:
                    self._conversation.take(step)
            if self._conversation.failure is not None:
                break
        title = self._title
        self._describe(new)
        last = list(usages.values())
        if new and self._summary is not None:
            # Every time: the time of this value is that of the last entry.
            data = self._summary["data"]
            value = data if len(json_of(data)) <= _LONGEST else None
            last.append(Kept("state", str(uuid4()), _SUMMARY, {"value": value}, None))
        for kept in last:
            self._conversation.take(kept)
        self._conversation.flush()
        if self._conversation.failure is not None:
            raise self._conversation.failure
        self._tell(title)

    def _describe(self, entries: list[Json]) -> None:
        """Update the summary and the title with entries."""
        for entry in entries:
            kind = text_in(entry, "type")
            if title := text_in(entry, _TITLES.get(kind, "")):
                self._titles[kind] = title_of(title)
        if entries and "subpath" not in self._fields:
            self._summary = fold_session_summary(self._summary, self._fields, entries)

    @property
    def _title(self) -> str:
        """The session's title according to its entries, or an empty string."""
        return next((self._titles[kind] for kind in reversed(_TITLES) if kind in self._titles), "")

    def _tell(self, before: str) -> None:
        """Set the agent's title if Claude Code has changed it; another client may have set a different one since."""
        title = self._title
        if title and title != self._agent.title and (title != before or not self._agent.title):
            self._agent = self._client.change(self._agent.id, title=title, if_seq=self._log.head)
            self._log.head = self._agent.head


def _events(client: Client, agent: AgentInfo) -> Iterator[Any]:
    """Yield the events of an agent up to its head."""
    for page in client.pages(requests.history(agent.id, limit=_PAGE, inherited=True, before=agent.head + 1)):
        yield from page.events


def _transcript(client: Client, agent: AgentInfo) -> Transcript:
    return Transcript(_events(client, agent), _NAME, lambda at: client.iter_conversation(agent.id, at=at))


def _checked(key: Any) -> dict[str, str]:
    """Check a key, and return its fields; an empty subpath is left out."""
    if not isinstance(key, Mapping):
        raise InvalidParams(f"key: expected a map, got a {type(key).__name__}", field="key")
    return {
        name: _text(name, key.get(name)) for name in _FIELDS if name != "subpath" or key.get(name) not in (None, "")
    }


def _text(name: str, value: Any) -> str:
    """Return a field of a key, checked for use as a tag."""
    if not isinstance(value, str) or not value:
        raise InvalidParams(f"{name}: expected a text that is not empty, got {value!r}", field=name)
    if len(value) > _TAG:
        raise InvalidParams(f"{name}: expected at most {_TAG:,} characters, got {len(value):,}", field=name)
    if not is_clean(value):
        raise InvalidParams(f"{name}: {value!r} has NUL or half a character; use another one", field=name)
    return value


def _checked_entry(number: int, entry: Any) -> tuple[str, Json]:
    """Return an entry with its uuid, or with a generated id."""
    field = f"entries[{number}]"
    if type(entry) is not dict:
        raise InvalidMessage(f"{field}: expected a dict, got a {type(entry).__name__}", index=number, field=field)
    try:
        # Keys that are not texts become texts, as in a file of JSON.
        entry = parse_bounded(json_of(entry), _DEEPEST)
    except (ValueError, RecursionError) as error:
        raise InvalidMessage(f"{field}: {error}", index=number, field=field) from None
    return text_in(entry, "uuid") or str(uuid4()), entry


def _require_size(client: Client, ref: str, entry: Json) -> None:
    """Require that the messages of an entry fit the daemon's limit, before anything is added.

    Raises:
        TooLarge: one of its messages is longer.
    """
    if len(json_of(entry)) < _SMALL:
        return
    server = client.server or client.connect().server
    limit = server.limits["message"] - _AROUND if server is not None else math.inf
    for step in steps_of(entry, ref, Thread()):
        said = step.summary if isinstance(step, Compacted) else step
        size = len(encode(said.data, ascii_only=True)) if isinstance(said, Kept) else len(packb(said))
        if size > limit:
            raise too_large(int(limit), size)
