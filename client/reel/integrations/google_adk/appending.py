"""Appends an event to a session, unless the session has changed since the framework loaded it."""

from __future__ import annotations

import json
from typing import Any, Final

from google.adk.errors import StaleSessionError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events.event import Event
from google.adk.sessions.session import Session

from reel import requests
from reel.base.errors import Conflict, NotFound
from reel.base.light_typing import NamedTuple
from reel.integrations.google_adk.events import FORMAT, events_at
from reel.integrations.google_adk.items import messages_of
from reel.integrations.google_adk.session_agents import Deltas, SessionAgents, records
from reel.integrations.google_adk.stored_sessions import LoadedFrom, is_loaded_here, loaded_from, set_loaded_from
from reel.requests import Call
from reel.sync.client import Client

# The name under which the service's events are stored.
CLIENT: Final = "google-adk"
# The maximum of log events on a page.
_PAGE: Final = 10_000
# The events that other clients may add during a run without making the session stale.
_ADDED: Final = frozenset({"user", "assistant", "tool_call", "tool_result", "note", "usage", "mark"})
_STALE: Final = (
    "the session has been modified in storage since it was loaded; load it again before you append more events"
)


class Written(NamedTuple):
    """An event, its JSON, and its changes of state."""

    event: Event
    text: str
    deltas: Deltas


def append(client: Client, agents: SessionAgents, session: Session, written: Written) -> None:
    """Write an event to a session, and the state that it changes.

    Raises:
        SessionNotFoundError: there is no such session.
        StaleSessionError: since it was loaded, another program has written to it or rewound it.
    """
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
    set_loaded_from(client, session, LoadedFrom(own[0].agent, own[-1].head))


def confirm(client: Client, agents: SessionAgents, session: Session) -> None:
    """Refuse an event that is there already, if the session has changed since it was loaded."""
    try:
        _require_unchanged(client, *_known(client, agents.session.name, session))
    except NotFound:
        raise SessionNotFoundError(f"Session {session.id} not found.") from None


def _parts(agent: str, written: Written, head: int) -> list[Call[Any]]:
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


def _known(client: Client, name: str, session: Session) -> tuple[str, int]:
    """Return the agent that a session was loaded from, and its head at that time.

    Raises:
        StaleSessionError: the session does not tell, and is older than the stored state; or its log is not there now.
    """
    if (known := loaded_from(session)) is not None:
        if not is_loaded_here(client, known):
            _require_same_log(client, known, session)
        return known.agent, known.head
    found = client.agent(name)
    newest = events_at(client, found.id, found.head, 1)
    is_newest = not newest or (session.events and session.events[-1].id == newest[-1].id)
    if newest and newest[-1].timestamp > session.last_update_time and not is_newest:
        raise StaleSessionError(_STALE)
    return found.id, found.head


def _require_same_log(client: Client, known: LoadedFrom, session: Session) -> None:
    """Refuse a session in place of whose log there is another: a backup, in which others may have come to its head."""
    if client.agent(known.agent).head < known.head:
        raise StaleSessionError(_STALE)
    newest = events_at(client, known.agent, known.head, 1)
    if session.events and [session.events[-1].id] != [event.id for event in newest]:
        raise StaleSessionError(_STALE)


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
    if any(event["client"] == CLIENT or event["kind"] not in _ADDED for event in page.events):
        raise StaleSessionError(_STALE)
    return page.head
