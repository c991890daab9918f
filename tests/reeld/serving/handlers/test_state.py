"""Values beside a conversation: records of the kind `state`, and the newest one of each key."""

import json
import random
from typing import Any

import pytest

import reel
from reel.base.errors import Conflict, InvalidMessage, InvalidParams
from reeld.serving.call import Services
from reeld.store import values
from tests.reeld.serving.conftest import Connect, Peer, texts


def put(key: str, value: Any, if_seq: int | None = None) -> Any:
    """Return a record that sets a value."""
    return reel.state(key, value, if_seq)


async def read(peer: Peer, agent: str = "a", **more: Any) -> dict[str, Any]:
    """Return the values of an agent."""
    page = await peer.call("state", {"agent": agent, **more})
    return {value["key"]: json.loads(value["data_json"])["value"] for value in page["values"]}


async def prepare(connect: Connect) -> Peer:
    """Return a client of a daemon with an agent that has a message and two values: its head is 4."""
    peer = connect()
    await peer.call("hello", {"errors": "map"})
    await peer.call("add", {"agent": "a", "messages": ["hi", put("one", 1), put("two", {"x": [2]})], "create": True})
    return peer


async def test_values_are_written_with_messages(connect: Connect) -> None:
    """A value is in no conversation; the newest of its key counts, and a record without data removes it."""
    peer = await prepare(connect)
    assert {"one": 1, "two": {"x": [2]}} == await read(peer)
    await peer.call("add", "a", [put("one", None), "again", reel.no_state("two"), put("three", "3"), put("three", "x")])

    assert {"one": None, "three": "x"} == await read(peer)
    page = await peer.call("state", "a")
    assert (9, 9, False, [5, 9]) == (page["head"], page["at"], page["more"], [each["seq"] for each in page["values"]])
    assert ["hi", "again"] == await texts(peer, "a")
    assert {"one": 1, "two": {"x": [2]}} == await read(peer, at=4)
    assert {"one": 1, "two": {"x": [2]}} == await read(peer, at=1)  # inside of a command, its end
    assert {} == await read(peer, at=0)
    assert {"three": "x"} == await read(peer, keys=["three", "two", "nine", "three"])
    assert [] == (await peer.call("verify"))["problems"]


async def test_values_stay_where_a_conversation_goes_back(connect: Connect) -> None:
    """No undo, rewind, clear or restore takes a value back, nor does a clone into the agent."""
    peer = await prepare(connect)
    await peer.call("create", "b")
    await peer.call("undo", "a")
    await peer.call("clear", "a")
    await peer.call("clone", "b", {"into": "a"})

    assert {"one": 1, "two": {"x": [2]}} == await read(peer)


async def test_a_clone_inherits_the_values_at_its_position(connect: Connect) -> None:
    """A clone has the values that its source had there; afterwards neither sees what the other sets."""
    peer = await prepare(connect)
    await peer.call("add", "a", [put("one", "later")])
    await peer.call("clone", "a", {"name": "b", "at": 4})
    await peer.call("add", "b", [reel.no_state("two"), put("zero", 0)])
    await peer.call("clone", "b", "c")
    await peer.call("add", "a", [put("four", 4)])

    assert {"one": 1, "zero": 0} == await read(peer, "b") == await read(peer, "c")
    assert {"one": 1, "two": {"x": [2]}} == await read(peer, "b", at=4)
    assert {"one": "later", "two": {"x": [2]}, "four": 4} == await read(peer)


async def test_compare_and_set(connect: Connect) -> None:
    """With ``if_seq`` a value is set only if the present one was set there, or if there is none; else nothing is."""
    peer = await prepare(connect)
    await peer.call("add", "a", ["more", put("one", "new", 3), put("three", 3, 0), reel.no_state("two", 4)])
    refused = [
        ([put("one", "x", 3)], {"key": "one", "seq": 6, "index": 0}, "was set at #6, not at #3"),
        ([put("one", "x", 0)], {"key": "one", "seq": 6, "index": 0}, "was set at #6, and should have none"),
        (["hi", put("two", "x", 4)], {"key": "two", "seq": 0, "index": 1}, "has no value, and should have that of #4"),
    ]
    for messages, data, why in refused:
        with pytest.raises(Conflict, match=why) as error:
            await peer.call("add", "a", messages)
        assert data.items() <= error.value.data.items()
    with pytest.raises(Conflict, match="has no value"):
        await peer.call("add", {"agent": "new", "messages": [put("one", 1, 1)], "create": True})
    await peer.call("add", {"agent": "new", "messages": [put("one", 1, 0)], "create": True})

    assert {"one": "new", "three": 3} == await read(peer)
    assert {"one": 1} == await read(peer, "new")


async def test_values_of_several_agents_at_once(connect: Connect) -> None:
    """Messages, and the values of several agents, are written together or not at all."""
    peer = await prepare(connect)
    parts: list[Any] = [
        {"method": "add", "agent": "a", "messages": ["event", put("n", 1)]},
        {"method": "add", "agent": "user", "messages": [put("n", 2, 0)], "create": True},
        {"method": "add", "agent": "user", "messages": [put("n", 3, 2)], "create": True},
    ]
    await peer.call("commit", parts)
    with pytest.raises(Conflict) as refused:
        await peer.call("commit", [parts[0], {"method": "add", "agent": "user", "messages": [put("n", 4, 2)]}])

    assert 1 == refused.value.data["part"]
    assert (1, {"n": 3}) == ((await read(peer))["n"], await read(peer, "user"))
    assert ["hi", "event"] == await texts(peer, "a")


@pytest.mark.parametrize(
    ("record", "field"),
    [
        ({"content": ""}, "content"),
        ({"content": "k" * 257}, "content"),
        ({"content": "k\x00"}, "content"),
        ({"content": None}, "content"),
        ({"data_json": "5"}, "data_json"),
        ({"data_json": "{}"}, "data_json"),
        ({"data_json": '{"value":1,"more":2}'}, "data_json"),
        ({"data_json": '{"value":NaN}'}, "data_json"),
        ({"data_json": '{"value_json":5}'}, "data_json.value_json"),
        ({"data_json": '{"value_json":"["}'}, "data_json.value_json"),
        ({"data_json": json.dumps({"value_json": "[" * 600 + "]" * 600})}, "data_json.value_json"),
        ({"data_json": json.dumps({"value": "x" * (1 << 20)})}, "data_json"),
        ({"if_seq": -1}, "if_seq"),
        ({"if_seq": "1"}, "if_seq"),
        ({"kind": "note", "if_seq": 1}, "if_seq"),
    ],
)
async def test_bad_values(connect: Connect, record: dict[str, Any], field: str) -> None:
    """A key or a value that is none is refused, with the name of the field, and nothing is written."""
    peer = await prepare(connect)
    with pytest.raises(InvalidMessage) as refused:
        await peer.call("add", "a", ["hi", {"kind": "state", "content": "k", "data_json": '{"value":1}', **record}])

    assert {"index": 1, "field": field}.items() <= refused.value.data.items()
    assert 4 == (await peer.call("agent", "a"))["head"]


async def test_pages(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values come in the order of their keys, page by page, however many were removed in between."""
    peer = await prepare(connect)
    await peer.call("add", "a", [put(f"k{number:02}", "x" * 100) for number in range(30)])
    await peer.call("add", "a", [reel.no_state(f"k{number:02}") for number in range(3, 30)])
    monkeypatch.setattr(values, "_LOOKED_AT", 10)

    async def keys(**more: Any) -> list[list[str]]:
        pages = [await peer.call("state", {"agent": "a", **more})]
        while pages[-1]["more"]:
            pages.append(await peer.call("state", {"agent": "a", **more, "after": pages[-1]["next"]}))
        return [[value["key"] for value in page["values"]] for page in pages]

    everything = ["k00", "k01", "k02", "one", "two"]
    assert [["k00", "k01", "k02"], [], [], ["one", "two"]] == await keys()
    assert everything == [key for page in await keys(limit=1) for key in page]
    assert everything == [key for page in await keys(max_bytes=1) for key in page]
    with pytest.raises(InvalidParams, match="positions 0 to 61, not 99"):
        await peer.call("state", "a", {"at": 99})


async def test_followers_and_history_see_values(connect: Connect) -> None:
    """A value is an event like any other: it is pushed, and is in the log."""
    peer = await prepare(connect)
    await peer.call("subscribe", "a")
    await peer.call("add", "a", [put("one", 2)])
    (_, pushed), *_ = await peer.pushed()
    page = await peer.call("history", "a", {"kinds": ["state"], "last": 1})

    assert ("state", 5) == (pushed["kind"], pushed["seq"])
    assert [("one", '{"value":2}')] == [(event["content"], event["data_json"]) for event in page["events"]]


async def test_values_are_redacted_and_purged(connect: Connect) -> None:
    """A redaction by seq keeps the key, so that no older value comes back; a purge leaves nothing."""
    peer = await prepare(connect)
    await peer.call("add", "a", [put("one", {"secret": "word", "n": 5}), put("deep", _nested(20)), put("two", "word")])
    await peer.call("redact", "a", {"seqs": [5]})
    (one,) = (await peer.call("state", "a", {"keys": ["one"]}))["values"]
    await peer.call("redact", "a", {"text": ["word", "value"]})

    assert "redacted" in json.loads(one["data_json"])["value"]["secret"]
    assert "redacted" in (await read(peer, keys=["two"]))["two"]
    assert [] == (await peer.call("verify"))["problems"]
    await peer.call("purge", "a")
    await peer.call("create", "a")
    assert {} == await read(peer)


def _nested(levels: int) -> Any:
    value: Any = "end"
    for _ in range(levels):
        value = [value]
    return value


async def test_a_damaged_value(connect: Connect, services: Services) -> None:
    """A value whose event is damaged is marked, and has no data."""
    peer = await prepare(connect)
    await services.store._database.run(
        lambda connection: connection.executescript(
            "DROP TRIGGER events_are_never_changed;"
            """UPDATE events SET data_json = '{"value":6}' WHERE kind = 'state' AND content = 'one';"""
        )
    )
    one, two = (await peer.call("state", "a"))["values"]

    assert (True, None) == (one["damaged"], one["data_json"])
    assert "damaged" not in two


class Program:
    """Random commands with values, given to a daemon and to a naive model: a dict for each agent."""

    def __init__(self, peer: Peer, chance: random.Random) -> None:
        self.peer = peer
        self.chance = chance
        # The values of each agent: the value, and the seq that it was set at; and the same at each of its heads.
        self.values: dict[str, dict[str, tuple[Any, int]]] = {"a0": {}}
        self.past: dict[str, dict[int, dict[str, tuple[Any, int]]]] = {"a0": {}}

    async def step(self, number: int) -> None:
        """Carry out a command, and compare an agent with the model, now and at an earlier seq."""
        name = self.chance.choice(list(self.values))
        match self.chance.randrange(8):
            case 0 if self.past[name]:
                await self.peer.call(self.chance.choice(["clear", "mark"]), name)
            case 1 if self.past[name] and len(self.values) < 5:
                await self.clone(name)
            case _:
                await self.add(name, number)
        await self.check(name)

    async def add(self, name: str, number: int) -> None:
        there, messages, now = self.values[name], [], dict(self.values[name])
        head = (await self.peer.call("agent", name))["head"] if self.past[name] else 1
        refused = False
        for place in range(self.chance.randint(1, 4)):
            key, seq = self.chance.choice("klmn"), head + place + 1
            expected = self.chance.choice([None, None, there.get(key, (0, 0))[1], self.chance.randint(0, head)])
            refused |= expected is not None and expected != there.get(key, (0, 0))[1]
            if self.chance.random() < 0.2:
                messages.append(reel.no_state(key, expected))
                now.pop(key, None)
            else:
                messages.append(put(key, number, expected))
                now[key] = number, seq
        (outcome,) = await self.peer.ask(("add", {"agent": name, "messages": messages, "create": True}))
        assert refused == isinstance(outcome, Conflict), outcome
        if not refused:
            self.values[name] = now
            self.past[name][outcome["head"]] = now  # type: ignore[index]  # it is no error

    async def clone(self, name: str) -> None:
        """Clone an agent where it is, or where it was."""
        at = self.chance.choice(list(self.past[name]))
        clone = f"a{len(self.values)}"
        await self.peer.call("clone", name, {"name": clone, "at": at})
        self.values[clone] = self.past[name][at]
        self.past[clone] = {seq: state for seq, state in self.past[name].items() if seq <= at}

    async def check(self, name: str) -> None:
        """Compare an agent."""
        if not self.past[name]:
            return
        page = await self.peer.call("state", name)
        found = {value["key"]: (json.loads(value["data_json"])["value"], value["seq"]) for value in page["values"]}
        assert self.values[name] == found
        at = self.chance.choice(list(self.past[name]))
        assert {key: value for key, (value, _) in self.past[name][at].items()} == await read(self.peer, name, at=at)


@pytest.mark.parametrize("seed", range(3))
async def test_values_are_those_of_a_naive_model(connect: Connect, seed: int) -> None:
    """Whatever is set, expected, removed and cloned, an agent's values are those of the model."""
    peer = connect()
    await peer.call("hello", {"errors": "map"})
    program = Program(peer, random.Random(seed))
    for number in range(60):
        await program.step(number)
    assert [] == (await peer.call("verify"))["problems"]
