"""A session service of Google's ADK: its sessions are agents of the daemon. docs/frameworks.md has an example."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from math import isfinite
from types import TracebackType
from typing import Any, Final, NamedTuple, Self, TypeVar

from google.adk.errors import StaleSessionError
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.input_validation_error import InputValidationError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events.event import Event
from google.adk.platform import time as platform_time
from google.adk.platform import uuid as platform_uuid
from google.adk.sessions.base_session_service import BaseSessionService, GetSessionConfig, ListSessionsResponse
from google.adk.sessions.session import Session

from reel import replies, requests
from reel.base.errors import Conflict, Exists, InvalidMessage, InvalidParams, NotFound, TooLarge
from reel.integrations.google_adk.events import FORMAT, events_after, events_at
from reel.integrations.google_adk.going_back import state_left, those_gone_back, went_back
from reel.integrations.google_adk.items import messages_of
from reel.integrations.google_adk.session_agents import (
    APP,
    SESSION,
    USER,
    Deltas,
    SessionAgents,
    agent_of,
    agents_of,
    checked,
    deltas_of,
    is_id,
    records,
    shared_of,
    state_at,
    state_in,
    state_of,
)
from reel.integrations.naming import named
from reel.integrations.worker import Worker
from reel.requests import Call
from reel.sync.client import Client

R = TypeVar("R")
Json = dict[str, Any]

_CLIENT: Final = "google-adk"
# The maximum of log events, and of listed agents, on a page.
_PAGE: Final = 10_000
# The tag with the creation time of a session.
_CREATED: Final = "adk_created"
# The events that other clients may add during a run without making the session stale.
_ADDED: Final = frozenset({"user", "assistant", "tool_call", "tool_result", "note", "usage", "mark"})
_STALE: Final = (
    "the session has been modified in storage since it was loaded; load it again before you append more events"
)


class ReelSessionService(BaseSessionService):  # type: ignore[misc] # the framework's types are not read
    """Keeps sessions, for ``Runner(app_name=…, agent=…, session_service=ReelSessionService())``.

    It can be used from several event loops, threads and processes. An event is written together with the state that it
    changes, of the session, the user and the app, or not at all. If the daemon is restarted, a call waits for it, and
    is carried out once.

    Args:
        socket: the socket of the daemon. Default: ``$REEL_SOCKET``, else the usual one.
        autostart: start a daemon if none answers.
        prefix: the prefix of the agents' names; the app, the user and the session follow.

    Raises:
        InvalidParams: the prefix is not valid in an agent's name.
    """

    def __init__(self, *, socket: str | None = None, autostart: bool = False, prefix: str = "adk/") -> None:
        named(prefix, "app")
        self._prefix = prefix
        self._worker = Worker(socket, autostart=autostart, name=_CLIENT)

    def agent_name(self, app_name: str, user_id: str | None = None, session_id: str | None = None) -> str:
        """Return the name of the agent of a session, or of the agent that holds the state of a user or an app."""
        return agent_of(self._prefix, *(each for each in (app_name, user_id, session_id) if each is not None)).name

    async def create_session(
        self, *, app_name: str, user_id: str, state: Json | None = None, session_id: str | None = None
    ) -> Session:
        """Create a session.

        Args:
            app_name: the app.
            user_id: the user.
            state: its initial state; keys that begin with ``app:`` and ``user:`` are shared.
            session_id: its id. Default: a generated one.

        Raises:
            AlreadyExistsError: the session exists already.
        """
        own_id = (session_id or "").strip() or platform_uuid.new_uuid()
        agents = self._agents(app_name, user_id, own_id)
        created = platform_time.get_time()
        deltas = deltas_of(state or {})
        tags = {**agents.session.tags, _CREATED: repr(created)}

        def make(client: Client) -> Session:
            own: list[Call[Any]] = [requests.create(agents.session.name, tags=tags)]
            if deltas.session:
                own.append(requests.add(agents.session.name, records(deltas.session)))
            try:
                done = agents.commit(client, own, deltas)
            except Exists:
                raise AlreadyExistsError(f"Session with id {own_id} already exists.") from None
            head = [result for result in done.results if result.agent == done.results[0].agent][-1].head
            merged = {**deltas.session, **shared_of(agents, partial(state_of, client))}
            made = Session(app_name=app_name, user_id=user_id, id=own_id, state=merged, last_update_time=created)
            made._storage_update_marker = _marker(done.results[0].agent, head)
            return made

        return await self._run(make)

    async def get_session(
        self, *, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> Session | None:
        """Return a session with its events, including those of other clients; ``None`` if it does not exist.

        Args:
            app_name: the app.
            user_id: the user.
            session_id: its id.
            config: which events.
        """
        agents = self._agents(app_name, user_id, session_id.strip())
        asked = config or GetSessionConfig()

        def read(client: Client) -> Session | None:
            try:
                return _session(client, agents, client.agent(agents.session.name), asked)
            except NotFound:
                return None

        return await self._run(read)

    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        """Return the sessions of a user, or of all users, without events, the most recently changed last."""
        tags = {APP: checked(app_name), **({} if user_id is None else {USER: checked(user_id)})}
        call = requests.agents(self._prefix, tags=tags, limit=_PAGE, state=True)

        def read(client: Client) -> list[Session]:
            rows = [row for page in client.pages(call) for row in page.agents]
            found = _listed(client, self._prefix, app_name, user_id, rows)
            return sorted(found, key=lambda session: (session.last_update_time, session.user_id, session.id))

        return ListSessionsResponse(sessions=await self._run(read))

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Remove a session for good, as ``purge`` does; state shared by its user and its app is kept."""
        agents = self._agents(app_name, user_id, session_id.strip())

        def purge(client: Client) -> None:
            try:
                client.purge(agents.session.name)
            except NotFound:
                return

        await self._run(purge)

    async def get_user_state(self, *, app_name: str, user_id: str) -> Json:
        """Return the state shared by a user's sessions, with keys without ``user:``."""
        agent = agent_of(self._prefix, app_name, user_id).name
        return await self._run(lambda client: state_of(client, agent))

    async def append_event(self, session: Session, event: Event) -> Event:
        """Write an event, and the state that it changes, in one command.

        One that the session has already, because it is delivered again, is not written again.

        Args:
            session: the session, as it was loaded.
            event: the event; a partial one is not written.

        Raises:
            SessionNotFoundError: there is no such session.
            StaleSessionError: since it was loaded, another program has written to it or rewound it.
        """
        if event.partial:
            return event
        if not isfinite(event.timestamp):
            raise InputValidationError(f"timestamp: expected a finite number, got {event.timestamp}")
        agents = self._agents(session.app_name, session.user_id, session.id)
        if any(known.id == event.id for known in session.events):
            await self._run(lambda client: _confirm(client, agents, session))
            return event
        self._apply_temp_state(session, event)
        event = self._trim_temp_delta_state(event)
        text = event.model_dump_json(exclude_none=True)
        deltas = deltas_of(event.actions.state_delta if event.actions else {})
        await self._run(lambda client: _append(client, agents, session, _Written(event, text, deltas)))
        return self._commit_event_to_session(session, event)

    async def close(self) -> None:
        """Close the connection to the daemon; the next call opens another."""
        self._worker.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    def _agents(self, *ids: str) -> SessionAgents:
        app_name, user_id, session_id = ids
        return agents_of(self._prefix, (app_name, user_id, session_id))

    async def _run(self, work: Callable[[Client], R]) -> R:
        with _as_theirs():
            return await self._worker.run(work)


@contextmanager
def _as_theirs() -> Iterator[None]:
    """Raise the framework's exception for invalid input, in place of ours."""
    try:
        yield
    except (InvalidMessage, InvalidParams, TooLarge) as error:
        raise InputValidationError(str(error)) from error


class _Written(NamedTuple):
    """An event, its JSON, and its changes of state."""

    event: Event
    text: str
    deltas: Deltas


def _append(client: Client, agents: SessionAgents, session: Session, written: _Written) -> None:
    try:
        agent, head = _known(client, agents.session.name, session)
        while True:
            try:
                done = agents.commit(client, _parts(agent, written, head), written.deltas)
                break
            except Conflict as error:
                head = _passed_over(client, agent, head, error)
    except NotFound:
        raise SessionNotFoundError(f"Session {session.id} not found.") from None
    own = [result for result in done.results if result.agent == done.results[0].agent]
    session.last_update_time = written.event.timestamp
    session._storage_update_marker = _marker(own[0].agent, own[-1].head)


def _confirm(client: Client, agents: SessionAgents, session: Session) -> None:
    """Refuse an event that is there already, if the session has changed since it was loaded."""
    try:
        _require_unchanged(client, *_known(client, agents.session.name, session))
    except NotFound:
        raise SessionNotFoundError(f"Session {session.id} not found.") from None


def _parts(agent: str, written: _Written, head: int) -> list[Call[Any]]:
    """Return the commands that write to the session."""
    event, text, deltas = written
    added = requests.add_items(
        agent,
        f"[{text}]",
        FORMAT,
        messages=[messages_of(json.loads(text))],
        sent=[max(0, int(event.timestamp * 1000))],
        if_seq=head,
    )
    return [added, requests.add(agent, records(deltas.session))] if deltas.session else [added]


def _marker(agent: str, head: int) -> str:
    return f"{agent}:{head}"


def _known(client: Client, name: str, session: Session) -> tuple[str, int]:
    """Return the agent that a session was loaded from, and its head at that time.

    Raises:
            StaleSessionError: the session does not tell, and is older than the stored state.
    """
    agent, _, head = (session._storage_update_marker or "").partition(":")
    if head.isdecimal():  # otherwise another service, with its own markers, loaded it
        return agent, int(head)
    found = client.agent(name)
    newest = events_at(client, found.id, found.head, 1)
    is_newest = not newest or (session.events and session.events[-1].id == newest[-1].id)
    if newest and newest[-1].timestamp > session.last_update_time and not is_newest:
        raise StaleSessionError(_STALE)
    return found.id, found.head


def _passed_over(client: Client, agent: str, head: int, error: Conflict) -> int:
    """Return the current head, if only programs other than the framework have written since an earlier head.

    Raises:
        StaleSessionError: the session has changed since.
    """
    if "head" not in error.data:
        raise StaleSessionError(_STALE)
    return _require_unchanged(client, agent, head)


def _require_unchanged(client: Client, agent: str, head: int) -> int:
    """Return the current head, as above."""
    page = client.history(agent, since=head, limit=_PAGE)
    if page.more or page.head < head:
        raise StaleSessionError(_STALE)
    if any(event["client"] == _CLIENT or event["kind"] not in _ADDED for event in page.events):
        raise StaleSessionError(_STALE)
    return page.head


def _session(client: Client, agents: SessionAgents, about: replies.AgentInfo, asked: GetSessionConfig) -> Session:
    """Return a session as it is at the head of its agent.

    Raises:
        NotFound: it was deleted in the meantime, even if another one has this name.
    """
    agent, head = about.id, about.head
    count, after = asked.num_recent_events, asked.after_timestamp
    events = events_after(client, agent, head, after) if after is not None else events_at(client, agent, head, count)
    if count is not None:
        events = events[-count:] if count else []
    newest = events[-1:] or events_at(client, agent, head, 1)
    app_name, user_id, session_id = agents.ids
    found = Session(
        app_name=app_name,
        user_id=user_id,
        id=session_id,
        state={**_state_of_session(client, agent, head), **shared_of(agents, partial(state_of, client))},
        events=events,
        last_update_time=newest[-1].timestamp if newest else _created(about),
    )
    found._storage_update_marker = _marker(about.id, head)
    return found


def _state_of_session(client: Client, agent: str, head: int) -> Json:
    """Return the state of a session itself, without that of events that were taken back."""
    return state_left(client, agent, head) if went_back(client, agent, head) else state_at(client, agent, head)


def _created(about: replies.AgentInfo | replies.AgentRow) -> float:
    """Return the creation time of a session."""
    with suppress(KeyError, ValueError):
        if isfinite(found := float(about.tags[_CREATED])):
            return found
    return about.created / 1000  # another client has changed the tags


def _listed(
    client: Client, prefix: str, app_name: str, user_id: str | None, rows: list[replies.AgentRow]
) -> Iterator[Session]:
    """Yield the sessions of an app without their events.

    Args:
        client: reads data that the rows lack.
        prefix: the prefix of the agents' names.
        app_name: the app.
        user_id: the user whose agents were listed; ``None`` if those of all users were.
        rows: the agents with the tags of the app and of the user, including their values.
    """
    states: dict[str, Json] = {}
    # Of several agents with the same name, the living one is used, or else the one changed last.
    for row in sorted(rows, key=lambda row: (row.alive, row.updated)):
        if SESSION not in row.tags:
            with suppress(NotFound):
                states[row.name] = state_in(client, row)
    if user_id is not None:
        app = agent_of(prefix, app_name).name
        states[app] = state_of(client, app)
    found = [(row, agents) for row in rows if row.alive and (agents := _agents_in(prefix, row)) is not None]
    back = those_gone_back(client, [row.id for row, _ in found])
    for row, agents in found:
        with suppress(NotFound):  # it was deleted in the meantime
            # A clone may have inherited what was taken back.
            is_plain = row.id not in back and row.source is None
            own = state_in(client, row) if is_plain else _state_of_session(client, row.id, row.head)
            shared = shared_of(agents, lambda agent: states.get(agent, {}))
            yield _without_events(agents, row, {**own, **shared})


def _agents_in(prefix: str, row: replies.AgentRow) -> SessionAgents | None:
    """Return the agents of the session whose own agent a row is; ``None`` if it is of no session."""
    app_name, user_id, session_id = (row.tags.get(tag) for tag in (APP, USER, SESSION))
    if not (is_id(app_name) and is_id(user_id) and is_id(session_id)):
        return None
    # A clone has the tags of its source, and another id in its name.
    for each in (str(session_id), row.name.rpartition("/")[2]):
        agents = agents_of(prefix, (str(app_name), str(user_id), each))
        if row.name == agents.session.name:
            return agents
    return None


def _without_events(agents: SessionAgents, row: replies.AgentRow, state: Json) -> Session:
    app_name, user_id, session_id = agents.ids
    changed = _created(row) if row.updated == row.created else row.updated / 1000
    found = Session(app_name=app_name, user_id=user_id, id=session_id, state=state, last_update_time=changed)
    found._storage_update_marker = _marker(row.id, row.head)
    return found
