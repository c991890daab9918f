"""Branches, differences and usage: what they say, and how many requests they take."""

import json
from collections import Counter
from typing import Any

import pytest

import reel
from reel.base.errors import NotFound
from reel.reading.tokens import Tokens
from reel.reading.usage import Sum
from reel.sync.client import Client
from tests.daemon import Daemon
from tests.reel.both_clients import CLIENTS, Awaited, Run, runner
from tests.reel.reading.wire import Wire, wire_to


@pytest.fixture(params=CLIENTS)
def run(request: pytest.FixtureRequest, daemon: Daemon) -> Run:
    """Runs a scenario with one of the clients."""
    return runner(request.param, daemon, Awaited)


def used(tokens: int, model: str = "m") -> Any:
    """Return the record of a response."""
    data = {"model": model, "usage": {"prompt_tokens": tokens, "completion_tokens": 1}}
    return {"kind": "usage", "data_json": json.dumps(data)}


def tagged(text: str) -> dict[str, str]:
    """Return the tags of the agents of one test."""
    return {"test": text}


def test_a_tree(run: Run, daemon: Daemon) -> None:
    """The branches have what was rewound and the clone, by name and seq, and not the clones of others."""
    with daemon.client() as client:
        name = client.create().name
        client.add(name, "A")
        client.mark(name, "m")
        client.add(name, "B")
        client.rewind(name, "m")
        client.add(name, "C")
        clone = client.clone(name).name
        client.clone(clone)

    async def scenario(client: Any) -> Any:
        return await client.tree(name)

    stretches = [stretch for _, stretch in run(scenario).stretches()]
    assert [("A", True, []), ("B", False, []), ("C", True, [(clone, 6)])] == [
        (stretch.words, stretch.live, stretch.clones) for stretch in stretches
    ]
    assert ["m"] == [mark.words for mark in stretches[0].marks]


def test_a_difference(run: Run, daemon: Daemon) -> None:
    """A conversation is compared with another, and with itself at a seq."""
    with daemon.client() as client:
        one = client.create().name
        client.add(one, "same")
        client.add(one, ["mine", "more"])
        other = client.clone(one, at=2).name
        client.add(other, "yours")

    async def scenario(client: Any) -> Any:
        return await client.difference(one, other), await client.difference(one, one, 2)

    (begun, gone, new), same = run(scenario)
    assert ("=", 1) == (begun.sign, len(begun.messages))
    assert ("-", ["mine", "more"]) == (gone.sign, [said.content[0]["text"] for said in gone.messages])
    assert ("+", ["yours"]) == (new.sign, [said.content[0]["text"] for said in new.messages])
    assert [("=", 1), ("+", 2)] == [(hunk.sign, len(hunk.messages)) for hunk in same]


def test_usage_of_all(run: Run, daemon: Daemon) -> None:
    """What an agent inherited is counted once, and an agent that was killed is counted."""
    with daemon.client() as client:
        before = client.usage(by="tag:test").get("usage", Sum())
        name = client.create(tags=tagged("usage")).name
        client.add(name, ["hi", used(10)])
        clone = client.clone(name).name
        client.change(clone, tags=tagged("usage"))
        client.add(clone, used(5))
        client.kill(name)

    async def scenario(client: Any) -> Any:
        return await client.usage(by="tag:test"), await client.usage(clone, "model")

    everybody, own = run(scenario)
    assert Sum(before.responses + 2, Tokens(before.tokens.read + 15, before.tokens.written + 2)) == everybody["usage"]
    assert {"m": Sum(1, Tokens(5, 1))} == own


def test_an_agent_that_is_missing(run: Run) -> None:
    """A name that nobody has is an error, as for every other request."""

    async def scenario(client: Any) -> None:
        for call in (client.tree, client.usage, lambda name: client.difference(name, name)):
            with pytest.raises(NotFound):
                await call("nobody")

    run(scenario)


def answered(tokens: int, name: str) -> Any:
    """Return an answer that a framework stored with its tokens."""
    fields = {"usage_metadata": {"input_tokens": tokens}, "response_metadata": {"model_name": "m"}, "id": name}
    item = {"format": "x-mine", "check": name, "form": {"class": "AIMessage", "fields": fields}}
    return {"role": "assistant", "content": "Hi.", "provider_metadata": {"item": item}}


def test_tokens_in_answers(daemon: Daemon) -> None:
    """They count once: not beside an event that counts the response, nor if the answer is stored again."""
    with daemon.client() as client:
        name = client.create(tags=tagged("answers")).name
        client.add(name, ["hi", answered(10, "a")])
        question = client.add(name, ["and?"]).head
        client.add(name, [answered(20, "b"), answered(40, "c")])
        client.add(name, [answered(20, "b"), answered(80, "d")], from_=question)
        client.add(name, [answered(1000, "e"), used(1)])
        clone = client.clone(name).name
        client.add(clone, [answered(500, "a")])
        with daemon.client() as fresh:
            alone = fresh.usage(clone)["all"]
        assert (1, 500) == (alone.responses, alone.tokens.read)
        plain = client.usage(clone, by="model")["m"]
        assert (1, 500) == (plain.responses, plain.tokens.read)
        assert 5 == client.usage(name)["all"].responses
        counted = client.usage(name, by="model")["m"]
        assert (5, 151) == (counted.responses, counted.tokens.read)
        assert 6 == client.usage(by="tag:test")["answers"].responses


def ask(client: Client, name: str, other: str, wire: Wire) -> Counter[str]:
    """Ask for everything that is computed, and return how often each method was asked for."""
    wire.asked.clear()
    client.tree(name)
    client.usage(by="tag:test")
    client.difference(name, other)
    return Counter(wire.asked)


def test_the_number_of_requests_does_not_grow_with_the_agents(daemon: Daemon) -> None:
    """Fifty clones later, each of which was answered, the same requests go over the wire."""
    with daemon.client() as direct, wire_to(daemon.socket) as wire, reel.connect(wire.path) as client:
        name = direct.create().name
        direct.add(name, ["hi", used(1)])
        other = direct.clone(name).name
        few = ask(client, name, other, wire)
        for _ in range(50):
            direct.add(direct.clone(name).name, used(1))

        assert few == ask(client, name, other, wire)
        assert {"agent": 1, "agents": 2, "history": 1, "histories": 1, "messages": 2} == few
        assert 51 == len(next(stretch for _, stretch in client.tree(name).stretches()).clones)


def test_an_older_daemon(daemon: Daemon) -> None:
    """One that knows neither request gives the same answers, by one request for each agent."""
    with daemon.client() as direct, wire_to(daemon.socket) as wire, reel.connect(wire.path) as client:
        name = direct.create(tags=tagged("old")).name
        direct.add(name, ["hi", used(1)])
        clone = direct.clone(name).name
        new = list(client.tree(name).stretches()), client.usage(by="tag:test")["old"]
        assert client.server is not None
        client._server = client.server._replace(features=["subscriptions"])
        wire.asked.clear()

        assert new == (list(client.tree(name).stretches()), client.usage(by="tag:test")["old"])
        assert [(clone, 3)] == new[0][0][1].clones
        assert "histories" not in wire.asked
        assert wire.asked.count("history") == 1 + len(list(direct.iter_agents()))
