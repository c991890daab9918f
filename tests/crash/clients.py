"""Clients that send random commands, lose their connections, retry, and record everything."""

import random
import socket
import time
from collections.abc import Iterable, Sequence
from threading import Event
from typing import Any

from reel.base.errors import from_wire
from reel.wire.frames import Response
from reel.wire.session import MessagePack
from tests.crash.command_generator import Asked, CommandGenerator, Names, one_restore
from tests.crash.history import Call
from tests.patience import PATIENCE

# Seconds between two attempts to find a daemon that takes connections.
_PAUSE = 0.01


class Worker:
    """One client; ``calls`` records its calls and their replies.

    Args:
        name: prefix of the names of its sessions.
        paths: the sockets of the daemons; each connection is to one of them.
        names: the agents.
        seed: seed of its commands.
        cuts: the share of bursts in which it loses its connection.
    """

    def __init__(self, name: str, paths: Sequence[str], names: Names, seed: int, cuts: float = 0.05) -> None:
        self.calls: list[Call] = []
        self._name = name
        self._paths = paths
        self._names = names
        self._random = random.Random(seed)
        self._generator = CommandGenerator(name, names, self._random)
        self._cuts = cuts
        self._sessions = 0
        # Commands with a key and an unknown outcome, to retry.
        self._again: list[Asked] = []

    def run(self, stop: Event) -> None:
        """Send commands until ``stop`` is set, or the only daemon refuses connections."""
        while not stop.is_set():
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(PATIENCE)
                try:
                    connection.connect(self._random.choice(self._paths))
                except OSError:
                    if len(self._paths) == 1:
                        return
                    stop.wait(_PAUSE)
                    continue
                self._talk(connection, stop)

    def _talk(self, connection: socket.socket, stop: Event) -> None:
        self._sessions += 1
        session = f"{self._name}.{self._sessions}"
        framing, number = MessagePack(64 << 20), 0
        hello = {"client": {"name": session, "version": "1"}, "errors": "map"}
        asked = [("hello", "", hello), *self._take_again()]
        while asked and not stop.is_set():
            cut = self._random.random() < self._cuts
            sent = time.monotonic()
            calls = [Call(session, number + place, *each, sent) for place, each in enumerate(one_restore(asked))]
            number += len(calls)
            answers = self._exchange(connection, framing, calls, self._random.randrange(len(calls)) if cut else None)
            self._note(calls, answers)
            if len(answers) < len(calls):
                return
            asked = self._generator.burst()

    def _take_again(self) -> list[Asked]:
        again, self._again = self._again, []
        return again

    def _exchange(
        self, connection: socket.socket, framing: MessagePack, calls: list[Call], enough: int | None
    ) -> dict[int, tuple[float, Response]]:
        """Send calls in one write, and read the replies to all of them, or to ``enough`` of them."""
        answers: dict[int, tuple[float, Response]] = {}
        try:
            connection.sendall(b"".join(framing.request(call.number, call.method, _wire(call)) for call in calls))
            while len(answers) < len(calls) and (enough is None or len(answers) < enough):
                data = connection.recv(1 << 16)
                if not data:
                    break
                now = time.monotonic()
                for frame in framing.feed(data):
                    if isinstance(frame, Response) and isinstance(frame.id, int):
                        answers[frame.id] = (now, frame)
        except ConnectionError:
            pass  # the daemon died
        return answers

    def _note(self, calls: Iterable[Call], answers: dict[int, tuple[float, Response]]) -> None:
        for call in calls:
            noted = call
            if call.number in answers:
                answered, answer = answers[call.number]
                noted = _answered(call, answered, answer)
            if noted.reply is not None:
                self._names.note(noted)
            if noted.unknown and call.key is not None:
                self._again.append((call.method, call.agent, dict(call.params)))
            if call.method != "hello":
                self.calls.append(noted)


def _wire(call: Call) -> list[Any]:
    params = {name: value for name, value in call.params.items() if value is not None}
    return [params] if call.method == "hello" else [call.agent, params]


def _answered(call: Call, answered: float, answer: Response) -> Call:
    if answer.error is None:
        return call._replace(answered=answered, reply=answer.result)
    error = from_wire(answer.error)
    return call._replace(answered=answered, error=error.name, data=error.data)
