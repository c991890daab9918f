"""What only pruned checkpoints of LangGraph had is in no file any more, and all that is kept is as before."""

import json
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from operator import add
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest

from reel.base.errors import Conflict, InvalidMessage, InvalidParams, NotFound
from reel.sync.client import Client
from tests.daemon import Daemon

pytest.importorskip("langgraph.checkpoint.base", reason="langgraph is not installed")

from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, interrupt

from reel.integrations.langgraph import ReelSaver

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:langgraph", "ignore::PendingDeprecationWarning")

_NUMBERS = count()


def joined(before: list[str], writes: Any) -> list[str]:
    """Return a list with what was written to it."""
    return [*before, *(each for write in writes for each in write)]


def grown(frequency: int) -> Any:
    """Return what makes a list of what is written to it: a ``DeltaChannel``, which LangGraph 1.1 does not have yet."""
    try:
        from langgraph.channels import DeltaChannel  # noqa: PLC0415 - it may not be there
    except ImportError:
        return add
    return DeltaChannel(joined, snapshot_frequency=frequency)


class Inner(TypedDict):
    messages: Annotated[list[Any], add_messages]
    sketch: str


class State(TypedDict):
    messages: Annotated[list[Any], add_messages]
    notes: Annotated[list[str], add]
    steps: Annotated[list[str], grown(3)]
    draft: str
    once: str


def work(state: State) -> dict[str, Any]:
    """Note something, and replace the draft; a message can ask for more than that."""
    number, asked = len(state["messages"]), state["messages"][-1].text
    made: dict[str, Any] = {"notes": [f"note {number} " + "n" * 50], "steps": [f"step {number}"]}
    if "once" in asked:
        made["once"] = f"only here, and for long: {number}"
    if "forget" in asked and number > 1:
        made["messages"] = [RemoveMessage(id=state["messages"][0].id or "")]
    return {**made, "draft": f"draft {number} " + "d" * 2_000}


def answer(state: Inner) -> dict[str, Any]:
    number, asked = len(state["messages"]), state["messages"][-1].text
    said = f"answer {number}" if "ask" not in asked else f"you said {interrupt('which?')}"
    return {"messages": [AIMessage(said)], "sketch": f"sketch {number} " + "s" * 1_000}


def graph(saver: Any) -> Any:
    """Return a graph with a subgraph that has checkpoints of its own."""
    inner = StateGraph(Inner).add_node("answer", answer).add_edge(START, "answer").compile(checkpointer=True)
    outer = StateGraph(State).add_node("work", work).add_node("inner", inner)
    return outer.add_edge(START, "work").add_edge("work", "inner").compile(checkpointer=saver)


@pytest.fixture
def new(daemon: Daemon) -> Iterator[Callable[[], Any]]:
    """Make graphs, each as if it was in another process."""
    made: list[ReelSaver] = []

    def make() -> Any:
        made.append(ReelSaver(socket=daemon.socket))
        return graph(made[-1])

    yield make
    for each in made:
        each.close()


@pytest.fixture
def thread() -> str:
    return f"p-{next(_NUMBERS)}"


@pytest.fixture
def config(thread: str) -> Any:
    return {"configurable": {"thread_id": thread}}


def say(live: Any, config: Any, *texts: str) -> None:
    for text in texts:
        live.invoke({"messages": [HumanMessage(text)], "notes": []}, config)


def seen(live: Any, config: Any) -> Any:
    """Return the state, and the newest checkpoint of each namespace."""
    state = live.get_state(config)
    newest: dict[str, Any] = {}
    for each in live.checkpointer.list(config):
        newest.setdefault(each.config["configurable"]["checkpoint_ns"], each)
    return state, newest


def files(daemon: Daemon) -> list[bytes]:
    return [path.read_bytes() for path in Path(daemon.database).parent.glob("r.db*")]


def stored(client: Client, thread: str) -> int:
    """Return how many bytes the records of a thread have."""
    events = client.iter_history(f"langgraph/{thread}")
    return sum(len((event["data_json"] or "").encode()) for event in events if event["kind"] == "command")


def test_one_of_many(new: Callable[[], Any], client: Client, daemon: Daemon, thread: str, config: Any) -> None:
    """Of 20 turns, the newest checkpoint of each namespace stays; those of all others are gone."""
    live = new()
    say(live, config, *(f"question {number}" for number in range(20)))
    before, size = seen(live, config), stored(client, thread)
    assert any(b"draft 1 ddd" in each for each in files(daemon))
    in_files = sum(map(len, files(daemon)))
    live.checkpointer.prune([thread])
    client.stats()

    assert 2 == len([*live.checkpointer.list(config)])
    assert stored(client, thread) < size / 5
    assert sum(map(len, files(daemon))) < in_files - size / 2
    assert not any(b"draft 1 ddd" in each for each in files(daemon))
    assert any(b"draft 39 ddd" in each for each in files(daemon))
    for each in (live, new()):
        assert before == seen(each, config)
        assert 1 == len([*each.get_state_history(config)])
    assert [] == client.verify().problems
    left = stored(client, thread)
    live.checkpointer.prune([thread])
    assert left == stored(client, thread)
    say(live, config, "and on")
    assert 42 == len(new().get_state(config).values["messages"])
    assert 21 == len(new().get_state(config).values["notes"])


def test_what_is_not_done_yet(new: Callable[[], Any], thread: str, config: Any) -> None:
    """A question that waits for a person is answered after a prune, by another process."""
    live = new()
    say(live, config, "one", "two", "ask")
    before = seen(live, config)
    live.checkpointer.prune([thread])
    other = new()

    assert before == seen(other, config)
    assert "which?" == other.get_state(config).interrupts[0].value
    assert "which?" == other.invoke(None, config)["__interrupt__"][0].value
    other.invoke(Command(resume="this"), config)
    assert "you said this" == other.get_state(config).values["messages"][-1].text
    assert 6 == len(other.get_state(config).values["messages"])


def test_what_others_lead_to(new: Callable[[], Any], client: Client, thread: str, config: Any) -> None:
    """A clone, a mark and a redo lead to the whole state that was there; what was replaced and undone before goes."""
    live, name = new(), f"langgraph/{thread}"
    say(live, config, "a quagga", "two")
    live.checkpointer.copy_thread(thread, f"{thread}-copy")
    copied: Any = {"configurable": {"thread_id": f"{thread}-copy"}}
    say(live, config, "three")
    client.mark(name, "here")
    marked = new().get_state(config)
    say(live, config, "an okapi")
    client.undo_turn(name)
    say(live, config, "four")
    said = seen(live, config)
    client.undo(name)
    undone, history = seen(live, config), [*live.get_state_history(copied)]
    live.checkpointer.prune([thread])

    assert undone[0] == live.get_state(config)
    assert history == [*new().get_state_history(copied)]
    client.redo(name)
    assert said[0] == new().get_state(config)
    client.rewind(name, "here")
    for each in (live, new()):
        assert marked == each.get_state(config)
    say(live, config, "five")
    live.checkpointer.prune([thread])
    assert not any(word in str([*client.iter_history(name)]) for word in ("okapi", "four"))
    assert ["three", "answer 5", "five"] == [
        message.text for message in new().get_state(config).values["messages"][4:7]
    ]


def test_a_question_that_is_undone_after_a_prune(daemon: Daemon, client: Client, thread: str, config: Any) -> None:
    """A redo brings back the step that waits, although the checkpoint at the end of the redone command was pruned."""

    def ask(state: State) -> dict[str, Any]:
        return {"draft": interrupt(f"is {state['once']} right?")}

    saver, other = (ReelSaver(socket=daemon.socket) for _ in range(2))
    builder = StateGraph(State)
    builder.add_node("guess", lambda _: {"once": "this"})
    builder.add_node("ask", ask)
    builder.add_edge(START, "guess")
    builder.add_edge("guess", "ask")
    live = builder.compile(checkpointer=saver)
    live.invoke({"messages": [HumanMessage("what is it?")]}, config)
    saver.prune([thread])
    before = live.get_state(config)
    assert ("ask",) == before.next

    client.undo(f"langgraph/{thread}")
    assert () == live.get_state(config).next
    client.redo(f"langgraph/{thread}")
    for each in (live, builder.compile(checkpointer=other)):
        assert before == each.get_state(config)
    assert "yes" == live.invoke(Command(resume="yes"), config)["draft"]
    saver.close()
    other.close()


def test_a_copy_that_is_pruned(new: Callable[[], Any], client: Client, thread: str, config: Any) -> None:
    """A clone loses what is its own; what it has from its source stays there, and so does the source."""
    live = new()
    say(live, config, "one", "two")
    live.checkpointer.copy_thread(thread, f"{thread}-copy")
    copied: Any = {"configurable": {"thread_id": f"{thread}-copy"}}
    say(live, copied, "three", "four")
    source, before, size = stored(client, thread), seen(live, copied), stored(client, f"{thread}-copy")
    history = [*live.get_state_history(config)]
    live.checkpointer.prune([f"{thread}-copy"])

    assert before == seen(new(), copied)
    assert source == stored(client, thread)
    assert history == [*new().get_state_history(config)]
    assert stored(client, f"{thread}-copy") < size
    live.checkpointer.prune([thread])
    assert before == seen(new(), copied)


def test_runs_that_are_deleted(
    new: Callable[[], Any], client: Client, daemon: Daemon, thread: str, config: Any
) -> None:
    """What only the checkpoints of a run had is gone, and those of the others are as before."""
    live = new()
    say(live, config, "one")
    run = "7c0f4a52-0000-4000-8000-000000000001"
    live.invoke({"messages": [HumanMessage("two")], "notes": []}, {**config, "metadata": {"run_id": run}})
    say(live, config, "three")
    others = [each for each in live.checkpointer.list(config) if each.metadata.get("run_id") != run]
    assert len(others) < len([*live.checkpointer.list(config)])
    size = stored(client, thread)
    live.checkpointer.delete_for_runs([run])
    client.stats()

    assert others == [*new().checkpointer.list(config)]
    assert stored(client, thread) < size - 3_000
    assert any(b"draft 3 ddd" in each for each in files(daemon))  # the next run began with it


def test_what_a_prune_left_undone(new: Callable[[], Any], client: Client, thread: str, config: Any) -> None:
    """Checkpoints that were hidden by a saver that died before the rest lose what they have next time."""
    live = new()
    say(live, config, "one", "two", "three")
    before, size = seen(live, config), stored(client, thread)
    newest = {each.checkpoint["id"] for each in before[1].values()}
    hidden = [
        [each.config["configurable"]["checkpoint_ns"], each.checkpoint["id"]]
        for each in live.checkpointer.list(config)
        if each.checkpoint["id"] not in newest
    ]
    client.add(
        f"langgraph/{thread}",
        [{"kind": "command", "data_json": json.dumps({"langgraph": {"delete": hidden}})}],
    )
    assert size <= stored(client, thread)
    live.checkpointer.prune([thread])

    assert stored(client, thread) < size / 2
    assert before == seen(new(), config)


def test_a_run_beside_a_prune(new: Callable[[], Any], thread: str, config: Any) -> None:
    """A run in another process goes on from a checkpoint that was pruned in the middle of its step."""
    live, other = new(), new()
    say(live, config, "one", "two")
    stream = live.stream({"messages": [HumanMessage("three")], "notes": []}, config, durability="sync")
    other.checkpointer.prune([thread])
    for _ in stream:
        other.checkpointer.prune([thread])

    for each in (live, new()):
        values = each.get_state(config).values
        assert (6, 3, 3) == tuple(len(values[channel]) for channel in ("messages", "notes", "steps"))


_WORDS = ("plain", "once", "forget", "ask")


@pytest.mark.parametrize("seed", range(3))
def test_any_program(new: Callable[[], Any], client: Client, thread: str, config: Any, seed: int) -> None:
    """After any prune, each kept checkpoint is as before, and the graph goes on as one that is never pruned."""
    chosen, live, whole = random.Random(seed), new(), new()
    other: Any = {"configurable": {"thread_id": f"{thread}-whole"}}
    names = [f"langgraph/{thread}", f"langgraph/{thread}-whole"]
    # Where both stood after each step since the last prune. An undo would not take the same from both: in which order a
    # step stores its checkpoint and its writes depends on which thread is quicker.
    stood: list[list[int]] = []
    for _ in range(12):
        match chosen.choice(("say", "say", "say", "fork", "back", "prune")):
            case "say":
                text = chosen.choice(_WORDS)
                for each, place in ((live, config), (whole, other)):
                    if each.get_state(place).interrupts:
                        each.invoke(Command(resume="that"), place)
                    say(each, place, text)
            case "fork":
                for each, place in ((live, config), (whole, other)):
                    each.update_state(place, {"notes": ["from outside"]})
            case "back":
                for name, seq in zip(names, chosen.choice(stood) if stood else (), strict=False):
                    client.restore(name, seq)
            case _:
                stood = []
                before = seen(live, config)
                live.checkpointer.prune([thread])
                assert before == seen(live, config) == seen(new(), config)
        assert shape(whole, other) == shape(live, config)
        with suppress(NotFound):
            stood.append([client.agent(name).head for name in names])


def shape(live: Any, config: Any) -> Any:
    """Return what does not tell threads apart."""
    state = live.get_state(config)
    values = {key: value for key, value in state.values.items() if key != "messages"}
    return [message.text for message in state.values.get("messages", ())], values, state.next


def leads_back(client: Client, name: str, before: int, mark: str) -> list[Callable[[], Any]]:
    """Return what would lead to what a thread was at a seq, or at a mark."""
    kind = {"data_json": json.dumps({"to": before})}
    return [
        lambda: client.undo(name),
        lambda: client.undo_turn(name),
        lambda: client.restore(name, before),
        lambda: client.clone(name, f"{name}-then", at=before),
        lambda: client.append(name, [{"kind": "restore", **kind}]),
        lambda: client.rewind(name, mark),
    ]


Hidden = TypedDict("Hidden", {"__steps": Annotated[list[str], grown(5)], "text": str})


def test_a_channel_whose_name_begins_like_those_of_the_framework(
    new: Callable[[], Any], thread: str, config: Any
) -> None:
    """A graph may have one; what was written to it stays as far as a kept checkpoint is made from it."""
    saver = new().checkpointer
    builder = StateGraph(Hidden).add_node("work", lambda state: {"__steps": [state["text"]]}).add_edge(START, "work")
    live = builder.compile(checkpointer=saver)
    for number in range(4):
        live.invoke({"text": f"step {number}"}, config)
    before = live.get_state(config).values
    assert 4 == len(before["__steps"])
    saver.prune([thread])
    other = builder.compile(checkpointer=new().checkpointer)
    assert before == live.get_state(config).values == other.get_state(config).values


def test_a_way_back_to_what_is_gone(new: Callable[[], Any], client: Client, thread: str, config: Any) -> None:
    """Whatever would lead before the kept checkpoint is refused, and changes nothing; later steps can be undone."""
    live, name = new(), f"langgraph/{thread}"
    run = "7c0f4a52-0000-4000-8000-000000000002"
    live.invoke({"messages": [HumanMessage("one")], "notes": []}, {**config, "metadata": {"run_id": run}})
    client.mark(name, "here")
    between = client.agent(name).head
    said = client.messages(name, at=between)
    say(live, config, "two")
    live.checkpointer.delete_for_runs([run])
    live.checkpointer.prune([thread])
    before, history = seen(live, config), [*client.iter_history(name)]

    for go in leads_back(client, name, between, "here"):
        with pytest.raises((InvalidParams, InvalidMessage), match=r"kept beside the conversation at #\d+ was pruned"):
            go()
        assert history == [*client.iter_history(name)]
    assert said.messages == client.messages(name, at=between).messages
    for each in (live, new()):
        assert before == seen(each, config)
    client.add(name, ["from outside"])
    client.undo(name)
    client.restore(name, client.agent(name).head)
    assert before[0].values == new().get_state(config).values
    say(live, config, "three")
    kept = client.clone(name, f"{name}-copy")
    with pytest.raises(InvalidParams, match="was pruned"):
        client.restore(kept.name, between)
    client.undo_turn(name)
    assert before[0].values == new().get_state(config).values
    client.restore(name, 0)  # a thread that has not begun has nothing that could be pruned
    assert {} == new().get_state(config).values


@pytest.mark.parametrize("door", ["rewind", "restore"])
def test_a_mark_before_what_is_pruned(
    new: Callable[[], Any], client: Client, thread: str, config: Any, door: str
) -> None:
    """Both the checkpoint at a mark and the newest one before the next message stay: restore and rewind lead there."""
    live, name = new(), f"langgraph/{thread}"
    say(live, config, "one")
    mark = client.mark(name, "here").command
    marked = new().get_state(config)
    live.update_state(config, {"notes": ["later"]})
    later = new().get_state(config)
    say(live, config, "two", "three")
    live.checkpointer.prune([thread])
    if door == "rewind":
        client.rewind(name, "here")
    else:
        client.restore(name, mark)
    assert (later if door == "rewind" else marked) == new().get_state(config)


def test_the_middle_of_a_step(new: Callable[[], Any], client: Client, thread: str, config: Any) -> None:
    """A restore leads into the middle of a step that waits, in its subgraph as well, or is refused after a prune."""
    live, name = new(), f"langgraph/{thread}"
    say(live, config, "one", "two")
    begin = client.agent(name).head
    say(live, config, "ask me")
    asked, head = seen(live, config), client.agent(name).head

    def at(seq: int) -> Any:
        client.restore(name, seq)
        there = [seen(each, config) for each in (new(), live)]
        client.undo(name)
        assert there[0] == there[1]
        assert asked == seen(live, config) == seen(new(), config)
        return there[0]

    before = {seq: at(seq) for seq in range(begin, head)}
    assert 3 < len(
        {str(newest.get("inner")) for _, newest in before.values()} | {str(each[0]) for each in before.values()}
    )
    live.checkpointer.prune([thread])
    asked = seen(live, config)
    refused = set()
    for seq, expected in before.items():
        try:
            found = at(seq)
        except InvalidParams:
            refused.add(seq)
        else:
            assert expected[0].values == found[0].values
            assert expected[1]["inner"].checkpoint == found[1]["inner"].checkpoint
    assert begin in refused
    assert {*before} - refused


def test_a_copy_that_has_all(new: Callable[[], Any], client: Client, thread: str, config: Any) -> None:
    """What a copy has stays in the log of its source, where nothing goes back to it either; the copy goes back."""
    live, name = new(), f"langgraph/{thread}"
    say(live, config, "one", "two")
    live.checkpointer.copy_thread(thread, f"{thread}-copy")
    live.checkpointer.prune([thread])
    before, head = seen(live, config), client.agent(name).head
    with pytest.raises(InvalidParams, match="what a program kept beside the conversation"):
        client.undo_turn(name)
    assert (before, head) == (seen(new(), config), client.agent(name).head)
    live.checkpointer.prune([thread])
    assert head == client.agent(name).head
    client.undo_turn(f"{name}-copy")
    copied: Any = {"configurable": {"thread_id": f"{thread}-copy"}}
    assert 2 == len(new().get_state(copied).values["messages"])


def test_a_second_prune(new: Callable[[], Any], client: Client, thread: str, config: Any) -> None:
    """The checkpoint that a prune kept is gone after the next one, also for who goes back to in between."""
    live, name = new(), f"langgraph/{thread}"
    say(live, config, "one", "two")
    live.checkpointer.prune([thread])
    between = client.agent(name).head
    say(live, config, "three")
    live.checkpointer.prune([thread])
    with pytest.raises(InvalidParams, match="was pruned"):
        client.restore(name, between)
    with pytest.raises(InvalidParams, match="was pruned"):
        client.undo_turn(name)
    assert 6 == len(new().get_state(config).values["messages"])


def test_a_thread_that_others_write_to(
    new: Callable[[], Any], client: Client, thread: str, config: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A prune during which somebody always writes ends with an error; the next one removes the rest."""
    live, name = new(), f"langgraph/{thread}"
    say(live, config, "one", "two")
    size = stored(client, thread)
    ask = Client.prune

    def late(*given: Any, **more: Any) -> Any:
        client.add(name, [{"kind": "note", "content": "meanwhile"}])
        return ask(*given, **more)

    with monkeypatch.context() as patched:
        patched.setattr(Client, "prune", late)
        with pytest.raises(Conflict, match="are hidden, and still in the file; prune it again"):
            live.checkpointer.prune([thread])
    live.checkpointer.prune([thread])
    assert stored(client, thread) < size / 2


def test_a_subgraph_of_which_nothing_is_left(daemon: Daemon, client: Client, thread: str, config: Any) -> None:
    """The steps of a subgraph that are gone as a whole close no way back to what later turns were."""
    inner = StateGraph(Inner).add_node("answer", answer).add_edge(START, "answer").compile()
    saver, name, run = ReelSaver(socket=daemon.socket), f"langgraph/{thread}", "7c0f4a52-0000-4000-8000-000000000003"
    live: Any = StateGraph(State).add_node("inner", inner).add_edge(START, "inner").compile(checkpointer=saver)
    live.invoke({"messages": [HumanMessage("one")]}, {**config, "metadata": {"run_id": run}})
    first = client.agent(name).head
    say(live, config, "two")
    seq, before = client.agent(name).head, live.get_state(config)
    say(live, config, "three")
    assert any(each.config["configurable"]["checkpoint_ns"] for each in saver.list(config))
    saver.delete_for_runs([run])

    client.restore(name, seq)
    assert before.values == live.get_state(config).values
    with pytest.raises(InvalidParams, match="was pruned"):
        client.restore(name, first)
    saver.close()
