"""A repository of the sessions of Strands Agents in the daemon. docs/frameworks.md has an example.

Theory of operation
-------------------

- An agent in a session is an agent of the daemon, called the prefix, the session and the agent, such as
  ``strands/demo/default``. A message is an item of it, with the number that the framework gave it.
- The agent called the prefix and the session has the record of the session, and the states of its graphs and swarms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, TypeVar

from strands.session.session_repository import SessionRepository
from strands.types.exceptions import SessionException
from strands.types.session import Session, SessionAgent, SessionMessage

from reel import requests
from reel.base.errors import Conflict, InvalidMessage, InvalidParams, NotFound, TooLarge
from reel.integrations.naming import Named, named
from reel.integrations.newest import Newest
from reel.integrations.strands_agents import agents, interrupts, window
from reel.integrations.strands_agents.agents import Place
from reel.integrations.strands_agents.blocks import Json, messages_of
from reel.integrations.strands_agents.entries import FORMAT, Conversation, Entry, Numbered, conversation, numbered
from reel.integrations.strands_agents.known_values import KnownValues
from reel.integrations.strands_agents.late_records import LateRecords
from reel.integrations.worker import Worker
from reel.requests import Call
from reel.sync.client import Client

if TYPE_CHECKING:
    from strands.multiagent import MultiAgentBase

R = TypeVar("R")

_CLIENT: Final = "strands-agents"
# The number of agents whose state is remembered.
_MOST_STATES: Final = 1_000


class ReelSessionRepository(SessionRepository):  # type: ignore[misc]  # the framework's types are not read
    """Keeps sessions, for ``RepositorySessionManager("demo", ReelSessionRepository())``.

    :class:`reel.integrations.strands_agents.ReelSessionManager` is both in one. It can be used from several threads and
    processes. If the daemon is restarted, a call waits for it, and is carried out once.

    Invalid input raises the framework's ``SessionException``, or ``ValueError`` if it is an id; other errors of the
    daemon are a :class:`reel.ReelError`.

    Args:
        socket: the socket of the daemon. Default: ``$REEL_SOCKET``, else the usual one.
        autostart: start a daemon if none answers.
        prefix: the prefix of the agents' names; the session and the agent follow.

    Raises:
        InvalidParams: the prefix is not valid in an agent's name.
    """

    def __init__(self, *, socket: str | None = None, autostart: bool = False, prefix: str = "strands/") -> None:
        named(prefix, "session")
        self._place = Place(prefix)
        self._worker = Worker(socket, autostart=autostart, name=_CLIENT)
        # The state of each agent of the daemon, by its name, as this process has read or stored it last.
        self._states = Newest[str, dict[str, str]](_MOST_STATES)
        # What is stored of it now, as far as that is known.
        self._stored = KnownValues(_MOST_STATES)
        self._late = LateRecords(_MOST_STATES)

    def agent_name(self, session_id: str, agent_id: str = "default") -> str:
        """Return the name of the agent that has the conversation of an agent in a session."""
        return self._place.agent(session_id, agent_id).name

    def create_session(self, session: Session, **kwargs: Any) -> Session:
        """Create a session.

        Raises:
            SessionException: it exists.
        """
        del kwargs
        self._run(lambda client: agents.create_session(client, self._place, session))
        return session

    def read_session(self, session_id: str, **kwargs: Any) -> Session | None:
        """Return a session, or ``None`` if it does not exist. It exists as soon as it has an agent, whoever made it."""
        del kwargs
        return self._run(lambda client: agents.read_session(client, self._place, session_id))

    def delete_session(self, session_id: str, **kwargs: Any) -> None:
        """Remove a session and its agents for good, as ``purge`` does.

        Raises:
            SessionException: there is none.
        """
        del kwargs
        self._run(lambda client: agents.delete_session(client, self._place, session_id))

    def create_agent(self, session_id: str, session_agent: SessionAgent, **kwargs: Any) -> None:
        """Create an agent in a session; a conversation that others have begun under its name goes on."""
        del kwargs
        agent = self._place.agent(session_id, session_agent.agent_id)
        self._write_agent(agent, session_agent, create=True)

    def read_agent(self, session_id: str, agent_id: str, **kwargs: Any) -> SessionAgent | None:
        """Return an agent in a session, or ``None`` if the framework has stored none.

        If others have gone back to before what its window leaves out, the window leaves out nothing; if to before what
        interrupted it, it is not interrupted.
        """
        del kwargs
        name = self._place.agent(session_id, agent_id).name

        def read(client: Client) -> SessionAgent | None:
            agents.store_late(client, name, self._late)
            found = agents.read_agent(client, name)
            if found is not None:
                window.begin_again(client, name, found)
                interrupts.end_if_taken_back(client, name, agents.RECORD, found)
            return found

        found = self._run(read)
        if found is not None:
            self._remember(name, found)
        return found

    def update_agent(self, session_id: str, session_agent: SessionAgent, **kwargs: Any) -> None:
        """Store an agent, and of its state what has changed.

        Raises:
            SessionException: there is no such agent.
        """
        del kwargs
        agent = self._place.agent(session_id, session_agent.agent_id)
        self._write_agent(agent, session_agent, create=False)

    def adopt_agent(self, session_id: str, session_agent: SessionAgent) -> None:
        """Store an agent if others have begun its conversation, such as in an editor, and the framework has not."""
        agent = self._place.agent(session_id, session_agent.agent_id)

        def adopt(client: Client) -> None:
            try:
                client.agent(agent.name)
            except NotFound:
                return
            if agents.read_agent(client, agent.name) is None:
                agents.write_agent(client, agent, session_agent, {}, self._stored, self._late, create=True)

        self._run(adopt)

    def create_message(self, session_id: str, agent_id: str, session_message: SessionMessage, **kwargs: Any) -> None:
        """Add a message.

        Raises:
            SessionException: there is no such agent, or JSON cannot represent the message; nothing was added.
            Killed: the agent was killed; ``reel revive`` brings it back.
        """
        del kwargs
        name = self._place.agent(session_id, agent_id).name

        def add(client: Client) -> None:
            adding = _adding(name, [session_message.to_dict()])
            try:
                agents.add_message(client, name, adding, self._stored, self._late)
            except NotFound:
                raise SessionException(f"Agent {agent_id} in session {session_id} does not exist") from None

        self._run(add)

    def read_message(self, session_id: str, agent_id: str, message_id: int, **kwargs: Any) -> SessionMessage | None:
        """Return the message with a number, or ``None`` if there is none."""
        del kwargs
        found = self._messages(session_id, agent_id)
        return next((each.message for each in found or () if each.message.message_id == message_id), None)

    def update_message(self, session_id: str, agent_id: str, session_message: SessionMessage, **kwargs: Any) -> None:
        """Replace a message; those after it stay. ``undo`` takes that back, and the log has the earlier one.

        Raises:
            SessionException: there is no such message.
        """
        del kwargs
        name = self._place.agent(session_id, agent_id).name
        self._run(lambda client: _replace(client, name, session_message))

    def list_messages(
        self, session_id: str, agent_id: str, limit: int | None = None, offset: int = 0, **kwargs: Any
    ) -> list[SessionMessage]:
        """Return messages, the oldest first, with those that other clients added.

        Args:
            session_id: the session.
            agent_id: the agent.
            limit: the maximum number of messages.
            offset: without those whose number is below, unless there are no others.
            **kwargs: not used.

        Raises:
            SessionException: there is no such agent.
        """
        del kwargs
        found = self._messages(session_id, agent_id)
        if found is None:
            raise SessionException(f"Agent {agent_id} in session {session_id} does not exist")
        whole = [each.message for each in found]
        # If others went back to before the offset, or replaced everything, what is there is the conversation.
        messages = [message for message in whole if message.message_id >= offset] or whole
        return messages if limit is None else messages[:limit]

    def create_multi_agent(self, session_id: str, multi_agent: MultiAgentBase, **kwargs: Any) -> None:
        """Store the state of a graph or a swarm.

        Raises:
            SessionException: there is no such session.
        """
        del kwargs
        self._write_multi_agent(session_id, multi_agent)

    def read_multi_agent(self, session_id: str, multi_agent_id: str, **kwargs: Any) -> Json | None:
        """Return the state of a graph or a swarm, or ``None``."""
        del kwargs
        return self._run(lambda client: agents.read_multi_agent(client, self._place, session_id, multi_agent_id))

    def update_multi_agent(self, session_id: str, multi_agent: MultiAgentBase, **kwargs: Any) -> None:
        """Replace the state of a graph or a swarm.

        Raises:
            SessionException: there is none.
        """
        del kwargs
        if self.read_multi_agent(session_id, multi_agent.id) is None:
            raise SessionException(f"MultiAgent state {multi_agent.id} in session {session_id} does not exist")
        self._write_multi_agent(session_id, multi_agent)

    def close(self) -> None:
        """Close the connection to the daemon; the next call opens another."""
        self._worker.close()

    def _write_agent(self, agent: Named, given: SessionAgent, *, create: bool) -> None:
        known = {} if create else self._states.get(agent.name)
        stored, late = self._stored, self._late
        self._run(lambda client: agents.write_agent(client, agent, given, known, stored, late, create=create))
        self._remember(agent.name, given)

    def _remember(self, name: str, found: SessionAgent) -> None:
        self._states[name] = agents.texts_of(found.state)

    def _write_multi_agent(self, session_id: str, multi_agent: MultiAgentBase) -> None:
        value, key = multi_agent.serialize_state(), multi_agent.id
        self._run(lambda client: agents.write_multi_agent(client, self._place, session_id, key, value))

    def _messages(self, session_id: str, agent_id: str) -> list[Numbered] | None:
        name = self._place.agent(session_id, agent_id).name

        def read(client: Client) -> list[Numbered] | None:
            try:
                return numbered(conversation(client, name).entries)
            except NotFound:
                return None

        return self._run(read)

    def _run(self, work: Callable[[Client], R]) -> R:
        with _as_theirs():
            return self._worker.run_here(work)


@contextmanager
def _as_theirs() -> Iterator[None]:
    """Raise the framework's exception for invalid input, in place of ours."""
    try:
        yield
    except (InvalidMessage, InvalidParams, TooLarge) as error:
        raise SessionException(str(error)) from error


def _adding(agent: str, items: list[Json], **more: Any) -> Call[Any]:
    """Return the command that adds messages of the framework's."""
    return requests.add_items(agent, items, FORMAT, messages=[messages_of(item) for item in items], **more)


def _replace(client: Client, name: str, given: SessionMessage) -> None:
    missing = SessionException(f"Message {given.message_id} does not exist")
    while True:
        try:
            found = conversation(client, name)
        except NotFound:
            raise missing from None
        entry = _place_of(found, given)
        if entry is None:
            raise missing
        given.created_at = (entry.item or {}).get("created_at", given.created_at)
        try:
            client.commit(_replacing(found, entry, given))
        except Conflict:
            continue  # another client has written in the meantime
        return


def _place_of(found: Conversation, given: SessionMessage) -> Entry | None:
    """Return the entry of a message: what has its number and its time, else what is read under its number.

    A program that does not know what others have added numbers its messages as if that were not there.
    """
    key = given.message_id, given.created_at
    own = [entry for entry in found.entries if entry.item is not None and _key(entry.item) == key]
    if own:
        return own[-1]
    by_number: dict[int, Entry] = {each.message.message_id: each.entries[0] for each in numbered(found.entries)}
    return by_number.get(given.message_id)


def _key(item: Json) -> tuple[Any, Any]:
    return item.get("message_id"), item.get("created_at")


def _replacing(found: Conversation, entry: Entry, given: SessionMessage) -> list[Call[Any]]:
    """Return the commands that replace a message, and add again what is after it."""
    number = (entry.item or {}).get("message_id", given.message_id)
    later = found.entries[found.entries.index(entry) + 1 :]
    new = {**given.to_dict(), "message_id": number}
    parts = [_adding(found.agent, [new], from_=entry.seq, if_seq=found.head)]
    for is_own, run in groupby(later, key=lambda each: each.item is not None):
        each = [*run]
        if is_own:
            parts.append(_adding(found.agent, [one.item for one in each if one.item is not None]))
        else:
            parts.append(requests.add(found.agent, [_again(one) for one in each]))
    return parts


def _again(entry: Entry) -> Any:
    """Return a foreign message as it is added again."""
    kept = {key: entry.message[key] for key in ("role", "content", "provider_metadata") if key in entry.message}
    return {**kept, "sent": entry.sent}
