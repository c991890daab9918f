"""Whatever has a client keeps the client's promises: threads take turns, a fork shares nothing, commands have keys."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from reel import requests
from reel.base.errors import ShuttingDown
from reel.importing.adding.pipeline import Pipeline
from reel.sync.client import Client
from tests.daemon import Daemon
from tests.patience import PATIENCE
from tests.reel.blocking.doors import DOORS, add_some
from tests.reel.blocking.scripted_daemon import HELLO, Line, Part, Script, greeting_and, lose

pytestmark = pytest.mark.slow

ADDED = {"agent": "a1", "head": 2, "command": 2, "time": 1, "first": 2, "orphans": [], "open_calls": []}


@pytest.mark.parametrize("door", DOORS)
def test_two_threads(daemon: Daemon, door: str) -> None:
    """Each gets the replies to its own calls, all of them."""
    with DOORS[door](daemon.socket) as client, ThreadPoolExecutor() as threads:
        names = [f"{door}-{number}" for number in range(2)]
        agents = [client.create(name).id for name in names]
        added = list(threads.map(lambda name: add_some(client, name, 100), names))

        assert [[agent] * 100 for agent in agents] == added
        assert [100, 100] == [client.agent(agent).messages for agent in agents]


@pytest.mark.parametrize("door", DOORS)
def test_a_fork(daemon: Daemon, door: str) -> None:
    """Parent and child get the replies to their own calls, and what is in flight is only the parent's."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.reel.blocking.doors", door, daemon.socket]

    assert 0 == subprocess.run(command, timeout=PATIENCE, check=False).returncode


# The screens' client waits for nothing: it shows the loss at once, and only reads.
@pytest.mark.parametrize("door", sorted({*DOORS} - {"cancellable"}))
def test_a_lost_connection(script: Script, door: str) -> None:
    """A command without a response is sent again under its key."""
    script.play(lose, greeting_and({**ADDED, "repeated": True}))
    with DOORS[door](script.path) as client:
        added = client.add("demo", "hi")
    first, second = (request.params[0] for request in script.seen if request.method == "add")

    assert first == second
    assert 32 == len(first["key"])
    assert added.repeated


@pytest.mark.parametrize("goodbye", [lambda _: None, lambda line: line.refuse(ShuttingDown("soon"))])
def test_several_commands_are_lost(script: Script, goodbye: Part) -> None:
    """Those without a response are sent again in their order, and the others are not."""

    def lose(line: Line) -> None:
        line.answer(HELLO, ADDED)
        goodbye(line)

    script.play(lose, greeting_and(ADDED, ADDED))
    heads: list[int] = []
    with Pipeline(Client(script.path)) as pipeline:
        for text in ("1", "2", "3"):
            pipeline.submit(requests.add("demo", text), lambda reply: heads.append(reply.head))
        pipeline.drain()

    assert [2, 2, 2] == heads
    assert ["2", "3"] == [request.params[0]["messages"] for request in script.seen if request.method == "add"][-2:]


def test_responses_in_another_order(script: Script) -> None:
    """Receivers get their replies in the order of the commands, whatever the order of the responses."""

    def answer(line: Line) -> None:
        line.answer(HELLO)
        asked = [line.take() for _ in range(3)]
        for head in (3, 1, 2):
            line.socket.sendall(line.framing.answer(asked[head - 1].id, {**ADDED, "head": head}))

    script.play(answer)
    heads: list[int] = []
    with Pipeline(Client(script.path)) as pipeline:
        for text in ("1", "2", "3"):
            pipeline.submit(requests.add("demo", text), lambda reply: heads.append(reply.head))
        pipeline.drain()

    assert [1, 2, 3] == heads


def test_a_response_that_cannot_be_read(script: Script) -> None:
    """Those behind it reach their receivers, and nobody waits for what has arrived."""

    def answer(line: Line) -> None:
        line.answer(HELLO)
        asked = [line.take() for _ in range(3)]
        answers = [line.framing.answer(each.id, reply) for each, reply in zip(asked, ({}, ADDED, ADDED), strict=True)]
        line.socket.sendall(b"".join(answers))

    script.play(answer)
    heads: list[int] = []
    with Pipeline(Client(script.path)) as pipeline:
        for text in ("1", "2", "3"):
            pipeline.submit(requests.add("demo", text), lambda reply: heads.append(reply.head))
        with pytest.raises(TypeError):
            pipeline.drain()
        pipeline.drain()

    assert [2, 2] == heads


def test_commands_in_flight_when_the_daemon_is_killed(daemon: Daemon) -> None:
    """Each is carried out once, and its reply is the one that it had."""
    heads: list[int] = []
    with Pipeline(Client(daemon.socket, patience=PATIENCE)) as pipeline:
        agent = pipeline.create("killed").id
        head = pipeline.agent(agent).head
        for number in range(60):
            call = requests.add(agent, str(number), if_seq=head + number)
            pipeline.submit(call, lambda reply: heads.append(reply.head))
            if number == 30:
                daemon.kill()
                daemon.start()
        pipeline.drain()
        texts = [message["content"][0].get("text") for message in pipeline.iter_messages(agent)]

    assert [*range(head + 1, head + 61)] == heads
    assert [*map(str, range(60))] == texts


def test_a_receiver_makes_calls(daemon: Daemon) -> None:
    """A receiver of a reply may use the pipeline; it does not wait for itself."""
    with Pipeline(Client(daemon.socket)) as pipeline:
        found: list[str] = []
        pipeline.submit(requests.create("receiver"), lambda made: found.append(pipeline.agent(made.id).name))
        pipeline.drain()

    assert ["receiver"] == found


def test_an_interrupted_receiver_loses_nothing(script: Script) -> None:
    """After Ctrl-C while it waits, what is unanswered is sent again on another connection."""

    def interrupt(_connection: int, _left: float | None) -> None:
        if waits.pop():
            raise KeyboardInterrupt

    # The greeting, the reply that is interrupted, the greeting of the next connection, and the reply.
    waits = [False, False, True, False]
    script.play(greeting_and(), greeting_and(ADDED))
    heads: list[int] = []
    with Pipeline(Client(script.path, wait=interrupt)) as pipeline:
        pipeline.submit(requests.add("demo", "hi"), lambda reply: heads.append(reply.head))
        with pytest.raises(KeyboardInterrupt):
            pipeline.drain()
        pipeline.drain()

    assert [2] == heads
