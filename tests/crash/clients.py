"""Clients that do anything in any order, lose their connections, try again, and write it all down."""

import random
import socket
import time
from collections.abc import Iterable
from threading import Event
from typing import Any

from reel.errors import from_wire
from reel.frames import Response
from reel.session import MessagePack
from tests.crash.choices import Asked, Choices, Names, one_restore
from tests.crash.history import Call
from tests.daemon import PATIENCE


class Worker:
    """One client; what it asked and was told is in ``calls``.

    Args:
        name: what its sessions are called, with a number behind.
        path: the socket.
        names: the agents.
        seed: decides what it does.
        cuts: how often it loses its connection, as a share of its bursts.
    """

    def __init__(self, name: str, path: str, names: Names, seed: int, cuts: float = 0.05) -> None:
        self.calls: list[Call] = []
        self._name = name
        self._path = path
        self._names = names
        self._random = random.Random(seed)
        self._choices = Choices(name, names, self._random)
        self._cuts = cuts
        self._sessions = 0
        # What is to be tried again, because nobody knows what became of it.
        self._again: list[Asked] = []

    def run(self, stop: Event) -> None:
        """Go on until told to stop, or until nobody answers."""
        while not stop.is_set():
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(PATIENCE)
                try:
                    connection.connect(self._path)
                except OSError:
                    return
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
            asked = self._choices.some()

    def _take_again(self) -> list[Asked]:
        again, self._again = self._again, []
        return again

    def _exchange(
        self, connection: socket.socket, framing: MessagePack, calls: list[Call], enough: int | None
    ) -> dict[int, tuple[float, Response]]:
        """Send calls in one piece, and take in answers: all of them, or some and then no more."""
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
            pass  # it has died
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
