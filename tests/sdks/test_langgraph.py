"""A thread of LangGraph is an agent of the daemon: checkpoints come back as they were, and all read the messages."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from itertools import count
from operator import add
from pathlib import Path
from typing import Annotated, Any, TypedDict
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.base.errors import InvalidParams, Killed, NotRunning, TooLarge
from reel.sync.client import Client
from tests.daemon import Daemon, short_directory
from tests.forkserver import ForkedDaemon
from tests.patience import PATIENCE

pytest.importorskip("langgraph.checkpoint.conformance", reason="langgraph is not installed")

from langchain_core import messages as lc
from langchain_core.messages.modifier import RemoveMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, interrupt

from reel.integrations.langgraph import ReelSaver, values

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:langgraph", "ignore::PendingDeprecationWarning")

_NUMBERS = count()
SERDE = JsonPlusSerializer(allowed_msgpack_modules=True)


class State(TypedDict):
    messages: Annotated[list[Any], add_messages]
    notes: Annotated[list[str], add]


def config_of(thread: str, **more: Any) -> Any:
    return {"configurable": {"thread_id": thread, **more}}


def chat(answer: Callable[[State], Any], saver: ReelSaver) -> Any:
    """Return a graph with one node."""
    builder = StateGraph(State)
    builder.add_node("model", answer)
    builder.add_edge(START, "model")
    return builder.compile(checkpointer=saver)


def echo(state: State) -> dict[str, Any]:
    """Answer as a model would."""
    return {"messages": [lc.AIMessage(f"You said: {state['messages'][-1].text}")], "notes": ["asked"]}


def texts(found: Any) -> list[str]:
    return [message.text for message in found.checkpoint["channel_values"]["messages"]]


@pytest.fixture
def new(daemon: Daemon) -> Iterator[Callable[..., ReelSaver]]:
    """Make savers, each as if it was in another process."""
    made: list[ReelSaver] = []

    def make(**options: Any) -> ReelSaver:
        made.append(ReelSaver(socket=daemon.socket, **options))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def saver(new: Callable[..., ReelSaver]) -> ReelSaver:
    return new()


@pytest.fixture
def thread() -> str:
    """The id of a new thread."""
    return f"t-{next(_NUMBERS)}"


def put(saver: ReelSaver, thread: str, channels: dict[str, Any], parent: str | None = None, space: str = "") -> str:
    """Put a checkpoint in which all channels are new; return its id."""
    state = empty_checkpoint()
    state["channel_values"] = channels
    state["channel_versions"] = versions = dict.fromkeys(channels, next(_NUMBERS) + 1)
    within = {"checkpoint_ns": space, **({"checkpoint_id": parent} if parent else {})}
    stored = saver.put(config_of(thread, **within), state, {"source": "loop", "step": 1}, versions)
    return str(stored["configurable"]["checkpoint_id"])


def test_conformance(new: Callable[..., ReelSaver]) -> None:
    """The framework's suite for checkpointers passes, with all capabilities."""

    @checkpointer_test(name="reel")  # type: ignore[untyped-decorator,unused-ignore]
    async def made() -> Any:
        yield new(prefix=f"{uuid4().hex}/")

    report = asyncio.run(validate(made))

    assert {} == {name: result.failures for name, result in report.results.items() if not result.passed}
    assert (8, 81) == (len(report.results), sum(result.tests_passed for result in report.results.values()))


CALL = {"name": "look_up", "args": {"what": "a tape deck"}, "id": "c1", "type": "tool_call"}
PICTURE = "aGVsbG8gd29ybGQgaGVsbG8gd29ybGQ="


class NewMessage(lc.BaseMessage):  # type: ignore[misc]
    """A message of a class that nobody knows."""

    type: str = "of_next_year"
    score: float = 0.5


MESSAGES = [
    lc.HumanMessage("What is a tape deck?", id="h1", name="ann"),
    lc.HumanMessage(""),
    lc.HumanMessage("nul \0, a surrogate \ud800, @0 and @@"),
    lc.HumanMessage("@0"),
    lc.HumanMessage(
        [
            "What is this?",
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE}"}},
            {"type": "file", "base64": PICTURE, "mime_type": "application/pdf", "extras": {"filename": "a.pdf"}},
            {"type": "of_next_year", "deep": [{"x": 1.0, "y": None}]},
        ]
    ),
    lc.SystemMessage("You are brief.", additional_kwargs={"__openai_role__": "developer"}),
    lc.AIMessage(
        "Let me see.",
        tool_calls=[CALL],
        usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
        response_metadata={"model_name": "m", "logprobs": None, "large": 2**60, "float": 1.0},
    ),
    lc.AIMessage(
        [
            {"type": "thinking", "thinking": "It may be a machine.", "signature": "c2ln"},
            {"type": "text", "text": "It is a machine.", "citations": []},
            {"type": "tool_use", "id": "c1", "name": "look_up", "input": {"what": "a tape deck"}},
        ],
        tool_calls=[CALL],
        response_metadata={"model_provider": "anthropic"},
    ),
    lc.AIMessage("", invalid_tool_calls=[{"name": "f", "args": "{", "id": "c2", "error": "no JSON"}]),
    lc.AIMessage("", additional_kwargs={"bytes": b"\0\xff", "set": {1}, "nan": float("inf"), "keys": {1: 2}}),
    lc.ToolMessage("A machine.", tool_call_id="c1", name="look_up", artifact={"tuple": (1, 2)}),
    lc.ToolMessage([{"type": "text", "text": "A machine."}], tool_call_id="c1", status="error"),
    lc.FunctionMessage("A machine.", name="f"),
    lc.ChatMessage("A machine.", role="critic"),
    RemoveMessage("h1"),
    lc.AIMessageChunk("A mach", tool_call_chunks=[{"name": "f", "args": "{", "id": "c", "index": 0}]),
    lc.HumanMessageChunk("A mach"),
    lc.SystemMessageChunk("A mach"),
    lc.ToolMessageChunk("A mach", tool_call_id="c1"),
    lc.FunctionMessageChunk("A mach", name="f"),
    lc.ChatMessageChunk("A mach", role="critic"),
    lc.HumanMessage([{"type": "custom", "score": float("inf")}, {"type": "image", "url": "nul \0 and \ud800"}]),
    lc.HumanMessage([{"type": "image", "base64": PICTURE, "mime_type": "image/png\0"}]),
    lc.AIMessage(
        [{"type": "thinking", "thinking": "It may be.", "signature": "nul \0"}, {"type": "custom"}],
        response_metadata={"model_provider": "nul \0"},
    ),
    lc.ToolMessage([], tool_call_id="c1"),
    lc.HumanMessage("With a field of next year.", field={"x": [1]}),
    NewMessage(content="A class of next year."),
]


def serialized(message: Any) -> tuple[str, bytes]:
    how, data = SERDE.dumps_typed(message)
    return how, data


def test_every_message_type(saver: ReelSaver, new: Callable[..., ReelSaver], thread: str) -> None:
    """A message of every class that the framework has, and of another one, comes back as from the serializer."""
    known = {kind for name in lc.__all__ if isinstance(kind := getattr(lc, name), type)}
    classes = {kind for kind in known if issubclass(kind, lc.BaseMessage)} - {lc.BaseMessage, lc.BaseMessageChunk}
    assert classes <= {type(message) for message in MESSAGES}
    expected = [SERDE.loads_typed(serialized(message)) for message in MESSAGES]

    put(saver, thread, {"messages": MESSAGES})

    for reader in (saver, new()):
        found = reader.get_tuple(config_of(thread))
        assert found is not None
        read = found.checkpoint["channel_values"]["messages"]
        assert expected == read
        assert [*map(serialized, expected)] == [*map(serialized, read)]
        assert [message.__getstate__() for message in expected] == [message.__getstate__() for message in read]


def test_messages_are_stored_once(saver: ReelSaver, client: Client, thread: str) -> None:
    """However many checkpoints there are, each message is in the log once, and not serialized as a whole."""
    graph = chat(echo, saver)
    for number in range(5):
        graph.invoke({"messages": [lc.HumanMessage(f"question {number}")]}, config_of(thread))

    events = client.history(f"langgraph/{thread}", limit=10_000).events

    said = [event for event in events if event["kind"] in ("user", "assistant")]
    assert ["user", "assistant"] * 5 == [event["kind"] for event in said]
    assert not any("typed" in (event["data_json"] or "") for event in said)
    assert 15 == sum('"put"' in (event["data_json"] or "") for event in events)


def test_everybody_reads_the_messages(saver: ReelSaver, client: Client, thread: str) -> None:
    """What the framework wrote is messages, calls, results and thinking; it is found, and rendered for any provider."""
    said = [*MESSAGES[:1], MESSAGES[5], MESSAGES[7], MESSAGES[10], lc.AIMessage("It plays zygomorphic tapes.")]
    put(saver, thread, {"messages": said})
    name = f"langgraph/{thread}"

    found = client.messages(name).messages

    assert ["user", "user", "assistant", "tool", "assistant"] == [message["role"] for message in found]
    assert ["thinking", "text", "tool_call"] == [block["type"] for block in found[2]["content"]]
    for api in ("openai-responses", "openai-chat", "anthropic", "gemini"):
        rendered = client.render(name, api, model="m")
        assert "It is a machine." in rendered.body
        assert "You are brief." in rendered.body
    item = client.items(name, "x-langgraph", last=1).items[0]["item"]
    assert {"class": "AIMessage", "fields": {"content": "It plays zygomorphic tapes."}} == item


def test_a_new_process_goes_on(saver: ReelSaver, new: Callable[..., ReelSaver], thread: str) -> None:
    """Another process reads the whole state, and adds to it."""
    chat(echo, saver).invoke({"messages": [lc.HumanMessage("one")]}, config_of(thread))
    chat(echo, new()).invoke({"messages": [lc.HumanMessage("two")]}, config_of(thread))

    state = chat(echo, new()).get_state(config_of(thread))

    assert ["one", "You said: one", "two", "You said: two"] == [each.text for each in state.values["messages"]]
    assert ["asked", "asked"] == state.values["notes"]
    assert state == chat(echo, saver).get_state(config_of(thread))


def test_what_others_add_and_take_back(saver: ReelSaver, client: Client, thread: str) -> None:
    """What an editor adds or undoes, the graph sees at its next turn; older checkpoints stay as they were."""
    graph = chat(echo, saver)
    name = f"langgraph/{thread}"
    graph.invoke({"messages": [lc.HumanMessage("one")]}, config_of(thread))
    before = saver.get_tuple(config_of(thread))
    assert before is not None

    client.add(name, ["And be brief.", {"role": "assistant", "content": "Yes."}])
    found = graph.invoke({"messages": [lc.HumanMessage("two")]}, config_of(thread))["messages"]

    expected = ["one", "You said: one", "And be brief.", "Yes.", "two", "You said: two"]
    assert expected == [message.text for message in found]
    assert expected == [message["content"][0]["text"] for message in client.messages(name).messages]  # type: ignore[typeddict-item]
    assert before == saver.get_tuple(before.config)
    client.undo(name)
    client.undo(name)
    now = saver.get_tuple(config_of(thread))
    assert now is not None
    assert expected[:4] == texts(now)
    graph.invoke({"messages": [lc.HumanMessage("three")]}, config_of(thread))
    assert [*expected[:4], "three", "You said: three"] == [
        message["content"][0]["text"]  # type: ignore[typeddict-item]
        for message in client.messages(name).messages
    ]


def test_others_speak_before_the_graph_does(saver: ReelSaver, client: Client, thread: str) -> None:
    """A graph that has only made notes so far reads what others say, as one that has spoken, unless it names a step."""

    def note(state: State) -> dict[str, Any]:
        return {"notes": [f"{len(state['messages'])} said"]}

    graph = chat(note, saver)
    graph.invoke({"notes": ["one"]}, config_of(thread))
    client.add(f"langgraph/{thread}", "theirs")
    found = saver.get_tuple(config_of(thread))
    assert found is not None
    assert ["theirs"] == texts(found)
    named = saver.get_tuple(found.config)
    assert named is not None
    assert "messages" not in named.checkpoint["channel_values"]
    client.undo(f"langgraph/{thread}")
    assert [] == graph.get_state(config_of(thread)).values["messages"]
    client.redo(f"langgraph/{thread}")

    graph.invoke({"notes": ["two"]}, config_of(thread))
    done = graph.invoke({"messages": [lc.HumanMessage("mine")]}, config_of(thread))
    assert ["one", "0 said", "two", "1 said", "2 said"] == done["notes"]
    assert ["theirs", "mine"] == [message.text for message in done["messages"]]
    shown = client.iter_conversation(f"langgraph/{thread}")
    assert ["theirs", "mine"] == [message["content"] for message in shown]


def test_what_others_add_during_a_run(
    saver: ReelSaver, new: Callable[..., ReelSaver], client: Client, thread: str
) -> None:
    """A message that somebody adds while the graph runs stays; the graph reads it at its next turn."""

    def answer(state: State) -> dict[str, Any]:
        client.add(f"langgraph/{thread}", "Wait!")
        return echo(state)

    answered = chat(answer, saver).invoke({"messages": [lc.HumanMessage("one")]}, config_of(thread), durability="sync")
    assert ["one", "You said: one"] == [message.text for message in answered["messages"]]

    for reader in (saver, new()):
        live = reader.get_tuple(config_of(thread))
        assert live is not None
        assert ["one", "Wait!", "You said: one"] == texts(live)
        stored = reader.get_tuple(live.config)
        assert stored is not None
        assert ["one", "You said: one"] == texts(stored)
    again = chat(echo, saver).invoke({"messages": [lc.HumanMessage("two")]}, config_of(thread))
    assert ["one", "Wait!", "You said: one", "two", "You said: two"] == [each.text for each in again["messages"]]


def test_what_others_add_before_a_replacement(
    saver: ReelSaver, new: Callable[..., ReelSaver], client: Client, thread: str
) -> None:
    """A message that somebody adds stays, and is read at the next turn, also if the run changes one before it."""

    def answer(state: State) -> dict[str, Any]:
        if len(state["messages"]) != 3:
            return {"messages": [lc.AIMessage("answer")]}
        client.add(f"langgraph/{thread}", [{"role": "user", "content": "by the way"}])
        return {"messages": [lc.HumanMessage("changed", id=state["messages"][0].id)]}

    graph = chat(answer, saver)
    graph.invoke({"messages": [lc.HumanMessage("one")]}, config_of(thread))
    assert "two" == graph.invoke({"messages": [lc.HumanMessage("two")]}, config_of(thread))["messages"][-1].text

    for reader in (saver, new()):
        assert ["changed", "answer", "two", "by the way"] == texts(reader.get_tuple(config_of(thread)))
    found = graph.invoke({"messages": [lc.HumanMessage("three")]}, config_of(thread))["messages"]
    assert ["changed", "answer", "two", "by the way", "three", "answer"] == [message.text for message in found]
    said: Any = client.messages(f"langgraph/{thread}").messages
    assert [message.text for message in found] == [message["content"][0]["text"] for message in said]


def test_what_others_add_between_a_call_and_its_result(
    saver: ReelSaver, new: Callable[..., ReelSaver], client: Client, thread: str
) -> None:
    """The graph has it after the result, for providers refuse it before: when it goes on, and at the next turn."""
    name = f"langgraph/{thread}"
    seen: list[list[str]] = []

    def model(state: State) -> dict[str, Any]:
        seen.append([message.type for message in state["messages"]])
        is_asked = isinstance(state["messages"][-1], lc.HumanMessage)
        return {"messages": [lc.AIMessage("", tool_calls=[CALL]) if is_asked else lc.AIMessage("done")]}

    def tool(_: State) -> dict[str, Any]:
        if len(seen) == 1:
            interrupt("May I?")
            client.add(name, [{"role": "user", "content": "by the way"}])
        return {"messages": [lc.ToolMessage("a machine", tool_call_id=CALL["id"])]}

    builder = StateGraph(State).add_node("model", model).add_node("tool", tool).add_edge(START, "model")
    builder.add_conditional_edges("model", lambda state: "tool" if state["messages"][-1].tool_calls else "__end__")
    builder.add_edge("tool", "model")
    graph, other = builder.compile(checkpointer=saver), builder.compile(checkpointer=new())
    graph.invoke({"messages": [lc.HumanMessage("one")]}, config_of(thread))
    client.add(name, [{"role": "user", "content": "meanwhile"}])
    other.invoke(Command(resume="yes"), config_of(thread))
    assert ["human", "ai", "tool"] == seen[-1]

    other.invoke({"messages": [lc.HumanMessage("two")]}, config_of(thread))

    turn = ["human", "ai", "tool", "human", "human", "ai"]
    assert [*turn, "human"] == seen[-2]
    for reader in (saver, new()):
        found = reader.get_tuple(config_of(thread))
        assert found is not None
        read = found.checkpoint["channel_values"]["messages"]
        assert [*turn, "human", "ai", "tool", "ai"] == [message.type for message in read]


def test_branches(saver: ReelSaver, new: Callable[..., ReelSaver], client: Client, thread: str) -> None:
    """Each branch of a thread has its own messages; the conversation is that of the newest."""
    graph = chat(echo, saver)
    for text in ("one", "two", "three"):
        graph.invoke({"messages": [lc.HumanMessage(text)]}, config_of(thread))
    history = [*graph.get_state_history(config_of(thread))]
    early = next(each for each in history if not each.next and len(each.values["messages"]) == 2)

    graph.invoke({"messages": [lc.HumanMessage("other")]}, early.config)

    expected = ["one", "You said: one", "other", "You said: other"]
    assert expected == [m["content"][0]["text"] for m in client.messages(f"langgraph/{thread}").messages]  # type: ignore[typeddict-item]
    other = chat(echo, new())
    assert expected == [message.text for message in other.get_state(config_of(thread)).values["messages"]]
    assert history == [*other.get_state_history(config_of(thread))][-len(history) :]
    back = history[0]
    again = other.invoke({"messages": [lc.HumanMessage("four")]}, back.config)
    assert 8 == len(again["messages"])
    assert again["messages"] == other.get_state(config_of(thread)).values["messages"]


@pytest.mark.parametrize("is_in_memory", [True, False])
def test_a_branch_from_before_the_first_word(
    new: Callable[..., ReelSaver], client: Client, thread: str, *, is_in_memory: bool
) -> None:
    """A state that is changed before anything was said has no messages, as with the vendor's own saver."""
    config = config_of(thread)
    shown = []
    for saver in (InMemorySaver(), live := new()):
        graph = chat(echo, saver)
        graph.invoke({"messages": [lc.HumanMessage("one")]}, config)
        oldest = [*graph.get_state_history(config)][-1]
        graph.update_state(oldest.config, {"notes": ["other"]}, as_node=START)
        if saver is live and not is_in_memory:
            graph = chat(echo, new())
        seen = [graph.get_state(config).values]
        graph.invoke({"messages": [lc.HumanMessage("two")]}, config)
        seen.append(graph.get_state(config).values)
        shown.append([([m.text for m in each.get("messages", [])], each["notes"]) for each in seen])
    assert shown[0] == shown[1] == [([], ["other"]), (["two", "You said: two"], ["other", "asked"])]
    found: Any = client.messages(f"langgraph/{thread}").messages
    assert ["two", "You said: two"] == [each["content"][0]["text"] for each in found]


def test_messages_that_are_replaced(saver: ReelSaver, client: Client, thread: str) -> None:
    """Messages that a node removes, or changes in place, are replaced in one command; one undo brings them back."""

    def shorten(state: State) -> dict[str, Any]:
        first, *_, last = state["messages"]
        last.content = "changed in place"
        return {"messages": [RemoveMessage(first.id)], "notes": []}

    chat(echo, saver).invoke({"messages": [lc.HumanMessage("one")]}, config_of(thread))
    result = chat(shorten, saver).invoke({"messages": [lc.HumanMessage("two")]}, config_of(thread))

    read = saver.get_tuple(config_of(thread))
    assert read is not None
    assert ["You said: one", "changed in place"] == texts(read) == [message.text for message in result["messages"]]
    client.undo(f"langgraph/{thread}")
    assert 3 == len(client.messages(f"langgraph/{thread}").messages)


def test_an_interrupted_run(saver: ReelSaver, new: Callable[..., ReelSaver], client: Client, thread: str) -> None:
    """A run that stops between a call and its result is loaded by another process, says so, and goes on."""

    def model(state: State) -> dict[str, Any]:
        return {"messages": [lc.AIMessage("", tool_calls=[CALL])] if len(state["messages"]) == 1 else [], "notes": []}

    def tool(_state: State) -> dict[str, Any]:
        return {"messages": [lc.ToolMessage(interrupt("May I?"), tool_call_id="c1")], "notes": []}

    def built(saver: ReelSaver) -> Any:
        builder = StateGraph(State)
        builder.add_node("model", model)
        builder.add_node("tool", tool)
        builder.add_edge(START, "model")
        builder.add_edge("model", "tool")
        return builder.compile(checkpointer=saver)

    built(saver).invoke({"messages": [lc.HumanMessage("one")]}, config_of(thread))
    assert ["c1"] == [call.id for call in client.agent(f"langgraph/{thread}").open_calls]
    other = built(new())
    state = other.get_state(config_of(thread))
    assert ("tool",) == state.next
    assert "May I?" == state.interrupts[0].value

    done = other.invoke(Command(resume="yes"), config_of(thread))

    assert ["one", "", "yes"] == [message.text for message in done["messages"]]
    assert [] == client.agent(f"langgraph/{thread}").open_calls


def test_a_subgraph(saver: ReelSaver, new: Callable[..., ReelSaver], thread: str) -> None:
    """The checkpoints of a subgraph have its messages, of which those of the conversation are stored once."""

    def ask(_state: State) -> dict[str, Any]:
        return {"messages": [lc.HumanMessage(interrupt("Who?"))], "notes": []}

    inner = StateGraph(State)
    inner.add_node("first", echo)
    inner.add_node("second", ask)
    inner.add_edge(START, "first")
    inner.add_edge("first", "second")

    def built(saver: ReelSaver) -> Any:
        builder = StateGraph(State)
        builder.add_node("inner", inner.compile())
        builder.add_edge(START, "inner")
        return builder.compile(checkpointer=saver)

    built(saver).invoke({"messages": [lc.HumanMessage("a question that is long enough")]}, config_of(thread))

    for reader in (saver, new()):
        within = built(reader).get_state(config_of(thread), subgraphs=True).tasks[0].state
        said = [message.text for message in within.values["messages"]]
        assert ["a question that is long enough", "You said: a question that is long enough"] == said
    done = built(new()).invoke(Command(resume="me"), config_of(thread))
    assert 3 == len(done["messages"])


def test_two_processes(new: Callable[..., ReelSaver], thread: str) -> None:
    """Of what two savers put and write at once, nothing is lost or doubled."""
    savers = [new(), new()]
    first = put(savers[0], thread, {"n": -1})
    ids: list[str] = []

    def work(saver: ReelSaver, who: str) -> None:
        for number in range(20):
            ids.append(put(saver, thread, {"n": f"{who}{number}"}, first))
            saver.put_writes(
                config_of(thread, checkpoint_ns="", checkpoint_id=first), [("n", number)], f"{who}{number}"
            )

    workers = [threading.Thread(target=work, args=(saver, who)) for saver, who in zip(savers, "ab", strict=True)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    for reader in (*savers, new()):
        found = {each.config["configurable"]["checkpoint_id"]: each for each in reader.list(config_of(thread))}
        assert {first, *ids} == found.keys()
        assert 40 == len(ids)
        written = found[first].pending_writes or []
        assert sorted((f"{who}{number}", "n", number) for who in "ab" for number in range(20)) == sorted(written)


def test_writes_that_wait_for_each_other(saver: ReelSaver, thread: str) -> None:
    """What many tasks write at once is added together, and each is told of its own fate only."""
    first = put(saver, thread, {"n": 1})
    place = config_of(thread, checkpoint_ns="", checkpoint_id=first)
    wrong: list[Exception] = []

    async def write(number: int) -> None:
        try:
            path = "x" * (17 << 20) if number == 7 else "path"
            await saver.aput_writes(place, [("n", number)], f"task-{number}", path)
        except TooLarge as error:
            wrong.append(error)

    async def run() -> None:
        await asyncio.gather(*map(write, range(20)))

    asyncio.run(run())

    found = saver.get_tuple(place)
    assert found is not None
    assert 1 == len(wrong)
    assert {*range(20)} - {7} == {value for _, _, value in found.pending_writes or []}


def test_writes_that_wait_for_a_checkpoint(saver: ReelSaver, client: Client, thread: str) -> None:
    """What a task writes while a checkpoint is about to be put is one command with it."""
    place = config_of(thread, checkpoint_ns="", checkpoint_id=put(saver, thread, {"n": 1}))
    known = saver._threads.of(thread)
    writing = threading.Thread(target=saver.put_writes, args=(place, [("n", 2)], "task"))
    with known.lock:
        writing.start()
        deadline = time.monotonic() + PATIENCE
        while not known.posts.first(1000) and time.monotonic() < deadline:
            time.sleep(0.001)  # between two looks
        put(saver, thread, {"n": 3})
    writing.join()

    created, *events = client.history(f"langgraph/{thread}").events
    assert [1, 1, 3, 3] == [event["command"] for event in (created, *events)]
    found = saver.get_tuple(place)
    assert found is not None
    assert [("task", "n", 2)] == found.pending_writes


def test_the_daemon_is_killed_and_restarted(saver: ReelSaver, daemon: Daemon, thread: str) -> None:
    """A run during which the daemon is killed waits for it, and ends as it would have."""

    def answer(state: State) -> dict[str, Any]:
        daemon.process.kill()
        daemon.process.wait()
        starting.start()
        return echo(state)

    starting = threading.Thread(target=daemon.start)
    done = chat(answer, saver).invoke({"messages": [lc.HumanMessage("one")]}, config_of(thread))
    starting.join()

    found = saver.get_tuple(config_of(thread))
    assert found is not None
    assert ["one", "You said: one"] == texts(found) == [message.text for message in done["messages"]]


@pytest.mark.parametrize("is_running", [False, True], ids=["between runs", "in a run"])
def test_a_backup_is_restored(*, is_running: bool, tmp_path: Path) -> None:
    """A saver has read what is not in the backup, and others have written as much since: what they wrote counts."""
    one, two, three = (lc.HumanMessage(text, id=text) for text in ("one", "two", "three"))
    with short_directory() as directory:
        daemon = Daemon(directory).start()
        saver, other = (ReelSaver(socket=daemon.socket) for _ in range(2))
        first = put(saver, "t", {"messages": [one]})
        with daemon.client() as client:
            client.backup(str(tmp_path / "backup.db"))
            second = put(saver, "t", {"messages": [one, two]}, first)
            head = client.agent("langgraph/t").head
        daemon.put_back(tmp_path / "backup.db")
        with daemon.client() as client:
            client.add("langgraph/t", ["theirs"] * (head - client.agent("langgraph/t").head))
            if is_running:
                put(saver, "t", {"messages": [one, two, three]}, second)

            found = [texts(each.get_tuple(config_of("t"))) for each in (saver, other)]
            shown = [str(message["content"]) for message in client.iter_conversation("langgraph/t")]
        assert shown == found[0] == found[1]
        assert ["one", "theirs"] == shown[:2]
        assert ["two", "three"] == shown[-2:] or not is_running
        for each in (saver, other):
            each.close()
        daemon.close()


def test_a_cancelled_call_is_done(saver: ReelSaver, thread: str) -> None:
    """A call that is cancelled is carried out all the same, and the caller hears of the cancellation after that."""

    async def run() -> Any:
        putting = asyncio.ensure_future(
            saver.aput(config_of(thread, checkpoint_ns=""), empty_checkpoint(), {"step": 7}, {})
        )
        await asyncio.sleep(0)
        putting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await putting
        return await saver.aget_tuple(config_of(thread))

    assert 7 == asyncio.run(run()).metadata["step"]


def test_an_async_graph(saver: ReelSaver, thread: str) -> None:
    """A graph may be awaited, in one event loop after the other."""

    async def answer(state: State) -> dict[str, Any]:
        return echo(state)

    graph = chat(answer, saver)
    for text in ("one", "two"):
        done = asyncio.run(graph.ainvoke({"messages": [lc.HumanMessage(text)]}, config_of(thread)))

    assert ["one", "You said: one", "two", "You said: two"] == [message.text for message in done["messages"]]


def test_unchanged_channels_are_stored_once(saver: ReelSaver, new: Callable[..., ReelSaver], client: Client) -> None:
    """A value whose version did not change is not stored again."""
    thread, large = "unchanged", ["zygomorphic" * 100]
    first = put(saver, thread, {"large": large, "n": 1})
    second = empty_checkpoint()
    known = saver.get_tuple(config_of(thread))
    assert known is not None
    versions = known.checkpoint["channel_versions"]
    second["channel_values"] = {"large": large, "n": 2}
    second["channel_versions"] = {**versions, "n": 1000}
    saver.put(config_of(thread, checkpoint_ns="", checkpoint_id=first), second, {"step": 2}, {"n": 1000})

    stored = [event["data_json"] or "" for event in client.history(f"langgraph/{thread}").events]
    assert 1 == sum("zygomorphic" in text for text in stored)
    for reader in (saver, new()):
        found = reader.get_tuple(config_of(thread))
        assert found is not None
        assert {"large": large, "n": 2} == found.checkpoint["channel_values"]


def test_delete_and_prune(saver: ReelSaver, client: Client, daemon: Daemon, thread: str) -> None:
    """A deleted thread is in no file any more; of pruned ones, what the newest needs is read."""
    secret = f"secret-{uuid4().hex}"
    first = put(saver, thread, {"messages": [lc.HumanMessage(secret)], "n": 1})
    place = config_of(thread, checkpoint_ns="", checkpoint_id=first)
    saver.put_writes(place, [("deltas", 5)], "task")
    state = empty_checkpoint() | {
        "channel_values": {},
        "channel_versions": {"messages": 1, "n": 1, "deltas": 1},
    }
    second = saver.put(place, state, {}, {})["configurable"]["checkpoint_id"]

    saver.prune([thread])

    assert saver.get_tuple(place) is None
    latest = config_of(thread, checkpoint_ns="", checkpoint_id=second)
    assert {"deltas": {"writes": [("task", "deltas", 5)]}} == saver.get_delta_channel_history(
        config=latest, channels=["deltas"]
    )
    seeds = saver.get_delta_channel_history(config=config_of(thread), channels=["messages", "n"])
    assert [lc.HumanMessage(secret)] == seeds["messages"]["seed"]
    assert 1 == seeds["n"]["seed"]
    saver.delete_thread(thread)
    assert [] == [*saver.list(config_of(thread))]
    client.stats()
    found = [path for path in Path(daemon.database).parent.glob("r.db*") if secret.encode() in path.read_bytes()]
    assert [] == found
    assert put(saver, thread, {"n": 2}) == next(saver.list(config_of(thread))).checkpoint["id"]
    with pytest.raises(InvalidParams, match="strategy: expected keep_latest or delete, got 'some'"):
        saver.prune([thread], strategy="some")


def test_a_thread_that_another_process_deleted(new: Callable[..., ReelSaver], thread: str) -> None:
    """A saver that still has it in memory begins it again."""
    one, other = new(), new()
    first = put(one, thread, {"n": 1})
    other.delete_thread(thread)
    one.put_writes(config_of(thread, checkpoint_ns="", checkpoint_id=first), [("n", 2)], "task")
    other.delete_thread(thread)
    second = put(one, thread, {"n": 3}, first)

    assert [second] == [found.checkpoint["id"] for found in other.list(config_of(thread))]


@pytest.mark.parametrize("by", ["itself", "another process"])
@pytest.mark.parametrize("nested", [False, True])
def test_a_run_that_outlives_its_thread(
    new: Callable[..., ReelSaver], client: Client, thread: str, by: str, nested: bool
) -> None:
    """What it puts afterwards has nothing of what was deleted, and the thread goes on with that."""
    secret = f"secret-{uuid4().hex}"
    live = new()
    deleting = live if by == "itself" else new()

    class State(TypedDict):
        messages: Annotated[list[Any], add_messages]
        note: str

    def answer(state: Any) -> Any:
        if state["messages"][-1].text == "two":
            deleting.delete_thread(thread)
        return {"messages": [lc.AIMessage(f"answer {len(state['messages'])}")]}

    inner: Any = answer
    if nested:
        within = StateGraph(State)
        within.add_node("inner", answer)
        within.add_edge(START, "inner")
        inner = within.compile()
    builder = StateGraph(State)
    builder.add_node("first", inner)
    builder.add_node("second", lambda state: {"messages": [lc.AIMessage(f"after {len(state['messages'])}")]})
    builder.add_edge(START, "first")
    builder.add_edge("first", "second")
    graph = builder.compile(checkpointer=live)
    graph.invoke({"messages": [("user", secret)], "note": secret}, config_of(thread))
    graph.invoke({"messages": [("user", "two")]}, config_of(thread))

    assert [] == [event["seq"] for event in client.iter_history(f"langgraph/{thread}") if secret in str(event)]
    left = graph.get_state(config_of(thread)).values
    assert "note" not in left
    graph.invoke({"messages": [("user", "three")]}, config_of(thread))
    assert [*[message.text for message in left["messages"]], "three"] == [
        message.text for message in graph.get_state(config_of(thread)).values["messages"]
    ][: len(left["messages"]) + 1]


def test_copies(saver: ReelSaver, thread: str) -> None:
    """A copy goes on by itself, and outlives its source; one onto a thread that exists adds to it."""
    graph = chat(echo, saver)
    graph.invoke({"messages": [lc.HumanMessage("one")]}, config_of(thread))
    target, other = f"{thread}-copy", "a copy \0 with an id that is no name"
    source = [found._replace(config=None, parent_config=None) for found in saver.list(config_of(thread))]

    for name in (target, other):
        saver.copy_thread(thread, name)
        copied = [*saver.list(config_of(name))]
        assert source == [found._replace(config=None, parent_config=None) for found in copied]
        assert {name} == {found.config["configurable"]["thread_id"] for found in copied}
    saver.copy_thread(thread, thread)
    chat(echo, saver).invoke({"messages": [lc.HumanMessage("two")]}, config_of(target))
    chat(echo, saver).invoke({"messages": [lc.HumanMessage("three")]}, config_of(thread))
    saver.copy_thread(thread, target)
    merged = [found.checkpoint["channel_values"].get("messages", []) for found in saver.list(config_of(target))]
    assert {"one", "two", "three"} <= {message.text for found in merged for message in found}
    assert 9 == len(merged)
    saver.delete_thread(thread)

    assert other in {found.config["configurable"]["thread_id"] for found in saver.list(None)}
    assert 3 == len([*saver.list(config_of(other))])


def test_a_number_as_an_id(saver: ReelSaver) -> None:
    """A thread whose id is a number in the config is copied, pruned and deleted by that number."""
    number: Any = next(_NUMBERS) + 1_000_000
    put(saver, number, {"n": 1})
    put(saver, number, {"n": 2})

    saver.copy_thread(number, number + 1)
    saver.prune([number])
    assert [1, 2] == [len(list(saver.list(config_of(each)))) for each in (number, number + 1)]
    saver.delete_thread(number)
    assert saver.get_tuple(config_of(number)) is None


def test_more_threads_than_are_in_memory(new: Callable[..., ReelSaver]) -> None:
    """All threads are listed, the newest checkpoint first."""
    saver = new(prefix="many/")
    ids = [put(saver, f"t{number}", {"n": number}) for number in range(70)]

    found = [*saver.list(None)]

    assert ids[::-1] == [each.checkpoint["id"] for each in found]
    assert [{"n": number} for number in reversed(range(70))] == [each.checkpoint["channel_values"] for each in found]


def test_an_encrypting_serializer(new: Callable[..., ReelSaver], client: Client, thread: str) -> None:
    """With a serializer that encrypts, nothing that was said can be read in the log."""

    class Cipher:
        def encrypt(self, data: bytes) -> tuple[str, bytes]:
            return "xor", bytes(byte ^ 42 for byte in data)

        def decrypt(self, _name: str, data: bytes) -> bytes:
            return bytes(byte ^ 42 for byte in data)

    serde = EncryptedSerializer(Cipher())
    chat(echo, new(serde=serde)).invoke({"messages": [lc.HumanMessage("zygomorphic")]}, config_of(thread))

    assert "zygomorphic" not in json.dumps(client.history(f"langgraph/{thread}").events)
    found = new(serde=serde).get_tuple(config_of(thread))
    assert found is not None
    assert ["zygomorphic", "You said: zygomorphic"] == texts(found)


def test_a_redaction(saver: ReelSaver, new: Callable[..., ReelSaver], client: Client, thread: str) -> None:
    """What is redacted is gone from messages and values, and the thread is loaded all the same."""
    graph = chat(echo, saver)
    name = f"langgraph/{thread}"
    graph.invoke({"messages": [lc.HumanMessage("my zygomorphic secret")]}, config_of(thread))
    graph.invoke({"messages": [lc.HumanMessage("two")]}, config_of(thread))

    client.redact(name, text="zygomorphic secret")

    assert "zygomorphic" not in json.dumps(client.history(name).events)
    for reader in (saver, new()):
        state = chat(echo, reader).get_state(config_of(thread))
        assert 4 == len(state.values["messages"])
        assert state.values["messages"][0].text.startswith("my [redacted")
        assert ["asked", "asked"] == state.values["notes"]
    seqs = [event["seq"] for event in client.history(name).events if event["kind"] == "command"]
    client.redact(name, seqs=seqs)
    assert ["update"] == [found.metadata["source"] for found in saver.list(config_of(thread))]
    again = graph.invoke({"messages": [lc.HumanMessage("three")]}, config_of(thread))
    assert ["two", "You said: two", "three", "You said: three"] == [message.text for message in again["messages"][2:]]


def test_a_conversation_that_is_taken_over(
    saver: ReelSaver, new: Callable[..., ReelSaver], client: Client, thread: str
) -> None:
    """The graph goes on with a conversation that somebody cloned into its agent."""
    graph, name = chat(echo, saver), f"langgraph/{thread}"
    graph.invoke({"messages": [lc.HumanMessage("one")]}, config_of(thread))
    client.add("elsewhere", ["What is a reel?", {"role": "assistant", "content": "A spool."}], create=True)
    client.clone("elsewhere", into=name)

    done = graph.invoke({"messages": [lc.HumanMessage("two")]}, config_of(thread))

    expected = ["What is a reel?", "A spool.", "two", "You said: two"]
    assert expected == [message.text for message in done["messages"]]
    for reader in (saver, new()):
        assert expected == [m.text for m in chat(echo, reader).get_state(config_of(thread)).values["messages"]]

    def forget(state: State) -> dict[str, Any]:
        return {"messages": [RemoveMessage(message.id) for message in state["messages"][1:]], "notes": []}

    chat(forget, saver).invoke({"messages": [lc.HumanMessage("three")]}, config_of(thread))
    assert ["What is a reel?"] == [m.text for m in graph.get_state(config_of(thread)).values["messages"]]


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_conversation_that_others_have_begun(
    new: Callable[..., ReelSaver], client: Client, thread: str, durability: Any
) -> None:
    """The first turn of a graph goes on with the messages that are there; later that state is read as any other."""
    client.create(thread, system="You are brief.")
    client.add(thread, ["What is a reel?", {"role": "assistant", "content": "A spool."}])
    saver = new(prefix="")
    state = chat(echo, saver).get_state(config_of(thread))
    assert ["What is a reel?", "A spool."] == [message.text for message in state.values["messages"]]
    assert [state] == [*chat(echo, new(prefix="")).get_state_history(config_of(thread))]

    def answer(state: State) -> dict[str, Any]:
        client.add(thread, "by the way")
        return echo(state)

    asked = {"messages": [lc.HumanMessage("two")]}
    done = chat(answer, saver).invoke(asked, config_of(thread), durability=durability)

    expected = ["What is a reel?", "A spool.", "two", "You said: two"]
    assert expected == [message.text for message in done["messages"]]
    for reader in (saver, new(prefix="")):
        live = reader.get_tuple(config_of(thread))
        assert live is not None
        assert {*expected, "by the way"} == {*texts(live)}
        assert 5 == len(texts(live)) == len(client.messages(thread).messages)
        *_, first = reader.list(config_of(thread))
        assert ("update", expected[:2]) == (first.metadata["source"], texts(first))
        assert first == reader.get_tuple(first.config)
        assert state.config == first.config


def test_a_branch_from_what_others_have_begun(new: Callable[..., ReelSaver], client: Client, thread: str) -> None:
    """What a graph has made of it can be left again, and a message that it removes is removed."""
    client.add(thread, ["What is a reel?", {"role": "assistant", "content": "A spool."}], create=True)
    saver = new(prefix="")
    graph = chat(echo, saver)
    (begun,) = graph.get_state_history(config_of(thread))
    removed = lc.RemoveMessage(begun.values["messages"][0].id)
    graph.invoke({"messages": [removed, lc.HumanMessage("two")]}, config_of(thread))
    assert ["A spool.", "two", "You said: two"] == [
        m["content"][0]["text"]  # type: ignore[typeddict-item]
        for m in client.messages(thread).messages
    ]

    done = chat(echo, new(prefix="")).invoke({"messages": [lc.HumanMessage("three")]}, begun.config)

    assert ["What is a reel?", "A spool.", "three", "You said: three"] == [m.text for m in done["messages"]]


def test_messages_of_others(saver: ReelSaver, client: Client, thread: str) -> None:
    """Calls, results, thinking, files and prompts that another program added are messages of the framework."""
    put(saver, thread, {"messages": []})
    picture: Any = {"type": "media", "mime_type": "image/png", "data_base64": PICTURE}
    added: list[Any] = [
        {"role": "system", "content": "Not a message."},
        {"role": "user", "content": "Be brief.", "provider_metadata": {"role": "developer"}},
        {"role": "user", "content": [{"type": "text", "text": "What is it?"}, picture]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "text": "Hm.", "signature": "c2ln", "provider": "anthropic"},
                {"type": "redacted_thinking", "data": "x", "provider": "anthropic"},
                {"type": "opaque", "provider": "openai", "data_json": '{"type": "web"}'},
                {"type": "tool_call", "id": "c1", "name": "f", "arguments": '{"a": 1}'},
                {"type": "tool_call", "id": "c2", "name": "f", "arguments": "{"},
            ],
        },
        {
            "role": "tool",
            "content": [
                {"type": "tool_result", "tool_call_id": "c1", "content": "one"},
                {"type": "tool_result", "tool_call_id": "c2", "content": [picture], "is_error": True},
            ],
        },
    ]
    client.add(f"langgraph/{thread}", added)

    found = saver.get_tuple(config_of(thread))
    assert found is not None
    system, asked, called, *results = found.checkpoint["channel_values"]["messages"]

    assert ("system", "Be brief.") == (system.type, system.content)
    assert ["text", "image"] == [part["type"] for part in asked.content]
    assert ["reasoning", "non_standard", "non_standard"] == [part["type"] for part in called.content]
    assert [{"name": "f", "args": {"a": 1}, "id": "c1", "type": "tool_call"}] == called.tool_calls
    assert ["c2"] == [call["id"] for call in called.invalid_tool_calls]
    assert [("c1", "success"), ("c2", "error")] == [(each.tool_call_id, each.status) for each in results]
    assert 5 == len({message.id for message in (system, asked, called, *results)})
    before = client.agent(f"langgraph/{thread}").messages
    put(saver, thread, {"messages": [system, asked, called, *results, lc.AIMessage("A picture.")]})
    assert before + 1 == client.agent(f"langgraph/{thread}").messages


@pytest.mark.parametrize("name", ["x" * 10_000, "a\0b", "🎞 tape", "\ud800", "", "/etc/passwd", "01a2" * 8])
def test_an_id_that_is_not_a_name(name: str, new: Callable[..., ReelSaver]) -> None:
    """A thread may have any id, also one that cannot be the name of an agent."""
    saver = new(prefix=f"odd-{next(_NUMBERS)}/")
    put(saver, name, {"n": 1}, space="a:\0|🎞")

    found = [*saver.list(None)]

    assert [{"thread_id": name, "checkpoint_ns": "a:\0|🎞", "checkpoint_id": found[0].checkpoint["id"]}] == [
        each.config["configurable"] for each in found
    ]


@pytest.fixture(scope="module")
def narrow() -> Iterator[Daemon]:
    """A daemon that takes requests of 200 kB, so that a turn of several is short."""
    with short_directory() as directory:
        daemon = ForkedDaemon(directory)
        daemon.environment = {**os.environ, "REEL_CONNECTION_MESSAGE": "200000"}
        yield daemon.start()
        daemon.close()


LONG = [lc.HumanMessage("x" * 50_000, id=f"m{number}") for number in range(8)]


def test_a_long_list_of_messages(narrow: Daemon) -> None:
    """What fits into a request is one command, and more is several; a value that is too large is refused first."""
    saver, reader = ReelSaver(socket=narrow.socket), ReelSaver(socket=narrow.socket)
    put(saver, "long", {"messages": LONG[:3]})
    with narrow.client() as client:
        assert {1} == {event["command"] for event in client.iter_history("langgraph/long")}
    put(saver, "long", {"messages": LONG[::-1]})
    put(saver, "long", {"messages": LONG[:-1]})

    with pytest.raises(TooLarge):
        put(saver, "long", {"messages": [], "n": "x" * 200_000})
    with pytest.raises(TooLarge):
        put(saver, "long", {"messages": [*reversed(LONG), lc.HumanMessage("x" * 200_000)]})

    found = reader.get_tuple(config_of("long"))
    saver.close()
    reader.close()
    assert found is not None
    assert LONG[:-1] == found.checkpoint["channel_values"]["messages"]


# A program that dies when the first of several commands of a turn is written.
_DYING = """
import os, signal, sys
from reel.integrations.langgraph import ReelSaver
from reel.sync.client import Client
from tests.sdks.test_langgraph import LONG, config_of, put

add = Client.add

def add_and_die(*given, **options):
    add(*given, **options)
    os.kill(os.getpid(), signal.SIGKILL)

saver = ReelSaver(socket=sys.argv[1])
saver.get_tuple(config_of("dying"))
Client.add = add_and_die
put(saver, "dying", {"messages": LONG}, sys.argv[2])
"""


def test_death_between_the_commands_of_a_turn(narrow: Daemon) -> None:
    """What is written of the messages is read at the next turn; the same turn again doubles none of them."""
    saver = ReelSaver(socket=narrow.socket)
    first = put(saver, "dying", {"messages": []})
    command = [sys.executable, "-c", _DYING, narrow.socket, first]
    died = subprocess.run(command, cwd=Path(__file__).parents[2], check=False, timeout=PATIENCE)
    assert -signal.SIGKILL == died.returncode

    found = saver.get_tuple(config_of("dying"))
    assert found is not None
    assert first == found.checkpoint["id"]
    assert LONG[:3] == found.checkpoint["channel_values"]["messages"]
    put(saver, "dying", {"messages": LONG}, first)

    with narrow.client() as client:
        assert 8 == len(client.messages("langgraph/dying").messages)
    saver.close()


def test_what_is_refused(saver: ReelSaver, client: Client, thread: str) -> None:
    """A config without a thread, a prefix of no name, a killed agent and a daemon that is away are told as such."""
    with pytest.raises(InvalidParams, match="config: expected"):
        saver.get_tuple({"configurable": {}})
    with pytest.raises(InvalidParams, match="config: expected the checkpoint_id"):
        saver.put_writes(config_of(thread), [("n", 1)], "task")
    with pytest.raises(InvalidParams, match="prefix: "):
        ReelSaver(prefix=" ")
    put(saver, thread, {"n": 1})
    client.kill(f"langgraph/{thread}")
    assert saver.get_tuple(config_of(thread)) is not None
    with pytest.raises(Killed):
        put(saver, thread, {"n": 2})
    with pytest.raises(NotRunning, match="/nowhere"):
        ReelSaver(socket="/nowhere").get_tuple(config_of(thread))


def test_versions(saver: ReelSaver) -> None:
    """A new channel counts from 1; one that another saver began goes on in its way."""
    assert [1, 2] == [saver.get_next_version(None, None), saver.get_next_version(1, None)]
    assert "00000000000000000000000000000004.0123" == saver.get_next_version(f"{3:032}.0123", None)


def test_an_allow_list(new: Callable[..., ReelSaver], thread: str) -> None:
    """A saver with other types allowed reads messages anew; one that needs no other serializer is the same."""
    strict = new(serde=JsonPlusSerializer(allowed_msgpack_modules=[("x", "Y")]))
    put(strict, thread, {"messages": [NewMessage(content="one")]})
    blocked = strict.get_tuple(config_of(thread))
    assert blocked is not None
    assert "one" == blocked.checkpoint["channel_values"]["messages"][0]["content"]

    allowed = strict.with_allowlist([(NewMessage.__module__, "NewMessage")]).get_tuple(config_of(thread))

    assert allowed is not None
    assert [NewMessage(content="one")] == allowed.checkpoint["channel_values"]["messages"]
    assert (same := new(serde=SERDE)).with_allowlist([("x", "Y")]) is same


PLAIN = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text() | st.binary()
KEYS = st.text() | st.integers(-9, 9) | st.just("$ext") | st.binary() | st.tuples(st.booleans())


@given(st.recursive(PLAIN, lambda inside: st.lists(inside) | st.dictionaries(KEYS, inside) | st.frozensets(PLAIN)))
def test_any_value_as_json(value: Any) -> None:
    """The bytes that a serializer made of a value come back from JSON, byte for byte."""
    typed = SERDE.dumps_typed(value)

    assert typed == values.read(json.loads(values.to_json(values.written(typed))))


@pytest.mark.parametrize("text", ["1", "[]", '["msgpack",{"$bytes":"?"}]', '["a","b","c"]', "no JSON"])
def test_no_value(text: str) -> None:
    """What is no serialized value is a ValueError."""
    with pytest.raises(ValueError):  # noqa: PT011 - of any sort
        values.load(SERDE, text)


def test_what_a_turn_reads(saver: ReelSaver, client: Client) -> None:
    """A turn reads the log only if somebody else has written."""
    graph, config = chat(lambda _: {"messages": [lc.AIMessage("Yes.")]}, saver), config_of("counted")

    def reads() -> int:
        return sum(client.stats()["request_seconds"]["history"]["counts"])

    def turn() -> int:
        before = reads()
        graph.invoke({"messages": [lc.HumanMessage("Go on.")]}, config)
        return reads() - before

    graph.invoke({"messages": [lc.HumanMessage("Go on.")]}, config)
    turn()
    assert [0, 0, 0] == [turn() for _ in range(3)]
    client.add("langgraph/counted", "By the way.")
    assert [1, 0] == [turn(), turn()]
    assert "By the way." in [each.content for each in graph.get_state(config).values["messages"]]


@pytest.mark.parametrize("value", ["a text", None])
def test_a_channel_of_this_name_that_is_no_conversation(
    saver: ReelSaver, client: Client, thread: str, value: str | None
) -> None:
    """It keeps its value, or its lack of one, and its version, whatever others say."""
    state = empty_checkpoint()
    state["channel_values"] = {"notes": ["later"], **({} if value is None else {"messages": value})}
    state["channel_versions"] = versions = {"messages": 1, "notes": 2}
    saver.put(config_of(thread, checkpoint_ns=""), state, {"source": "loop", "step": 1}, {**versions})
    client.add(f"langgraph/{thread}", "theirs")

    found = saver.get_tuple(config_of(thread))
    assert found is not None
    assert state["channel_values"] == found.checkpoint["channel_values"]
    assert versions == found.checkpoint["channel_versions"]
