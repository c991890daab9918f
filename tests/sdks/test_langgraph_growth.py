"""What a thread of LangGraph adds to its log grows by what is new in a list, and the list comes back as it was."""

import json
from collections.abc import Callable, Iterator
from itertools import count
from operator import add
from typing import Annotated, Any, TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.sync.client import Client
from tests.daemon import Daemon

pytest.importorskip("langgraph.checkpoint.base", reason="langgraph is not installed")

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import START, StateGraph

from reel.integrations.langgraph import ReelSaver, values
from reel.integrations.langgraph.records import grown_by, growth

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:langgraph", "ignore::PendingDeprecationWarning")

_NUMBERS = count()
_SERDE = JsonPlusSerializer()
_ITEMS = st.lists(st.one_of(st.text(max_size=20), st.integers(), st.lists(st.integers(), max_size=3), st.none()))


class State(TypedDict):
    notes: Annotated[list[Any], add]


@pytest.fixture
def new(daemon: Daemon) -> Iterator[Callable[[], Any]]:
    """Make graphs that note a text of 1 kB each turn, each as if it was in another process."""
    made: list[ReelSaver] = []

    def make() -> Any:
        made.append(ReelSaver(socket=daemon.socket))
        builder = StateGraph(State)
        builder.add_node("note", lambda state: {"notes": [f'{len(state["notes"])} "quoted"\n' + "x" * 1_000]})
        builder.add_edge(START, "note")
        return builder.compile(checkpointer=made[-1])

    yield make
    for each in made:
        each.close()


@pytest.fixture
def config() -> Any:
    return {"configurable": {"thread_id": f"g-{next(_NUMBERS)}"}}


def size(client: Client, config: Any) -> int:
    """Return how many characters the records of a thread have."""
    name = f"langgraph/{config['configurable']['thread_id']}"
    return sum(len(event["data_json"] or "") for event in client.iter_history(name))


@given(before=_ITEMS, more=_ITEMS)
def test_a_list_and_what_was_added(before: list[Any], more: list[Any]) -> None:
    """What was added leads from the text of the one to that of the other, if it is said in fewer characters."""
    one, other = values.dump(_SERDE, before), values.dump(_SERDE, before + more)
    rest = growth(one, other)
    assert rest is None or other == grown_by(one, [rest])
    assert rest is not None or len(other) >= 2 * len(one) - len('["msgpack",[') or not before or not more
    assert before + more == values.load(_SERDE, other)


@pytest.mark.parametrize(
    ("one", "other"), [([1], [12]), ([1, 2], [1]), (["a" * 50], ["b" * 50]), ("aa", "aab"), (1, 12)]
)
def test_what_is_no_growth(one: Any, other: Any) -> None:
    """A list that has changed is stored as it is, and so is everything else."""
    assert growth(values.dump(_SERDE, one), values.dump(_SERDE, other)) is None


def test_a_long_list(new: Callable[[], Any], client: Client, config: Any) -> None:
    """Forty turns take not much more than their forty texts, and every checkpoint has its own list."""
    live = new()
    for _ in range(40):
        live.invoke({"notes": []}, config)

    assert 40_000 < size(client, config) < 8 * 40_000
    for graph in (live, new()):
        lists = [state.values["notes"] for state in graph.get_state_history(config) if state.values]
        assert 40 == len(lists[0])
        assert all(notes == lists[0][: len(notes)] for notes in lists)


def test_a_list_that_is_cut_and_goes_on(new: Callable[[], Any], config: Any) -> None:
    """An undo, another branch, and a clone of a thread have their lists."""
    live = new()
    for _ in range(4):
        live.invoke({"notes": []}, config)
    states = [*live.get_state_history(config)]
    early = next(state for state in states if not state.next and 1 == len(state.values["notes"]))
    live.invoke({"notes": ["another way"]}, early.config)
    expected = live.get_state(config).values["notes"]
    assert [early.values["notes"][0], "another way"] == expected[:2]

    live.checkpointer.copy_thread(config["configurable"]["thread_id"], "copied")
    for graph in (live, new()):
        assert expected == graph.get_state(config).values["notes"]
        assert expected == graph.get_state({"configurable": {"thread_id": "copied"}}).values["notes"]
        assert states[0].values == graph.get_state(states[0].config).values


def test_what_is_redacted_of_a_list(new: Callable[[], Any], client: Client, config: Any) -> None:
    """A text that is redacted is gone from the list, and the rest of it stays."""
    live = new()
    for number in range(4):
        live.invoke({"notes": [f"hunter{number} " + "y" * 200]}, config)
    client.redact(f"langgraph/{config['configurable']['thread_id']}", text="hunter1")

    assert "hunter1" not in json.dumps([*client.iter_history(f"langgraph/{config['configurable']['thread_id']}")])
    for graph in (live, new()):
        notes = graph.get_state(config).values["notes"]
        assert 8 == len(notes)
        assert ["hunter0", "hunter2", "hunter3"] == [note[:7] for note in notes if note.startswith("hunter")]
