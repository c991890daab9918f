"""Rows about the adapters for frameworks, each beside the framework's own store."""

import asyncio
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from socket import SHUT_RDWR
from typing import Any
from uuid import uuid4

from tests.adapters.two_writers import SESSION, WRITERS, Turn, Writer
from tests.bench.followers import subscribed
from tests.bench.setting import TEXT, Setting, environment, is_installed, running
from tests.bench.table import Line, in_turns, median, percentile, timed
from tests.reel.importing.transcripts import Transcript, call

_LONG = 10_000
_MANY = 1_000
_NUMBERS = count()
_CHUNK = 1 << 18


def pydantic_ai(setting: Setting) -> Iterator[Line]:
    """Measure the store of Pydantic AI's conversations; the framework's own is in memory, and copies what it has."""
    if not setting.has("pydantic-ai", "pydantic_ai", install="pydantic-ai"):
        return
    from pydantic_ai.conversation import Conversation  # noqa: PLC0415 - it is large, and may not be there
    from pydantic_ai.conversation_store import InMemoryConversationStore  # noqa: PLC0415
    from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart  # noqa: PLC0415

    from reel.integrations.pydantic_ai import ReelConversationStore  # noqa: PLC0415

    ours = ReelConversationStore(socket=setting.daemon.socket)
    stores: tuple[Any, Any] = (ours, InMemoryConversationStore())

    def run(awaitable: Any) -> Any:
        return setting.loop.run_until_complete(awaitable)

    def turns(count: int) -> list[Any]:
        turn = [ModelRequest(parts=[UserPromptPart(TEXT)]), ModelResponse(parts=[TextPart(TEXT)], model_name="m")]
        return [message for _ in range(count) for message in turn]

    def saved(store: Any, name: str, count: int) -> Any:
        conversation = Conversation(conversation_id=name, messages=turns(count))
        run(store.save(conversation))
        return conversation

    def line(what: str, rounds: int, of: Callable[[Any], Callable[[], float]]) -> Line:
        mine, theirs = in_turns(rounds, *map(of, stores))
        assert mine is not None
        assert theirs is not None
        beside = f"the time of InMemoryConversationStore ({theirs * 1e3:.2f} ms)"
        return Line(what, f"{mine * 1e3:.2f} ms", beside, mine / theirs)

    def turn(name: str, count: int) -> Callable[[Any], Callable[[], float]]:
        def of(store: Any) -> Callable[[], float]:
            conversation = saved(store, name, count)

            def save() -> float:
                conversation.messages += turns(1)
                return timed(lambda: run(store.save(conversation)))

            return save

        return of

    yield line("pydantic-ai: save a turn", 100, turn("short", 1))
    yield line(f"save a turn behind {_MANY:,} turns", 100, turn("long", _MANY))
    for store in stores:
        saved(store, "all", _LONG // 2)
    yield line(f"load {_LONG:,} messages", 5, lambda store: lambda: timed(lambda: run(store.load("all"))))
    yield line("load the last 20", 50, lambda store: lambda: timed(lambda: run(store.load("all", limit=20))))
    ours.close()


def openai_agents(setting: Setting) -> Iterator[Line]:
    """Measure a session of OpenAI's Agents SDK beside the SDK's own in SQLite, which syncs each commit as well."""
    if setting.session("there") is None:
        return
    from reel.integrations.openai_agents import ReelSession  # noqa: PLC0415 - it may not be there

    run = setting.loop.run_until_complete
    made: list[ReelSession] = []

    def ours(name: str) -> ReelSession:
        made.append(ReelSession(name, socket=setting.daemon.socket))
        return made[-1]

    def items(count: int) -> list[Any]:
        said = [{"type": "output_text", "text": TEXT, "annotations": []}]
        about = {"type": "message", "role": "assistant", "status": "completed", "content": said}
        return [
            item
            for _ in range(count // 2)
            for item in ({"role": "user", "content": TEXT}, {**about, "id": f"msg_{next(_NUMBERS)}"})
        ]

    def line(what: str, rounds: int, of: Callable[[Any], Callable[[], float]]) -> Line:
        mine, theirs = in_turns(rounds, of(ours), of(setting.session))
        assert mine is not None
        assert theirs is not None
        beside = f"the time of SQLiteSession ({theirs * 1e3:.2f} ms)"
        return Line(what, f"{mine * 1e3:.2f} ms", beside, mine / theirs)

    def add(make: Any) -> Callable[[], float]:
        session = make("short")
        return lambda: median(lambda: run(session.add_items(items(2))), 20)

    def pop(make: Any) -> Callable[[], float]:
        session = make("popped")
        run(session.add_items(items(_MANY)))
        return lambda: median(lambda: run(session.pop_item()), 20)

    def turns(make: Any) -> Callable[[], float]:
        def all_of_them() -> None:
            session = make(f"turns-{next(_NUMBERS)}")
            for _ in range(_MANY):
                run(session.get_items())
                run(session.add_items(items(2)))

        return lambda: timed(all_of_them)

    def load(make: Any, *, anew: bool) -> Callable[[], float]:
        session = make("long" if anew else "read")
        run(session.add_items(items(_LONG)))
        run(session.get_items())

        def read() -> float:
            reading = make("long") if anew else session
            run(reading.get_items(1))  # it has connected
            return timed(lambda: run(reading.get_items()))

        return read

    yield line("openai-agents: add two items", 10, add)
    yield line("pop an item", 10, pop)
    yield line(f"{_MANY:,} turns", 1, turns)
    yield line(f"read {_LONG:,} items for the first time", 5, partial(load, anew=True))
    yield line("read them again", 5, partial(load, anew=False))
    for session in made:
        session.close()


class _Files:
    """Transcripts as files of JSON lines, as Claude Code keeps them, but synced as everything here is.

    Args:
        directory: where they are.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    async def append(self, key: Any, entries: list[Any]) -> None:
        with (self._directory / key["session_id"]).open("a") as file:
            file.writelines(f"{json.dumps(entry)}\n" for entry in entries)
            file.flush()
            os.fsync(file.fileno())

    async def load(self, key: Any) -> list[Any]:
        with (self._directory / key["session_id"]).open() as file:
            return [json.loads(line) for line in file]


def claude_agent_sdk(setting: Setting) -> Iterator[Line]:
    """Measure the session store of the Claude Agent SDK; the SDK itself brings one in memory only."""
    if not setting.has("claude-agent-sdk", "claude_agent_sdk", install="claude-agent-sdk"):
        return
    from reel.integrations.claude_agent_sdk import ReelSessionStore  # noqa: PLC0415 - it may not be there

    ours = ReelSessionStore(socket=setting.daemon.socket)
    stores: tuple[Any, Any] = (ours, _Files(setting.new_directory()))
    numbers = count()

    def run(awaitable: Any) -> Any:
        return setting.loop.run_until_complete(awaitable)

    def turn(made: Transcript) -> list[Any]:
        ids = [f"{next(numbers)}" for _ in range(7)]
        made.user(ids[0], TEXT).answer(ids[1], TEXT, ids[5]).answer(ids[2], call(ids[6], file="deck"), ids[5])
        made.result(ids[3], ids[6], TEXT).answer(ids[4], TEXT, ids[4])
        return made.records[-5:]

    def line(what: str, rounds: int, of: Callable[[Any], Callable[[], float]]) -> Line:
        mine, theirs = in_turns(rounds, *map(of, stores))
        assert mine is not None
        assert theirs is not None
        return Line(
            what, f"{mine * 1e3:.2f} ms", f"the time of a file of JSON lines ({theirs * 1e3:.2f} ms)", mine / theirs
        )

    def turns(before: int) -> Callable[[Any], Callable[[], float]]:
        def of(store: Any) -> Callable[[], float]:
            key, made = {"project_key": "bench", "session_id": str(uuid4())}, Transcript()
            for _ in range(before):
                turn(made)
            if before:
                run(store.append(key, made.records))
            return lambda: timed(lambda: run(store.append(key, turn(made))))

        return of

    def load(store: Any) -> Callable[[], float]:
        key, made = {"project_key": "bench", "session_id": str(uuid4())}, Transcript()
        for _ in range(_LONG // 5):
            turn(made)
        run(store.append(key, made.records))
        return lambda: timed(lambda: run(store.load(key)))

    yield line("claude-agent-sdk: append a turn of 5", 100, turns(0))
    yield line(f"append a turn of 5 behind {_MANY:,} turns", 100, turns(_MANY))
    yield line(f"load {_LONG:,} entries", 5, load)
    ours.close()


def agent_framework(setting: Setting) -> Iterator[Line]:
    """Measure the history provider of the Agent Framework beside that of files, which reads all of a session to add."""
    if not setting.has("agent-framework", "agent_framework", install="agent-framework-core"):
        return
    from agent_framework import FileHistoryProvider, Message  # noqa: PLC0415

    from reel.integrations.agent_framework import ReelHistoryProvider  # noqa: PLC0415

    run = setting.loop.run_until_complete
    ours = ReelHistoryProvider(socket=setting.daemon.socket)
    theirs = FileHistoryProvider(setting.new_directory())

    def save(provider: Any, session: str, messages: int) -> None:
        roles = ("user", "assistant")
        said = [Message(roles[place % 2], [f"{next(_NUMBERS)} {TEXT}"]) for place in range(messages)]
        run(provider.save_messages(session, said))

    def turn(provider: Any, session: str | None, rounds: int) -> float:
        return median(lambda: save(provider, session or f"new-{next(_NUMBERS)}", 2), rounds)

    def load(provider: Any) -> float:
        return timed(lambda: run(provider.get_messages("longer")))

    def line(what: str, measure: Callable[..., float], *more: Any) -> Line:
        mine, other = in_turns(5, partial(measure, ours, *more), partial(measure, theirs, *more))
        assert mine is not None
        assert other is not None
        return Line(
            what, f"{mine * 1e3:.1f} ms", f"the time of FileHistoryProvider ({other * 1e3:.1f} ms)", mine / other
        )

    for session, messages in (("long", 2 * _MANY), ("longer", _LONG)):
        for provider in (ours, theirs):
            save(provider, session, messages)
    yield line("agent-framework: the first turn", turn, None, 20)
    yield line(f"a turn behind {_MANY:,} turns", turn, "long", 5)
    yield line(f"a turn behind {_LONG // 2:,} turns", turn, "longer", 1)
    yield line(f"load {_LONG:,} messages", load)
    run(ours.close())


def langgraph(setting: Setting) -> Iterator[Line]:
    """Measure the checkpointer of LangGraph beside the framework's own on SQLite, with turns of a graph of one node."""
    if not setting.has(
        "langgraph", "langgraph", "langgraph.checkpoint.sqlite", install="langgraph langgraph-checkpoint-sqlite"
    ):
        return
    from langchain_core.messages import AIMessage, HumanMessage  # noqa: PLC0415
    from langgraph.checkpoint.base import empty_checkpoint  # noqa: PLC0415
    from langgraph.checkpoint.sqlite import SqliteSaver  # noqa: PLC0415
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver  # noqa: PLC0415
    from langgraph.graph import START, MessagesState, StateGraph  # noqa: PLC0415

    from reel.integrations.langgraph import ReelSaver  # noqa: PLC0415

    directory, name = setting.new_directory(), "SqliteSaver"
    file = str(directory / "checkpoints.db")
    ours = ReelSaver(socket=setting.daemon.socket)
    theirs = SqliteSaver(sqlite3.connect(file, check_same_thread=False))

    def config(thread: str) -> Any:
        return {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}

    def begin(saver: Any, thread: str, messages: int) -> None:
        kinds = (HumanMessage, AIMessage)
        state = empty_checkpoint()
        state["channel_values"] = {"messages": [kinds[at % 2](TEXT, id=f"m{at}") for at in range(messages)]}
        state["channel_versions"] = versions = {"messages": saver.get_next_version(None, None)}
        saver.put(config(thread), state, {"source": "update", "step": 0, "parents": {}}, versions)

    said = {"messages": [HumanMessage(TEXT)]}

    def graph_of(saver: Any) -> Any:
        builder = StateGraph(MessagesState).add_node("model", lambda _: {"messages": [AIMessage(TEXT)]})
        return builder.add_edge(START, "model").compile(checkpointer=saver)

    def turns(saver: Any, thread: str, rounds: int) -> list[float]:
        graph = graph_of(saver)
        return [timed(lambda: graph.invoke(said, config(thread))) for _ in range(rounds)]

    def turn(saver: Any, thread: str) -> float:
        return statistics.median(turns(saver, thread, 20))

    def turn_in_loop(saver: Any) -> float:
        run = partial(graph_of(saver).ainvoke, said, config("in-loop"))
        return median(lambda: setting.loop.run_until_complete(run()), 20)

    def first_load(saver: Any) -> float:
        made = SqliteSaver(sqlite3.connect(file)) if saver is theirs else ReelSaver(socket=setting.daemon.socket)
        return timed(lambda: made.get_tuple(config("longer")))

    with running(own := setting.new_directory()) as daemon:
        saver = ReelSaver(socket=daemon.socket)
        mine, other = sum(turns(saver, "some", 200)), sum(turns(theirs, "some", 200))
        saver.close()
        sizes = [sum(each.stat().st_size for each in place.iterdir()) / 1e6 for place in (own, directory)]
    yield Line("langgraph: 200 turns", f"{mine:.1f} s", f"the time of {name} ({other:.1f} s)", mine / other)
    yield Line("what they take on the disk", f"{sizes[0]:.1f} MB", f"{name} ({sizes[1]:.1f} MB)", sizes[0] / sizes[1])
    for thread, messages in (("short", 2), ("long", _MANY), ("longer", _LONG)):
        for saver in (ours, theirs):
            begin(saver, thread, messages)
    yield _beside(name, "a turn", 5, partial(turn, ours, "short"), partial(turn, theirs, "short"))
    opened = AsyncSqliteSaver.from_conn_string(str(setting.new_directory() / "checkpoints.db"))
    in_loop = setting.loop.run_until_complete(opened.__aenter__())
    yield _beside(
        "AsyncSqliteSaver", "a turn in an event loop", 2, partial(turn_in_loop, ours), partial(turn_in_loop, in_loop)
    )
    setting.loop.run_until_complete(opened.__aexit__(None, None, None))
    yield _beside(
        name, f"a turn behind {_MANY:,} messages", 3, partial(turn, ours, "long"), partial(turn, theirs, "long")
    )
    yield _beside(name, f"load {_LONG:,} messages", 5, partial(first_load, ours), partial(first_load, theirs))
    again = [partial(timed, partial(saver.get_tuple, config("longer"))) for saver in (ours, theirs)]
    yield _beside(name, "load them again", 5, *again)
    ours.close()


def google_adk(setting: Setting) -> Iterator[Line]:
    """Measure the session service of Google's ADK beside the framework's own; each event changes state."""
    if not setting.has("google-adk", "google.adk", install="google-adk"):
        return
    from google.adk.events.event import Event  # noqa: PLC0415 - it is large, and may not be there
    from google.adk.events.event_actions import EventActions  # noqa: PLC0415
    from google.adk.sessions.base_session_service import GetSessionConfig  # noqa: PLC0415
    from google.genai import types  # noqa: PLC0415

    from reel.integrations.google_adk import ReelSessionService  # noqa: PLC0415

    run = setting.loop.run_until_complete
    services = [ReelSessionService(socket=setting.daemon.socket), *_services_of_adk(setting.new_directory())]
    place: Any = {"app_name": "bench", "user_id": "me"}

    def event() -> Any:
        content = types.Content(role="model", parts=[types.Part(text=TEXT)])
        changes = {"step": next(_NUMBERS), "user:seen": next(_NUMBERS), "app:total": next(_NUMBERS)}
        return Event(invocation_id="i", author="deck", content=content, actions=EventActions(state_delta=changes))

    def append(session: Any, service: Any) -> float:
        return median(lambda: run(service.append_event(session, event())), 20)

    def of(session: str, events: int) -> list[Callable[[], float]]:
        made: list[Callable[[], float]] = []
        for service in services:
            begun = run(service.create_session(session_id=session, **place))
            for _ in range(events):
                run(service.append_event(begun, event()))
            made.append(partial(append, begun, service))
        return made

    def load(service: Any, session: str, last: int | None = None) -> float:
        asked = None if last is None else GetSessionConfig(num_recent_events=last)
        return timed(lambda: run(service.get_session(session_id=session, config=asked, **place)))

    def listed(service: Any) -> float:
        return timed(lambda: run(service.list_sessions(**place)))

    def lines(what: str, rounds: int, measures: list[Callable[[], float]]) -> Iterator[Line]:
        for theirs, service in zip(measures[1:], services[1:], strict=True):
            yield _beside(type(service).__name__, what, rounds, measures[0], theirs)

    yield from lines("google-adk: append an event", 5, of("short", 0))
    yield from lines("append an event behind 300", 5, of("long", 300))
    yield from lines(f"append an event behind {_MANY:,}", 5, of("longer", _MANY))
    # Of their own: the other ones have different numbers of events by now.
    for session, events in (("some", 300), ("many", _MANY)):
        of(session, events)
        yield from lines(f"load {events:,} events", 5, [partial(load, service, session) for service in services])
    yield from lines("load the newest 20 of them", 10, [partial(load, service, "many", 20) for service in services])
    for number in range(95):
        for service in services:
            run(service.create_session(session_id=f"s{number}", state={"step": number}, **place))
    yield from lines("list 100 sessions", 10, [partial(listed, service) for service in services])
    for service in services:
        if hasattr(service, "close"):
            run(service.close())


def _services_of_adk(directory: Path) -> Iterator[Any]:
    """Yield the framework's own services: on SQLite, and on SQLAlchemy if that is installed."""
    from google.adk.sessions.sqlite_session_service import SqliteSessionService  # noqa: PLC0415 - as above

    yield SqliteSessionService(str(directory / "adk.db"))
    if is_installed("sqlalchemy"):
        from google.adk.sessions.database_session_service import DatabaseSessionService  # noqa: PLC0415

        yield DatabaseSessionService(f"sqlite+aiosqlite:///{directory}/alchemy.db")


def two_at_once(setting: Setting) -> Iterator[Line]:
    """Measure two processes that add to one session of a framework at once, beside one alone, and two of its own."""
    for name, writer in WRITERS.items():
        if not setting.has(f"two-at-once, {name}", writer.module, install=name):
            continue
        with running(setting.new_directory()) as daemon:
            both = max(_turns(daemon.socket, name, "left", "right"))
        with running(setting.new_directory()) as daemon:
            (alone,) = _turns(daemon.socket, name, "left")
        yield Line(f"{name}: a turn of two", f"{both:.1f} ms", f"the time of one alone ({alone:.1f} ms)", both / alone)
        if writer.theirs and is_installed(writer.module_of_theirs):
            try:
                theirs = max(_turns(str(setting.new_directory() / "theirs.db"), name, "left", "right"))
            except subprocess.SubprocessError as error:
                yield Line("a turn of two", f"{both:.1f} ms", f"two of {writer.theirs} fail: {error}")
                continue
            yield Line("a turn of two", f"{both:.1f} ms", f"two of {writer.theirs} ({theirs:.1f} ms)", both / theirs)


def live(setting: Setting) -> Iterator[Line]:
    """Measure when a follower is told of what a framework adds, from the begin of the framework's call."""
    for name, writer in WRITERS.items():
        if not setting.has(f"live, {name}", writer.module, install=name):
            continue
        with running(setting.new_directory()) as daemon:
            told = sorted(_told(daemon.socket, writer))
        late = f"p99 {percentile(told, 99) * 1e3:.1f} ms"
        yield Line(f"{name}: a follower is told", f"{statistics.median(told) * 1e3:.1f} ms", late, None, "<= 10 ms")


def _told(socket: str, writer: Writer) -> list[float]:
    """Return the seconds from when a framework begins to add a text until a follower is told of it, each time."""
    times: list[float] = []
    number, is_told = count(), threading.Event()
    expected = ""

    def listen(connection: Any, wire: Any) -> None:
        while received := connection.recv(_CHUNK):
            if any(expected in str(frame.params) for frame in wire.feed(received)):
                times.append(time.perf_counter())
                is_told.set()

    async def run() -> None:
        nonlocal expected
        turn = _messages_of_langgraph(socket) if writer.module == "langgraph" else writer.turn(socket)
        await turn("the first one")
        connection, wire = subscribed(socket, writer.agent)
        follower = threading.Thread(target=listen, args=(connection, wire))
        follower.start()
        for _ in range(200):
            expected = f"turn-{next(number)}-"
            is_told.clear()
            began = time.perf_counter()
            await turn(expected)
            is_told.wait()
            told.append(times[-1] - began)
        connection.shutdown(SHUT_RDWR)
        follower.join()

    told: list[float] = []
    asyncio.run(run())
    return told


def _messages_of_langgraph(socket: str) -> Turn:
    """Return what puts a checkpoint with one more message; that of two writers has none, and nobody is told of it."""
    from langchain_core.messages import HumanMessage  # noqa: PLC0415
    from langgraph.checkpoint.base import empty_checkpoint  # noqa: PLC0415

    from reel.integrations.langgraph import ReelSaver  # noqa: PLC0415

    saver = ReelSaver(socket=socket)
    config: Any = {"configurable": {"thread_id": SESSION, "checkpoint_ns": ""}}
    said: list[Any] = []

    async def put(text: str) -> None:
        nonlocal config
        said.append(HumanMessage(text, id=text))
        state, versions = empty_checkpoint(), {"messages": len(said)}
        state["channel_values"], state["channel_versions"] = {"messages": [*said]}, {**versions}
        config = await saver.aput(config, state, {"source": "loop", "step": len(said)}, {**versions})

    return put


def _turns(place: str, name: str, *who: str) -> list[float]:
    """Return the milliseconds of a turn of each of some processes that add to one session at once.

    Raises:
        subprocess.SubprocessError: one of them failed; it says why.
    """
    command = [sys.executable, "-m", "tests.adapters.two_writers", name, place]
    programs = [
        subprocess.Popen(
            [*command, each, "50"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        for each in who
    ]
    for program in programs:
        assert program.stdout is not None
        program.stdout.readline()  # it is ready
    for program in programs:
        assert program.stdin is not None
        program.stdin.write("\n")
        program.stdin.flush()
    said = [program.communicate() for program in programs]
    for program, (_, complaint) in zip(programs, said, strict=True):
        if program.returncode:
            raise subprocess.SubprocessError(complaint.splitlines()[-1])
    return [float(out) for out, _ in said]


def _beside(name: str, what: str, rounds: int, ours: Callable[[], float], theirs: Callable[[], float]) -> Line:
    """Measure both in turns."""
    mine, other = in_turns(rounds, ours, theirs)
    assert mine is not None
    assert other is not None
    return Line(what, f"{mine * 1e3:.1f} ms", f"the time of {name} ({other * 1e3:.1f} ms)", mine / other)
