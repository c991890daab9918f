"""What others take back of a conversation, a graph of LangGraph takes back as well: values, writes and what is next."""

from collections.abc import Callable, Iterator
from itertools import count
from operator import add
from typing import Annotated, Any, TypedDict

import pytest

from reel.sync.client import Client
from tests.daemon import Daemon

pytest.importorskip("langgraph.checkpoint.base", reason="langgraph is not installed")

from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages
from langgraph.types import Command, interrupt

from reel.integrations.langgraph import ReelSaver

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:langgraph", "ignore::PendingDeprecationWarning")

_NUMBERS = count()


class State(TypedDict):
    messages: Annotated[list[Any], add_messages]
    notes: Annotated[list[str], add]
    turns: int


def plan(state: State) -> dict[str, Any]:
    """Note something, without a word."""
    return {"notes": [f"plan {len(state['messages'])}"]}


def model(state: State) -> dict[str, Any]:
    """Answer, and count the turns."""
    return {"messages": [AIMessage(f"answer {len(state['messages'])}")], "turns": state.get("turns", 0) + 1}


def graph(saver: Any) -> Any:
    """Return a graph of two nodes, of which only the second one speaks."""
    builder = StateGraph(State)
    builder.add_node("plan", plan)
    builder.add_node("model", model)
    builder.add_edge(START, "plan")
    builder.add_edge("plan", "model")
    return builder.compile(checkpointer=saver)


def shape(state: Any) -> Any:
    """Return what a person sees of a state, and what the graph does next."""
    values = {key: value for key, value in state.values.items() if key != "messages"}
    return [message.text for message in state.values.get("messages", ())], values, state.next


@pytest.fixture
def thread() -> str:
    return f"u-{next(_NUMBERS)}"


@pytest.fixture
def name(thread: str) -> str:
    """The agent of the thread."""
    return f"langgraph/{thread}"


@pytest.fixture
def config(thread: str) -> Any:
    return {"configurable": {"thread_id": thread}}


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


def turns(of: Any, config: Any, *said: str) -> None:
    for text in said:
        of.invoke({"messages": [HumanMessage(text)]}, config)


def states(of: Any, config: Any) -> list[Any]:
    """Return the history, the newest first."""
    return [shape(state) for state in of.get_state_history(config)]


def test_undos_and_redos(new: Callable[[], Any], client: Client, name: str, config: Any) -> None:
    """After each undo and redo, the state and its history are those that the vendor's saver had at that step."""
    vendor, live = graph(InMemorySaver()), new()
    for each in (vendor, live):
        turns(each, config, "one", "two")
    expected = states(vendor, config)
    # Of the newest: the whole, the turn without its answer, and without its question; then the same of the first.
    places = [0, 1, 4, 5]
    assert [(), ("model",), (), ("model",)] == [expected[place][2] for place in places]

    for place in places[1:]:
        client.undo(name)
        for reader in (live, new()):
            assert expected[place] == shape(reader.get_state(config))
            assert expected[place:] == states(reader, config)
    client.undo(name)
    assert [] == states(live, config)
    for place in reversed(places):
        client.redo(name)
        for reader in (live, new()):
            assert expected[place] == shape(reader.get_state(config))
            assert expected[place:] == states(reader, config)


def test_a_step_that_was_undone_runs_again(new: Callable[[], Any], client: Client, name: str, config: Any) -> None:
    """Without an input, the graph goes on before the answer; what it does then is the only history."""
    live = new()
    turns(live, config, "one", "two")
    before = states(live, config)
    client.undo(name)

    live.invoke(None, config)

    for reader in (live, new()):
        assert before == states(reader, config)
    client.undo(name)
    client.undo(name)
    live.invoke(None, config)
    assert before[4:] == states(live, config)
    turns(live, config, "two")
    assert before == states(new(), config)


@pytest.mark.parametrize("back", ["restore", "rewind", "replace with nothing"])
def test_other_ways_back(new: Callable[[], Any], client: Client, name: str, config: Any, back: str) -> None:
    """A restore, a rewind to a mark, and a message that is removed with all later ones take a turn back."""
    live = new()
    turns(live, config, "one")
    expected = states(live, config)
    head = client.mark(name, "here").head
    turns(live, config, "two")

    if back == "restore":
        client.restore(name, head)
    elif back == "rewind":
        client.rewind(name, "here")
    else:
        client.add(name, [], from_=client.messages(name).messages[2]["seq"])

    for reader in (live, new()):
        assert expected == states(reader, config)
    turns(live, config, "three")
    assert (["one", "answer 1", "three", "answer 3"], 2) == (
        shape(live.get_state(config))[0],
        states(live, config)[0][1]["turns"],
    )


def test_a_restore_without_a_word(new: Callable[[], Any], client: Client, name: str, config: Any) -> None:
    """A restore takes the graph to where it was at a seq, even if nothing was said between there and here."""
    vendor, live = graph(InMemorySaver()), new()
    turns(vendor, config, "one")
    turns(live, config, "one")
    before, seq = states(vendor, config), client.agent(name).head
    live.update_state(config, {"notes": ["later"]})
    later, after = states(live, config), client.agent(name).head
    assert before == later[1:]

    client.restore(name, seq)
    for reader in (live, new()):
        assert before == states(reader, config)
    client.restore(name, after)
    for reader in (live, new()):
        assert later == states(reader, config)
    client.undo(name)
    assert before == states(live, config)
    client.undo(name)
    assert later == states(live, config)
    client.restore(name, seq)
    for each in (vendor, live):
        turns(each, config, "two")
    assert states(vendor, config) == states(new(), config)


def test_what_is_no_way_back(new: Callable[[], Any], client: Client, name: str, config: Any) -> None:
    """A message of others and its undo, an edit, a summary and a clear leave the graph where it is."""
    live = new()
    turns(live, config, "one", "two")
    values = shape(live.get_state(config))[1:]
    client.add(name, "by the way")
    client.undo(name)
    assert values == shape(live.get_state(config))[1:]
    client.add(name, "in short: one, two", from_=client.messages(name).messages[0]["seq"])
    for reader in (live, new()):
        assert (["in short: one, two"], *values) == shape(reader.get_state(config))
    client.clear(name)
    for reader in (live, new()):
        assert ([], *values) == shape(reader.get_state(config))


def forgetful(saver: Any) -> Any:
    """Return a graph that removes the oldest messages before it answers, and after that."""

    def trim(state: State) -> dict[str, Any]:
        long = len(state["messages"]) > 3
        return {"messages": [RemoveMessage(id=message.id) for message in state["messages"][:2]] if long else []}

    builder = StateGraph(State)
    builder.add_node("before", trim)
    builder.add_node("model", model)
    builder.add_node("after", trim)
    builder.add_edge(START, "before")
    builder.add_edge("before", "model")
    builder.add_edge("model", "after")
    return builder.compile(checkpointer=saver)


def test_turns_in_which_messages_were_removed(daemon: Daemon, client: Client, name: str, config: Any) -> None:
    """A turn that is taken back brings back what its steps, or its question, have removed."""
    saver = ReelSaver(socket=daemon.socket)
    vendor, live = forgetful(InMemorySaver()), forgetful(saver)
    expected = []
    for number in range(6):
        for each in (vendor, live):
            said: list[Any] = [HumanMessage(f"question {number}")]
            if number == 5:
                said.insert(0, RemoveMessage(id=each.get_state(config).values["messages"][0].id))
            state = states(each, config)
            each.invoke({"messages": said}, config)
        expected.append(state[:1])
    whole = states(live, config)
    assert whole == states(vendor, config)

    for before in reversed(expected):
        client.undo_turn(name)
        assert before == states(live, config)[:1]
    for _ in expected:
        client.undo(name)
    assert whole == states(live, config)
    saver.close()


@pytest.mark.parametrize("durability", ["sync", "exit"])
def test_a_question_that_replaced_all(
    new: Callable[[], Any], client: Client, name: str, config: Any, durability: str
) -> None:
    """A question that came with the removal of all messages leaves, and they are there again."""
    live = new()
    turns(live, config, "one")
    before = states(live, config)
    said = [RemoveMessage(id=REMOVE_ALL_MESSAGES), HumanMessage("two")]
    live.invoke({"messages": said}, config, durability=durability)
    after = states(live, config)

    client.undo_turn(name)

    assert before == states(live, config)
    client.undo(name)
    assert after == states(live, config)


def test_a_question_of_others_before_a_removal(daemon: Daemon, client: Client, name: str, config: Any) -> None:
    """A question that another program asked is taken back with the step that removed messages and put it anew."""
    saver = ReelSaver(socket=daemon.socket)
    live = forgetful(saver)
    turns(live, config, "one", "two")
    before = states(live, config)
    client.add(name, "three")
    live.invoke({"messages": [AIMessage("a moment")]}, config)
    after = states(live, config)
    assert "three" in after[0][0]

    client.undo_turn(name)

    assert before[0] == states(live, config)[0]
    client.undo(name)
    assert after == states(live, config)
    saver.close()


def test_a_question_that_the_graph_refused(daemon: Daemon, client: Client, name: str, config: Any) -> None:
    """A question that a graph has removed is in no turn: the turn before it is taken back, put anew or not."""

    def refuse(state: State) -> dict[str, Any]:
        last = state["messages"][-1]
        return {"messages": [RemoveMessage(id=last.id), AIMessage("no")] if last.text == "bad" else []}

    def trim(state: State) -> dict[str, Any]:
        said = state["messages"]
        return {"messages": [RemoveMessage(id=message.id) for message in said[: max(len(said) - 3, 0)]]}

    builder = StateGraph(State)
    builder.add_node("trim", trim)
    builder.add_node("refuse", refuse)
    builder.add_edge(START, "trim")
    builder.add_edge("trim", "refuse")
    saver = ReelSaver(socket=daemon.socket)
    live = builder.compile(checkpointer=saver)
    turns(live, config, "one", "two")
    before = states(live, config)
    turns(live, config, "three", "bad")
    assert ["two", "three", "no"] == states(live, config)[0][0]

    client.undo_turn(name)

    assert before == states(live, config)
    saver.close()


@pytest.mark.parametrize("kept", [0, 1, 2])
def test_turns_that_were_summed_up(daemon: Daemon, client: Client, name: str, config: Any, kept: int) -> None:
    """A turn whose question LangChain has summed up is taken back, too: what was summed up is there again."""

    def sum_up(state: State) -> dict[str, Any]:
        if len(said := state["messages"]) < 5:
            return {}
        summary = HumanMessage(f"summary of {len(said)}", additional_kwargs={"lc_source": "summarization"})
        return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), summary, *said[len(said) - kept :]]}

    builder = StateGraph(State)
    builder.add_node("sum_up", sum_up)
    builder.add_node("model", model)
    builder.add_edge(START, "sum_up")
    builder.add_edge("sum_up", "model")
    saver = ReelSaver(socket=daemon.socket)
    live = builder.compile(checkpointer=saver)
    expected = []
    for number in range(6):
        expected.append(states(live, config)[:1])
        turns(live, config, f"question {number}")

    for before in reversed(expected):
        client.undo_turn(name)
        assert before == states(live, config)[:1]
    saver.close()


def test_a_summary_of_a_subgraph(daemon: Daemon, client: Client, name: str, config: Any) -> None:
    """A subgraph sums up for itself: the graph around it has the summary after the question, which stays."""

    def sum_up(state: State) -> dict[str, Any]:
        *_, last = state["messages"]
        summary = HumanMessage("summary", additional_kwargs={"lc_source": "summarization"})
        return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), summary, last]}

    inner = StateGraph(State)
    inner.add_node("sum_up", sum_up)
    inner.add_node("model", model)
    inner.add_edge(START, "sum_up")
    inner.add_edge("sum_up", "model")
    builder = StateGraph(State)
    builder.add_node("inner", inner.compile())
    builder.add_edge(START, "inner")
    saver = ReelSaver(socket=daemon.socket)
    live = builder.compile(checkpointer=saver)
    turns(live, config, "one")
    before = states(live, config)
    turns(live, config, "two")
    assert ["two", "summary", "answer 2"] == states(live, config)[0][0][-3:]

    client.undo_turn(name)

    assert before == states(live, config)
    saver.close()


def test_what_the_graph_removes_itself(new: Callable[[], Any], config: Any) -> None:
    """A message that the graph removes is no way back: another process sees each step before it as well."""
    live = new()
    turns(live, config, "one", "two")
    before = states(live, config)
    last = live.get_state(config).values["messages"][-1]
    live.update_state(config, {"messages": [RemoveMessage(id=last.id)], "turns": 7})

    said, values, _ = shape(new().get_state(config))
    assert (["one", "answer 1", "two"], 7) == (said, values["turns"])
    assert before == states(new(), config)[1:]


def test_a_step_that_is_tried_again_and_again(new: Callable[[], Any], client: Client, name: str, config: Any) -> None:
    """What is kept of each attempt does not add up."""
    live = new()
    turns(live, config, "one")
    for _ in range(5):
        client.undo(name)
        live.invoke(None, config)

    assert 4 == len(states(live, config))
    past = live.checkpointer._threads.named(name, {})._past
    assert 1 == len(past._gone)


def test_a_question_stays_open(daemon: Daemon, client: Client, name: str, config: Any) -> None:
    """A question that waits for a person is still open after a message of others was undone; it goes with its turn."""

    def ask(_: State) -> dict[str, Any]:
        return {"messages": [AIMessage(f"You chose {interrupt('which?')}.")]}

    builder = StateGraph(State)
    builder.add_node("ask", ask)
    builder.add_edge(START, "ask")
    saver = ReelSaver(socket=daemon.socket)
    live = builder.compile(checkpointer=saver)
    turns(live, config, "one")
    asked = live.get_state(config).interrupts
    client.add(name, "a moment")
    client.undo(name)

    assert asked == live.get_state(config).interrupts != ()
    assert "You chose this." == live.invoke(Command(resume="this"), config)["messages"][-1].text
    client.undo(name)
    assert ((), ("ask",)) == (live.get_state(config).interrupts, live.get_state(config).next)
    live.invoke(None, config)
    client.add(name, "a moment")
    client.undo(name)
    assert asked == live.get_state(config).interrupts
    client.undo(name)
    assert () == live.get_state(config).interrupts
    assert [] == states(live, config)
    saver.close()


def test_a_question_that_a_turn_has_passed_over(daemon: Daemon, client: Client, name: str, config: Any) -> None:
    """If a turn comes instead of the answer and is taken back, the question waits for its answer again."""

    def ask(state: State) -> dict[str, Any]:
        said = state["messages"][-1].text
        return {"messages": [AIMessage(f"You chose {interrupt('which?') if said == 'ask' else said}.")]}

    builder = StateGraph(State)
    builder.add_node("ask", ask)
    builder.add_edge(START, "ask")
    savers = [ReelSaver(socket=daemon.socket) for _ in range(2)]
    live, other = (builder.compile(checkpointer=saver) for saver in savers)
    turns(live, config, "ask")
    before = live.get_state(config)
    assert before.interrupts != ()
    turns(live, config, "that")
    whole = states(live, config)

    client.undo_turn(name)

    for reader in (live, other):
        assert before.tasks == reader.get_state(config).tasks
        assert before.interrupts == reader.get_state(config).interrupts
    client.undo(name)
    for reader in (live, other):
        assert whole == states(reader, config)
    client.undo_turn(name)
    assert "You chose this." == live.invoke(Command(resume="this"), config)["messages"][-1].text
    for saver in savers:
        saver.close()


def test_a_restore_to_here(daemon: Daemon, client: Client, name: str, config: Any) -> None:
    """A restore to the end of the log takes nothing back: not the question of a step, nor what its other tasks did."""

    def ask(_: State) -> dict[str, Any]:
        return {"messages": [AIMessage(f"You chose {interrupt('which?')}.")]}

    builder = StateGraph(State)
    builder.add_node("ask", ask)
    builder.add_node("plan", plan)
    builder.add_edge(START, "ask")
    builder.add_edge(START, "plan")
    savers = [ReelSaver(socket=daemon.socket) for _ in range(2)]
    live, other = (builder.compile(checkpointer=saver) for saver in savers)
    turns(live, config, "one")
    before = live.get_state(config)
    assert before.interrupts != ()
    for _ in range(2):
        client.restore(name, client.agent(name).head)
        for reader in (live, other):
            assert before.tasks == reader.get_state(config).tasks
            assert before.interrupts == reader.get_state(config).interrupts

    assert () == live.checkpointer._threads.named(name, {})._past._gone
    assert "You chose this." == live.invoke(Command(resume="this"), config)["messages"][-1].text
    for saver in savers:
        saver.close()
