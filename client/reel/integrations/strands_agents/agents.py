"""The agents of the daemon that have the sessions of Strands Agents, and the state beside their conversations.

A key of the framework's state is a key of the agent's state, so that people see and set it. What the framework keeps
for itself is under keys that begin with ``strands:``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final, TypeAlias

from strands.types.exceptions import SessionException
from strands.types.session import Session, SessionAgent, SessionType

from reel import requests
from reel.base.errors import Conflict, InvalidMessage, Killed, NotFound, TooLarge
from reel.base.light_typing import NamedTuple
from reel.integrations.naming import Named, named, tag_value
from reel.integrations.strands_agents.known_values import KnownValues, text_of, values_of
from reel.integrations.strands_agents.late_records import LateRecord, LateRecords
from reel.replies import Added, AddedItems
from reel.requests import Call
from reel.said.new_messages import no_state, state
from reel.sync.client import Client

Json = dict[str, Any]
# Values as texts; ``None`` for those that are removed.
_Changes: TypeAlias = dict[str, str | None]

_SESSION_TAG: Final = "strands_session"
_AGENT_TAG: Final = "strands_agent"
# What begins the keys of the framework's own data.
_OWN: Final = "strands:"
_SESSION: Final = f"{_OWN}session"
_MULTI_AGENT: Final = f"{_OWN}multi_agent:"
# What the framework keeps of an agent.
RECORD: Final = f"{_OWN}agent"
# The keys of the state that cannot be keys here, and their values.
_OTHERS: Final = f"{_OWN}others"
# The protocol's limit for a key, in characters.
_LONGEST_KEY: Final = 256


class Place(NamedTuple):
    """Where sessions are: the prefix of the names of their agents."""

    prefix: str

    def session(self, session_id: str) -> Named:
        """Return the agent of a session.

        Raises:
            ValueError: the id has a path separator.
        """
        return Named(named(self.prefix, _checked("session_id", session_id)).name, {_SESSION_TAG: tag_value(session_id)})

    def agent(self, session_id: str, agent_id: str) -> Named:
        """Return the agent that has the conversation of an agent in a session; raise as above."""
        ids = f"{_checked('session_id', session_id)}/{_checked('agent_id', agent_id)}"
        tags = {_SESSION_TAG: tag_value(session_id), _AGENT_TAG: tag_value(agent_id)}
        return Named(named(self.prefix, ids).name, tags)


def _checked(what: str, given: str) -> str:
    if not isinstance(given, str) or os.path.basename(given) != given:
        raise ValueError(f"{what}: expected a text without path separators, got {given!r}")
    return given


def read_session(client: Client, place: Place, session_id: str) -> Session | None:
    """Return a session, or ``None`` if it does not exist.

    It exists as soon as it has an agent, even if nobody created it: that may be a clone under a name of the session.
    """
    name = place.session(session_id).name
    try:
        record = values_of(client, name).get(_SESSION)
    except NotFound:
        record = None
    if record is not None:
        return Session.from_dict(record)
    if client.agents(f"{name}/", alive=True, limit=1).agents:
        return Session(session_id=session_id, session_type=SessionType.AGENT)
    return None


def create_session(client: Client, place: Place, session: Session) -> None:
    """Create a session.

    Raises:
        SessionException: it exists.
    """
    agent = place.session(session.session_id)
    record = {**session.to_dict(), "session_type": SessionType(session.session_type).value}
    if read_session(client, place, session.session_id) is not None:
        raise SessionException(f"Session {session.session_id} already exists")
    client.add(agent.name, [state(_SESSION, record)], create=True, tags=agent.tags)


def read_agent(client: Client, name: str) -> SessionAgent | None:
    """Return what the framework stores of an agent; ``None`` if there is none, or only others have written to it."""
    try:
        values = values_of(client, name)
    except NotFound:
        return None
    record = values.get(RECORD)
    if not isinstance(record, dict):
        return None
    own = {key: value for key, value in values.items() if not key.startswith(_OWN)}
    others = values.get(_OTHERS)
    return SessionAgent.from_dict({**record, "state": {**own, **(others if isinstance(others, dict) else {})}})


def write_agent(
    client: Client,
    agent: Named,
    given: SessionAgent,
    before: Mapping[str, str] | None,
    stored: KnownValues,
    late: LateRecords,
    *,
    create: bool,
) -> None:
    """Store an agent, and of its state what this process has changed; nothing if nothing but the time is new.

    Args:
        client: writes.
        agent: the agent of the daemon.
        given: what to store.
        before: the state that this process has read or stored last, as :func:`texts_of` returns it; ``None`` if it has
            done neither. What others have set since stays.
        stored: what is stored.
        late: holds back what is stored with the next message.
        create: whether the framework creates it; a conversation that others have begun goes on.

    Raises:
        SessionException: it is updated, and there is none.
    """
    try:
        texts = stored.read(client, agent.name)
    except NotFound:
        if not create:
            raise SessionException(f"Agent {given.agent_id} does not exist") from None
        texts = {}
    record = given.to_dict()
    state_of_agent = record.pop("state")
    made = json.loads(texts.get(RECORD, "null"))
    if isinstance(made, dict) and not create:
        given.created_at = record["created_at"] = made.get("created_at", given.created_at)
        if text_of({**record, "updated_at": made.get("updated_at")}) == texts[RECORD]:
            record = made
    values = {**_as_values(state_of_agent), RECORD: record}
    changes = _changes(texts, {key: text_of(value) for key, value in values.items()}, before)
    if not create and [*changes] == [RECORD] and late.hold(agent.name, record, made):
        return
    if not changes:
        late.drop(agent.name)
        return
    new = [no_state(key) if text is None else state(key, values[key]) for key, text in changes.items()]
    added = client.call(requests.add(agent.name, new, create=create or None, tags=agent.tags if create else None))
    stored.note(agent.name, added, changes)
    if RECORD in changes:
        late.end(agent.name, added.head)  # it is the last of the values
    else:
        late.drop(agent.name)


def add_message(client: Client, name: str, adding: Call[AddedItems], stored: KnownValues, late: LateRecords) -> None:
    """Add a message, together with what is late.

    Args:
        client: writes.
        name: the agent of the daemon.
        adding: the command that adds the message.
        stored: what is stored.
        late: what is to be stored with the message.

    Raises:
        NotFound: there is no such agent.
        Killed: the agent was killed.
    """
    waiting = late.get(name)
    if waiting is not None:
        try:
            of_record, added = client.commit([_late(name, waiting), adding]).results
        except (Conflict, InvalidMessage, Killed, TooLarge):
            # Another program has stored a record since, which stays, or the two are too large for one command; or the
            # message cannot be added by itself either, and the error is to be about that alone.
            pass
        else:
            stored.note(name, added, {RECORD: text_of(waiting.record)})
            late.end(name, of_record.first)
            return
    stored.note(name, client.call(adding), {})
    if waiting is not None:
        late.begin(name)  # the next record is stored at once


def store_late(client: Client, name: str, late: LateRecords) -> None:
    """Store what is late of an agent that is to be read: a program reads what it has written."""
    waiting = late.begin(name)
    if waiting is not None:
        with suppress(Conflict, Killed, NotFound):
            client.call(_late(name, waiting))


def _late(name: str, waiting: LateRecord) -> Call[Added]:
    """Return the command that stores what is late, unless another program has stored a record since."""
    return requests.add(name, [state(RECORD, waiting.record, if_seq=waiting.replaces)])


def _changes(stored: Mapping[str, str], new: Mapping[str, str], before: Mapping[str, str] | None) -> _Changes:
    """Return what brings what a process has changed into the values beside a conversation, the removed ones first."""
    if before is None:
        before = {key: text for key, text in stored.items() if _is_of_state(key)}
    gone = dict.fromkeys(key for key in before if key not in new and key in stored)
    changed = {key: text for key, text in new.items() if key == RECORD or before.get(key) != text}
    return {**gone, **{key: text for key, text in changed.items() if stored.get(key) != text}}


def texts_of(state_of_agent: Json) -> dict[str, str]:
    """Return a state as the values that it is stored as, in texts."""
    return {key: text_of(value) for key, value in _as_values(state_of_agent).items()}


def _as_values(state_of_agent: Json) -> Json:
    """Return a state as values; those of keys that cannot be keys here are one value."""
    kept: Json = {}
    others: Json = {}
    for key, value in state_of_agent.items():
        is_key = 0 < len(key) <= _LONGEST_KEY and tag_value(key) == key and not key.startswith(_OWN)
        (kept if is_key else others)[key] = value
    return {**kept, **({_OTHERS: others} if others else {})}


def _is_of_state(key: str) -> bool:
    return key == _OTHERS or not key.startswith(_OWN)


def read_multi_agent(client: Client, place: Place, session_id: str, multi_agent_id: str) -> Json | None:
    """Return the state of a graph or a swarm in a session, or ``None``."""
    try:
        found: Json | None = values_of(client, place.session(session_id).name).get(_multi_agent_key(multi_agent_id))
    except NotFound:
        return None
    return found


def write_multi_agent(client: Client, place: Place, session_id: str, multi_agent_id: str, value: Json) -> None:
    """Store the state of a graph or a swarm.

    Raises:
        SessionException: there is no such session.
    """
    record = state(_multi_agent_key(multi_agent_id), value)
    try:
        client.add(place.session(session_id).name, [record])
    except NotFound:
        raise SessionException(f"Session {session_id} does not exist") from None


def _multi_agent_key(multi_agent_id: str) -> str:
    return _MULTI_AGENT + _checked("multi_agent_id", multi_agent_id)


def delete_session(client: Client, place: Place, session_id: str) -> None:
    """Remove a session and its agents for good, as ``purge`` does.

    Raises:
        SessionException: there is none.
    """
    own = place.session(session_id)
    rows = [*client.iter_agents(f"{own.name}/"), *client.iter_agents(own.name)]
    rows += [row for page in client.pages(requests.agents(place.prefix, tags=own.tags)) for row in page.agents]
    names = {own.name: None}
    for row in rows:
        if row.name.startswith(f"{own.name}/") or row.name == _name_by_tags(place, session_id, row.tags):
            names[row.name] = None
    ids = [row.id for row in rows if row.name in names]
    if not ids:
        raise SessionException(f"Session {session_id} does not exist")
    first, *more = dict.fromkeys(ids)
    client.purge(first, also=more or None)


def _name_by_tags(place: Place, session_id: str, tags: Json) -> str | None:
    """Return the name of the agent of the framework that the tags tell; a clone has them as well, and another name."""
    agent_id = tags.get(_AGENT_TAG)
    return None if agent_id is None else place.agent(session_id, agent_id).name
