"""A transcript that entries are added to: it goes on from what the log of its agent has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final
from uuid import uuid4

from claude_agent_sdk import fold_session_summary

from reel import requests
from reel.base.strict_json import Json
from reel.importing.adding.conversation import Conversation
from reel.importing.adding.pipeline import OneByOne
from reel.importing.adding.target import Target
from reel.importing.steps import Kept, Source
from reel.importing.tools.claude_code.entries import json_of, steps_of
from reel.importing.tools.claude_code.thread import larger
from reel.importing.tools.claude_code.transcripts import Transcript
from reel.importing.values import text_in, title_of
from reel.replies import AgentInfo, AgentRow
from reel.sync.client import Client

# The name under which events are stored.
NAME: Final = "claude-agent-sdk"
# The key of the value beside a conversation that holds the SDK's summary of a session, and the value's maximum size.
SUMMARY: Final = "session_summary"
_LONGEST = 1 << 19
# The entries that contain a title, the best last.
_TITLES = {"ai-title": "aiTitle", "custom-title": "customTitle"}
# The maximum number of events or items on a page.
_PAGE = 10_000


class Session:
    """A transcript that entries are added to.

    Args:
        client: the connection.
        agent: its agent.
        fields: its key.
    """

    def __init__(self, client: Client, agent: AgentInfo, fields: dict[str, str]) -> None:
        self._server = client.server
        transcript = transcript_of(client, agent)
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
        """Return whether it was read over the connection that is there now; behind another one may be a backup."""
        return self._client is client and client.is_still(self._server)

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
            if self._conversation.writer.failure is not None:
                break
        title = self._title
        self._describe(new)
        last = list(usages.values())
        if new and self._summary is not None:
            # Every time: the time of this value is that of the last entry.
            data = self._summary["data"]
            value = data if len(json_of(data)) <= _LONGEST else None
            last.append(Kept("state", str(uuid4()), SUMMARY, {"value": value}, None))
        for kept in last:
            self._conversation.take(kept)
        self._conversation.writer.flush()
        if self._conversation.writer.failure is not None:
            raise self._conversation.writer.failure
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


class Converted:
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


def _events(client: Client, agent: AgentInfo) -> Iterator[Any]:
    """Yield the events of an agent up to its head."""
    for page in client.pages(requests.history(agent.id, limit=_PAGE, inherited=True, before=agent.head + 1)):
        yield from page.events


def transcript_of(client: Client, agent: AgentInfo) -> Transcript:
    """Return the transcript in the log of an agent, up to its head."""
    return Transcript(_events(client, agent), NAME, lambda at: client.iter_conversation(agent.id, at=at))
