"""A session service of Google's ADK: its sessions are agents of the daemon. docs/frameworks.md has an example."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any, Final, NamedTuple, Self, TypeVar

try:
    from google.adk.errors import StaleSessionError
    from google.adk.errors.already_exists_error import AlreadyExistsError
    from google.adk.errors.input_validation_error import InputValidationError
    from google.adk.errors.session_not_found_error import SessionNotFoundError
    from google.adk.events.event import Event
    from google.adk.events.event_actions import EventActions
    from google.adk.platform import time as platform_time
    from google.adk.platform import uuid as platform_uuid
    from google.adk.sessions.base_session_service import BaseSessionService, GetSessionConfig, ListSessionsResponse
    from google.adk.sessions.session import Session
    from google.adk.sessions.state import State
except ImportError as error:
    raise ImportError(
        "reel.integrations.google_adk needs google-adk, which is not installed; install it with: "
        "pip install 'reeld[google-adk]'"
    ) from error

from pydantic import ValidationError
from pydantic_core import to_jsonable_python

from reel import replies, requests
from reel.errors import Conflict, Exists, InvalidMessage, InvalidParams, NotFound, TooLarge
from reel.integrations.google_adk_items import content_of, messages_of
from reel.integrations.naming import Named, is_hashed, named, tag_value
from reel.integrations.worker import Worker
from reel.new_messages import state as value
from reel.requests import Call
from reel.sync.client import Client

R = TypeVar("R")
Json = dict[str, Any]

_FORMAT: Final = "x-google-adk"
_CLIENT: Final = "google-adk"
# The most messages on a page, and so the most that ``last`` may be.
_PAGE: Final = 10_000
# How many of the newest events are read first to find those after a time.
_FIRST: Final = 64
# The most characters of an id, which tags have.
_LONGEST: Final = 1024
# The tags of the agent of a session.
_APP, _USER, _SESSION, _CREATED = "adk_app", "adk_user", "adk_session", "adk_created"
# What somebody else may add while the framework runs, without the session being another one.
_ADDED: Final = frozenset({"user", "assistant", "tool_call", "tool_result", "note", "usage", "mark"})
_STALE: Final = (
    "the session has been modified in storage since it was loaded; load it again before you append more events"
)


class ReelSessionService(BaseSessionService):  # type: ignore[misc] # the framework's types are not read
    """Keeps sessions, for ``Runner(app_name=…, agent=…, session_service=ReelSessionService())``.

    It may be used from several event loops, threads and processes. An event is written together with the state that it
    changes, of the session, the user and the app, or not at all. If the daemon is restarted, a call waits for it, and
    is carried out once.

    Args:
        socket: the socket of the daemon. Default: ``$REEL_SOCKET``, else the usual one.
        autostart: start a daemon if none answers.
        prefix: what the names of the agents begin with; the app, the user and the session follow.

    Raises:
        InvalidParams: no name of an agent can begin with the prefix.
    """

    def __init__(self, *, socket: str | None = None, autostart: bool = False, prefix: str = "adk/") -> None:
        named(prefix, "app")
        self._prefix = prefix
        self._worker = Worker(socket, autostart=autostart, name=_CLIENT)

    def agent_name(self, app_name: str, user_id: str | None = None, session_id: str | None = None) -> str:
        """Return the name of the agent of a session, or of the one that has the state of a user or an app."""
        return self._named(*(part for part in (app_name, user_id, session_id) if part is not None)).name

    async def create_session(
        self, *, app_name: str, user_id: str, state: Json | None = None, session_id: str | None = None
    ) -> Session:
        """Make a session.

        Args:
            app_name: the app.
            user_id: the user.
            state: its first state; keys that begin with ``app:`` and ``user:`` are shared.
            session_id: its id. Default: one is made.

        Raises:
            AlreadyExistsError: there is one.
        """
        own_id = (session_id or "").strip() or platform_uuid.new_uuid()
        place = self._place(app_name, user_id, own_id)
        created = platform_time.get_time()
        deltas = _split(state or {})
        tags = {**place.session.tags, _CREATED: repr(created)}

        def make(client: Client) -> Session:
            parts = [requests.create(place.session.name, tags=tags), *place.values(deltas)]
            if deltas.session:
                parts.append(requests.add(place.session.name, _records(deltas.session)))
            try:
                done = client.commit(parts)
            except Exists:
                raise AlreadyExistsError(f"Session with id {own_id} already exists.") from None
            head = [result for result in done.results if result.agent == done.results[0].agent][-1].head
            merged = {**deltas.session, **place.shared(client)}
            made = Session(app_name=app_name, user_id=user_id, id=own_id, state=merged, last_update_time=created)
            made._storage_update_marker = _marker(done.results[0].agent, head)
            return made

        return await self._run(make)

    async def get_session(
        self, *, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> Session | None:
        """Return a session with its events and what other clients have added; ``None`` if it does not exist.

        Args:
            app_name: the app.
            user_id: the user.
            session_id: its id.
            config: which events.
        """
        place = self._place(app_name, user_id, session_id.strip())
        asked = config or GetSessionConfig()

        def read(client: Client) -> Session | None:
            try:
                return _session(client, place, client.agent(place.session.name), asked)
            except NotFound:
                return None

        return await self._run(read)

    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        """Return the sessions of a user, or of all users, without events; the one that changed last is the last one."""
        tags = {_APP: _checked(app_name), **({} if user_id is None else {_USER: _checked(user_id)})}

        def read(client: Client) -> list[Session]:
            found = []
            for page in client.pages(requests.agents(alive=True, tags=tags)):
                for row in page.agents:
                    if not row.tags.keys() >= {_USER, _SESSION}:
                        continue
                    place = self._place(app_name, row.tags[_USER], row.tags[_SESSION])
                    if row.name != place.session.name:  # a clone has the tags of its source
                        continue
                    with suppress(NotFound):  # somebody has deleted it meanwhile
                        found.append(_session(client, place, row, GetSessionConfig(num_recent_events=0)))
            return sorted(found, key=lambda session: (session.last_update_time, session.user_id, session.id))

        return ListSessionsResponse(sessions=await self._run(read))

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Remove a session for good, as ``purge`` does; what its user and its app share stays."""
        place = self._place(app_name, user_id, session_id.strip())

        def purge(client: Client) -> None:
            try:
                client.purge(place.session.name)
            except NotFound:
                return

        await self._run(purge)

    async def get_user_state(self, *, app_name: str, user_id: str) -> Json:
        """Return what the sessions of a user share; the keys are without ``user:``."""
        agent = self._named(app_name, user_id).name
        return await self._run(lambda client: _state(client, agent))

    async def append_event(self, session: Session, event: Event) -> Event:
        """Write an event, and the state that it changes, in one command.

        Args:
            session: the session, as it was loaded.
            event: the event; a partial one is not written.

        Raises:
            SessionNotFoundError: there is no such session.
            StaleSessionError: another program has written to it, or somebody has gone back in it, since it was loaded.
        """
        if event.partial:
            return event
        self._apply_temp_state(session, event)
        event = self._trim_temp_delta_state(event)
        place = self._place(session.app_name, session.user_id, session.id)
        text = event.model_dump_json(exclude_none=True)
        deltas = _split(event.actions.state_delta if event.actions else {})
        await self._run(lambda client: _append(client, place, session, _Written(event, text, deltas)))
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

    def _place(self, app_name: str, user_id: str, session_id: str) -> _Place:
        return _Place(
            self._named(app_name), self._named(app_name, user_id), self._named(app_name, user_id, session_id),
            (app_name, user_id, session_id),
        )  # fmt: skip

    def _named(self, *parts: str) -> Named:
        """Return the name of an agent and its tags; no two lists of parts have one name."""
        for part in parts:
            _checked(part)
        tags = dict(zip((_APP, _USER, _SESSION), parts, strict=False))
        is_joined = not any("/" in part or not part or is_hashed(part) for part in parts)
        if is_joined and not parts[0].startswith("["):  # else it might be the JSON of others
            return Named(named(self._prefix, "/".join(parts)).name, tags)
        return Named(named(self._prefix, json.dumps(parts)).name, tags)

    async def _run(self, work: Callable[[Client], R]) -> R:
        with _as_theirs():
            return await self._worker.run(work)


def _checked(part: str) -> str:
    if not isinstance(part, str) or len(part) > _LONGEST or tag_value(part) != part:
        shown = f"{part[:40]!r}" if isinstance(part, str) else f"a {type(part).__name__}"
        raise InputValidationError(
            f"expected an id of at most {_LONGEST:,} characters, without control characters, got {shown}"
        )
    return part


@contextmanager
def _as_theirs() -> Iterator[None]:
    """Raise the framework's exception for what was given, in the place of ours."""
    try:
        yield
    except (InvalidMessage, InvalidParams, TooLarge) as error:
        raise InputValidationError(str(error)) from error


class _Deltas(NamedTuple):
    """A change of state, by who shares it; the keys are without ``app:`` and ``user:``."""

    app: Json
    user: Json
    session: Json


class _Place(NamedTuple):
    """The agents of an app, of a user and of a session, and the three ids."""

    app: Named
    user: Named
    session: Named
    ids: tuple[str, str, str]

    def values(self, deltas: _Deltas) -> list[Call[Any]]:
        """Return the commands that write what the user and the app share."""
        return [
            requests.add(agent.name, _records(delta), create=True, tags=agent.tags)
            for agent, delta in ((self.app, deltas.app), (self.user, deltas.user))
            if delta
        ]

    def shared(self, client: Client) -> Json:
        """Return what the user and the app share, with ``app:`` and ``user:``."""
        return {
            prefix + key: found
            for agent, prefix in ((self.app, State.APP_PREFIX), (self.user, State.USER_PREFIX))
            for key, found in _state(client, agent.name).items()
        }


class _Written(NamedTuple):
    """An event, its JSON, and the state that it changes."""

    event: Event
    text: str
    deltas: _Deltas


def _split(delta: Mapping[str, Any]) -> _Deltas:
    """Return a change of state as JSON; what JSON does not have is what the framework's own stores keep of it."""
    found = _Deltas({}, {}, {})
    given = to_jsonable_python(dict(delta), serialize_unknown=True, inf_nan_mode="null")
    for key, new in given.items():
        if key.startswith(State.APP_PREFIX):
            found.app[key.removeprefix(State.APP_PREFIX)] = new
        elif key.startswith(State.USER_PREFIX):
            found.user[key.removeprefix(State.USER_PREFIX)] = new
        elif not key.startswith(State.TEMP_PREFIX):
            found.session[key] = new
    return found


def _records(delta: Json) -> list[Any]:
    return [value(key, new) for key, new in delta.items()]


def _state(client: Client, agent: str, at: int | None = None) -> Json:
    try:
        pages = client.pages(requests.state(agent, at=at, limit=_PAGE))
        return {found.key: found.value for page in pages for found in page.values}
    except NotFound:
        return {}


def _append(client: Client, place: _Place, session: Session, written: _Written) -> None:
    try:
        agent, head = _known(client, place.session.name, session)
        while True:
            try:
                done = client.commit([*_parts(agent, written, head), *place.values(written.deltas)])
                break
            except Conflict as error:
                head = _passed_over(client, agent, head, error)
    except NotFound:
        raise SessionNotFoundError(f"Session {session.id} not found.") from None
    own = [result for result in done.results if result.agent == done.results[0].agent]
    session.last_update_time = written.event.timestamp
    session._storage_update_marker = _marker(own[0].agent, own[-1].head)


def _parts(agent: str, written: _Written, head: int) -> list[Call[Any]]:
    """Return the commands that write to the session."""
    event, text, deltas = written
    added = requests.add_items(
        agent,
        f"[{text}]",
        _FORMAT,
        messages=[messages_of(json.loads(text))],
        sent=[max(0, int(event.timestamp * 1000))],
        if_seq=head,
    )
    return [added, requests.add(agent, _records(deltas.session))] if deltas.session else [added]


def _marker(agent: str, head: int) -> str:
    return f"{agent}:{head}"


def _known(client: Client, name: str, session: Session) -> tuple[str, int]:
    """Return the agent that a session was loaded from, and its head then.

    Raises:
        StaleSessionError: the session does not say, and is older than what is stored.
    """
    if session._storage_update_marker is not None:
        agent, _, head = session._storage_update_marker.partition(":")
        return agent, int(head)
    found = client.agent(name)
    newest = _events(client, found.id, found.head, 1)
    is_newest = not newest or (session.events and session.events[-1].id == newest[-1].id)
    if newest and newest[-1].timestamp > session.last_update_time and not is_newest:
        raise StaleSessionError(_STALE)
    return found.id, found.head


def _passed_over(client: Client, agent: str, head: int, error: Conflict) -> int:
    """Return the head now, if all since another head was added by others than the framework.

    Raises:
        StaleSessionError: the session is another one by now.
    """
    page = client.history(agent, since=head, limit=_PAGE)
    if page.more or "head" not in error.data or page.head < head:
        raise StaleSessionError(_STALE)
    if any(event["client"] == _CLIENT or event["kind"] not in _ADDED for event in page.events):
        raise StaleSessionError(_STALE)
    return page.head


def _session(
    client: Client, place: _Place, about: replies.AgentInfo | replies.AgentRow, asked: GetSessionConfig
) -> Session:
    """Return a session as it is at the head of its agent.

    Raises:
        NotFound: it was deleted meanwhile, even if there is another one of this name.
    """
    agent, head = about.id, about.head
    count, after = asked.num_recent_events, asked.after_timestamp
    events = _events_after(client, agent, head, after) if after is not None else _events(client, agent, head, count)
    if count is not None:
        events = events[-count:] if count else []
    newest = events[-1:] or _events(client, agent, head, 1)
    created = about.tags.get(_CREATED)
    app_name, user_id, session_id = place.ids
    found = Session(
        app_name=app_name,
        user_id=user_id,
        id=session_id,
        state={**_state(client, agent, head), **place.shared(client)},
        events=events,
        last_update_time=newest[-1].timestamp if newest else float(created or about.created / 1000),
    )
    found._storage_update_marker = _marker(about.id, head)
    return found


class _RawPage(NamedTuple):
    """A page of items whose JSON has not been read."""

    head: int
    at: int
    items: list[Any]
    more: bool


def _read_raw(result: Json) -> _RawPage:
    return _RawPage(result["head"], result["at"], result["items"], result["more"])


def _events(client: Client, agent: str, at: int, last: int | None = None) -> list[Event]:
    """Return the events at a position, or only so many of the newest ones, which may be more than a page has."""
    if last == 0:
        return []
    if last is not None and last <= _PAGE:
        call: Call[Any] = requests.items(agent, _FORMAT, last=last, at=at)
    else:
        call = requests.items(agent, _FORMAT, limit=_PAGE, at=at)
    pages = client.pages(call._replace(read=_read_raw))
    events: list[Event] = []
    for page in pages:
        for found in page.items:
            event = _event(found, events)
            if event is not None:
                events.append(event)
    return events


def _events_after(client: Client, agent: str, at: int, time: float) -> list[Event]:
    """Return the events from a time on; those before it are not all read."""
    count = _FIRST
    while True:
        events = _events(client, agent, at, count)
        if len(events) < count or events[0].timestamp < time:
            return [event for event in events if event.timestamp >= time]
        count *= 4


def _event(found: Json, before: list[Event]) -> Event | None:
    """Return an event; one that somebody else has added is in the name of who spoke last for the model."""
    if "item_json" in found:
        return _parsed(found["item_json"])
    content = content_of(found["message"])
    if content is None:
        return None
    speaker = next((event.author for event in reversed(before) if event.author != "user"), "model")
    made = {
        "id": f"reel-{found['seq']}",
        "invocation_id": f"reel-{found['seq']}",
        "author": speaker if found["message"]["role"] == "assistant" else "user",
        "timestamp": (found.get("sent") or found["time"]) / 1000,
        "content": content,
    }
    return Event.model_validate_json(json.dumps(made))


def _parsed(text: str) -> Event:
    """Return an event; what a newer version has written into it, and this one does not know, is left out."""
    try:
        return Event.model_validate_json(text)
    except ValidationError:
        event: Json = json.loads(text)
    event["actions"] = {key: new for key, new in event.get("actions", {}).items() if key in EventActions.model_fields}
    try:
        return Event.model_validate_json(json.dumps(event))
    except ValidationError:
        names = ("id", "invocation_id", "author", "branch")
        known: Json = {key: event[key] for key in names if isinstance(event.get(key), str)}
        if isinstance(event.get("timestamp"), int | float):
            known["timestamp"] = event["timestamp"]
        contents = [content for said in messages_of(event) if (content := content_of(said)) is not None]
        return Event.model_validate_json(json.dumps({**known, **({"content": contents[0]} if contents else {})}))
