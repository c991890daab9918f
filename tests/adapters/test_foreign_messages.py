"""To load what others have added to a session takes as many requests however much it is, with any framework."""

import asyncio
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import pytest

import reel
from reel.sync.client import Client
from tests.adapters.two_writers import SESSION, WRITERS
from tests.daemon import Daemon
from tests.forkserver import running_daemon

_FEW, _MANY = 3, 60


def openai_agents(socket: str) -> Any:
    """Load a session."""
    from reel.integrations.openai_agents import ReelSession  # noqa: PLC0415 - as below: most frameworks are not needed

    return asyncio.run(ReelSession(SESSION, socket=socket).get_items())


def pydantic_ai(socket: str) -> Any:
    """Load a conversation."""
    from reel.integrations.pydantic_ai import ReelConversationStore  # noqa: PLC0415

    conversation: Any = asyncio.run(ReelConversationStore(socket=socket).load(SESSION))
    return conversation.messages


def claude_agent_sdk(socket: str) -> Any:
    """Load a transcript."""
    from reel.integrations.claude_agent_sdk import ReelSessionStore  # noqa: PLC0415

    key: Any = {"project_key": "-home", "session_id": SESSION}
    return asyncio.run(ReelSessionStore(socket=socket).load(key))


def langgraph(socket: str) -> Any:
    """Load the newest checkpoint."""
    from reel.integrations.langgraph import ReelSaver  # noqa: PLC0415

    found: Any = ReelSaver(socket=socket).get_tuple({"configurable": {"thread_id": SESSION, "checkpoint_ns": ""}})
    return found.checkpoint["channel_values"]["messages"]


def agent_framework(socket: str) -> Any:
    """Load a history."""
    from reel.integrations.agent_framework import ReelHistoryProvider  # noqa: PLC0415

    return asyncio.run(ReelHistoryProvider(socket=socket).get_messages(SESSION))


def google_adk(socket: str) -> Any:
    """Load a session."""
    from reel.integrations.google_adk import ReelSessionService  # noqa: PLC0415

    session: Any = asyncio.run(
        ReelSessionService(socket=socket).get_session(app_name="app", user_id="me", session_id=SESSION)
    )
    return session.events


def strands_agents(socket: str) -> Any:
    """Load the messages of an agent."""
    from reel.integrations.strands_agents import ReelSessionRepository  # noqa: PLC0415

    return ReelSessionRepository(socket=socket).list_messages(SESSION, "default")


LOADERS: dict[str, Callable[[str], Any]] = {
    "openai-agents": openai_agents,
    "pydantic-ai": pydantic_ai,
    "claude-agent-sdk": claude_agent_sdk,
    "langgraph": langgraph,
    "agent-framework": agent_framework,
    "google-adk": google_adk,
    "strands-agents": strands_agents,
}


def test_every_framework_is_here() -> None:
    """Every framework with an adapter is tested."""
    assert WRITERS.keys() == LOADERS.keys()


def asked(client: Client) -> int:
    """Return how many requests the daemon has answered."""
    return sum(sum(found["counts"]) for found in client.stats()["request_seconds"].values())


def requests_of_a_load(daemon: Daemon, name: str, others: int) -> tuple[int, int]:
    """Return how many requests it takes to load a session, and how many messages it has.

    Args:
        daemon: a daemon that nobody else uses.
        name: the framework.
        others: how many messages others have added, half of them between a call and its result.
    """
    asyncio.run(_begin(name, daemon.socket))
    with daemon.client() as client:
        agent = WRITERS[name].agent
        texts = [reel.text("user", f"by the way {number}") for number in range(others // 2)]
        client.add(agent, texts)
        client.add(agent, [reel.tool_call("c1", "look_up", "{}")])
        for text in texts:
            client.add(agent, [text])
        client.add(agent, [reel.tool_result("c1", "found")])
        before = asked(client)
        loaded = LOADERS[name](daemon.socket)
        return asked(client) - before, len(loaded)


async def _begin(name: str, socket: str) -> None:
    if name != "langgraph":
        await WRITERS[name].turn(socket)("the first one")
        return
    # What makes a turn there has no messages.
    from langchain_core.messages import HumanMessage  # noqa: PLC0415
    from langgraph.graph import START, MessagesState, StateGraph  # noqa: PLC0415

    from reel.integrations.langgraph import ReelSaver  # noqa: PLC0415

    builder = StateGraph(MessagesState).add_node("model", lambda _: {"messages": []}).add_edge(START, "model")
    graph: Any = builder.compile(checkpointer=ReelSaver(socket=socket))
    graph.invoke({"messages": [HumanMessage("Hi.")]}, {"configurable": {"thread_id": SESSION}})


@pytest.mark.parametrize("name", LOADERS)
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_requests(name: str) -> None:
    """It takes as many requests for sixty messages as for a few."""
    module = WRITERS[name].module
    if find_spec(module.partition(".")[0]) is None or find_spec(module) is None:
        pytest.skip(f"{name} is not installed")
    found = []
    for others in (_FEW, _MANY):
        with running_daemon() as daemon:
            found.append(requests_of_a_load(daemon, name, others))

    (few, _), (many, length) = found
    assert few == many
    assert _MANY <= length
