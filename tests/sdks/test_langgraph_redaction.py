"""What is redacted of a thread of LangGraph is in no record of its log and in no file any more."""

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from reel.said.kinds import ROLES
from reel.said.messages import Event
from reel.sync.client import Client
from tests.daemon import Daemon, until
from tests.forkserver import running_daemon
from tests.patience import PATIENCE
from tests.shared_daemon import REQUEST

pytest.importorskip("langgraph.checkpoint.base", reason="langgraph is not installed")

from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, Send, interrupt

from reel.integrations.langgraph import ReelSaver
from reel.integrations.langgraph.copied import Copied
from reel.integrations.langgraph.logs import Logs
from reel.integrations.langgraph.posts import Posts
from reel.integrations.langgraph.writing import Written

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:langgraph", "ignore::PendingDeprecationWarning")

_NUMBERS = count()
SECRET = "hunter2secret"


@pytest.fixture(scope="module")
def daemon() -> Iterator[Daemon]:
    """A daemon that takes smaller requests."""
    with running_daemon("--connection-message", str(REQUEST)) as daemon:
        yield daemon


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
    live.invoke(
        {"messages": [HumanMessage("third")]}, config, durability=durability
    )  # subgraphs get all messages again

    redact_what_is_shown(client, name)

    assert [] == [event["seq"] for event in client.iter_history(name) if SECRET in json.dumps(event)]
    client.stats()
    assert [] == [each for each in Path(daemon.database).parent.glob("r.db*") if SECRET.encode() in each.read_bytes()]
    before = len(live.get_state(config).values["messages"])
    assert before < len(live.invoke({"messages": [HumanMessage("fourth")]}, config)["messages"])


def hear(state: MessagesState) -> Any:
    return {"messages": [AIMessage(f"{len(state['messages'])} heard")]}


def team(saver: ReelSaver) -> Any:
    """Return a graph that hands all messages on: to a subgraph that remembers, and to one task for each word."""

    def sends(state: MessagesState) -> list[Send]:
        return [Send("each", {"messages": state["messages"]})] * 2

    inner = StateGraph(MessagesState).add_node("hear", hear).add_edge(START, "hear").compile(checkpointer=True)
    outer = StateGraph(MessagesState).add_node("inner", inner).add_node("each", hear)
    outer.add_edge(START, "inner").add_conditional_edges("inner", sends, ["each"])
    return outer.compile(checkpointer=saver)


@pytest.mark.parametrize(("size", "durability"), [(0, "async"), (0, "sync"), (0, "exit"), (9 << 18, "async")])
def test_later_copies(
    saver: ReelSaver, client: Client, daemon: Daemon, thread: str, size: int, durability: Any
) -> None:
    """What subgraphs and tasks were given again after a message goes with it, in parts and in a clone too."""
    config: Any = {"configurable": {"thread_id": thread}}
    copied: Any = {"configurable": {"thread_id": f"{thread}-copy"}}
    name, live = f"langgraph/{thread}", team(saver)
    live.invoke({"messages": [HumanMessage(f"my password is {SECRET} {'x' * size}")]}, config, durability=durability)
    if not size:
        live.invoke({"messages": [HumanMessage("second")]}, config, durability=durability)
    saver.copy_thread(thread, f"{thread}-copy")
    live.invoke({"messages": [HumanMessage("third")]}, copied)
    kept = [message.text for message in live.get_state(copied).values["messages"][1:]]
    (shown,) = (message["seq"] for message in client.iter_messages(name) if SECRET in json.dumps(message))
    client.redact(name, seqs=[shown])
    client.stats()

    for each in (name, f"{name}-copy"):
        assert [] == [event["seq"] for event in client.iter_history(each) if SECRET in json.dumps(event)]
    until(lambda: not any(SECRET.encode() in each.read_bytes() for each in Path(daemon.database).parent.glob("r.db*")))
    with closing(ReelSaver(socket=daemon.socket)) as reader:
        other = team(reader)
        assert kept == [message.text for message in other.get_state(copied).values["messages"][1:]]
        assert len(kept) + 1 < len(other.invoke({"messages": [HumanMessage("fourth")]}, copied)["messages"])


def test_a_clone_that_is_in_memory(saver: ReelSaver, client: Client, daemon: Daemon, thread: str) -> None:
    """A saver that has read a clone reads it again if its source was redacted, which the clone's log does not say."""
    config: Any = {"configurable": {"thread_id": thread}}
    copied: Any = {"configurable": {"thread_id": f"{thread}-copy"}}
    name, live = f"langgraph/{thread}", team(saver)
    live.invoke({"messages": [HumanMessage(f"my password is {SECRET}")]}, config)
    saver.copy_thread(thread, f"{thread}-copy")
    live.invoke({"messages": [HumanMessage("second")]}, copied)
    (shown,) = (message["seq"] for message in client.iter_messages(name) if SECRET in json.dumps(message))

    client.redact(name, seqs=[shown])

    assert SECRET not in str(live.get_state(copied).values)
    live.invoke({"messages": [HumanMessage("third")]}, copied)
    for each in (name, f"{name}-copy"):
        assert [] == [event["seq"] for event in client.iter_history(each) if SECRET in json.dumps(event)]
    until(lambda: not any(SECRET.encode() in each.read_bytes() for each in Path(daemon.database).parent.glob("r.db*")))


@pytest.mark.parametrize("erased_before", [False, True])
def test_a_source_that_is_in_memory(
    saver: ReelSaver, client: Client, daemon: Daemon, thread: str, erased_before: bool
) -> None:
    """A saver that has read a thread reads it again if a clone was redacted, which the thread's log does not say."""
    if erased_before:
        client.add(f"other-{thread}", "gone", create=True)
        client.purge(f"other-{thread}")
    config: Any = {"configurable": {"thread_id": thread}}
    name, live = f"langgraph/{thread}", team(saver)
    live.invoke({"messages": [HumanMessage(f"my password is {SECRET}")]}, config)
    live.invoke({"messages": [HumanMessage("second")]}, config)
    client.clone(name, f"{thread}-copy")
    (shown,) = (message["seq"] for message in client.iter_messages(name) if SECRET in json.dumps(message))

    client.redact(f"{thread}-copy", seqs=[shown])

    assert SECRET not in str(live.get_state(config).values)
    live.invoke({"messages": [HumanMessage("third")]}, config)
    assert [] == [event["seq"] for event in client.iter_history(name) if SECRET in json.dumps(event)]
    until(lambda: not any(SECRET.encode() in each.read_bytes() for each in Path(daemon.database).parent.glob("r.db*")))


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_copies_in_the_step_that_brings_the_message(
    saver: ReelSaver, client: Client, daemon: Daemon, thread: str, durability: Any
) -> None:
    """What tasks are given of a message in its own step goes with it, and the thread goes on."""
    config: Any = {"configurable": {"thread_id": thread}}
    name = f"langgraph/{thread}"
    builder = StateGraph(MessagesState).add_node("each", ask)
    builder.add_conditional_edges(START, lambda state: [Send("each", state)] * 2, ["each"])
    live = builder.compile(checkpointer=saver)
    for text in ("hi", f"my password is {SECRET}"):
        live.invoke({"messages": [HumanMessage(text)]}, config, durability=durability)
    kept = live.get_state(config)

    redact_what_is_shown(client, name)

    assert [] == [event["seq"] for event in client.iter_history(name) if SECRET in json.dumps(event)]
    until(lambda: not any(SECRET.encode() in each.read_bytes() for each in Path(daemon.database).parent.glob("r.db*")))
    assert len(kept.values["messages"]) == len(live.get_state(config).values["messages"])
    assert len(live.invoke({"messages": [HumanMessage("third")]}, config)["messages"]) > 2


def test_of_which_messages_a_record_has_the_content() -> None:
    """Messages that follow each other are one stretch, whatever is between them in the log; ids may be of anything."""
    copied = Copied()
    for seq, name in ((2, "a"), (5, 'b "ü"'), (9, "c"), (12, "d"), (15, "a")):
        copied.note(seq)
        copied.learn(seq, [name])
    copied.learn(99, ["of an unread log"])
    text = json.dumps([{"id": each, "other": "d"} for each in ("c", 'b "ü"', "x")], ensure_ascii=False).replace(
        ": ", ":"
    )
    written = {"to": "1", "ns": "", "writes": [[0, "messages", text], [1, "more", '{"id":"a"}']]}
    assert {"copies_of": [[2, 9], [15, 15]]} == copied.said_of(written)
    kept = {"put": "1", "ns": "", "values": {"notes": text, "__pregel_tasks": text, "__other": "[]"}}
    assert {"copies_of": {"values": {"__pregel_tasks": [[5, 9]]}}} == copied.said_of(kept)
    assert {"copies_of": [[5, 9]]} == copied.said_of({**kept, "ns": "inner"})
    nested = {"put": "1", "ns": "inner", "values": {}, "more": {"notes": [3, text]}, "messages": {"more": '{"id":"d"}'}}
    assert {"copies_of": [[5, 12]]} == copied.said_of(nested)
    assert (
        {} == copied.said_of({"to": "1", "ns": "", "writes": []}) == copied.said_of({**kept, "values": {"notes": text}})
    )


def put(saver: ReelSaver, thread: str, messages: list[Any], parent: str | None) -> Any:
    """Put a checkpoint with these messages after another one; return its config."""
    config: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": "", "checkpoint_id": parent}}
    versions: Any = {"messages": parent or "0"}
    state = empty_checkpoint() | {"channel_values": {"messages": messages}, "channel_versions": versions}
    return saver.put(config, state, {}, versions)


def copies_of(event: Event) -> Any:
    """Return the seqs of the records that a message names."""
    return json.loads(event["data_json"] or "")["provider_metadata"]["item"].get("copies")


def test_what_is_written_together_with_a_replacement(saver: ReelSaver, client: Client, thread: str) -> None:
    """A message names the records that come before it in its own command, behind the going back."""
    first = put(saver, thread, [HumanMessage("a")], None)
    waiting = Written(saver._threads, saver.serde, first, [("messages", [HumanMessage("b")])], ("task", ""))
    put(saver, thread, [HumanMessage("b")], first["configurable"]["checkpoint_id"])
    waiting.withdraw()

    *_, written, message, _ = client.iter_history(f"langgraph/{thread}")
    assert ("command", "user") == (written["kind"], message["kind"])
    assert [written["seq"]] == copies_of(message)


def add_late(saver: ReelSaver, late: Written, connected: Client) -> None:
    late.add(Logs(connected, saver._threads))


@pytest.mark.parametrize("size", [10, 1_250_000])
@pytest.mark.parametrize("number", [1, 3])
def test_what_is_queued_comes_before_the_messages(
    saver: ReelSaver, client: Client, thread: str, size: int, number: int
) -> None:
    """A message names what tasks have written, also if that does not fit beside it into a request."""
    first = put(saver, thread, [HumanMessage("a")], None)
    texts = [f"{each} {'x' * size}" for each in range(number)]
    writes = [
        Written(saver._threads, saver.serde, first, [("messages", [HumanMessage(text)])], (f"task {text[0]}", ""))
        for text in texts
    ]
    messages = [HumanMessage("a"), *map(HumanMessage, texts)]
    put(saver, thread, messages, first["configurable"]["checkpoint_id"])
    for each in writes:
        saver._worker.run_here(partial(add_late, saver, each))

    events = [event for event in client.iter_history(f"langgraph/{thread}") if event["seq"] > 3]
    written = [event["seq"] for event in events if '"to"' in (event["data_json"] or "")]
    said = [event for event in events if event["kind"] == "user"]
    assert [number, number] == [len(written), len(said)]
    assert [written] * number == [copies_of(event) for event in said]


class Gate(JsonPlusSerializer):  # type: ignore[misc]
    """Wait while the first value is turned into bytes, until somebody opens the gate."""

    def __init__(self) -> None:
        super().__init__()
        self.began, self.opened = threading.Event(), threading.Event()

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        if threading.current_thread().name == "task":
            self.began.set()
            assert self.opened.wait(PATIENCE)
        made: tuple[str, bytes] = super().dumps_typed(obj)
        return made


def waits_for_posts(thread: threading.Thread) -> bool:
    """Whether a thread is in :meth:`Posts.wait`."""
    frame = sys._current_frames().get(thread.ident or 0)
    while frame is not None and frame.f_code is not Posts.wait.__code__:
        frame = frame.f_back
    return frame is not None


def test_what_a_task_is_writing_comes_before_the_messages(saver: ReelSaver, client: Client, thread: str) -> None:
    """A checkpoint waits until what its tasks write is queued: turning a large value into text takes a while."""
    first = put(saver, thread, [HumanMessage("a")], None)
    saver.serde = gate = Gate()
    messages = [HumanMessage(SECRET)]
    task = threading.Thread(target=saver.put_writes, args=(first, [("messages", messages)], "task"), name="task")
    following = threading.Thread(
        target=put, args=(saver, thread, [HumanMessage("a"), *messages], first["configurable"]["checkpoint_id"])
    )
    task.start()
    assert gate.began.wait(PATIENCE)
    following.start()
    until(lambda: not following.is_alive() or waits_for_posts(following))
    gate.opened.set()
    task.join(PATIENCE)
    following.join(PATIENCE)

    redact_what_is_shown(client, f"langgraph/{thread}")
    events = client.iter_history(f"langgraph/{thread}")
    assert [] == [event["seq"] for event in events if SECRET in json.dumps(event)]


@pytest.mark.parametrize("size", [10, 1_250_000])
def test_what_is_queued_for_a_thread_that_another_process_deleted(
    saver: ReelSaver, client: Client, thread: str, daemon: Daemon, size: int
) -> None:
    """Nothing of the thread comes back with a checkpoint, also if the queue does not fit beside it into a request."""
    config: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
    state = empty_checkpoint() | {"channel_values": {"note": SECRET}, "channel_versions": {"note": "1"}}
    first = saver.put(config, state, {}, {"note": "1"})
    written = Written(saver._threads, saver.serde, first, [("large", "x" * size)], ("task", ""))
    with closing(ReelSaver(socket=daemon.socket)) as other:
        other.delete_thread(thread)
    state = empty_checkpoint() | {
        "channel_values": {"note": SECRET, "n": 1},
        "channel_versions": {"note": "2", "n": "2"},
    }
    saver.put(first, state, {}, {"note": "2", "n": "2"})
    written.withdraw()

    assert [] == [event["seq"] for event in client.iter_history(f"langgraph/{thread}") if SECRET in json.dumps(event)]
    assert [{"n": 1}] == [found.checkpoint["channel_values"] for found in saver.list(config)]
