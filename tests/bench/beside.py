"""Rows about others: what their adds wait while one client loads, renders, replays or reads something long."""

import json
import time
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import TypeAlias

from reel.sync.client import Client
from tests.bench.reads import fill
from tests.bench.setting import TEXT, Daemon, Setting, running
from tests.bench.table import Line, percentile

_LONG = 10_000
_LOADED_BYTES = 8_000_000
_ALONE = 2.0

Work: TypeAlias = Callable[[Client], object]


def load(client: Client) -> None:
    """Load a body of eight megabytes."""
    said = [{"role": role, "content": TEXT} for role in ("user", "assistant")]
    messages = said * (_LOADED_BYTES // len(json.dumps(said)))
    client.load("loaded", "openai-chat", json.dumps({"messages": messages}), create=True)


def render(client: Client) -> None:
    """Render a long conversation for the first time."""
    client.render("long", "anthropic", extra={"model": "m", "max_tokens": 1})


def replay(client: Client) -> None:
    """Replay a long log."""
    client.replay("long")


def read(client: Client) -> None:
    """Read a long conversation ten times, page by page."""
    for _ in range(10):
        for _ in client.iter_messages("long"):
            pass


def others(setting: Setting) -> Iterator[Line]:
    """Measure the adds of one client, one after the other, while another one does each of these."""
    with running(setting.new_directory()) as daemon:
        client = daemon.client()
        fill(client, "long", _LONG)
        client.create("others")
        for what, work in (
            ("nothing", _nothing),
            (f"a load of {_LOADED_BYTES // 10**6} MB", load),
            (f"a first render of {_LONG:,}", render),
            (f"a replay of {_LONG:,}", replay),
            (f"pages of {_LONG:,}, ten times", read),
        ):
            began = daemon.processor_time()
            times = _adds_beside(daemon, client, work)
            took = daemon.processor_time() - began
            half, most = (percentile(times, percent) * 1e3 for percent in (50, 99))
            figures = f"p50 {half:.1f}, p99 {most:.1f} ms; {took:.2f} s of its processor time"
            yield Line(f"longest add beside {what}", f"{max(times) * 1e3:.1f} ms", figures, None, "<= 50 ms")


def _nothing(_: Client) -> None:
    time.sleep(_ALONE)


def _adds_beside(daemon: Daemon, client: Client, work: Work) -> list[float]:
    """Return the seconds of each add while another process does some work."""
    spawn = get_context("spawn")
    ours, theirs = spawn.Pipe()
    process = spawn.Process(target=_do, args=(daemon.socket, theirs, work))
    process.start()
    ours.recv()
    times: list[float] = []
    ours.send(None)
    while not ours.poll():
        began = time.perf_counter()
        client.add("others", TEXT)
        times.append(time.perf_counter() - began)
    process.join()
    return times


def _do(path: str, parent: Connection, work: Work) -> None:
    with Client(path) as client:
        parent.send(None)
        parent.recv()
        work(client)
        parent.send(None)
