"""A session service of Google's ADK: its sessions are agents of the daemon. docs/frameworks.md has an example."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from math import isfinite
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.input_validation_error import InputValidationError
from google.adk.events.event import Event
from google.adk.platform import time as platform_time
from google.adk.platform import uuid as platform_uuid
from google.adk.sessions.base_session_service import BaseSessionService, GetSessionConfig, ListSessionsResponse
from google.adk.sessions.session import Session

from reel import requests
from reel.base.errors import Exists, InvalidMessage, InvalidParams, NotFound, TooLarge
from reel.integrations.google_adk.appending import CLIENT, Written, append, confirm
from reel.integrations.google_adk.session_agents import (
    APP,
    USER,
    SessionAgents,
    agent_of,
    agents_of,
    checked,
    deltas_of,
    records,
    shared_of,
    state_of,
)
from reel.integrations.google_adk.stored_sessions import CREATED, LoadedFrom, listed, session_at, set_loaded_from
from reel.integrations.naming import named
from reel.integrations.worker import Worker
from reel.requests import Call
from reel.sync.client import Client

R = TypeVar("R")
Json = dict[str, Any]

# The maximum of listed agents on a page.
_PAGE: Final = 10_000


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
        self._worker = Worker(socket, autostart=autostart, name=CLIENT)

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
        tags = {**agents.session.tags, CREATED: repr(created)}

        def make(client: Client) -> Session:
            own: list[Call[Any]] = [requests.create(agents.session.name, tags=tags)]
            if deltas.session:
                own.append(requests.add(agents.session.name, records(deltas.session)))
            try:
                done = agents.commit(client, own, deltas)
            except Exists:
                raise AlreadyExistsError(f"Session with id {own_id} already exists.") from None
            agent = done.results[0].agent
            head = [result for result in done.results if result.agent == agent][-1].head
            merged = {**deltas.session, **shared_of(agents, partial(state_of, client))}
            made = Session(app_name=app_name, user_id=user_id, id=own_id, state=merged, last_update_time=created)
            set_loaded_from(client, made, LoadedFrom(agent, head))
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
                return session_at(client, agents, client.agent(agents.session.name), asked)
            except NotFound:
                return None

        return await self._run(read)

    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        """Return the sessions of a user, or of all users, without events, the most recently changed last."""
        tags = {APP: checked(app_name), **({} if user_id is None else {USER: checked(user_id)})}
        call = requests.agents(self._prefix, tags=tags, limit=_PAGE, state=True)

        def read(client: Client) -> list[Session]:
            rows = [row for page in client.pages(call) for row in page.agents]
            found = listed(client, self._prefix, app_name, user_id, rows)
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
            await self._run(lambda client: confirm(client, agents, session))
            return event
        self._apply_temp_state(session, event)
        event = self._trim_temp_delta_state(event)
        text = event.model_dump_json(exclude_none=True)
        deltas = deltas_of(event.actions.state_delta if event.actions else {})
        await self._run(lambda client: append(client, agents, session, Written(event, text, deltas)))
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
