"""Clients that do anything in any order, lose their connections, try again, and write it all down."""

import random
import socket
import time
from collections.abc import Iterable
from threading import Event
from typing import Any, TypeAlias

from reel.errors import from_wire
from reel.session import Answer, MessagePack
from tests.crash.history import Call
from tests.daemon import PATIENCE

# What is done how often.
_WEIGHTS = {
    "add": 40,
    "messages": 8,
    "mark": 8,
    "rewind": 8,
    "clear": 3,
    "undo": 8,
    "redo": 5,
    "restore": 4,
    "clone": 4,
    "create": 3,
    "kill": 2,
    "revive": 4,
}
_LABELS = (None, "one", "two")
# Agents that are worked on at a time.
_AGENTS = 6

# A method, the name of an agent, and what else it is given.
Asked: TypeAlias = tuple[str, str, dict[str, Any]]


class Names:
    """The agents that there may be, shared by the clients of one daemon."""

    def __init__(self) -> None:
        self._made = 0
        self.recent: list[str] = []
        self.heads: dict[str, int] = {}

    def new(self) -> str:
        """Give a name that nobody has had."""
        self._made += 1
        self.recent = [*self.recent[1 - _AGENTS :], f"agent-{self._made}"]
        return self.recent[-1]


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
        self._cuts = cuts
        self._sessions = 0
        self._texts = 0
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
            calls = [Call(session, number + place, *each, sent) for place, each in enumerate(_one_restore(asked))]
            number += len(calls)
            answers = self._exchange(connection, framing, calls, self._random.randrange(len(calls)) if cut else None)
            self._note(calls, answers)
            if len(answers) < len(calls):
                return
            asked = [self._any() for _ in range(self._random.choice((1, 1, 8, 32)))]

    def _take_again(self) -> list[Asked]:
        again, self._again = self._again, []
        return again

    def _exchange(
        self, connection: socket.socket, framing: MessagePack, calls: list[Call], enough: int | None
    ) -> dict[int, tuple[float, Answer]]:
        """Send calls in one piece, and take in answers: all of them, or some and then no more."""
        answers: dict[int, tuple[float, Answer]] = {}
        try:
            connection.sendall(b"".join(framing.request(call.number, call.method, _wire(call)) for call in calls))
            while len(answers) < len(calls) and (enough is None or len(answers) < enough):
                data = connection.recv(1 << 16)
                if not data:
                    break
                now = time.monotonic()
                for frame in framing.feed(data):
                    if isinstance(frame, Answer) and isinstance(frame.id, int):
                        answers[frame.id] = (now, frame)
        except ConnectionError:
            pass  # it has died
        return answers

    def _note(self, calls: Iterable[Call], answers: dict[int, tuple[float, Answer]]) -> None:
        for call in calls:
            noted = call
            if call.number in answers:
                answered, answer = answers[call.number]
                noted = _answered(call, answered, answer)
            if noted.reply is not None and "head" in noted.reply:
                self._names.heads[call.target] = noted.reply["head"]
            if noted.unknown and call.key is not None:
                self._again.append((call.method, call.agent, dict(call.params)))
            if call.method != "hello":
                self.calls.append(noted)

    def _any(self) -> Asked:
        """Choose something to ask."""
        pick = self._random.choice
        (method,) = self._random.choices(list(_WEIGHTS), list(_WEIGHTS.values()))
        if method == "create" or not self._names.recent:
            return "create", self._names.new(), {"system": pick((None, "be brief")), **self._terms()}
        agent = pick(self._names.recent)
        if method == "messages":
            return method, agent, {"view": "conversation", "limit": 10_000}
        return method, agent, {**self._params(method, agent), **self._terms(agent)}

    def _params(self, method: str, agent: str) -> dict[str, Any]:
        pick = self._random.choice
        match method:
            case "add":
                return {"messages": [self._text() for _ in range(pick((1, 1, 1, 3, 9)))]}
            case "mark" | "rewind":
                return {"label": pick(_LABELS)}
            case "restore":
                return {"at": self._random.randint(0, self._names.heads.get(agent, 0))}
            case "clone":
                into = pick(self._names.recent)
                return {"into": into} if into != agent and pick((True, False)) else {"name": self._names.new()}
        return {}

    def _terms(self, agent: str | None = None) -> dict[str, Any]:
        """Give most commands a key, and some a head to be at."""
        terms: dict[str, Any] = {}
        if self._random.random() < 0.7:
            terms["key"] = f"{self._name}-{self._random.getrandbits(64):x}"
        if agent in self._names.heads and self._random.random() < 0.1:
            terms["if_seq"] = self._names.heads[agent]
        return terms

    def _text(self) -> str:
        """Make a text that nobody else says; one in twenty is long."""
        self._texts += 1
        return f"{self._name}:{self._texts}".ljust(self._random.choice([0] * 19 + [20_000]))


def _one_restore(asked: list[Asked]) -> list[Asked]:
    """Leave out all restores but one: of two that nobody heard of, the log does not say which it has."""
    restores = [each for each in asked if each[0] == "restore"]
    return [each for each in asked if each not in restores[1:]]


def _wire(call: Call) -> list[Any]:
    params = {name: value for name, value in call.params.items() if value is not None}
    return [params] if call.method == "hello" else [call.agent, params]


def _answered(call: Call, answered: float, answer: Answer) -> Call:
    if answer.error is None:
        return call._replace(answered=answered, reply=answer.result)
    error = from_wire(answer.error)
    return call._replace(answered=answered, error=error.name, data=error.data)
