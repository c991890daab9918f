"""The framework's sessions, made of what their agents have."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from math import isfinite
from typing import Any, Final
from weakref import WeakKeyDictionary

from google.adk.sessions.base_session_service import GetSessionConfig
from google.adk.sessions.session import Session

from reel import replies
from reel.base.errors import NotFound
from reel.base.light_typing import NamedTuple
from reel.integrations.google_adk.events import events_after, events_at
from reel.integrations.google_adk.going_back import state_left, those_gone_back, went_back
from reel.integrations.google_adk.session_agents import (
    APP,
    SESSION,
    USER,
    SessionAgents,
    agent_of,
    agents_of,
    is_id,
    shared_of,
    state_at,
    state_in,
    state_of,
)
from reel.integrations.newest import Newest
from reel.replies import Hello
from reel.sync.client import Client

Json = dict[str, Any]

# The tag with the creation time of a session.
CREATED: Final = "adk_created"


class LoadedFrom(NamedTuple):
    """Where a session comes from: the id of its agent, and the agent's head at that time."""

    agent: str
    head: int


class _Here:
    """What sessions were loaded from over one connection, the newest of each agent, for the last thousand agents."""

    def __init__(self, server: Hello | None) -> None:
        self.server = server
        self._known = Newest[str, LoadedFrom](_AGENTS)

    def note(self, known: LoadedFrom) -> None:
        """Take note of one."""
        self._known[known.agent] = known

    def has(self, known: LoadedFrom) -> bool:
        """Return whether one was noted."""
        return self._known.get(known.agent) == known


_AGENTS: Final = 1000
# By client: that of its last connection.
_HERE: WeakKeyDictionary[Client, _Here] = WeakKeyDictionary()


def set_loaded_from(client: Client, session: Session, known: LoadedFrom) -> None:
    """Note in a session where it comes from."""
    session._storage_update_marker = ":".join(map(str, known))
    here = _HERE.get(client)
    if here is None or here.server is not client.server:
        here = _HERE[client] = _Here(client.server)
    here.note(known)


def loaded_from(session: Session) -> LoadedFrom | None:
    """Return what was noted so; ``None`` if another service, with its own markers, loaded the session."""
    match (session._storage_update_marker or "").split(":"):
        case [agent, head] if head.isdecimal():
            return LoadedFrom(agent, int(head))
        case _:
            return None


def is_loaded_here(client: Client, known: LoadedFrom) -> bool:
    """Return whether a client has loaded or written that over the connection that it still has."""
    here = _HERE.get(client)
    return here is not None and client.is_still(here.server) and here.has(known)


def session_at(client: Client, agents: SessionAgents, about: replies.AgentInfo, asked: GetSessionConfig) -> Session:
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
    set_loaded_from(client, found, LoadedFrom(agent, head))
    return found


def _state_of_session(client: Client, agent: str, head: int) -> Json:
    """Return the state of a session itself, without that of events that were taken back."""
    return state_left(client, agent, head) if went_back(client, agent, head) else state_at(client, agent, head)


def _created(about: replies.AgentInfo | replies.AgentRow) -> float:
    """Return the creation time of a session."""
    with suppress(KeyError, ValueError):
        if isfinite(found := float(about.tags[CREATED])):
            return found
    return about.created / 1000  # another client has changed the tags


def listed(
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
            yield _without_events(client, agents, row, {**own, **shared})


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


def _without_events(client: Client, agents: SessionAgents, row: replies.AgentRow, state: Json) -> Session:
    app_name, user_id, session_id = agents.ids
    changed = _created(row) if row.updated == row.created else row.updated / 1000
    found = Session(app_name=app_name, user_id=user_id, id=session_id, state=state, last_update_time=changed)
    set_loaded_from(client, found, LoadedFrom(row.id, row.head))
    return found
