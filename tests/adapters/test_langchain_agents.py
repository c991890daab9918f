"""The agents of LangChain and deepagents keep their threads in a ``ReelSaver``, each step in a process of its own."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Annotated, Any

import pytest

from tests.daemon import Daemon

pytest.importorskip("langchain.agents", reason="langchain is not installed")

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, SummarizationMiddleware
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AnyMessage
from langgraph.graph.message import add_messages
from langgraph.types import Command

from reel.integrations.langgraph import ReelSaver

_NUMBERS = count()


class FakeModel(GenericFakeChatModel):  # type: ignore[misc]  # its types are not read
    """A model that answers what it is told to, whatever tools it has."""

    def bind_tools(self, _tools: Any, **_more: Any) -> "FakeModel":
        """Return the model itself."""
        return self


def answering(*messages: AIMessage) -> FakeModel:
    return FakeModel(messages=iter(messages))


def calling(name: str, call_id: str, **arguments: Any) -> AIMessage:
    """Return an answer that calls a tool."""
    return AIMessage("", tool_calls=[{"name": name, "id": call_id, "args": arguments}])


@pytest.fixture
def thread() -> str:
    """The id of a thread that nobody has used."""
    return f"thread{next(_NUMBERS)}"


def config_of(thread: str) -> Any:
    return {"configurable": {"thread_id": thread}}


@contextmanager
def saving(daemon: Daemon) -> Iterator[ReelSaver]:
    """Return the saver of a new process."""
    saver = ReelSaver(socket=daemon.socket)
    yield saver
    saver.close()


def roles(daemon: Daemon, thread: str) -> list[str]:
    """Return who said something in a thread, as others see it."""
    with daemon.client() as client:
        return [message["role"] for message in client.iter_messages(f"langgraph/{thread}")]


def asking(saver: ReelSaver, sent: list[str], *answers: AIMessage) -> Any:
    """Return an agent that asks a person before it sends something."""

    def send(to: str) -> str:
        """Send a message."""
        sent.append(to)
        return f"sent to {to}"

    middleware = [HumanInTheLoopMiddleware(interrupt_on={"send": True})]
    return create_agent(answering(*answers), [send], middleware=middleware, checkpointer=saver)


@pytest.mark.parametrize(
    ("decision", "expected"),
    [
        ({"type": "approve"}, "sent to ann"),
        ({"type": "edit", "edited_action": {"name": "send", "args": {"to": "bob"}}}, "sent to bob"),
        ({"type": "reject", "message": "Not now."}, "Not now."),
    ],
)
def test_a_person_decides(daemon: Daemon, thread: str, decision: Any, expected: str) -> None:
    """A call waits for a person, through restarts of the program, and then runs once, as was decided."""
    sent: list[str] = []
    config = config_of(thread)
    with saving(daemon) as saver:
        first = asking(saver, sent, calling("send", "c1", to="ann"))
        stopped = first.invoke({"messages": [("user", "Write to Ann.")]}, config)
    with saving(daemon) as saver:
        waiting = asking(saver, sent).get_state(config)
    with saving(daemon) as saver:
        done = asking(saver, sent, AIMessage("Done.")).invoke(Command(resume={"decisions": [decision]}), config)
    with saving(daemon) as saver:
        at_the_end = asking(saver, sent).get_state(config)

    assert [each.value for each in stopped["__interrupt__"]] == [each.value for each in waiting.interrupts]
    assert ["user", "assistant", "tool", "assistant"] == roles(daemon, thread)
    assert expected in done["messages"][-2].content
    assert done["messages"] == at_the_end.values["messages"]
    assert () == at_the_end.next
    assert {"sent to ann": ["ann"], "sent to bob": ["bob"]}.get(expected, []) == sent


def test_an_undo_while_a_person_is_asked(daemon: Daemon, thread: str) -> None:
    """An undo of the answer that asked takes the question back; the model is asked again."""
    config = config_of(thread)
    with saving(daemon) as saver:
        asking(saver, [], calling("send", "c1", to="ann")).invoke({"messages": [("user", "Write to Ann.")]}, config)
    with daemon.client() as client:
        client.undo(f"langgraph/{thread}")
    with saving(daemon) as saver:
        undone = asking(saver, []).get_state(config)
        done = asking(saver, [], AIMessage("I would rather not.")).invoke(None, config)

    assert () == undone.interrupts
    assert ["Write to Ann.", "I would rather not."] == [message.content for message in done["messages"]]


def test_summaries(daemon: Daemon, thread: str) -> None:
    """A summary takes the place of what it sums up, for the agent and for others; the log keeps the rest."""
    config = config_of(thread)

    def agent(saver: ReelSaver, *answers: AIMessage) -> Any:
        summing = SummarizationMiddleware(
            answering(AIMessage("We counted.")), trigger=("messages", 6), keep=("messages", 2)
        )
        return create_agent(answering(*answers), [], middleware=[summing], checkpointer=saver)

    for number in range(4):
        with saving(daemon) as saver:
            answer = AIMessage(f"a{number}")
            done = agent(saver, answer).invoke({"messages": [("user", f"q{number}")]}, config)
    with daemon.client() as client:
        shown: list[Any] = [message["content"] for message in client.iter_messages(f"langgraph/{thread}")]
        logged = {str(event["content"]) for event in client.iter_history(f"langgraph/{thread}")}

    said = [message.content for message in done["messages"]]
    assert ["a2", "q3", "a3"] == said[1:]
    assert "We counted." in said[0]
    assert said == [content[0]["text"] for content in shown]
    assert {"q0", "a0", "q1", "a1", "q2"} <= logged


def deep_agent(saver: ReelSaver, *answers: AIMessage, schema: Any) -> Any:
    """Return an agent of deepagents with a sub-agent."""
    deepagents = pytest.importorskip("deepagents", reason="deepagents is not installed")
    clerk = {"name": "clerk", "description": "Looks things up.", "system_prompt": "Be brief.", "tools": []}
    clerk["model"] = answering(AIMessage("It plays tapes."))
    return deepagents.create_deep_agent(answering(*answers), subagents=[clerk], checkpointer=saver, state_schema=schema)


def with_a_list() -> Any:
    """Return a state of deepagents whose messages are a list; those of its own are a channel of differences."""
    state: Any = pytest.importorskip("deepagents.graph", reason="deepagents is not installed").DeepAgentState

    class State(state):  # type: ignore[misc]  # its types are not read
        messages: Annotated[list[AnyMessage], add_messages]

    return State


@pytest.mark.parametrize("is_list", [False, True])
def test_deep_agents(daemon: Daemon, thread: str, is_list: bool) -> None:
    """An agent of deepagents goes on, with its files and what a sub-agent answered; a list is a conversation."""
    config, schema = config_of(thread), with_a_list() if is_list else None

    with saving(daemon) as saver:
        done = deep_agent(
            saver,
            calling("task", "c1", description="What is a tape deck?", subagent_type="clerk"),
            calling("write_file", "c2", file_path="/deck.txt", content="plays tapes"),
            AIMessage("It plays tapes."),
            schema=schema,
        ).invoke({"messages": [("user", "What is a tape deck?")]}, config)
    with saving(daemon) as saver:
        state = deep_agent(saver, schema=schema).get_state(config)
        answers = calling("read_file", "c3", file_path="/deck.txt"), AIMessage("As I said.")
        again = deep_agent(saver, *answers, schema=schema).invoke({"messages": [("user", "Are you sure?")]}, config)

    assert done == state.values
    assert ["/deck.txt"] == [*state.values["files"]]
    assert "plays tapes" in again["messages"][-2].content
    said = ["user", *["assistant", "tool"] * 2, "assistant", "user", "assistant", "tool", "assistant"]
    assert (said if is_list else []) == roles(daemon, thread)
