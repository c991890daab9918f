"""Locates a session of Google's ADK: the agents of the session, the user and the app, which hold their state."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from google.adk.errors.input_validation_error import InputValidationError
from google.adk.sessions.state import State
from pydantic_core import to_jsonable_python

from reel import replies, requests
from reel.base.errors import NotFound
from reel.base.light_typing import NamedTuple
from reel.integrations.naming import Named, is_hashed, named, tag_value
from reel.requests import Call
from reel.said.new_messages import state as value
from reel.sync.client import Client

Json = dict[str, Any]

# The maximum number of values on a page.
_PAGE: Final = 10_000
# The maximum length of an id in characters, the limit of tags.
_LONGEST: Final = 1024
# The tags of an agent.
APP: Final = "adk_app"
USER: Final = "adk_user"
SESSION: Final = "adk_session"


class Deltas(NamedTuple):
    """A change of state, split by scope; the keys are without ``app:`` and ``user:``."""

    app: Json
    user: Json
    session: Json


class SessionAgents(NamedTuple):
    """The agents of an app, of a user and of a session, and the three ids."""

    app: Named
    user: Named
    session: Named
    ids: tuple[str, str, str]

    def commit(self, client: Client, own: Iterable[Call[Any]], deltas: Deltas) -> replies.Committed:
        """Carry out commands on a session, together with those that change the shared state of the user and the app.

        Raises:
            Killed: the agent of one of them was killed; otherwise its state would start over.
        """
        begun = [*own]
        shared = [(agent, delta) for agent, delta in ((self.app, deltas.app), (self.user, deltas.user)) if delta]
        new: list[Named] = []
        while True:
            changes = [
                requests.add(agent.name, records(delta), create=True, tags=agent.tags)
                if agent in new
                else requests.add(agent.name, records(delta))
                for agent, delta in shared
            ]
            try:
                return client.commit([*begun, *changes])
            except NotFound as error:
                number = error.data.get("part", 0) - len(begun)
                if number < 0:
                    raise
                new.append(shared[number][0])


def shared_of(agents: SessionAgents, state: Callable[[str], Json]) -> Json:
    """Return the state that a session shares with others; the keys have ``app:`` and ``user:``.

    Args:
        agents: the agents of the session.
        state: returns the state of an agent.
    """
    prefixes = ((agents.app.name, State.APP_PREFIX), (agents.user.name, State.USER_PREFIX))
    return {prefix + key: found for agent, prefix in prefixes for key, found in state(agent).items()}


def agents_of(prefix: str, ids: tuple[str, str, str]) -> SessionAgents:
    """Return the agents of a session.

    Args:
        prefix: the prefix of the agents' names.
        ids: the ids of the app, the user and the session.

    Raises:
        InputValidationError: one of them is not a valid id.
    """
    return SessionAgents(agent_of(prefix, *ids[:1]), agent_of(prefix, *ids[:2]), agent_of(prefix, *ids), ids)


def agent_of(prefix: str, *ids: str) -> Named:
    """Return the name of an agent and its tags; different lists of ids have different names.

    Raises:
        InputValidationError: as above.
    """
    for each in ids:
        checked(each)
    tags = dict(zip((APP, USER, SESSION), ids, strict=False))
    is_joined = not any("/" in each or not each or is_hashed(each) for each in ids)
    if is_joined and not ids[0].startswith("["):  # otherwise it might be the JSON of another list
        return Named(named(prefix, "/".join(ids)).name, tags)
    return Named(named(prefix, json.dumps(ids)).name, tags)


def checked(given: str) -> str:
    """Check and return an id.

    Raises:
        InputValidationError: a session cannot store the value as an id.
    """
    if not is_id(given):
        got = f"{given[:40]!r}" if isinstance(given, str) else f"a {type(given).__name__}"
        raise InputValidationError(
            f"expected an id of at most {_LONGEST:,} characters, without control characters, got {got}"
        )
    return given


def is_id(given: Any) -> bool:
    """Whether something can be the id of an app, a user or a session."""
    return isinstance(given, str) and len(given) <= _LONGEST and tag_value(given) == given


def deltas_of(delta: Mapping[str, Any]) -> Deltas:
    """Return a change of state as JSON; values that JSON lacks become what the framework's own stores make of them.

    Raises:
        InputValidationError: one of them has bytes that are not UTF-8.
    """
    found = Deltas({}, {}, {})
    try:
        given = to_jsonable_python(dict(delta), serialize_unknown=True, inf_nan_mode="null")
    except UnicodeDecodeError as error:
        raise InputValidationError(f"state: bytes must be UTF-8 to be stored: {error}") from None
    for key, new in given.items():
        if key.startswith(State.APP_PREFIX):
            found.app[key.removeprefix(State.APP_PREFIX)] = new
        elif key.startswith(State.USER_PREFIX):
            found.user[key.removeprefix(State.USER_PREFIX)] = new
        elif not key.startswith(State.TEMP_PREFIX):
            found.session[key] = new
    return found


def records(delta: Json) -> list[Any]:
    """Return the records that change the state of an agent."""
    return [value(key, new) for key, new in delta.items()]


def state_of(client: Client, agent: str) -> Json:
    """Return the state of an agent, empty if there is no such agent."""
    try:
        return state_at(client, agent)
    except NotFound:
        return {}


def state_at(client: Client, agent: str, at: int | None = None) -> Json:
    """Return the current state of an agent, or its state at a position.

    Raises:
        NotFound: there is no such agent.
    """
    return _read(client, requests.state(agent, at=at, limit=_PAGE))


def state_in(client: Client, row: replies.AgentRow) -> Json:
    """Return the state of an agent listed with its values; values that did not fit into the list are read.

    Raises:
        NotFound: there is no such agent any more.
    """
    state = _as_map(row.values or [])
    if row.next is not None:
        state |= _read(client, requests.state(row.id, at=row.head, after=row.next, limit=_PAGE))
    return state


def _read(client: Client, call: Call[replies.StatePage]) -> Json:
    return _as_map(found for page in client.pages(call) for found in page.values)


def _as_map(values: Iterable[replies.Value]) -> Json:
    return {found.key: found.value for found in values}
