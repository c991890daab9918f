"""A session of Google's ADK is an agent: its events come back as they were, whoever else writes."""

import asyncio
import json
import math
import random
from collections.abc import Awaitable, Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from reel.base.errors import Killed, NotRunning
from reel.sync.client import Client
from tests.altered import altered
from tests.daemon import Daemon, short_directory
from tests.forkserver import ForkedDaemon

pytest.importorskip("google.adk", reason="google-adk is not installed")

from google.adk.errors import StaleSessionError
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.input_validation_error import InputValidationError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.sessions.base_session_service import GetSessionConfig
from google.adk.sessions.session import Session
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.genai import types

from reel.integrations.google_adk import ReelSessionService
from reel.integrations.google_adk.going_back import _target

_NUMBERS = count()


@pytest.fixture
def app() -> str:
    """The name of an app that no other test has."""
    return f"app{next(_NUMBERS)}"


@pytest.fixture
def service(daemon: Daemon) -> Iterator[ReelSessionService]:
    made = ReelSessionService(socket=daemon.socket)
    yield made
    run(made.close)


@pytest.fixture
def other(daemon: Daemon) -> Iterator[ReelSessionService]:
    """A service of another process, as far as the daemon knows."""
    made = ReelSessionService(socket=daemon.socket)
    yield made
    run(made.close)


def said(text: str, author: str = "user", **more: Any) -> Event:
    """Return an event of words."""
    content = types.Content(role="user" if author == "user" else "model", parts=[types.Part(text=text)])
    return Event(invocation_id="i", author=author, content=content, **more)


def changing(**delta: Any) -> Event:
    """Return an event that changes state; ``app__`` and ``user__`` stand for the prefixes."""
    named = {key.replace("__", ":"): value for key, value in delta.items()}
    return Event(invocation_id="i", author="deck", actions=EventActions(state_delta=named))


def run(work: Callable[[], Awaitable[Any]]) -> Any:
    """Run a coroutine in an event loop of its own: a service goes from one to the next."""

    async def main() -> Any:
        return await work()

    return asyncio.run(main())


def made(service: Any, app: str, session_id: str = "s", **more: Any) -> Session:
    """Make a session."""
    return run(lambda: service.create_session(app_name=app, user_id="u", session_id=session_id, **more))


def append(service: Any, session: Session, *events: Event) -> None:
    """Append events."""

    async def every() -> None:
        for event in events:
            await service.append_event(session, event)

    run(every)


def got(service: Any, app: str, session_id: str = "s", **config: Any) -> Any:
    """Load a session."""
    asked = GetSessionConfig(**config) if config else None
    return run(lambda: service.get_session(app_name=app, user_id="u", session_id=session_id, config=asked))


PARTS = [
    types.Part(text="words"),
    types.Part(text="", thought=True, thought_signature=b"sig"),
    types.Part(text="why", thought=True, thought_signature=b"\xff\xfe\xfb"),
    types.Part(function_call=types.FunctionCall(id="c1", name="look", args={"deep": [{"x": None}], "n": 1.0})),
    types.Part(function_call=types.FunctionCall(name="no_id", args={})),
    types.Part(function_response=types.FunctionResponse(id="c1", name="look", response={"result": "found"})),
    types.Part(function_response=types.FunctionResponse(id="c2", name="look", response={"error": "none"})),
    types.Part(function_response=types.FunctionResponse(name="look", response={"a": 1})),
    types.Part(inline_data=types.Blob(data=b"\xff\xfe\xfb\x00", mime_type="image/png")),
    types.Part(inline_data=types.Blob(data=b"bytes", mime_type="image/\0")),
    types.Part(file_data=types.FileData(file_uri="gs://bucket/file", mime_type="video/mp4")),
    types.Part(executable_code=types.ExecutableCode(code="print(1)", language=types.Language.PYTHON)),
    types.Part(code_execution_result=types.CodeExecutionResult(outcome=types.Outcome.OUTCOME_OK, output="1")),
    types.Part(video_metadata=types.VideoMetadata(fps=2.0)),
]


@pytest.mark.parametrize("part", PARTS, ids=lambda part: next(iter(part.model_dump(exclude_none=True))))
@pytest.mark.parametrize("author", ["user", "deck"])
def test_every_part_comes_back(service: ReelSessionService, client: Client, app: str, part: Any, author: str) -> None:
    """An event with a part of any type comes back equal; everybody else reads at least one message."""
    session = made(service, app)
    content = types.Content(role="user" if author == "user" else "model", parts=[types.Part(text="a"), part])
    append(service, session, Event(invocation_id="i", author=author, content=content))

    assert session == got(service, app)
    assert client.messages(service.agent_name(app, "u", "s")).messages


def test_every_field_comes_back(service: ReelSessionService, app: str) -> None:
    """What an event has beside its content comes back, and so does one that has no content."""
    session = made(service, app)
    whole = said(
        "hi",
        "deck",
        timestamp=1700000000.123456,
        branch="a.b",
        actions=EventActions(artifact_delta={"f": 1}, escalate=True, agent_state={"n": [1]}),
        long_running_tool_ids={"b", "a"},
        custom_metadata={"deep": {"x": [1.5, None]}},
        usage_metadata=types.GenerateContentResponseUsageMetadata(prompt_token_count=1),
        grounding_metadata=types.GroundingMetadata(search_entry_point=types.SearchEntryPoint(sdk_blob=b"\xff")),
    )
    append(service, session, whole, changing(k=1), Event(author="deck", error_code="E", error_message="no"))
    found = got(service, app)

    assert session == found
    assert found.events[-1].timestamp == found.last_update_time


def test_others_read_and_go_on(service: ReelSessionService, client: Client, app: str) -> None:
    """Calls and results are messages; what somebody adds is the next event, and another provider can be asked."""
    session = made(service, app)
    call = types.Part(function_call=types.FunctionCall(id="c1", name="look", args={"x": 1}))
    result = types.Part(function_response=types.FunctionResponse(id="c1", name="look", response={"result": "found"}))
    append(
        service,
        session,
        said("Look."),
        Event(author="deck", content=types.Content(role="model", parts=[call])),
        Event(author="deck", content=types.Content(role="user", parts=[result])),
        changing(k=1),
        said("There.", "deck"),
    )
    agent = service.agent_name(app, "u", "s")
    client.add(agent, ["And there?", {"role": "assistant", "content": "No."}])
    events = got(service, app).events

    assert ["user", "assistant", "tool", "assistant", "assistant", "user", "assistant"] == [
        message["role"] for message in client.iter_messages(agent)
    ]
    assert [("user", "And there?"), ("deck", "No.")] == [(e.author, e.content.parts[0].text) for e in events[-2:]]
    client.add(agent, "Go on.")
    body = json.loads(client.render(agent, "openai-chat", model="m").body)
    assert ["user", "assistant", "tool", "assistant", "user", "assistant", "user"] == [
        message["role"] for message in body["messages"]
    ]


def test_interrupted_between_call_and_result(service: ReelSessionService, client: Client, app: str) -> None:
    """A session that ends with a call can be loaded, and goes on; the daemon says that the call is open."""
    session = made(service, app)
    call = types.Part(function_call=types.FunctionCall(id="c1", name="look", args={"x": 1}))
    append(service, session, said("Look."), Event(author="deck", content=types.Content(role="model", parts=[call])))

    assert session == got(service, app)
    agent = service.agent_name(app, "u", "s")
    assert [("c1", "look")] == [(open_call.id, open_call.name) for open_call in client.open_calls(agent)]
    append(service, got(service, app), said("Go on."))
    assert "Go on." == got(service, app).events[-1].content.parts[0].text


def test_an_event_that_is_too_large(service: ReelSessionService, app: str) -> None:
    """It is refused, and nothing of it is written."""
    session = made(service, app)
    with pytest.raises(InputValidationError, match="too_large"):
        append(service, session, said("x" * (17 << 20)))

    assert [] == got(service, app).events


def test_values_that_cannot_be_stored(service: ReelSessionService, app: str) -> None:
    """A time that is no number, and bytes that are no text in state, are refused, and nothing is written."""
    session = made(service, app)
    for event, why in (
        (said("Hi", timestamp=math.inf), "timestamp: expected a finite number, got inf"),
        (said("Hi", timestamp=math.nan), "timestamp: expected a finite number, got nan"),
        (changing(a=b"\xff"), "state: bytes must be UTF-8"),
    ):
        with pytest.raises(InputValidationError, match=why):
            append(service, session, event)
    with pytest.raises(InputValidationError, match="state: bytes must be UTF-8"):
        made(service, app, "t", state={"user:a": b"\xff"})

    assert [] == got(service, app).events
    assert got(service, app, "t") is None


def test_an_event_and_all_state_are_one_command(service: ReelSessionService, client: Client, app: str) -> None:
    """If the state of the user cannot be written, neither the event nor any other state is."""
    session = made(service, app, state={"user:a": 1, "app:b": 2, "c": 3, "temp:d": 4})
    assert {"user:a": 1, "app:b": 2, "c": 3} == session.state
    append(service, session, changing(user__a=5, app__b=6, c=7, temp__d=8))
    before = got(service, app)
    with pytest.raises(InputValidationError, match="key of 1 to 256"):
        append(service, session, changing(**{"app__b": 9, f"user__{'k' * 300}": 1}))

    assert {"user:a": 5, "app:b": 6, "c": 7} == before.state
    assert before == got(service, app)
    assert 1 == len([e for e in client.iter_history(service.agent_name(app, "u", "s")) if e["content"] == "c"][1:])
    assert {"a": 5} == run(lambda: service.get_user_state(app_name=app, user_id="u"))


def test_a_stale_session(service: ReelSessionService, other: ReelSessionService, client: Client, app: str) -> None:
    """A session that another program has written to is refused; what a person adds meanwhile is passed over."""
    session = made(service, app)
    twin = got(other, app)
    append(service, session, said("one"))
    with pytest.raises(StaleSessionError, match="modified in storage"):
        append(other, twin, said("two"))
    agent = service.agent_name(app, "u", "s")
    client.add(agent, "from an editor")
    append(service, session, said("three"))
    client.undo(agent)
    with pytest.raises(StaleSessionError):
        append(service, session, said("four"))

    assert ["one", "from an editor"] == [event.content.parts[0].text for event in got(other, app).events]


def test_a_session_over_a_restored_backup(tmp_path: Path, app: str) -> None:
    """A session of a log that is gone is refused, also if others have written exactly as much to the backup."""
    with short_directory() as directory:
        daemon = Daemon(directory).start()
        service = ReelSessionService(socket=daemon.socket)
        session = made(service, app)
        append(service, session, said("one"))
        with daemon.client() as client:
            client.backup(str(tmp_path / "backup.db"))
        append(service, session, said("lost"))
        loaded = got(service, app)
        daemon.put_back(tmp_path / "backup.db")
        with daemon.client() as client:
            client.add(service.agent_name(app, "u", "s"), "theirs")

        for stale in (session, loaded):
            with pytest.raises(StaleSessionError):
                append(service, stale, said("three"))
        append(service, got(service, app), said("two"))
        assert ["one", "theirs", "two"] == [event.content.parts[0].text for event in got(service, app).events]
        run(service.close)
        daemon.close()


def test_a_session_over_another_connection(service: ReelSessionService, client: Client, app: str) -> None:
    """A session of a log that is still there goes on over another connection, whatever happened to the log last."""
    agent = made(service, app)
    name = service.agent_name(app, "u", "s")
    changes: list[Callable[[], object]] = [
        lambda: append(service, agent, said("one")),
        lambda: append(service, agent, changing(step=1, user__seen=2, app__total=3)),
        lambda: client.add(name, "theirs"),
        lambda: client.change(name, title="renamed"),
        lambda: client.undo(name),
        lambda: client.redact(name, text="one"),
    ]
    for number, change in enumerate(changes):
        change()
        session = got(service, app)
        (listed,) = run(lambda: service.list_sessions(app_name=app, user_id="u")).sessions
        run(service.close)
        append(service, session, said(f"after {number}"))
        assert listed._storage_update_marker != session._storage_update_marker
        agent = got(service, app)


def test_an_event_that_is_delivered_again(
    service: ReelSessionService, other: ReelSessionService, client: Client, app: str
) -> None:
    """It is kept once, in the session too, unless it has been taken back meanwhile."""
    session, event = made(service, app), said("once")
    append(service, session, event)
    append(service, session, event.model_copy(deep=True))
    again = got(other, app)
    append(other, again, event.model_copy(deep=True))

    assert [1, 1, 1] == [len(each.events) for each in (session, again, got(other, app))]
    append(other, again, said("two"))
    client.undo(service.agent_name(app, "u", "s"))
    with pytest.raises(StaleSessionError):
        append(other, again, event)


def test_two_programs_at_once(service: ReelSessionService, other: ReelSessionService, app: str) -> None:
    """Programs that load a session again when they are late lose and double nothing."""
    made(service, app)

    async def write(one: ReelSessionService, name: str) -> None:
        for number in range(15):
            event = said(f"{name}{number}", actions=EventActions(state_delta={"app:n": number, name: number}))
            while True:
                session = await one.get_session(app_name=app, user_id="u", session_id="s")
                assert session is not None
                try:
                    await one.append_event(session, event)
                    break
                except StaleSessionError:
                    continue

    async def both() -> None:
        await asyncio.gather(write(service, "a"), write(other, "b"))

    run(both)
    session = got(service, app)

    assert sorted(f"{name}{n}" for name in "ab" for n in range(15)) == sorted(
        event.content.parts[0].text for event in session.events
    )
    assert (14, 14) == (session.state["a"], session.state["b"])


def test_many_appends_to_one_session(service: ReelSessionService, app: str) -> None:
    """Appends to one session object that are made at once are carried out one after the other."""
    session = made(service, app)

    async def all_at_once() -> None:
        await asyncio.gather(*(service.append_event(session, said(str(number))) for number in range(20)))

    run(all_at_once)
    assert [str(number) for number in range(20)] == [e.content.parts[0].text for e in got(service, app).events]


def test_the_daemon_is_killed_and_restarted(app: str) -> None:
    """A call waits for the daemon, and is carried out once."""
    with short_directory() as directory:
        daemon = ForkedDaemon(directory).start()
        service = ReelSessionService(socket=daemon.socket)
        session = made(service, app)

        async def write() -> None:
            for number in range(30):
                await service.append_event(session, said(str(number), actions=EventActions(state_delta={"n": number})))
                if number in (10, 20):
                    daemon.kill()
                    daemon.start()

        run(write)
        found = got(service, app)
        run(service.close)
        daemon.close()

    assert [str(number) for number in range(30)] == [event.content.parts[0].text for event in found.events]
    assert {"n": 29} == found.state


def test_a_cancelled_append_is_done(service: ReelSessionService, app: str) -> None:
    """The cancellation is raised when the event is written."""
    session = made(service, app)

    async def cancel() -> None:
        task = asyncio.ensure_future(service.append_event(session, said("one")))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(cancel)
    assert 1 == len(got(service, app).events)


def test_what_a_newer_version_wrote(service: ReelSessionService, client: Client, app: str) -> None:
    """What this version does not know of an event is left out when it is loaded, and is kept."""
    made(service, app)
    item = {
        "id": "new",
        "author": "deck",
        "timestamp": 5.0,
        "content": {"role": "model", "parts": [{"text": "hi"}]},
        "actions": {"state_delta": {}, "wormhole": True},
        "colour": "red",
    }
    agent = service.agent_name(app, "u", "s")
    words: Any = [[{"role": "assistant", "content": "hi"}]]
    client.add_items(agent, [item], "x-google-adk", messages=words)
    client.add_items(agent, [{**item, "timestamp": "soon"}], "x-google-adk", messages=words)
    first, second = got(service, app).events

    assert ("new", "hi", "hi") == (first.id, first.content.parts[0].text, second.content.parts[0].text)
    assert item == client.items(agent, "x-google-adk").items[0]["item"]


OTHERS: list[Any] = [None, True, -1, 2**70, 1e300, "x", [], [5], [{"x": 5}], {}, {"x": 5}, {"parts": [{"text": 5}]}]


def test_every_other_shape_of_an_event(service: ReelSessionService, client: Client, app: str) -> None:
    """An item that is no event of the framework's is read as what is left of it, and the session goes on."""
    session = made(service, app)
    content = types.Content(role="model", parts=PARTS)
    actions = EventActions(state_delta={"a": 1}, artifact_delta={"f": 1})
    append(service, session, Event(invocation_id="i", author="deck", content=content, actions=actions, branch="b"))
    agent = service.agent_name(app, "u", "s")
    whole = client.items(agent, "x-google-adk").items[0]["item"]
    shapes = [other for other in altered(whole, OTHERS) if isinstance(other, dict)]
    for begin in range(0, len(shapes), 1000):
        part = shapes[begin : begin + 1000]
        words: Any = [[{"role": "assistant", "content": "said"}]] * len(part)
        client.add_items(agent, json.dumps(part), "x-google-adk", messages=words)

    found = got(service, app)

    assert session.events == found.events[:1]
    assert len(shapes) == len(found.events) - 1
    append(service, found, last := said("go on"))
    assert last == got(service, app, num_recent_events=1).events[0]
    assert got(service, app, after_timestamp=0.0).events


def test_messages_that_are_no_contents(service: ReelSessionService, client: Client, app: str) -> None:
    """A file that is not in base64, and arguments of any depth, which others add, stop no session."""
    made(service, app)
    file: Any = {"type": "media", "mime_type": "image/png", "data_base64": "!?"}
    call = {"type": "tool_call", "id": "c", "name": "f"}
    messages: list[Any] = [
        {"role": "user", "content": [file]},
        {"role": "user", "content": [{"type": "text", "text": "what is it?"}, file]},
        {"role": "assistant", "content": [{**call, "arguments": "[" * 100_000}]},
        {"role": "assistant", "content": [{**call, "arguments": '{"x":' + "[" * 400 + "]" * 400 + "}"}]},
    ]
    client.add(service.agent_name(app, "u", "s"), messages)

    events = got(service, app).events

    assert "what is it?" == events[0].content.parts[0].text
    assert 1 == len(events[0].content.parts)


def test_tags_that_are_none(service: ReelSessionService, client: Client, app: str) -> None:
    """An agent with tags that no service has written is no session, and stops no list."""
    made(service, app)
    agent = service.agent_name(app, "u", "s")
    client.change(agent, tags={**client.agent(agent).tags, "adk_created": "nan"})
    for number, tags in enumerate(
        ({"adk_user": "a\tb"}, {"adk_session": "s"}, {"adk_user": "u", "adk_session": "\x7f"})
    ):
        client.create(f"odd-{app}-{number}", tags={"adk_app": app, **tags})

    assert ["s"] == [each.id for each in run(lambda: service.list_sessions(app_name=app)).sessions]
    assert got(service, app).last_update_time > 0


def test_a_marker_of_another_service(service: ReelSessionService, app: str) -> None:
    """A session that another service has loaded is compared by its events."""
    session = made(service, app)
    session._storage_update_marker = "2026-01-01T00:00:00:00"
    append(service, session, said("one"))

    assert 1 == len(got(service, app).events)


@pytest.mark.parametrize("shared", ["app", "user"])
def test_the_state_of_a_killed_agent(service: ReelSessionService, client: Client, app: str, shared: str) -> None:
    """If the agent of a user or an app is killed, its state is read, and no event changes it until it is revived."""
    session = made(service, app, state={f"{shared}:a": 1})
    agent = service.agent_name(app, *(["u"] if shared == "user" else []))
    client.kill(agent)

    for event in (changing(**{f"{shared}__a": 2}), changing(**{f"{shared}__a": 2, "b": 2})):
        with pytest.raises(Killed, match=agent):
            append(service, got(service, app), event)
    assert {f"{shared}:a": 1} == got(service, app).state
    assert [] == got(service, app).events
    client.revive(agent)
    append(service, session, changing(**{f"{shared}__a": 2}))
    assert {f"{shared}:a": 2} == got(service, app).state


@pytest.mark.parametrize(("user", "states"), [("u", 1), (None, 0)])
def test_a_list_is_one_page(
    service: ReelSessionService, client: Client, app: str, user: str | None, states: int
) -> None:
    """A list asks for a page of agents and for those that went back; one of a user for the state of the app as well."""
    for number in range(5):
        made(service, app, f"s{number}", state={"user:a": 1, "app:b": 2, "c": number})

    def asked() -> dict[str, int]:
        return {method: sum(found["counts"]) for method, found in client.stats()["request_seconds"].items()}

    before = asked()
    listed = run(lambda: service.list_sessions(app_name=app, user_id=user)).sessions
    after = asked()

    assert {"user:a": 1, "app:b": 2, "c": 3} == listed[3].state
    new = {method: count - before.get(method, 0) for method, count in after.items()}
    asked_for = {name: new[name] for name in new if new[name] and name != "stats"}
    assert {"agents": 1, "histories": 1, **({"state": states} if states else {})} == asked_for


def test_a_list_has_all_of_a_large_state(service: ReelSessionService, app: str) -> None:
    """A session, and a user, may have more values than the daemon lists."""
    state: dict[str, Any] = {f"{prefix}k{number}": number for prefix in ("", "user:") for number in range(1500)}
    made(service, app, state=state)

    (listed,) = run(lambda: service.list_sessions(app_name=app)).sessions
    assert state == listed.state


def test_a_list_has_what_a_killed_agent_keeps(service: ReelSessionService, client: Client, app: str) -> None:
    """What a user shares is listed also after the agent that has it was killed; a killed session is not listed."""
    made(service, app, "a", state={"user:a": 1, "app:b": 2})
    made(service, app, "b")
    client.kill(service.agent_name(app, "u"))
    client.kill(service.agent_name(app))
    client.kill(service.agent_name(app, "u", "b"))

    (listed,) = run(lambda: service.list_sessions(app_name=app)).sessions
    (of_user,) = run(lambda: service.list_sessions(app_name=app, user_id="u")).sessions
    assert [("a", {"user:a": 1, "app:b": 2})] * 2 == [(each.id, each.state) for each in (listed, of_user)]


@pytest.mark.parametrize("session_id", ["a/b", "ü 📼", "sha256-x", "x" * 1000, "32" * 16, ".hidden"])
def test_ids_that_are_no_names(service: ReelSessionService, app: str, session_id: str) -> None:
    """Any text without control characters is an id, and is listed as it was given."""
    session = made(service, app, session_id)
    append(service, session, said("hi"))

    assert session == got(service, app, session_id)
    listed = run(lambda: service.list_sessions(app_name=app)).sessions
    assert [session_id] == [found.id for found in listed]


def test_names_of_different_ids_differ(service: ReelSessionService) -> None:
    """No two places have one agent, whatever slashes the ids have."""
    places = [("a",), ("a", "b"), ("a/b",), ("a", "b", "c"), ("a/b", "c"), ("a", "b/c"), ("a/b/c",)]
    places += [('["a', 'b"]')]
    assert len(places) == len({service.agent_name(*place) for place in places})


def test_a_clone_is_a_session(service: ReelSessionService, client: Client, app: str) -> None:
    """A clone whose name is that of a session is listed as it is loaded, with what it inherited; another one is not."""
    session = made(service, app, "s", state={"a": 1})
    append(service, session, said("hi"), changing(a=2))
    agent = service.agent_name(app, "u", "s")
    client.undo(agent)
    client.add(client.clone(agent, name=f"{agent}-2").name, ["more", "and more"])
    client.clone(agent)

    listed = run(lambda: service.list_sessions(app_name=app)).sessions
    assert [("s", {"a": 1}), ("s-2", {"a": 1})] == [(each.id, each.state) for each in listed]
    loaded = got(service, app, "s-2")
    assert ({"a": 1}, ["hi", "more", "and more"]) == (
        loaded.state,
        [event.content.parts[0].text for event in loaded.events],
    )
    append(service, loaded, changing(a=3))
    assert [{"a": 1}, {"a": 3}] == [each.state for each in run(lambda: service.list_sessions(app_name=app)).sessions]


@pytest.mark.parametrize("kind", ["restore", "rewind"])
@pytest.mark.parametrize("data", [None, "{}", '{"cut'])
def test_a_damaged_way_back(client: Client, kind: str, data: str | None) -> None:
    """An event whose data changed on the disk leads nowhere, and the state stays."""
    damaged: Any = {"kind": kind, "data_json": data, "seq": 5, "command": 5}
    assert _target(client, "no such agent", damaged) is None


def test_what_is_no_way_back_of_state(service: ReelSessionService, client: Client, app: str) -> None:
    """An edit and a clear leave the state. A rewind to a mark takes it back, until that is undone."""
    agent = service.agent_name(app, "u", "s")
    append(service, made(service, app, "s", state={"a": 1}), said("hi"))
    client.mark(agent, "here")
    append(service, got(service, app), changing(a=2, b=[{"deep": None}]))
    changed = {"a": 2, "b": [{"deep": None}]}
    client.add(agent, "in short: hi", from_=client.messages(agent).messages[-1]["seq"])
    assert changed == got(service, app).state
    client.undo(agent)
    client.rewind(agent, "here")
    assert {"a": 1} == got(service, app).state
    client.undo(agent)
    client.clear(agent)
    assert changed == got(service, app).state


def test_sessions_are_deleted_while_they_are_listed(
    service: ReelSessionService, other: ReelSessionService, app: str
) -> None:
    """A list has no session that somebody deletes meanwhile, and is no error."""
    for number in range(30):
        made(service, app, f"s{number}")

    async def delete() -> None:
        for number in range(30):
            await other.delete_session(app_name=app, user_id="u", session_id=f"s{number}")

    async def watch() -> None:
        deleting = asyncio.create_task(delete())
        while (await service.list_sessions(app_name=app)).sessions:
            pass
        await deleting

    run(watch)


@pytest.mark.parametrize("session_id", ["x" * 10_000, "a\0b", "\ud800"])
def test_ids_that_are_refused(service: ReelSessionService, app: str, session_id: str) -> None:
    """An id that is too long, or has control characters, is the framework's error, and nothing is made."""
    with pytest.raises(InputValidationError):
        made(service, app, session_id)
    assert [] == run(lambda: service.list_sessions(app_name=app)).sessions


def test_what_is_not_there(service: ReelSessionService, client: Client, app: str) -> None:
    """A session that is there already, or is not there, is the framework's error or nothing at all."""
    session = made(service, app)
    with pytest.raises(AlreadyExistsError):
        made(service, app)
    run(lambda: service.delete_session(app_name=app, user_id="u", session_id=" s "))
    run(lambda: service.delete_session(app_name=app, user_id="u", session_id="s"))
    assert got(service, app) is None
    with pytest.raises(SessionNotFoundError):
        append(service, session, said("late"))
    made(service, app)
    with pytest.raises(SessionNotFoundError):  # it is another one
        append(service, session, said("late"))
    assert service.agent_name(app, "u", "s") in [row.name for row in client.iter_agents(f"adk/{app}/")]


def test_no_daemon(tmp_path: Path) -> None:
    """Without a daemon, the error says how to start one."""
    service = ReelSessionService(socket=str(tmp_path / "none.sock"))
    with pytest.raises(NotRunning):
        made(service, "app")


class Program:
    """Random calls, given to this service and to the framework's own on SQLite."""

    def __init__(self, ours: Any, theirs: Any, app: str, chance: random.Random) -> None:
        self.services = (ours, theirs)
        self.app = app
        self.chance = chance
        self.sessions: dict[tuple[str, str], list[Session]] = {}
        self.time = 1_700_000_000.5

    async def step(self, number: int) -> None:
        """Make a call of both, and compare what they return."""
        place = self.chance.choice("uv"), self.chance.choice("st")
        if place not in self.sessions:
            await self.create(place, number)
        elif self.chance.random() < 0.06:
            for service in self.services:
                await service.delete_session(app_name=self.app, user_id=place[0], session_id=place[1])
            del self.sessions[place]
        elif self.chance.random() < 0.8:
            await self.append(place, number)
        await self.check(place)

    async def create(self, place: tuple[str, str], number: int) -> None:
        state = self.chance.choice([None, {"a": number, "user:b": number}, {"app:a": [number]}])
        self.sessions[place] = [
            await service.create_session(app_name=self.app, user_id=place[0], session_id=place[1], state=state)
            for service in self.services
        ]

    async def append(self, place: tuple[str, str], number: int) -> None:
        self.time += self.chance.choice([0.25, 1.0, 7.125])
        keys = self.chance.sample(
            ["a", "b", "user:a", "user:b", "app:a", "app:b", "temp:a"], k=self.chance.randint(0, 4)
        )
        delta = {key: self.chance.choice([number, None, {"x": [number]}]) for key in keys}
        words = types.Content(role="user", parts=[types.Part(text=str(number))])
        for service, session in zip(self.services, self.sessions[place], strict=True):
            session.last_update_time = max(session.last_update_time, self.time)  # theirs goes by that
            event = Event(
                id=f"e{number}",
                invocation_id="i",
                author="user",
                timestamp=self.time,
                content=words if number % 3 else None,
                actions=EventActions(state_delta=dict(delta)),
                partial=True if number % 11 == 0 else None,
            )
            await service.append_event(session, event)
        ours, theirs = self.sessions[place]
        assert (ours.events, ours.state) == (theirs.events, theirs.state)

    async def check(self, place: tuple[str, str]) -> None:
        """Compare a session, with all events and with some, and the lists."""
        configs: list[dict[str, Any]] = [{}, {"num_recent_events": self.chance.randint(0, 4)}]
        configs.append({"after_timestamp": self.time - self.chance.choice([0.25, 1.0, 8.0, 30.0])})
        for config in configs:
            ours, theirs = [
                await service.get_session(
                    app_name=self.app, user_id=place[0], session_id=place[1], config=GetSessionConfig(**config)
                )
                for service in self.services
            ]
            assert (ours is None) == (theirs is None)
            if ours is not None:
                assert (ours.id, ours.user_id, ours.state, ours.events) == (
                    theirs.id,
                    theirs.user_id,
                    theirs.state,
                    theirs.events,
                )
        for user in ("u", None):
            lists = [await service.list_sessions(app_name=self.app, user_id=user) for service in self.services]
            assert [(s.user_id, s.id, s.state) for s in _sorted(lists[0])] == [
                (s.user_id, s.id, s.state) for s in _sorted(lists[1])
            ]
        states = [await service.get_user_state(app_name=self.app, user_id="u") for service in self.services]
        assert states[0] == states[1]


def _sorted(response: Any) -> list[Session]:
    return sorted(response.sessions, key=lambda session: (session.user_id, session.id))


@pytest.mark.parametrize("seed", range(3))
def test_it_is_as_their_own_service(service: ReelSessionService, app: str, tmp_path: Path, seed: int) -> None:
    """Whatever is made, appended, read, listed and deleted, the framework's own service on SQLite says the same."""

    async def both() -> None:
        program = Program(service, SqliteSessionService(str(tmp_path / "adk.db")), app, random.Random(seed))
        for number in range(1, 60):
            await program.step(number)

    asyncio.run(both())


def test_an_append_is_flat(service: ReelSessionService, client: Client, app: str) -> None:
    """An append asks for nothing but its own commit, however long the session is."""
    session = made(service, app)
    append(service, session, *(said(str(number)) for number in range(20)))
    before = client.stats()["request_seconds"]
    append(service, session, said("one more", actions=EventActions(state_delta={"a": 1, "user:b": 2, "app:c": 3})))
    after = client.stats()["request_seconds"]

    asked = {method for method in after if after[method]["counts"] != before.get(method, {}).get("counts")}
    assert {"commit"} == asked - {"stats", "hello"}
