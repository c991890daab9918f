"""Steps that are larger than a request come back as they were, and are erased like others."""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.sync.client import Client
from tests.daemon import Daemon, until
from tests.forkserver import running_daemon
from tests.shared_daemon import REQUEST

pytest.importorskip("langgraph.checkpoint.base", reason="langgraph is not installed")

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages

from reel.integrations.langgraph import ReelSaver, parts
from reel.integrations.langgraph.parts import in_parts, parts_of, pieces

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:langgraph", "ignore::PendingDeprecationWarning")

_NUMBERS = count()
# More characters than a request has bytes.
LARGE = 4_500_000


class State(TypedDict):
    messages: Annotated[list[Any], add_messages]
    blob: Any


@pytest.fixture(scope="module")
def daemon() -> Iterator[Daemon]:
    """A daemon that takes smaller requests."""
    with running_daemon("--connection-message", str(REQUEST)) as daemon:
        yield daemon


@pytest.fixture
def thread() -> str:
    return f"l-{next(_NUMBERS)}"


@pytest.fixture
def new(daemon: Daemon) -> Iterator[Callable[[], ReelSaver]]:
    """Make savers, each as if it was in another process."""
    made: list[ReelSaver] = []

    def make() -> ReelSaver:
        made.append(ReelSaver(socket=daemon.socket))
        return made[-1]

    yield make
    for each in made:
        each.close()


def graph(saver: ReelSaver, node: Any) -> Any:
    return StateGraph(State).add_node("node", node).add_edge(START, "node").compile(checkpointer=saver)


@given(st.text(alphabet="ab \u00e9\U0001f600", max_size=60), st.integers(1, 7))
def test_pieces(text: str, size: int) -> None:
    """The pieces are the text again, and none is longer than it may be; one ends after a space that is near."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(parts, "_PART", size)
        patched.setattr(parts, "_NEAR", 3)
        found = [*pieces(text)]
    assert text == "".join(found)
    assert all(0 < len(piece) <= size for piece in found)
    assert all(piece.endswith(" ") or " " not in piece[-min(3, size) :] for piece in found[:-1])


def test_which_texts_are_parts() -> None:
    """The longest are, as many as it takes; whatever else a record has stays."""
    sent: list[str] = []

    def add(text: str) -> list[int]:
        sent.append(text)
        return [len(sent)]

    data = {
        "values": {"a": "x" * 9, "b": "y" * 5, "c": "z"},
        "same": {"d": 3},
        "messages": {"keep": 1, "more": "m" * 7},
    }
    expected = {"values": {"b": "y" * 5, "c": "z"}, "same": {"d": 3}, "messages": {"keep": 1, "parts": [2]}}
    assert {**expected, "parts": {"a": [1]}} == in_parts(data, 6, add)
    assert ["x" * 9, "m" * 7] == sent
    written = in_parts({"writes": [[0, "a", "x" * 9], [-3, "b", "y"]]}, 1, add)
    assert {"writes": [[0, "a", ""], [-3, "b", "y"]], "parts": {"0": [3]}} == written
    assert [3] == [*parts_of(written)]


def is_same(one: Any, other: Any) -> bool:
    """Compare what is too large for pytest to explain."""
    return bool(one == other)


@pytest.mark.large
@pytest.mark.slow
def test_a_large_step(new: Callable[[], ReelSaver], client: Client, daemon: Daemon, thread: str) -> None:
    """Values, what a task wrote, and messages that are large come back; a prune leaves what is needed of them."""

    def node(_: State) -> dict[str, Any]:
        return {"messages": [AIMessage(f"{number} " + "w" * (LARGE // 3)) for number in range(3)], "blob": "s" * LARGE}

    config: Any = {"configurable": {"thread_id": thread}}
    live = graph(new(), node)
    live.invoke({"messages": [HumanMessage("one")], "blob": ["first", "\u00e9 " * (LARGE // 2)]}, config)
    before = live.get_state(config)
    assert is_same("s" * LARGE, before.values["blob"])
    assert [3, *[LARGE // 3 + 2] * 3] == [len(each.text) for each in before.values["messages"]]
    fresh = graph(new(), node)
    assert is_same([*live.get_state_history(config)], [*fresh.get_state_history(config)])
    live.checkpointer.prune([thread])
    client.stats()

    assert is_same(before, live.get_state(config))
    assert is_same(before, graph(new(), node).get_state(config))
    assert [] == client.verify().problems
    first = ("\u00e9 " * 9).encode()
    until(lambda: not any(first in each for each in files(daemon)))


@pytest.mark.large
@pytest.mark.slow
def test_a_large_secret(new: Callable[[], ReelSaver], client: Client, daemon: Daemon, thread: str) -> None:
    """What a message brought that is redacted goes from all parts of what the step wrote."""
    said = [HumanMessage(f"hunter2secret {number} " + "x" * (LARGE // 4)) for number in range(5)]
    config: Any = {"configurable": {"thread_id": thread}}
    live = graph(new(), lambda _: {"messages": [AIMessage("Yes.")]})
    live.invoke({"messages": said}, config)
    name = f"langgraph/{thread}"
    client.redact(name, seqs=[event["seq"] for event in client.iter_history(name) if event["kind"] == "user"])
    until(lambda: not any(b"hunter2secret" in each for each in files(daemon)))
    assert "Yes." == graph(new(), lambda _: {}).get_state(config).values["messages"][-1].text


def files(daemon: Daemon) -> list[bytes]:
    """Return what the files of the log have; they are cleaned when nobody reads what is old in them."""
    return [path.read_bytes() for path in Path(daemon.database).parent.glob("r.db*")]
