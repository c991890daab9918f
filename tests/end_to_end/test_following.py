"""Who keeps a copy from pushes alone has what the daemon has, whatever others do and whatever happens to the daemon.

Four writers and as many followers, each in a thread of its own. A follower knows ``keep``, ``count`` and what a push
brings, and reads nothing but what ``count`` says it lacks.
"""

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from itertools import count
from random import Random
from typing import Any, TypeAlias

import anyio
import pytest

import reel
from reel.sync.client import Client
from reel.wire.pushes import EventPush, Push
from tests.daemon import Daemon, until
from tests.patience import PATIENCE

pytestmark = pytest.mark.usefixtures("on_each_engine")

AGENTS = ("a", "b", "c")
COMMANDS = 60
# What a follower calls once it has subscribed.
Begun: TypeAlias = Callable[[], None]
# The errors that a writer may get because another writer was faster.
REFUSED = (reel.NoSuchMark, reel.NothingToUndo)


class Writer:
    """A writer of random commands."""

    def __init__(self, client: Client, random: Random, names: list[str]) -> None:
        self._client = client
        self._random = random
        self._names = names
        self.done = 0
        self._acts: list[Callable[[str], Any]] = [
            *[self._add] * 5,
            lambda agent: client.mark(agent, random.choice(["one", "two", None])),
            lambda agent: client.rewind(agent, random.choice(["one", "two", None])),
            client.undo,
            client.undo,
            client.redo,
            lambda agent: client.restore(agent, random.randint(0, client.agent(agent).head)),
            lambda agent: client.clone(random.choice([name for name in AGENTS if name != agent]), into=agent),
            self._clone,
            self._clear,
            self._append,
        ]

    def _append(self, agent: str) -> None:
        """Append a stretch that goes back, sets a mark and goes on."""
        to = self._random.randint(0, self._client.agent(agent).head)
        said = {"role": "assistant", "content": f"stretch {self._random.random()}"}
        events = [said, {"kind": "restore", "data_json": f'{{"to":{to}}}'}, said, {"kind": "mark"}, said]
        self._client.append(agent, events)

    def run(self) -> None:
        """Execute so many commands."""
        for _ in range(COMMANDS):
            act = self._random.choice(self._acts)
            with suppress(*REFUSED):
                act(self._random.choice(AGENTS))
            self.done += 1

    def _add(self, agent: str) -> None:
        texts = ["x" * self._random.choice([1, 10, 20_000]) for _ in range(self._random.randint(1, 3))]
        extra: list[Any] = [{"role": "system", "content": "be brief"}, {"kind": "note", "content": "n"}]
        self._client.add(agent, [*texts, *self._random.choices(extra, k=self._random.randint(0, 1))])

    def _clone(self, agent: str) -> None:
        self._names.append(self._client.clone(agent).name)

    def _clear(self, agent: str) -> None:
        if self._random.random() < 0.3:
            self._client.clear(agent)


def written(writers: list[Writer], share: float) -> None:
    """Wait until the writers have executed this share of their commands."""
    until(lambda: sum(writer.done for writer in writers) >= share * len(writers) * COMMANDS)


class Copy:
    """A copy of one agent's view.

    Args:
        client: reads what a push does not bring.
        view: which of the two.
        entries: the view when the copy began.
    """

    def __init__(self, client: Client, view: str, entries: list[Any]) -> None:
        self._client = client
        self._view = view
        self._last: EventPush | None = None
        self.entries = entries
        self.seqs: list[int] = []
        self.over = False

    def hear(self, push: EventPush, check: bool) -> None:
        """Take an event; now and then compare the copy with the view before it."""
        last, self._last = self._last, push
        if check and last is not None and last.command != push.command:
            assert self.entries == self._read(last), last
        assert push.keep is not None
        assert push.keep <= len(self.entries), push
        del self.entries[push.keep :]
        entry = push.message if self._view == "messages" else push.record
        if entry is not None:
            self.entries.append(entry)
        if len(self.entries) != push.count:
            self.entries = self._read(push)
        assert len(self.entries) == push.count, push
        self.seqs.append(push.seq)
        self.over = push.kind == "agent_killed"

    def _read(self, push: EventPush) -> list[Any]:
        return self.now(self._client, push.agent, self._view, push.seq)

    @staticmethod
    def now(client: Client, agent: str, view: str, at: int | None = None) -> list[Any]:
        """Read a view."""
        return list((client.iter_messages if view == "messages" else client.iter_conversation)(agent, at=at))


def follow_one(daemon: Daemon, agent: str, view: Any, random: Random, pause: float, begun: Begun) -> None:
    """Keep a copy of one agent until it dies, with a pause after each push."""
    with Client(daemon.socket, patience=PATIENCE) as client:
        head = client.agent(agent).head
        copy = Copy(client, view, Copy.now(client, agent, view, head))
        with client.subscribe(agent, since=head, view=view) as pushes:
            begun()
            for push in pushes:
                _hear(copy, push, random)
                time.sleep(pause)  # what a slow reader does
                if copy.over:
                    break

        assert copy.seqs == [event["seq"] for event in client.iter_history(agent, since=head)]
        assert copy.entries == Copy.now(client, agent, view)


def follow_all(daemon: Daemon, view: Any, random: Random, begun: Begun) -> None:
    """Keep a copy of every agent from the first event until all agents have died."""
    copies: dict[str, Copy] = {}
    ids: list[int] = []
    with Client(daemon.socket, patience=PATIENCE) as client:
        with client.subscribe(since=0, view=view) as pushes:
            begun()
            for push in pushes:
                if isinstance(push, EventPush):
                    ids.append(push.id)
                    if push.agent not in copies:
                        copies[push.agent] = Copy(client, view, [])
                    _hear(copies[push.agent], push, random)
                    if all(copy.over for copy in copies.values()):
                        break

        assert ids == [*range(1, len(ids) + 1)]
        for agent, copy in copies.items():
            assert copy.seqs == [event["seq"] for event in client.iter_history(agent)]
            assert copy.entries == Copy.now(client, agent, view)


def follow_concurrently(daemon: Daemon, agent: str, backend: str, begun: Begun) -> None:
    """Keep a copy with the async client; another client reads what is missing."""

    async def follow() -> None:
        with anyio.fail_after(PATIENCE):
            async with reel.aio.connect(daemon.socket, patience=PATIENCE) as client:
                head = (await client.agent(agent)).head
                copy = Copy(blocking, "messages", [message async for message in client.iter_messages(agent, at=head)])
                async with client.subscribe(agent, since=head) as pushes:
                    begun()
                    async for push in pushes:
                        await anyio.to_thread.run_sync(_hear, copy, push, Random(0))
                        if copy.over:
                            break
                assert copy.seqs == [event["seq"] async for event in client.iter_history(agent, since=head)]
                assert copy.entries == [message async for message in client.iter_messages(agent)]

    with Client(daemon.socket, patience=PATIENCE) as blocking:
        anyio.run(follow, backend=backend)


def _hear(copy: Copy, push: Push, random: Random) -> None:
    if isinstance(push, EventPush):
        copy.hear(push, check=random.random() < 0.1)


def begin_to_follow(daemon: Daemon, pool: ThreadPoolExecutor, seeds: Any) -> list[Future[None]]:
    """Start followers of every kind, and wait until they follow: a daemon that is away cannot be followed."""
    begun: list[None] = []

    def begin(follow: Callable[..., None], *arguments: Any) -> Future[None]:
        return pool.submit(follow, daemon, *arguments, lambda: begun.append(None))

    followers = [
        *(
            begin(follow_one, agent, view, Random(next(seeds)), 0)
            for agent in AGENTS
            for view in ("messages", "conversation")
        ),
        begin(follow_one, "a", "messages", Random(next(seeds)), 0.01),
        begin(follow_all, "conversation", Random(next(seeds))),
        begin(follow_concurrently, "a", "trio"),
        begin(follow_concurrently, "b", "asyncio"),
    ]
    until(lambda: len(begun) == len(followers) or any(each.done() for each in followers))
    return followers


@pytest.mark.parametrize(("seed", "deaths"), [pytest.param(1, 0, marks=pytest.mark.file), (3, 3)])
def test_copies_are_what_they_are_copies_of(daemon: Daemon, seed: int, deaths: int) -> None:
    """Each copy is right at the end of every command, and each event arrives once, in order, despite restarts."""
    seeds = count(1000 * seed)
    names = list(AGENTS)
    with ExitStack() as stack, daemon.client() as client, ThreadPoolExecutor(40) as pool:
        for agent in AGENTS:
            client.create(agent, system="be kind")
        following = begin_to_follow(daemon, pool, seeds)
        clients = [stack.enter_context(Client(daemon.socket, patience=PATIENCE).connect()) for _ in range(4)]
        writers = [Writer(each, Random(next(seeds)), names) for each in clients]
        writing = [pool.submit(writer.run) for writer in writers]
        for death in range(1, deaths + 1):
            written(writers, death / (deaths + 1))
            daemon.kill()
            daemon.start()
        following += begin_to_follow(daemon, pool, seeds)  # some come later
        for each in writing:
            each.result()
        for name in [row.name for row in client.iter_agents(alive=True)]:
            client.kill(name)
        for each in following:
            each.result()
        assert all(client.replay(name).matched for name in names)
