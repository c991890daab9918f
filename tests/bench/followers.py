"""Rows about followers: when a push comes, and what followers cost a writer."""

import socket
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack

from reel.wire.frames import RECEIVED, Notification, Response
from reel.wire.session import MessagePack
from tests.bench.search import caught_up
from tests.bench.setting import TEXT, Setting, running
from tests.bench.table import Line, median, percentile

_FOLLOWERS = 1000
_ADDS = 20
_INTERLEAVED, _PAST = 20, 1000


def subscribed(path: str, agent: str) -> tuple[socket.socket, MessagePack]:
    """Subscribe to an agent on a connection of its own."""
    connection, framing = socket.socket(socket.AF_UNIX), MessagePack(64 << 20)
    connection.connect(path)
    connection.sendall(framing.request(1, "subscribe", [agent]))
    while not any(isinstance(frame, Response) for frame in framing.feed(connection.recv(RECEIVED))):
        pass
    return connection, framing


def pushes(setting: Setting) -> Iterator[Line]:
    """Measure when a push and an answer come, at 1,000 adds a second."""
    setting.daemon.client().create("followed")
    pushed, answered = delays(setting.daemon.socket, setting.daemon.socket, "followed", 1000, 4)
    for what, times in (("a push", pushed), ("the answer", answered)):
        late = f"p99 {percentile(times, 99) * 1e3:.2f} ms"
        yield Line(f"{what}, p50", f"{statistics.median(times) * 1e3:.2f} ms", f"at 1,000 adds a second; {late}")


def past(setting: Setting) -> Iterator[Line]:
    """Measure following all agents from the first event on, where the events of twenty take turns."""
    with running(setting.new_directory()) as daemon:
        _add_in_turns(daemon.socket, [f"past-{number}" for number in range(_INTERLEAVED)])
        client = daemon.client()
        total = sum(row.head for row in client.iter_agents())
        caught_up(client)
        before, began = daemon.processor_time(), time.perf_counter()
        with client.subscribe(since=0) as pushes:
            for number, _ in enumerate(pushes, 1):
                if number == total:
                    break
        took, processor = time.perf_counter() - began, daemon.processor_time() - before
        beside = f"{processor:.2f} s of the daemon's processor time"
        yield Line(f"{total:,} past events of {_INTERLEAVED} agents", f"{took:.2f} s", beside, None, "<= 2 s")


def _add_in_turns(path: str, agents: list[str]) -> None:
    """Add a text to each agent, and again, so that their events take turns in the log."""
    framing = MessagePack(64 << 20)
    requests = b"".join(framing.request(1, "add", [agent, TEXT, {"create": True}]) for agent in agents)
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        for _ in range(_PAST):
            connection.sendall(requests)
            replies = 0
            while replies < len(agents):
                replies += len(framing.feed(connection.recv(RECEIVED)))


def fan_out(setting: Setting) -> Iterator[Line]:
    """Measure adds that a thousand others hear of, and adds that nobody hears of."""
    daemon = setting.daemon
    client = daemon.client()
    client.create("alone")
    client.create("heard")
    before = daemon.processor_time()
    alone = median(lambda: client.add("alone", TEXT), 10 * _ADDS)
    own = (daemon.processor_time() - before) / 10
    with ExitStack() as stack:
        followers = [subscribed(daemon.socket, "heard") for _ in range(_FOLLOWERS)]
        for connection, _ in followers:
            stack.enter_context(connection)
        answers, last = [], []
        before = daemon.processor_time()
        for _ in range(_ADDS):
            began = time.perf_counter()
            client.add("heard", TEXT)
            answers.append(time.perf_counter() - began)
            for connection, framing in followers:
                while not framing.feed(connection.recv(RECEIVED)):
                    pass
            last.append(time.perf_counter() - began)
        each = (daemon.processor_time() - before - own) / _ADDS / _FOLLOWERS
    answer, pushed = statistics.median(answers), statistics.median(last)
    beside = f"the time of an add that nobody hears of ({alone * 1e3:.2f} ms)"
    yield Line(f"the answer, {_FOLLOWERS:,} followers", f"{answer * 1e3:.1f} ms", beside, answer / alone)
    yield Line("the last push", f"{pushed * 1e3:.1f} ms", "with the reading of all", None, "<= 20 ms")
    yield Line("each push", f"{each * 1e6:.1f} us", "of the daemon's processor time", None, "<= 8 us")


def delays(path: str, following: str, agent: str, rate: int, seconds: float) -> tuple[list[float], list[float]]:
    """Add at a rate on one connection and follow on another; return the seconds until each push and each answer.

    Both are counted from when the add was due, so that what waits behind something slow counts as slow.
    """
    follower, heard = subscribed(following, agent)
    writer, framing = socket.socket(socket.AF_UNIX), MessagePack(64 << 20)
    writer.connect(path)
    total = int(rate * seconds)
    pushed: list[float] = []
    answered: list[float] = []

    def listen(connection: socket.socket, wire: MessagePack, kind: type, times: list[float]) -> None:
        while len(times) < total:
            frames = wire.feed(connection.recv(RECEIVED))
            times += [time.perf_counter()] * sum(isinstance(frame, kind) for frame in frames)

    threads = [
        threading.Thread(target=listen, args=(follower, heard, Notification, pushed)),
        threading.Thread(target=listen, args=(writer, framing, Response, answered)),
    ]
    for thread in threads:
        thread.start()
    began = time.perf_counter()
    request = framing.request(1, "add", [agent, TEXT])
    for number in range(total):
        time.sleep(max(0.0, began + number / rate - time.perf_counter()))  # the pace of the load, not a wait
        writer.sendall(request)
    for thread in threads:
        thread.join()
    for connection in (follower, writer):
        connection.close()
    due = [began + number / rate for number in range(total)]
    return [a - b for a, b in zip(pushed, due, strict=True)], [a - b for a, b in zip(answered, due, strict=True)]
