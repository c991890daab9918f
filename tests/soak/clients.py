"""The clients of a mixed load; each function is one client, which acts until its gate ends it."""

import random
import socket
from collections.abc import Callable
from contextlib import suppress

from msgpack import packb

from reel.base.errors import Conflict, Exists, NoSuchMark, NotFound, NothingToUndo
from reel.sync.client import Client
from reel.sync.subscription import Subscription
from tests.patience import PATIENCE
from tests.soak.gate import Gate

# Agents with so many messages of so many characters: their pages are long, and together they are larger than what the
# daemon's connections to the database keep of it. So these caches are full soon after each start.
SHELVES, BOOKS, BOOK = [f"shelf-{number}" for number in range(12)], 16, 1 << 16
# What a client may be refused, because of what it or another one did before.
_REFUSALS = (Conflict, NoSuchMark, NothingToUndo, NotFound, Exists)
# Seconds between two actions of one client, on average.
_PACE = 0.08
_TEXT = "What is a tape deck, and who still has one? "
_SHORT = (
    packb([0, 1, "ping", []]),
    packb([0, 1, "ping", []])[:-1],
    packb([0, 1, "subscribe", []]) * 5,
    packb([0, 1, "wait", [SHELVES[0], 1 << 40, None, 50]]),
    packb([0, 1, "messages", ["nobody"]]),
    packb([2, "no_such_method", []]),
    b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n',
    b"hello\n",
    b"",
)


class Pace:
    """Passes the gate between two actions, at random moments."""

    def __init__(self, gate: Gate, seed: int) -> None:
        self.random = random.Random(seed)
        self._gate = gate

    def go(self, times: float = 1) -> bool:
        """Wait for the next action; return whether there is one."""
        return self._gate.wait(self.random.uniform(0, 2 * _PACE * times))


def write(path: str, name: str, pace: Pace) -> None:
    """Write to one agent after the other, and take some of it back."""
    with Client(path, patience=PATIENCE) as client:
        actions: list[Callable[[str], object]] = [
            lambda agent: client.add(agent, [_TEXT * pace.random.randrange(20)] * pace.random.randrange(1, 20)),
            lambda agent: client.add(agent, "and now " + _TEXT),
            lambda agent: client.mark(agent, "here"),
            lambda agent: client.rewind(agent, "here"),
            client.undo,
            client.redo,
            client.clear,
        ]
        number = 0
        while pace.go():
            if number % 40 == 0:
                client.create(f"{name}-{number}")
            agent = f"{name}-{number - number % 40}"
            with suppress(*_REFUSALS):
                pace.random.choices(actions, (2, 20, 2, 1, 3, 2, 1))[0](agent)
            number += 1


def branch(path: str, name: str, pace: Pace) -> None:
    """Make families of clones, and kill and revive them as a whole."""
    with Client(path, patience=PATIENCE) as client:
        number = 0
        while pace.go():
            root = f"{name}-{number}"
            number += 1
            client.add(root, [_TEXT] * 20, create=True)
            members = [root]
            while len(members) < 8 and pace.go():
                clone = f"{root}-{len(members)}"
                with suppress(*_REFUSALS):
                    client.clone(pace.random.choice(members), clone)
                    client.add(clone, _TEXT)
                    members.append(clone)
            with suppress(*_REFUSALS):
                client.kill(root, "done", cascade=True)
                client.revive(root, cascade=True)
                client.kill(root, "done", cascade=True)


def read(path: str, _name: str, pace: Pace) -> None:
    """Read conversations, logs and lists."""
    with Client(path, patience=PATIENCE) as client:
        while pace.go():
            page = client.agents(limit=20, order="updated", details=pace.random.random() < 0.5)
            agent = pace.random.choice(page.agents).id
            with suppress(*_REFUSALS):
                client.messages(agent)
                client.history(agent, inherited=True)
                client.conversation(agent, at=pace.random.randrange(1, client.agent(agent).head + 1))


def hurry(path: str, _name: str, pace: Pace) -> None:
    """Connect, say something or nothing, and go away at once."""
    while pace.go(0.5):
        with suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(PATIENCE)
            connection.connect(path)
            connection.sendall(pace.random.choice(_SHORT))
            if pace.random.random() < 0.5:
                connection.shutdown(socket.SHUT_WR)
                connection.recv(1 << 16)


def dawdle(path: str, _name: str, pace: Pace) -> None:
    """Ask for much, read little of it, and go away in the middle or at the end."""
    while pace.go():
        with suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(PATIENCE)
            connection.connect(path)
            shelf = packb([0, 1, "messages", [pace.random.choice(SHELVES)]])
            connection.sendall(shelf * pace.random.randrange(1, 4))
            left = pace.random.choice([1 << 12, BOOKS * BOOK])
            while left > 0 and pace.random.random() < 0.99 and (data := connection.recv(1 << 16)):
                left -= len(data)


def follow(subscription: Subscription) -> None:
    """Follow every agent until the subscription is closed."""
    for _ in subscription:
        pass
