"""Rows about reading: pages, cold conversations, going back, and what readers cost writers."""

import socket
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from typing import Any

import msgpack

from reel.base.garbage import uncollected
from reel.sync.client import Client
from tests.bench.search import caught_up
from tests.bench.setting import TEXT, Daemon, Setting, running
from tests.bench.table import Line, in_turns, median, percentile, timed

_LONG = 100_000
_READERS = 10


def fill(client: Client, agent: str, messages: int) -> None:
    """Add messages, a thousand at a time, user and assistant in turns."""
    block: list[Any] = [TEXT, {"role": "assistant", "content": TEXT}] * 500
    for _ in range(messages // 1000):
        client.add(agent, block, create=True)


def pages(setting: Setting) -> Iterator[Line]:
    """Read 10,000 messages, with our client and with msgpack alone."""
    client, session = setting.daemon.client(), setting.session("items")
    fill(client, "pages", 10_000)
    if session is not None:
        setting.loop.run_until_complete(session.add_items([{"role": "user", "content": TEXT}] * 10_000))
    ours, plain, theirs = in_turns(
        7,
        lambda: timed(lambda: client.messages("pages", limit=10_000)),
        lambda: timed(lambda: _collected_later(lambda: _plain_read(setting.daemon.socket, "pages"))),
        None if session is None else lambda: timed(lambda: setting.loop.run_until_complete(session.get_items())),
    )
    beside = None if theirs is None else f"the time of get_items ({theirs * 1e3:.1f} ms)"
    for what, figure, goal in (
        ("10,000 messages, with our client", ours, "aim 0.3"),
        ("10,000 messages, with msgpack alone", plain, "<= 0.6"),
    ):
        assert figure is not None
        yield Line(what, _ms(figure), beside, theirs and figure / theirs, goal)


def _collected_later(read: Callable[[], None]) -> None:
    """Read with the garbage collector paused, as our client does.

    Otherwise each second time it looked at all objects of all programs that are compared, which took 60 ms and more.
    """
    with uncollected():
        read()


def _plain_read(path: str, agent: str) -> None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        _take_reply(connection, agent)


def _take_reply(connection: socket.socket, agent: str) -> int:
    """Read 10,000 messages; return how many bytes the reply has."""
    connection.sendall(_request(agent))
    unpacker = msgpack.Unpacker(max_buffer_size=1 << 28)
    while True:
        unpacker.feed(connection.recv(1 << 20))
        for reply in unpacker:
            assert 10_000 == len(reply[3]["messages"])
            return unpacker.tell()


def _request(agent: str) -> bytes:
    packed: bytes = msgpack.packb((0, 1, "messages", [agent, None, 10_000]))
    return packed


def cold(setting: Setting) -> Iterator[Line]:
    """Measure what a long conversation costs that is only in the log."""
    directory = setting.new_directory()
    with running(directory) as daemon:
        client = daemon.client()
        fill(client, "long", _LONG)
        head = client.agent("long").head
        # Else the daemons below would fill the index while they are measured.
        caught_up(client)
    windows: dict[str, dict[str, int]] = {
        "the newest 100 messages": {"last": 100},
        "the first 1,000": {"limit": 1000},
        "the newest 100 of an earlier position": {"at": head // 2, "last": 100},
    }
    for what, window in windows.items():
        with running(directory) as daemon:
            client = daemon.client()
            client.ping()
            took = timed(partial(client.messages, "long", **window))
            yield Line(what, _ms(took), f"cold, of {_LONG:,}", None, "<= 30 ms")
    with running(directory) as daemon:
        client = daemon.client()
        client.add("long", "one more")
        for what, action, back in (
            ("undo", client.undo, client.redo),
            ("undo of a clear", client.clear, client.undo),
        ):
            times = [(timed(lambda: action("long")), timed(lambda: back("long"))) for _ in range(5)]  # noqa: B023
            yield Line(what, _ms(min(took[what != "undo"] for took in times)), f"of {_LONG:,}", None, "< 5 ms")
        took = min(timed(partial(client.restore, "long", head // 2 - number)) for number in range(5))
        yield Line("restore of an earlier position", _ms(took), f"of {_LONG:,}", None, "< 5 ms")
        yield from _pages_beside_writers(daemon, client, head)


def _pages_beside_writers(daemon: Daemon, client: Client, at: int) -> Iterator[Line]:
    """Read a conversation that its agent has left, page by page, alone and while another process adds to the agent.

    A writer without a pause takes the daemon's processor from the reader, whatever a page costs; one with a pause shows
    what a moving head costs.
    """
    for what, pause, goal in (("100 adds a second", 0.01, "<= 1.5"), ("adds without a pause", 0.0, "")):
        quiet, busy = [], []
        for _ in range(3):
            quiet.append(timed(lambda: sum(1 for _ in client.iter_messages("long", at=at))))
            with _writer(daemon, pause):
                busy.append(timed(lambda: sum(1 for _ in client.iter_messages("long", at=at))))
        alone, beside = map(statistics.median, (quiet, busy))
        yield Line(
            f"all by pages, beside {what}",
            f"{beside:.1f} s",
            f"the time of the same alone ({alone:.1f} s)",
            beside / alone,
            goal,
        )


@contextmanager
def _writer(daemon: Daemon, pause: float) -> Iterator[None]:
    # In a process of its own: a thread of this one would take its time from the reader.
    processes = get_context("spawn")
    over, ready = processes.Event(), processes.Event()
    writing = processes.Process(target=_write, args=(daemon.socket, pause, ready, over))
    writing.start()
    ready.wait()
    try:
        yield
    finally:
        over.set()
        writing.join()


def _write(path: str, pause: float, ready: Any, over: Any) -> None:
    """Add one message after the other until it is over.

    Args:
        path: the daemon's socket.
        pause: seconds between two of them.
        ready: is set after the first.
        over: is set in the end.
    """
    with Client(path) as client:
        while not over.is_set():
            client.add("long", TEXT)
            ready.set()
            time.sleep(pause)  # the pace of the load, not a wait


def readers(setting: Setting) -> Iterator[Line]:
    """Measure adds while ten others read 10,000 messages each, again and again."""
    client = setting.daemon.client()
    fill(client, "read", 10_000)
    client.add("written", TEXT, create=True)
    # In a process of their own: threads of this one would keep it from noticing when the add is answered.
    processes = get_context("spawn")
    over, ready = processes.Event(), processes.Semaphore(0)
    reading = processes.Process(target=_read_in_threads, args=(setting.daemon.socket, ready, over))
    alone = _paced_adds(client)
    reading.start()
    for _ in range(_READERS):
        ready.acquire()
    beside = _paced_adds(client)
    over.set()
    reading.join()
    p99 = percentile(beside, 99)
    yield Line(
        "adds beside ten readers, p99",
        _ms(p99),
        f"the p99 of the same alone ({percentile(alone, 99) * 1e3:.1f} ms)",
        p99 / percentile(alone, 99),
        "<= 15 ms",
    )


def _paced_adds(client: Client) -> list[float]:
    times = []
    for _ in range(400):
        times.append(timed(lambda: client.add("written", TEXT)))
        time.sleep(0.002)  # the pace of the load, not a wait
    return times


def _read_in_threads(path: str, ready: Any, over: Any) -> None:
    """Read until it is over.

    Args:
        path: the daemon's socket.
        ready: is released once for each reader that has read its first reply.
        over: is set in the end.
    """

    def read() -> None:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(path)
            length, buffer = _take_reply(connection, "read"), bytearray(1 << 20)
            ready.release()
            while not over.is_set():
                connection.sendall(_request("read"))
                left = length
                while left:  # without unpacking, which costs more than the reply
                    left -= connection.recv_into(buffer)

    threads = [threading.Thread(target=read) for _ in range(_READERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def clones(setting: Setting) -> Iterator[Line]:
    """Measure clones of a short and of a long conversation."""
    client = setting.daemon.client()
    fill(client, "short", 1000)
    fill(client, "whole", _LONG)
    ours, other = (median(lambda name=name: client.clone(name), 30) for name in ("whole", "short"))  # type: ignore[misc]
    yield Line(
        f"a clone of {_LONG:,} messages", _ms(ours), f"the time of one of 1,000 ({other * 1e3:.1f} ms)", ours / other
    )


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.1f} ms"
