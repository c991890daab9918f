"""Ways for a PostgreSQL server to come back with less than it acknowledged, and the rules that hold afterwards."""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from itertools import pairwise
from threading import Event as Flag
from typing import Any, NamedTuple
from urllib.parse import quote

import psycopg

from reel.base.errors import Internal, NotFound, ReelError
from reel.sync.client import Client
from reel.sync.subscription import Subscription
from reel.wire.pushes import EventPush, ResetPush
from tests.daemon import Daemon, until
from tests.patience import PATIENCE
from tests.postgres import own_server

# Seconds between two attempts while the server is away.
_PAUSE = 0.01


class Losing(NamedTuple):
    """A server that will lose something.

    Args:
        url: where daemons find it, also afterwards.
        durability: the daemons' setting.
        begin: everything that is acknowledged from now on may be lost.
        lose: ends the server, and makes it come back with less.
    """

    url: str
    durability: str
    begin: Callable[[], None]
    lose: Callable[[], None]


@contextmanager
def promoted() -> Iterator[Losing]:
    """A standby is promoted that had lost touch with its primary."""
    options = ("fsync=off", "full_page_writes=off", "autovacuum=off")
    with own_server(*options) as primary, own_server(*options, primary=primary) as standby:
        hosts = quote(f"{primary.directory},{standby.directory}", safe=",")

        def cut_off() -> None:
            with psycopg.connect(standby.url, autocommit=True) as connection:
                connection.execute("ALTER SYSTEM SET primary_conninfo = 'host=/nowhere'")
                connection.execute("SELECT pg_reload_conf()")

        def promote() -> None:
            primary.stop()
            with psycopg.connect(standby.url, autocommit=True) as connection:
                connection.execute("SELECT pg_promote()")

        yield Losing(
            f"postgresql://reel@/postgres?host={hosts}&target_session_attrs=read-write", "full", cut_off, promote
        )


@contextmanager
def crashed() -> Iterator[Losing]:
    """A server crashes before its WAL is on the disk, for which the daemons do not wait."""
    with own_server("fsync=off", "full_page_writes=off", "autovacuum=off", "wal_writer_delay=1s") as server:

        def crash() -> None:
            server.stop()
            server.start()

        yield Losing(server.url, "normal", lambda: None, crash)


@contextmanager
def restored() -> Iterator[Losing]:
    """A backup is restored that was made while the daemons were writing."""
    with own_server() as server:
        copy = server.directory / "copy"

        def restore() -> None:
            server.stop()
            server.restore(copy)
            server.start()

        yield Losing(server.url, "full", lambda: server.back_up(copy), restore)


@contextmanager
def killed() -> Iterator[Losing]:
    """A process of the server is killed; the server goes on without a new start, as it was on the disk."""
    with own_server("fsync=off", "full_page_writes=off", "autovacuum=off", "wal_writer_delay=1s") as server:
        yield Losing(server.url, "normal", lambda: None, server.crash)


KINDS = {"promoted": promoted, "crashed": crashed, "restored": restored, "killed": killed}


class Added(NamedTuple):
    """A text that a writer has sent.

    Args:
        text: the text.
        sent: when.
        is_certain: whether it was acknowledged; if not, it is unknown whether it was written.
        after: the text before it that it was based on with ``if_seq``, if it was.
    """

    text: str
    sent: float
    is_certain: bool
    after: str | None


class Writer:
    """The only client that adds to one agent, at one daemon after the other.

    Args:
        name: the agent's.
        sockets: of the daemons.
        seed: chooses among them.
    """

    def __init__(self, name: str, sockets: Sequence[str], seed: int) -> None:
        self.name = name
        self.added: list[Added] = []
        self._sockets = sockets
        self._chance = random.Random(seed)

    def acknowledged(self, since: float) -> int:
        """Return how many texts were acknowledged that were sent after a moment."""
        return sum(each.is_certain and each.sent > since for each in self.added)

    def run(self, stop: Flag) -> None:
        """Add texts until told to stop."""
        with ExitStack() as stack:
            clients = [stack.enter_context(Client(path, patience=PATIENCE)) for path in self._sockets]
            head: tuple[int, str] | None = None
            number = 0
            while not stop.is_set():
                number += 1
                head = self._add(self._chance.choice(clients), f"{self.name}-{number}", head)

    def _add(self, client: Client, text: str, head: tuple[int, str] | None) -> tuple[int, str] | None:
        """Add a text; return the head after it and the text, unless it was refused."""
        seq, after = head if head is not None and self._chance.random() < 0.5 else (None, None)
        sent = time.monotonic()
        try:
            reply = client.add(self.name, text, create=seq is None, if_seq=seq)
        except Internal:
            self.added.append(Added(text, sent, is_certain=False, after=None))
        except ReelError:
            time.sleep(_PAUSE)  # the server is away
        else:
            self.added.append(Added(text, sent, is_certain=True, after=after))
            return reply.head, text
        return None

    def problems(self, texts: Sequence[str], back: float) -> Iterator[str]:
        """Yield what is wrong with the texts of the conversation after a loss.

        They must be the first ones that were acknowledged before it, and all that were acknowledged after it.

        Args:
            texts: those of the conversation.
            back: when the server was back.
        """
        places = {each.text: place for place, each in enumerate(self.added)}
        if foreign := [text for text in texts if text not in places]:
            yield f"{self.name} has what was never acknowledged for it: {foreign[:5]}"
            return
        order = [places[text] for text in texts]
        if order != sorted(set(order)):
            yield f"{self.name} has texts twice or out of order"
        acknowledged = [each for each in self.added if each.is_certain]
        if sum(first and not second for first, second in pairwise(each.text in texts for each in acknowledged)) > 1:
            yield f"{self.name} lacks more than the texts from one on that were acknowledged before the loss"
        if gone := [each.text for each in acknowledged if each.sent > back and each.text not in texts]:
            yield f"{self.name} lacks what was acknowledged after the loss: {gone[:5]}"
        previous = dict(zip(texts[1:], texts, strict=False))
        for text, before in [(each.text, each.after) for each in self.added if each.after and each.text in texts]:
            if previous.get(text) != before:
                yield f"{text} was added with if_seq after {before}, and stands after {previous.get(text)}"


class Copier:
    """Follows all agents at one daemon and keeps copies of their conversations, from what the protocol says alone.

    Args:
        socket: of the daemon.
    """

    def __init__(self, socket: str) -> None:
        self.copies: dict[str, list[Any]] = {}
        # What was told of each id.
        self.told: dict[int, tuple[str, int, str]] = {}
        self.resets = 0
        self.problems: list[str] = []
        self._socket = socket
        self._stop = Flag()
        self._pushes: Subscription | None = None

    def stop(self) -> None:
        """End :meth:`run`."""
        self._stop.set()
        if self._pushes is not None:
            self._pushes.close()

    def run(self) -> None:
        """Follow until :meth:`stop`."""
        with Client(self._socket, patience=PATIENCE) as client:
            while not self._stop.is_set():
                with (
                    suppress(ReelError),
                    client.subscribe(since=max(self.told, default=0), view="conversation") as self._pushes,
                ):
                    while not self._stop.is_set() and (push := next(self._pushes, None)) is not None:
                        self._hear(client, push)
                self._stop.wait(_PAUSE)

    def _hear(self, client: Client, push: Any) -> None:
        if isinstance(push, ResetPush):
            self.resets += 1
            for agent in [push.agent] if push.agent else list(self.copies):
                self._read(client, agent)
        elif isinstance(push, EventPush):
            what = (push.agent, push.seq, push.kind)
            if self.told.setdefault(push.id, what) != what:
                self.problems.append(f"the id {push.id} is of {self.told[push.id]} and of {what}")
            copy = self.copies.get(push.agent, [])[: push.keep]
            if push.record is not None:
                copy.append(push.record)
            self.copies[push.agent] = copy
            if len(copy) != push.count:
                self._read(client, push.agent)

    def _read(self, client: Client, agent: str) -> None:
        while not self._stop.is_set():
            try:
                self.copies[agent] = list(client.iter_conversation(agent))
            except NotFound:
                self.copies.pop(agent, None)
            except ReelError:
                self._stop.wait(_PAUSE)  # the server is away
                continue
            return


@contextmanager
def running(tasks: Sequence[Callable[[], None]], stop: Callable[[], None]) -> Iterator[None]:
    """Run functions in threads during the block, and raise what they raise."""
    with ThreadPoolExecutor(len(tasks)) as threads:
        futures = [threads.submit(task) for task in tasks]
        try:
            yield
        finally:
            stop()
        for future in futures:
            future.result(PATIENCE)


def stop_all(copiers: Sequence[Copier]) -> None:
    """Stop copiers."""
    for copier in copiers:
        copier.stop()


def foreign_parents(url: str) -> list[tuple[Any, ...]]:
    """Return the events whose parent is missing, later or of another agent; there are no clones."""
    with psycopg.connect(url) as connection:
        return connection.execute(
            "SELECT e.id, e.parent FROM reel.events e LEFT JOIN reel.events p ON p.id = e.parent"
            " WHERE e.parent IS NOT NULL AND (p.id IS NULL OR p.id >= e.id OR p.agent <> e.agent)"
        ).fetchall()


def wait_for_more(writers: Sequence[Writer], since: float, texts: int) -> None:
    """Wait until each writer has so many more texts acknowledged."""
    until(lambda: all(writer.acknowledged(since) >= texts for writer in writers))


def wait_until_told(copiers: Sequence[Copier], newest: int) -> None:
    """Wait until every copier has been told of the newest event."""
    until(lambda: all(newest in copier.told for copier in copiers))


def differences(copier: Copier, client: Client) -> Iterator[str]:
    """Yield what is wrong with the copies, after everything has come to rest."""
    yield from copier.problems
    for agent in client.iter_agents():
        records = list(client.iter_conversation(agent.id))
        copied = copier.copies.get(agent.id, [])
        if copied != records:
            yield f"the copy of {agent.name} has {len(copied)} records, the log {len(records)}"


def daemons_on(stack: ExitStack, losing: Losing, made: Sequence[Daemon]) -> None:
    """Start daemons on a server."""
    for daemon in made:
        daemon.database = losing.url
        daemon.options = ["--durability", losing.durability]
        stack.callback(daemon.close)
        daemon.start()
