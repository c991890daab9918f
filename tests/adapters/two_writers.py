"""A program that adds to a session of a framework while another one does: ``NAME PLACE WHO TURNS``.

The place is the daemon's socket. If it ends with ``.db``, it is a file, and the framework's own store is used.

It says ``ready``, waits for a line, adds, and says how many milliseconds a turn took.
"""

import asyncio
import os
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, NamedTuple

Turn = Callable[[str], Awaitable[Any]]
SESSION = "both"
_FILE = ".db"


def openai_agents(place: str) -> Turn:
    """Return what adds an item."""
    session: Any
    if place.endswith(_FILE):
        from agents import SQLiteSession  # noqa: PLC0415 - as below: most frameworks are not needed

        session = SQLiteSession(SESSION, place)
    else:
        from reel.integrations.openai_agents import ReelSession  # noqa: PLC0415

        session = ReelSession(SESSION, socket=place)
    return lambda text: session.add_items([{"role": "user", "content": text}])


def pydantic_ai(socket: str) -> Turn:
    """Return what saves a conversation that goes on by a message, again if the other one was faster."""
    from pydantic_ai.conversation import Conversation  # noqa: PLC0415
    from pydantic_ai.conversation_store import ConversationConflict  # noqa: PLC0415
    from pydantic_ai.messages import ModelRequest, UserPromptPart  # noqa: PLC0415

    from reel.integrations.pydantic_ai import ReelConversationStore  # noqa: PLC0415

    store = ReelConversationStore(socket=socket)
    conversation: Any = None

    async def save(text: str) -> None:
        nonlocal conversation
        while True:
            if conversation is None:
                conversation = await store.load(SESSION) or Conversation(conversation_id=SESSION)
            conversation.messages += [ModelRequest(parts=[UserPromptPart(text)])]
            try:
                await store.save(conversation)
            except ConversationConflict:
                conversation = None
                continue
            return

    return save


def claude_agent_sdk(socket: str) -> Turn:
    """Return what appends an entry."""
    from reel.integrations.claude_agent_sdk import ReelSessionStore  # noqa: PLC0415
    from tests.reel.importing.transcripts import Transcript  # noqa: PLC0415

    store = ReelSessionStore(socket=socket)
    made = Transcript()
    key: Any = {"project_key": "-home", "session_id": SESSION}
    return lambda text: store.append(key, made.user(text, text).records[-1:])


def langgraph(place: str) -> Turn:
    """Return what puts a checkpoint. Two runs of a graph at once are two branches, with any saver."""
    from langgraph.checkpoint.base import empty_checkpoint  # noqa: PLC0415

    saver: Any
    if place.endswith(_FILE):
        import aiosqlite  # noqa: PLC0415
        from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver  # noqa: PLC0415

        saver = AsyncSqliteSaver(aiosqlite.connect(place))
    else:
        from reel.integrations.langgraph import ReelSaver  # noqa: PLC0415

        saver = ReelSaver(socket=place)
    config: Any = {"configurable": {"thread_id": SESSION, "checkpoint_ns": ""}}

    async def put(text: str) -> None:
        state = empty_checkpoint()
        state["channel_values"], state["channel_versions"] = {"text": text}, {"text": 1}
        stored = await saver.aput(config, state, {"source": "loop", "step": 1}, {"text": 1})
        await saver.aput_writes(stored, [("text", text)], text)

    return put


def agent_framework(socket: str) -> Turn:
    """Return what saves a message."""
    from agent_framework import Message  # noqa: PLC0415

    from reel.integrations.agent_framework import ReelHistoryProvider  # noqa: PLC0415

    provider = ReelHistoryProvider(socket=socket)
    return lambda text: provider.save_messages(SESSION, [Message("user", [text])])


def google_adk(socket: str) -> Turn:
    """Return what appends an event, again if the other one was faster."""
    from google.adk.errors import StaleSessionError  # noqa: PLC0415
    from google.adk.errors.already_exists_error import AlreadyExistsError  # noqa: PLC0415
    from google.adk.events.event import Event  # noqa: PLC0415
    from google.genai import types  # noqa: PLC0415

    from reel.integrations.google_adk import ReelSessionService  # noqa: PLC0415

    service = ReelSessionService(socket=socket)
    place: Any = {"app_name": "app", "user_id": "me", "session_id": SESSION}

    session: Any = None

    async def append(text: str) -> None:
        nonlocal session
        content = types.Content(role="user", parts=[types.Part(text=text)])
        while True:
            try:
                if session is None:
                    session = await service.get_session(**place) or await service.create_session(**place)
                await service.append_event(session, Event(invocation_id="i", author="user", content=content))
            except (AlreadyExistsError, StaleSessionError):
                session = None
                continue
            return

    return append


def strands_agents(socket: str) -> Turn:
    """Return what adds a message to the session of an agent, as a manager does."""
    from strands.types.exceptions import SessionException  # noqa: PLC0415
    from strands.types.session import Session, SessionAgent, SessionMessage, SessionType  # noqa: PLC0415

    from reel.integrations.strands_agents import ReelSessionRepository  # noqa: PLC0415

    repository = ReelSessionRepository(socket=socket)
    if repository.read_session(SESSION) is None:
        with suppress(SessionException):  # the other one was faster
            repository.create_session(Session(SESSION, SessionType.AGENT))
    repository.create_agent(SESSION, SessionAgent("default", {}, {}))
    number = 0

    async def add(text: str) -> None:
        nonlocal number
        message = SessionMessage.from_message({"role": "user", "content": [{"text": text}]}, number)
        repository.create_message(SESSION, "default", message)
        number += 1

    return add


class Writer(NamedTuple):
    """How to add to a session.

    Args:
        module: the framework's module.
        agent: the name of the agent.
        turn: what makes a turn.
        theirs: the framework's own store in a file, if a session of it can be used by two processes at once.
        module_of_theirs: its module.
    """

    module: str
    agent: str
    turn: Callable[[str], Turn]
    theirs: str = ""
    module_of_theirs: str = ""


WRITERS = {
    "openai-agents": Writer("agents", "both", openai_agents, "SQLiteSession", "agents"),
    "agent-framework": Writer("agent_framework", "agent-framework/both", agent_framework),
    "pydantic-ai": Writer("pydantic_ai", "pydantic-ai/both", pydantic_ai),
    "claude-agent-sdk": Writer("claude_agent_sdk", "claude/-home/both", claude_agent_sdk),
    "langgraph": Writer("langgraph", "langgraph/both", langgraph, "AsyncSqliteSaver", "langgraph.checkpoint.sqlite"),
    "google-adk": Writer("google.adk", "adk/app/me/both", google_adk),
    "strands-agents": Writer("strands", "strands/both/default", strands_agents),
}


async def main(name: str, place: str, who: str, turns: str) -> None:
    """Add texts."""
    turn = WRITERS[name].turn(place)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    began = time.perf_counter()
    for number in range(int(turns)):
        await turn(f"{who}-{number}")
    sys.stdout.write(f"{(time.perf_counter() - began) * 1e3 / int(turns):.1f}\n")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
    sys.stdout.flush()
    os._exit(0)  # else threads of stores that nobody has closed would keep the program
