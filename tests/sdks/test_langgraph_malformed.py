"""Whatever somebody else writes under the saver's key, or as an item of its format, stops no thread of LangGraph."""

import json
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest

from reel.sync.client import Client
from tests.altered import altered
from tests.daemon import Daemon

pytest.importorskip("langgraph.checkpoint.base", reason="langgraph is not installed")

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.graph import START, MessagesState, StateGraph

from reel.integrations.langgraph import ReelSaver

_NUMBERS = count(1)
# In the place of each value of a record.
OTHERS: list[Any] = [
    *(
        None,
        True,
        -1,
        2**70,
        "x",
        '["',
        "[5]",
        '["msgpack",5]',
        '["msgpack",{"$ext":[5,"x"]}]',
        '["json",{"$bytes":"eA=="}]',
    ),
    *('["?"]', '["msgpack",{"channel_versions":{},"versions_seen":5}]', '["msgpack",{"channel_versions":[]}]'),
    *([], [[]], [5], [["x"]], [["x", 5]], {}, {"x": 5}, {"messages": 5}),
]


def config_of(thread: str, **more: Any) -> Any:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": "", **more}}


@pytest.fixture
def new(daemon: Daemon) -> Iterator[Callable[..., ReelSaver]]:
    """Make savers, each as if it was in another process."""
    made: list[ReelSaver] = []

    def make(**options: Any) -> ReelSaver:
        made.append(ReelSaver(socket=daemon.socket, prefix="m/", **options))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def thread() -> str:
    """The id of a new thread."""
    return f"t-{next(_NUMBERS)}"


def echo(state: MessagesState) -> dict[str, Any]:
    """Answer as a model would."""
    return {"messages": [AIMessage(f"You said: {state['messages'][-1].text}")]}


def put(saver: ReelSaver, place: Any, channels: dict[str, Any], known: Any = ()) -> Any:
    """Put a checkpoint; return its config."""
    state = empty_checkpoint()
    new = {channel: next(_NUMBERS) for channel in channels if channel not in known}
    state["channel_values"], state["channel_versions"] = channels, dict(known) | new
    stored = saver.put(place, state, {"source": "loop", "step": 1, "run_id": "r"}, new)
    saver.put_writes(stored, [("n", 1), ("__error__", "no")], "task", "path")
    return stored


def records(saver: ReelSaver, client: Client, thread: str) -> list[Any]:
    """Return the records of a thread that has all that a record can have."""
    said = [HumanMessage("one"), AIMessage("two")]
    first = put(saver, config_of(thread), {"messages": said, "large": "x" * 50})
    client.add(f"m/{thread}", "from an editor")
    known = saver.get_tuple(first)
    assert known is not None
    second = put(saver, first, {"messages": said, "large": "x" * 50}, known.checkpoint["channel_versions"])
    put(saver, config_of(thread, checkpoint_ns="inner:1"), {"messages": [*said, AIMessage("three")]})
    put(saver, second, {"messages": [*said, AIMessage("four")]})
    saver.prune([thread])
    events = client.history(f"m/{thread}", limit=1000).events
    return [json.loads(event["data_json"] or "")["langgraph"] for event in events if event["kind"] == "command"]


def use(saver: ReelSaver, thread: str) -> list[Any]:
    """Call every method that reads; return the checkpoints."""
    found = [*saver.list({"configurable": {"thread_id": thread}})]
    for each in found:
        assert saver.get_tuple(each.config) is not None
        saver.get_delta_channel_history(config=each.config, channels=["messages", "n"])
    return found


def test_every_other_shape_of_a_record(new: Callable[..., ReelSaver], client: Client, thread: str) -> None:
    """A record of any other shape is passed over: all that was there is read, and a graph goes on."""
    said = [HumanMessage("one"), AIMessage("two")]
    saver = new()
    kinds = records(saver, client, f"{thread}-source")
    assert {"same", "skip", "keep", "more", "delete", "writes"} <= {
        name for record in kinds for name in (*record, *record.get("messages", ()))
    }
    kinds += [
        {"part": "text"},
        {**kinds[0], "parts": {"large": [2, 3]}, "messages": {"keep": 1, "parts": [2]}, "ns": "a"},
    ]
    stored = put(saver, config_of(thread), {"messages": said, "n": 5})
    before = saver.get_tuple(stored)
    written: list[Any] = []
    for record in kinds:
        for other in altered(record, OTHERS):
            # Else the last one would hide those before it.
            if isinstance(other, dict) and isinstance(other.get("put"), str) and other["put"] == record.get("put"):
                other = {**other, "put": f"00000000-0000-6000-8000-{len(written):012}"}  # noqa: PLW2901
            written.append({"kind": "command", "data_json": json.dumps({"langgraph": other})})
    client.add(f"m/{thread}", written)

    for reader in (saver, new()):
        assert {stored["configurable"]["checkpoint_id"]} < {each.checkpoint["id"] for each in use(reader, thread)}
        assert before == reader.get_tuple(stored)
        assert [*reader.list(None)]
        graph = StateGraph(MessagesState).add_node(echo).add_edge(START, "echo").compile(checkpointer=reader)
        graph.invoke({"messages": [HumanMessage("three")]}, config_of(thread))
    reader.copy_thread(thread, f"{thread}-copy")
    reader.copy_thread(thread, f"{thread}-source")
    reader.delete_for_runs(["r"])
    reader.prune([thread])
    assert ["three", "You said: three"] == [
        message.text for message in graph.get_state(config_of(thread)).values["messages"][-2:]
    ]


def test_the_newest_checkpoint_is_malformed(new: Callable[..., ReelSaver], client: Client, thread: str) -> None:
    """A record that only looks like the newest checkpoint is passed over, and what an editor adds is read."""
    saver = new()
    put(saver, config_of(thread), {"messages": [HumanMessage("one")]})
    record = records(saver, client, f"{thread}-source")[0]
    client.add(
        f"m/{thread}",
        [
            {
                "kind": "command",
                "data_json": json.dumps({"langgraph": record | {"put": "f", "checkpoint": '["msgpack",5]'}}),
            },
            "two",
        ],
    )

    for reader in (saver, new()):
        reader.prune([thread])
        found = reader.get_tuple(config_of(thread))
        assert found is not None
        assert ["one", "two"] == [message.text for message in found.checkpoint["channel_values"]["messages"]]


ITEMS: list[Any] = [
    *({}, {"class": "AIMessage"}, {"class": "None", "fields": {}}, {"class": ["x"], "fields": {}}),
    *({"class": "HumanMessage", "fields": other} for other in OTHERS),
    *(
        {"class": "AIMessage", "fields": {field: other}}
        for field in ("content", "id", "tool_calls", "usage_metadata", "additional_kwargs", "type")
        for other in (5, [5], [{"name": 5}], {"x": 5}, True)
    ),
    *({"typed": other} for other in (5, [], ["msgpack", 5], ["msgpack", {"$ext": [5, "x"]}], ["null"], ["?", 5])),
]


def test_every_other_shape_of_an_item(new: Callable[..., ReelSaver], client: Client, thread: str) -> None:
    """An item that is no message of the framework's is read as what its message says."""
    saver = new()
    graph = StateGraph(MessagesState).add_node(echo).add_edge(START, "echo").compile(checkpointer=saver)
    graph.invoke({"messages": [HumanMessage("one")]}, config_of(thread))
    said: Any = [[{"role": "assistant", "content": f"said {number}"}] for number in range(len(ITEMS))]
    client.add_items(f"m/{thread}", json.dumps(ITEMS), "x-langgraph", messages=said)

    done = graph.invoke({"messages": [HumanMessage("two")]}, config_of(thread))["messages"]

    odd = {message.text for message in done[2:-2]} - {f"said {number}" for number in range(len(ITEMS))}
    assert odd <= {"", "x"}, "those of an empty message are one"
    assert len(ITEMS) == len(done[2:-2])
    assert ["two", "You said: two"] == [message.text for message in done[-2:]]


def test_another_key_of_a_cipher(new: Callable[..., ReelSaver], thread: str) -> None:
    """What a serializer cannot decrypt is its error, and not an empty thread."""

    class Cipher:
        def __init__(self, key: int) -> None:
            self.key = key

        def encrypt(self, data: bytes) -> tuple[str, bytes]:
            return "xor", bytes([self.key, *data])

        def decrypt(self, _name: str, data: bytes) -> bytes:
            if data[0] != self.key:
                raise ValueError("another key")
            return data[1:]

    put(new(serde=EncryptedSerializer(Cipher(1))), config_of(thread), {"n": 1})

    with pytest.raises(ValueError, match="another key"):
        new(serde=EncryptedSerializer(Cipher(2))).get_tuple(config_of(thread))
