"""A row about a turn of each framework at the beginning of a session and far into it, beside the framework's own store.

What a framework's own store acknowledges is on the disk only if it syncs. Where it does not, there are two lines: one
beside the store as it is, and one beside the same store that syncs each file that it has written, which has the goal. A
framework without a store on a disk stands beside something else, and its line has no goal.
"""

import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from tests.bench.setting import TEXT, Setting
from tests.bench.table import Line, in_turns, timed

_GOAL = "<= 1.20 x"
# The number of turns before those that are measured, and of these.
_BEFORE = (10, 1_000)
_ROUNDS = 50
_NUMBERS = count()

Turn = Callable[[], Any]


class Framework(NamedTuple):
    """How to make a turn of a framework.

    Args:
        name: the extra.
        module: the framework's module.
        begin: begins a session with our store, and one with each of the others; returns what makes a turn of each.
        others: the framework's own stores, in words, and whether what they acknowledge is on the disk.
    """

    name: str
    module: str
    begin: Callable[[Setting], tuple[Turn, ...]]
    others: tuple[tuple[str, bool], ...]


def turns(setting: Setting) -> Iterator[Line]:
    """Measure a turn after ten turns, and after a thousand."""
    for name, module, begin, others in _FRAMEWORKS:
        if not setting.has(f"turns, {name}", module, install=name):
            continue
        sessions = begin(setting)
        done = 0
        for before in _BEFORE:
            for turn in sessions:
                for _ in range(before - done):
                    turn()
            mine, *theirs = in_turns(_ROUNDS, *(partial(timed, turn) for turn in sessions))
            assert mine is not None
            done = before + _ROUNDS
            for (what, is_durable), figure in zip(others, theirs, strict=True):
                assert figure is not None
                said, goal = f"the time of {what} ({figure * 1e3:.2f} ms)", _GOAL if is_durable else ""
                yield Line(f"{name}: a turn behind {before:,}", f"{mine * 1e3:.2f} ms", said, mine / figure, goal)


def _openai_agents(setting: Setting) -> tuple[Turn, Turn]:
    from reel.integrations.openai_agents import ReelSession  # noqa: PLC0415 - each of these may not be there

    def of(session: Any) -> Turn:
        async def turn() -> None:
            await session.get_items()
            said = [{"type": "output_text", "text": TEXT, "annotations": []}]
            answer = {"type": "message", "role": "assistant", "status": "completed", "content": said}
            await session.add_items([{"role": "user", "content": TEXT}, {**answer, "id": f"msg_{next(_NUMBERS)}"}])

        return lambda: setting.loop.run_until_complete(turn())

    return of(ReelSession("turns", socket=setting.daemon.socket)), of(setting.session("turns"))


def _claude_agent_sdk(setting: Setting) -> tuple[Turn, Turn]:
    from reel.integrations.claude_agent_sdk import ReelSessionStore  # noqa: PLC0415
    from tests.reel.importing.transcripts import Transcript  # noqa: PLC0415

    path = setting.new_directory() / "transcript.jsonl"

    def write(entries: list[Any]) -> None:
        with path.open("a") as file:
            file.writelines(f"{json.dumps(entry)}\n" for entry in entries)
            file.flush()
            os.fsync(file.fileno())

    store, key = ReelSessionStore(socket=setting.daemon.socket), {"project_key": "turns", "session_id": "turns"}

    def of(append: Callable[[list[Any]], Any]) -> Turn:
        made = Transcript()

        def turn() -> None:
            made.user(f"{next(_NUMBERS)}", TEXT)
            made.answer(f"{next(_NUMBERS)}", TEXT, f"{next(_NUMBERS)}")
            append(made.records[-2:])

        return turn

    return of(lambda entries: setting.loop.run_until_complete(store.append(key, entries))), of(write)


def _agent_framework(setting: Setting) -> tuple[Turn, ...]:
    from agent_framework import FileHistoryProvider, Message  # noqa: PLC0415

    from reel.integrations.agent_framework import ReelHistoryProvider  # noqa: PLC0415

    def of(provider: Any) -> Turn:
        async def turn() -> None:
            await provider.get_messages("turns")
            said = [Message(role, [f"{next(_NUMBERS)} {TEXT}"]) for role in ("user", "assistant")]
            await provider.save_messages("turns", said)

        return lambda: setting.loop.run_until_complete(turn())

    ours, place = ReelHistoryProvider(socket=setting.daemon.socket), setting.new_directory()

    class Synced(FileHistoryProvider):  # type: ignore[misc]
        async def save_messages(self, *args: Any, **options: Any) -> None:
            await super().save_messages(*args, **options)
            for path in place.iterdir():
                _sync(path)

    # Both go on with one session: to build it takes half a minute.
    return of(ours), of(FileHistoryProvider(place)), of(Synced(place))


def _pydantic_ai(setting: Setting) -> tuple[Turn, Turn]:
    from pydantic_ai.conversation import Conversation  # noqa: PLC0415
    from pydantic_ai.conversation_store import InMemoryConversationStore  # noqa: PLC0415
    from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart  # noqa: PLC0415

    from reel.integrations.pydantic_ai import ReelConversationStore  # noqa: PLC0415

    def of(store: Any) -> Turn:
        conversation = Conversation(conversation_id="turns")

        def turn() -> None:
            said = [ModelRequest(parts=[UserPromptPart(TEXT)]), ModelResponse(parts=[TextPart(TEXT)], model_name="m")]
            conversation.messages += said
            setting.loop.run_until_complete(store.save(conversation))

        return turn

    return of(ReelConversationStore(socket=setting.daemon.socket)), of(InMemoryConversationStore())


def _langgraph(setting: Setting) -> tuple[Turn, Turn]:
    from langchain_core.messages import AIMessage, HumanMessage  # noqa: PLC0415
    from langgraph.checkpoint.sqlite import SqliteSaver  # noqa: PLC0415
    from langgraph.graph import START, MessagesState, StateGraph  # noqa: PLC0415

    from reel.integrations.langgraph import ReelSaver  # noqa: PLC0415

    def of(saver: Any) -> Turn:
        builder = StateGraph(MessagesState).add_node("model", lambda _: {"messages": [AIMessage(TEXT)]})
        graph: Any = builder.add_edge(START, "model").compile(checkpointer=saver)
        config = {"configurable": {"thread_id": "turns"}}
        return lambda: graph.invoke({"messages": [HumanMessage(TEXT)]}, config)

    file = str(setting.new_directory() / "checkpoints.db")
    return of(ReelSaver(socket=setting.daemon.socket)), of(SqliteSaver(sqlite3.connect(file, check_same_thread=False)))


def _google_adk(setting: Setting) -> tuple[Turn, Turn]:
    from google.adk.events.event import Event  # noqa: PLC0415
    from google.adk.sessions.sqlite_session_service import SqliteSessionService  # noqa: PLC0415
    from google.genai import types  # noqa: PLC0415

    from reel.integrations.google_adk import ReelSessionService  # noqa: PLC0415

    def of(service: Any) -> Turn:
        run = setting.loop.run_until_complete
        session = run(service.create_session(app_name="turns", user_id="me", session_id="turns"))

        async def turn() -> None:
            for author, role in (("user", "user"), ("deck", "model")):
                content = types.Content(role=role, parts=[types.Part(text=TEXT)])
                await service.append_event(session, Event(invocation_id="i", author=author, content=content))

        return lambda: run(turn())

    theirs = SqliteSessionService(str(setting.new_directory() / "adk.db"))
    return of(ReelSessionService(socket=setting.daemon.socket)), of(theirs)


def _strands_agents(setting: Setting) -> tuple[Turn, ...]:
    from strands import Agent  # noqa: PLC0415
    from strands.session.file_session_manager import FileSessionManager  # noqa: PLC0415

    from reel.integrations.strands_agents import ReelSessionManager  # noqa: PLC0415
    from tests.adapters.strands_model import FakeModel  # noqa: PLC0415

    def of(manager: Any) -> Turn:
        model = FakeModel()
        agent = Agent(model=model, session_manager=manager, callback_handler=None)

        def turn() -> None:
            model.answers.append([{"text": TEXT}])
            model.sent.clear()
            agent(TEXT)

        return turn

    class Synced(FileSessionManager):  # type: ignore[misc]
        def _write_file(self, path: str, data: dict[str, Any]) -> None:
            super()._write_file(path, data)
            _sync(Path(path))

    ours = ReelSessionManager("turns", socket=setting.daemon.socket)
    return of(ours), *(of(made("turns", str(setting.new_directory()))) for made in (FileSessionManager, Synced))


def _openhands_sdk(setting: Setting) -> tuple[Turn, ...]:
    from openhands.sdk import Agent, LocalConversation  # noqa: PLC0415
    from openhands.sdk.io import LocalFileStore  # noqa: PLC0415
    from openhands.sdk.llm import Message, TextContent  # noqa: PLC0415
    from openhands.sdk.testing import TestLLM  # noqa: PLC0415

    from reel.integrations.openhands_sdk import ReelConversation  # noqa: PLC0415

    class Synced(LocalFileStore):  # type: ignore[misc]
        def write(self, path: str, contents: str | bytes) -> None:
            super().write(path, contents)
            _sync(Path(self.get_full_path(path)))

    def of(made: Callable[..., Any], **options: Any) -> Turn:
        said = Message(role="assistant", content=[TextContent(text=TEXT)])
        agent = Agent(llm=TestLLM.from_messages([said] * (max(_BEFORE) + 2 * _ROUNDS)), tools=[])
        conversation = made(agent=agent, workspace=str(setting.new_directory()), visualizer=None, **options)

        def turn() -> None:
            conversation.send_message(TEXT)
            conversation.run()

        return turn

    stores = [made(str(setting.new_directory())) for made in (LocalFileStore, Synced)]
    ours = of(ReelConversation, socket=setting.daemon.socket)
    return ours, *(of(LocalConversation, file_store=store) for store in stores)


def _sync(path: Path) -> None:
    """Sync a file."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


_FRAMEWORKS = (
    Framework("openai-agents", "agents", _openai_agents, (("SQLiteSession", True),)),
    Framework(
        "claude-agent-sdk", "claude_agent_sdk", _claude_agent_sdk, (("a synced file: the SDK has no store", False),)
    ),
    Framework(
        "agent-framework",
        "agent_framework",
        _agent_framework,
        (("FileHistoryProvider, which does not sync", False), ("FileHistoryProvider, made to sync", True)),
    ),
    Framework("pydantic-ai", "pydantic_ai", _pydantic_ai, (("InMemoryConversationStore, without a disk", False),)),
    Framework("langgraph", "langgraph.checkpoint.sqlite", _langgraph, (("SqliteSaver", True),)),
    Framework("google-adk", "google.adk", _google_adk, (("SqliteSessionService", True),)),
    Framework(
        "strands-agents",
        "strands",
        _strands_agents,
        (("FileSessionManager, which does not sync", False), ("FileSessionManager, made to sync", True)),
    ),
    Framework(
        "openhands-sdk",
        "openhands.sdk",
        _openhands_sdk,
        (("LocalFileStore, which does not sync", False), ("LocalFileStore, made to sync", True)),
    ),
)
