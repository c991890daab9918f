"""Acknowledged commands survive a stop and a crash, in order, and none is executed twice."""

import json
import signal

import pytest

import reel
from reel.sync.client import Client
from tests.daemon import Daemon
from tests.pipeline import Pipeline

pytestmark = pytest.mark.usefixtures("on_each_engine")

ARGUMENTS = '{"path":  "ä",\n "n": 1.0}'
DATA = '{"tool_call_id": "c2", "tool_name": "ls", "tool_args": "{ }", "thinking": {"text": "so", "signature": "s="}}'


def texts(client: Client, agent: str = "demo") -> list[str]:
    """Return the texts of an agent's messages."""
    blocks = [message["content"][0] for message in client.iter_messages(agent)]
    return [block["text"] for block in blocks if block["type"] == "text"]


def lived(client: Client) -> None:
    """Make an agent with a past: messages of every kind, a mark, a rewind, and a clear that was undone."""
    client.create("demo", system="be brief")
    client.add("demo", ["list it", reel.tool_call("c1", "ls", ARGUMENTS), reel.tool_result("c1", "a b")])
    client.mark("demo", "listed")
    client.add("demo", [{"kind": "tool_call", "content": None, "data_json": DATA}, "rewound"])
    client.rewind("demo", "listed")
    client.add("demo", [{"kind": "tool_call", "content": "ls", "data_json": DATA}, reel.text("assistant", "two")])
    client.mark("demo")
    client.clear("demo")
    client.undo("demo")
    client.clone("demo", "copy")
    client.clear("demo")
    client.add("demo", "after the clear")
    client.mark("demo", "later")


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_context_after_a_restart(daemon: Daemon, client: Client, end: signal.Signals) -> None:
    """After a restart an agent with a past has the same state, records, marks and open calls."""
    lived(client)
    before = [
        (client.agent(name), client.messages(name), client.conversation(name), client.history(name))
        for name in ("demo", "copy")
    ]
    daemon.end(end)
    daemon.start()

    assert before == [
        (client.agent(name), client.messages(name), client.conversation(name), client.history(name))
        for name in ("demo", "copy")
    ]


def test_what_a_context_is(daemon: Daemon, client: Client) -> None:
    """After a crash the records are unchanged, rewound ones stay rewound, and marks still work."""
    lived(client)
    daemon.kill()
    daemon.start()
    records = client.conversation("copy").conversation
    copy = client.agent("copy")

    assert ["system", "user", "tool_call", "tool_result", "tool_call", "assistant"] == [r["kind"] for r in records]
    assert ARGUMENTS == json.loads(records[2]["data_json"] or "")["arguments"]
    assert records[4]["data_json"] == DATA
    assert ("be brief", ["listed", None], ["c2"]) == (
        copy.system,
        [mark.label for mark in copy.marks],
        [call.id for call in copy.open_calls],
    )
    assert 2 == client.rewind("copy", "listed").dropped
    assert client.replay("copy").matched is True


def test_clear_stays_cleared(daemon: Daemon, client: Client) -> None:
    """After a restart a clear still hides the messages before it, and can still be undone."""
    lived(client)
    daemon.end()
    daemon.start()

    assert ["after the clear"] == texts(client)
    assert "be brief" == client.agent("demo").system
    with pytest.raises(reel.NoSuchMark):
        client.rewind("demo", "listed")
    for _ in range(3):
        client.undo("demo")
    assert ["list it", "two"] == texts(client)


def test_crash_with_adds_one_by_one(daemon: Daemon, client: Client) -> None:
    """Every add that was answered before a kill -9 is there after it."""
    client.create("demo")
    for number in range(100):
        client.add("demo", str(number))
    daemon.kill()
    daemon.start()

    assert [str(number) for number in range(100)] == texts(client)


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_end_with_pipelined_adds(daemon: Daemon, client: Client, end: signal.Signals) -> None:
    """If the daemon ends amid pipelined adds, the answered ones are there, in order, and nothing else but sent ones."""
    client.create("demo")
    sent = [str(number) for number in range(20_000)]
    with Pipeline(daemon.socket) as pipeline:
        for start in range(0, 2000, 100):
            pipeline.send(("add", "demo", text) for text in sent[start : start + 100])
            pipeline.receive(start + 50)
        daemon.end(end)
        pipeline.receive()
    daemon.start()
    accepted = [text for number, text in enumerate(sent, 1) if number in pipeline.answers]
    acknowledged = [text for text in accepted if pipeline.answers[int(text) + 1].error is None]
    there = texts(client)

    assert len(acknowledged) >= 1950
    assert acknowledged == [text for text in there if text in set(acknowledged)]
    assert there == sent[: len(there)]
    assert client.replay("demo").matched is True


def test_stop_in_the_middle_answers_what_it_took(daemon: Daemon, client: Client) -> None:
    """A daemon that stops answers every command that it committed."""
    client.create("demo")
    with Pipeline(daemon.socket) as pipeline:
        pipeline.send(("add", "demo", str(number).ljust(1_000_000)) for number in range(6))
        pipeline.receive(1)
        assert 0 == daemon.end()
        pipeline.receive()
    daemon.start()
    acknowledged = [str(number - 1) for number, answer in sorted(pipeline.answers.items()) if answer.error is None]

    assert acknowledged == [text.strip() for text in texts(client)]


def test_many_agents_after_a_crash(daemon: Daemon, client: Client) -> None:
    """Adds to many agents survive at once, each agent's in order."""
    names = [f"a{number}" for number in range(20)]
    with Pipeline(daemon.socket) as pipeline:
        pipeline.send(("add", name, str(turn), True) for turn in range(10) for name in names)
        pipeline.receive(200)
        daemon.kill()
    daemon.start()

    assert [list("0123456789")] * 20 == [texts(client, name) for name in names]


def test_key_after_a_restart(daemon: Daemon, client: Client) -> None:
    """A command repeated under its key, also after a restart, is not executed again and gets its first reply."""
    first = client.add("demo", "once", create=True, key="k1")
    daemon.kill()
    daemon.start()
    again = client.add("demo", "once", create=True, key="k1")

    assert first._replace(repeated=True) == again
    assert ["once"] == texts(client)
    with pytest.raises(reel.Conflict):
        client.add("demo", "twice", create=True, key="k1")


def test_names_after_a_restart(daemon: Daemon, client: Client) -> None:
    """Dead agents stay dead under their names until a live agent takes them."""
    client.add("demo", "first", create=True)
    killed = client.kill("demo", reason="done")
    daemon.end()
    daemon.start()

    assert [False] == [row.alive for row in client.agents().agents]
    with pytest.raises(reel.Killed):
        client.add("demo", "late")
    client.add(client.revive(killed.killed[0]).id, "second")
    assert ["first", "second"] == texts(client)
