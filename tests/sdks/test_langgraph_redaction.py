"""What is redacted of a thread of LangGraph is in no record of its log and in no file any more."""

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from reel.said.kinds import ROLES
from reel.sync.client import Client
from tests.daemon import Daemon

pytest.importorskip("langgraph.checkpoint.base", reason="langgraph is not installed")

from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

from reel.integrations.langgraph import ReelSaver
from reel.integrations.langgraph.writing import Written

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:langgraph", "ignore::PendingDeprecationWarning")

_NUMBERS = count()
SECRET = "hunter2secret"


@pytest.fixture
def thread() -> str:
    return f"r-{next(_NUMBERS)}"


@pytest.fixture
def saver(daemon: Daemon) -> Iterator[ReelSaver]:
    made = ReelSaver(socket=daemon.socket)
    yield made
    made.close()


def graph(saver: ReelSaver, answer: Any) -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    return builder.compile(checkpointer=saver)


def repeat(state: MessagesState) -> Any:
    return {"messages": [AIMessage(f"{len(state['messages'])}: {state['messages'][-1].text}")]}


def ask(_: MessagesState) -> Any:
    return {"messages": [AIMessage(f"You said {interrupt('which?')}.")]}


def replace(state: MessagesState) -> Any:
    last = state["messages"][-1]
    return {"messages": [RemoveMessage(id=last.id or ""), AIMessage(f"instead of: {last.text}")]}


def outer(saver: ReelSaver) -> Any:
    """Return a graph with a subgraph."""
    return graph(saver, graph(None, repeat))  # type: ignore[arg-type]


def redact_what_is_shown(client: Client, name: str) -> None:
    """Redact each message that shows the secret, as somebody does who reads the log."""
    events = [event for event in client.iter_history(name) if event["kind"] in ROLES]
    shown = [event["seq"] for event in events if SECRET in json.dumps(event)]
    assert shown
    client.redact(name, seqs=shown)


@pytest.mark.parametrize(
    ("answer", "durability"),
    [(repeat, "sync"), (repeat, "async"), (repeat, "exit"), (ask, "async"), (replace, "sync"), (None, "async")],
)
def test_every_copy(
    saver: ReelSaver, client: Client, daemon: Daemon, thread: str, answer: Any, durability: Any
) -> None:
    """A redaction by seq takes the input, the writes and what a subgraph stored in its step; the thread goes on."""
    config: Any = {"configurable": {"thread_id": thread}}
    name = f"langgraph/{thread}"
    live = outer(saver) if answer is None else graph(saver, answer)
    live.invoke({"messages": [HumanMessage("hi")]}, config, durability=durability)
    live.invoke({"messages": [HumanMessage(f"my password is {SECRET}")]}, config, durability=durability)
    if answer is ask:
        live.invoke(Command(resume=SECRET), config, durability=durability)
    if answer is not None:  # a subgraph is given all messages again
        live.invoke({"messages": [HumanMessage("third")]}, config, durability=durability)

    redact_what_is_shown(client, name)

    assert [] == [event["seq"] for event in client.iter_history(name) if SECRET in json.dumps(event)]
    client.stats()
    assert [] == [each for each in Path(daemon.database).parent.glob("r.db*") if SECRET.encode() in each.read_bytes()]
    before = len(live.get_state(config).values["messages"])
    assert before < len(live.invoke({"messages": [HumanMessage("fourth")]}, config)["messages"])


def test_what_is_written_together_with_a_replacement(saver: ReelSaver, client: Client, thread: str) -> None:
    """A message names the records that come before it in its own command, behind the going back."""

    def put(text: str, parent: str | None) -> Any:
        config: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": "", "checkpoint_id": parent}}
        versions: Any = {"messages": parent or "0"}
        state = empty_checkpoint() | {
            "channel_values": {"messages": [HumanMessage(text)]},
            "channel_versions": versions,
        }
        return saver.put(config, state, {}, versions)

    first = put("a", None)
    waiting = Written(saver._threads, saver.serde, first, [("messages", [HumanMessage("b")])], ("task", ""))
    put("b", first["configurable"]["checkpoint_id"])
    waiting.withdraw()

    *_, written, message, _ = client.iter_history(f"langgraph/{thread}")
    assert ("command", "user") == (written["kind"], message["kind"])
    metadata = json.loads(message["data_json"] or "")["provider_metadata"]
    assert [written["seq"]] == metadata["item"]["copies"]
