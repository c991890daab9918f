"""The files of a conversation of the OpenHands SDK, kept in the daemon. docs/frameworks.md has an example.

Theory of operation
-------------------

The framework keeps a conversation as files below a directory:

==================================  =============================================================================
``events/event-NUMBER-ID.json``     an event, which never changes: an item of the agent. The number is its place
``events/.eventlog-len-N.marker``   that there are N events: what the items say. Nothing is stored
``base_state.json``                 the state: the values of the agent whose keys begin with ``openhands:``
==================================  =============================================================================

So the files show what the conversation is now, whoever has changed it. What others say are events as well, and who goes
back takes events away.
"""

from __future__ import annotations

import json
import re
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import Any, Final, TypeVar
from uuid import UUID

from openhands.sdk.event import Event
from openhands.sdk.io import FileStore

from reel import requests
from reel.base.errors import NotFound
from reel.integrations.naming import named
from reel.integrations.openhands_sdk.events import Json, messages_of, prompt_in, text_of
from reel.integrations.openhands_sdk.log import FORMAT, Log
from reel.integrations.openhands_sdk.state import LEAF, OWN, state_of, values_of
from reel.integrations.worker import Worker
from reel.said.new_messages import no_state, state
from reel.sync.client import Client

R = TypeVar("R")

_CLIENT: Final = "openhands-sdk"
_TAG: Final = "openhands_conversation"
_STATE: Final = "base_state.json"
_EVENTS: Final = "events"
_EVENT: Final = re.compile(r"event-(\d{5,})-([0-9a-fA-F-]{8,})\.json")
_MARKER: Final = re.compile(r"\.eventlog-len-(\d+)\.marker")
_PAGE: Final = 10_000


class ReelFileStore(FileStore):  # type: ignore[misc]  # the framework's types are not read
    """Keeps a conversation, for ``LocalConversation(file_store=…)``.

    :class:`reel.integrations.openhands_sdk.ReelConversation` makes one by itself. It can be used from several threads.
    If the daemon is restarted, a call waits for it, and is carried out once.

    Args:
        conversation_id: the id of the conversation.
        socket: the socket of the daemon. Default: ``$REEL_SOCKET``, else the usual one.
        autostart: start a daemon if none answers.
        prefix: the prefix of the agent's name; the id follows.

    Raises:
        InvalidParams: the prefix is not valid in an agent's name.
    """

    def __init__(
        self,
        conversation_id: UUID | str,
        *,
        socket: str | None = None,
        autostart: bool = False,
        prefix: str = "openhands/",
    ) -> None:
        self._id = str(conversation_id)
        self._agent = named(prefix, self._id)
        self._tags = {_TAG: self._id}
        self._worker = Worker(socket, autostart=autostart, name=_CLIENT)
        self._log = Log(self._agent.name, has_tree="parent_id" in Event.model_fields)
        self._lock = threading.RLock()
        # The values as this process knows them.
        self._values: Json | None = None

    @property
    def agent_name(self) -> str:
        """The name of the agent that has the conversation."""
        return self._agent.name

    @property
    def version(self) -> int:
        """A number that changes whenever others have changed the events, as they were read last."""
        return self._log.version

    def event_ids(self) -> Sequence[str]:
        """Return the ids of the events, in their order, as they were read last."""
        return [event_id for _, event_id in self._log.names]

    @property
    def is_hidden(self) -> bool:
        """Whether there are events, as they were read last, that the framework is not to see before its prompt."""
        return self._log.is_hidden

    @property
    def newest(self) -> str | None:
        """The id of the event that the next one follows, as they were read last."""
        return self._log.newest

    def refresh(self) -> None:
        """Read what others have changed."""
        self._run(self._log.update)

    def write(self, path: str, contents: str | bytes) -> None:
        """Store a file: an event, or the state.

        Raises:
            ValueError: the conversation has another event with this id, or the framework keeps no such file.
            Killed: the agent was killed; ``reel revive`` brings it back.
        """
        text = contents.decode() if isinstance(contents, bytes) else contents
        folder, name = _parts(path)
        if name == _STATE:
            self._run(lambda client: self._write_state(client, json.loads(text)))
        elif folder == _EVENTS and _EVENT.fullmatch(name):
            self._run(lambda client: self._add(client, json.loads(text)))
        elif not name.startswith("."):
            raise ValueError(f"{path}: only events and the state are kept in the daemon")

    def read(self, path: str) -> str:
        """Return a file.

        Raises:
            FileNotFoundError: there is none.
        """
        folder, name = _parts(path)
        found: Json | None = None
        if name == _STATE:
            found = self._run(self._read_state)
        elif folder == _EVENTS and (match := _EVENT.fullmatch(name)):
            with self._lock:
                found = self._log.get(match[2]) or self._run(lambda client: self._read_event(client, match[2]))
        if not found:
            raise FileNotFoundError(path)
        return text_of(found)

    def list(self, path: str) -> list[str]:
        """Return the paths of the files and directories in a directory."""
        folder, name = _parts(path)
        if (folder, name) == ("", _EVENTS):
            names = self._run(self._names)
            return [f"{path.rstrip('/')}/event-{number:05d}-{event_id}.json" for number, event_id in names]
        if not folder and not name:
            return [*([_STATE] if self.exists(_STATE) else []), *([f"{_EVENTS}/"] if self.exists(_EVENTS) else [])]
        return [path] if self.exists(path) else []

    def delete(self, path: str) -> None:
        """Do nothing for the files that are derived from the others.

        Raises:
            ValueError: it is an event, the state, or a directory: ``reel undo``, ``clear`` and ``purge`` remove these.
        """
        _, name = _parts(path)
        if not name.startswith(".") and self.exists(path):
            raise ValueError(f"{path}: reel keeps it; remove the conversation with: reel purge {self._agent.name}")

    def exists(self, path: str) -> bool:
        """Return whether there is a file or a directory."""
        folder, name = _parts(path)
        if folder == _EVENTS and (marker := _MARKER.fullmatch(name)):
            return self._run(self._count) == int(marker[1])
        if (folder, name) == ("", _EVENTS):
            return self._run(self._count) > 0
        try:
            self.read(path)
        except FileNotFoundError:
            return False
        return True

    def get_absolute_path(self, path: str) -> str:
        """Return a path of this conversation's own below the temporary directory; nothing is there."""
        return str(PurePosixPath(tempfile.gettempdir()) / "reel" / self._agent.name / path)

    @contextmanager
    def lock(self, path: str, timeout: float = 30.0) -> Iterator[None]:
        """Hold this process's other threads off; the daemon puts what several processes add in an order.

        Raises:
            TimeoutError: another thread has held the lock for too long.
        """
        if not self._lock.acquire(timeout=timeout):
            raise TimeoutError(f"Lock acquisition timed out: {path}")
        try:
            yield
        finally:
            self._lock.release()

    def close(self) -> None:
        """Close the connection to the daemon; the next call opens another."""
        self._worker.close()

    def _run(self, work: Callable[[Client], R]) -> R:
        with self._lock:
            return self._worker.run_here(work)

    def _names(self, client: Client) -> Sequence[tuple[int, str]]:
        self._log.update(client)
        return self._log.names

    def _count(self, client: Client) -> int:
        self._log.update(client)
        return self._log.count

    def _read_event(self, client: Client, event_id: str) -> Json | None:
        self._log.update(client)
        return self._log.get(event_id)

    def _add(self, client: Client, event: Json) -> None:
        known = self._read_event(client, event["id"])
        if known is not None:
            raise ValueError(f"the conversation has an event with the id {event['id']}")
        agent = self._agent.name
        item = requests.add_items(agent, [event], FORMAT, messages=[messages_of(event)], **self._created())
        prompt = prompt_in(event)
        if prompt is None:
            self._log.note(event, client.call(item))
        else:  # it is that of the conversation from now on
            client.commit([item, requests.add(agent, [{"role": "system", "content": prompt}])])

    def _read_state(self, client: Client) -> Json:
        """Return the state, with the event that the next one follows."""
        self._log.update(client)
        values: Json = {}
        leaf_seq = 0
        try:
            for page in client.pages(requests.state(self._agent.name, limit=_PAGE)):
                for found in page.values:
                    if found.key.startswith(OWN):
                        values[found.key] = found.value
                        leaf_seq = found.seq if found.key == f"{OWN}{LEAF}" else leaf_seq
        except NotFound:
            return {}
        self._values = dict(values)
        known = state_of(values)
        if known:  # a clone has that of its source
            known["id"] = self._id
        leaf = known.pop(LEAF, None)
        if leaf is None or self._log.get(leaf) is None or self._log.newest_foreign > leaf_seq:
            leaf = self._log.newest
        has_leaf = known and leaf is not None and not known.get("head_is_empty")
        return {**known, LEAF: leaf} if has_leaf and "parent_id" in Event.model_fields else known

    def _write_state(self, client: Client, given: Json) -> None:
        if self._values is None:
            self._read_state(client)
        if given.get(LEAF) == self._log.newest:
            given = {key: value for key, value in given.items() if key != LEAF}
        new, before = values_of(given), self._values or {}
        changes = [state(key, value) for key, value in new.items() if _differs(before, key, value)]
        gone = [no_state(key) for key in before if key not in new]
        if changes or gone:
            self._log.note_state(client.add(self._agent.name, [*gone, *changes], **self._created()))
        self._values = new

    def _created(self) -> Json:
        """Return the parameters that create the agent; none if it exists. A killed agent exists."""
        return {} if self._log.exists else {"create": True, "tags": self._tags | self._agent.tags}


def _parts(path: str) -> tuple[str, str]:
    """Return the directory and the name of a file."""
    parts = PurePosixPath(path.replace("\\", "/").strip("/")).parts
    return "/".join(parts[:-1]), parts[-1] if parts else ""


def _differs(values: Json, key: str, after: Any) -> bool:
    """Whether a value of JSON is another one, or is new; 1 and true are equal in Python."""
    return key not in values or json.dumps(values[key], sort_keys=True) != json.dumps(after, sort_keys=True)
