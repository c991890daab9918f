"""Where secrets are in the logs of a daemon, and which of them were sent to a model.

Events are taken in the order of each log, and those of a clone after those of its source. Of a secret, its kind and its
fingerprint are kept, never its text. What was kept goes on with the events that came since.

A secret was sent if an answer follows it on the same path: each node leads back to the newest secret on its path that
no answer follows, and each secret to the one before it. Most nodes lead to none. Of the others, those that follow each
other are one run: what is kept grows with the number of secrets, not with that of messages.
"""

from __future__ import annotations

from bisect import bisect_right

from reel.base.light_typing import TYPE_CHECKING, NamedTuple
from reel.reading.log_tree import parent_of, place_of
from reel.said.kinds import NODE_KINDS, ROLES
from reel.secrets.finding import find
from reel.secrets.marks import marks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from reel.reading.log_tree import Place
    from reel.said.messages import Event


class Secret(NamedTuple):
    """A secret in an event: its kind, its fingerprint, and whether only its mark is there."""

    kind: str
    fingerprint: str
    masked: bool


class Sighting:
    """An event with secrets.

    Args:
        time: when it was said, in milliseconds since the epoch.
        secrets: its secrets.
        before: the newest secret before it on its path that no answer follows, as far as is known.
        sent: whether an answer follows it.
    """

    def __init__(self, time: int, secrets: Sequence[Secret], before: Place | None, *, sent: bool = False) -> None:
        self.time = time
        self.secrets = tuple(secrets)
        self.before = before
        self.sent = sent


class _Log:
    """What is kept of the log of an agent.

    Args:
        reader: the agent in whose past it was read: itself, unless it was purged, and left its events to another one.
    """

    def __init__(self, reader: str) -> None:
        self.reader = reader
        # The seq up to which it was read.
        self.head = 0
        self.sightings: dict[int, Sighting] = {}
        # The first and the last seq of nodes that lead to the same secret, with no other between them, and the secret.
        self.runs: list[tuple[int, int, Place]] = []
        # The newest node, on any branch.
        self.newest = 0


class Ledger:
    """The secrets in the logs of a daemon.

    Args:
        fingerprint: returns the fingerprint of a secret.
        kept: what :meth:`kept` returned; empty if nothing was read yet.
    """

    def __init__(self, fingerprint: Callable[[str], str], kept: dict[str, Any] | None = None) -> None:
        self._fingerprint = fingerprint
        self._logs = {agent: _restored(log) for agent, log in (kept or {}).items()}
        # What was sent, of logs that are read again.
        self._were_sent: set[Place] = set()

    def head(self, agent: str) -> int:
        """Return the seq up to which the log of an agent was read."""
        return self._logs[agent].head if agent in self._logs else 0

    def readers(self) -> set[str]:
        """Return the agents whose pasts were read."""
        return {log.reader for log in self._logs.values()}

    def with_secrets(self) -> set[str]:
        """Return the agents in whose pasts there are secrets."""
        return {log.reader for log in self._logs.values() if log.sightings}

    def forget(self, reader: str) -> None:
        """Forget the past of an agent: it is gone, or is read again."""
        for agent in [agent for agent, log in self._logs.items() if log.reader == reader]:
            sightings = self._logs.pop(agent).sightings
            self._were_sent |= {(agent, seq) for seq, sighting in sightings.items() if sighting.sent}

    def sightings(self) -> Iterator[tuple[str, Place, Sighting]]:
        """Yield each event with secrets, and before it the agent in whose past it was read."""
        for agent, log in self._logs.items():
            for seq, sighting in log.sightings.items():
                yield log.reader, (agent, seq), sighting

    def take(self, reader: str, event: Event) -> None:
        """Take the next event of an agent's past."""
        place, kind = place_of(event), event["kind"]
        log = self._logs.setdefault(place[0], _Log(reader))
        log.head = place[1]
        found = secrets_of(event, self._fingerprint)
        if kind not in NODE_KINDS:
            if found:
                log.sightings[place[1]] = Sighting(_time(event), found, None)
            return
        carried = self._carried(parent_of(event))
        if found:
            log.sightings[place[1]] = Sighting(_time(event), found, carried, sent=place in self._were_sent)
            carried = place
        if ROLES.get(kind) == "assistant":
            self._send(carried)
        elif carried is not None and not found:
            _lead(log, place[1], carried)
        log.newest = place[1]

    def kept(self) -> dict[str, Any]:
        """Return what is to be kept, as JSON has it."""
        return {agent: _kept(log) for agent, log in self._logs.items()}

    def _sighting(self, place: Place | None) -> Sighting | None:
        log = None if place is None else self._logs.get(place[0])
        return None if log is None or place is None else log.sightings.get(place[1])

    def _carried(self, place: Place | None) -> Place | None:
        """Return the newest secret at a node or before it that no answer follows."""
        if place is None or (log := self._logs.get(place[0])) is None:
            return None
        found = place
        if place[1] not in log.sightings:
            index = bisect_right(log.runs, place[1], key=lambda run: run[0]) - 1
            if index < 0 or place[1] > log.runs[index][1]:
                return None
            found = log.runs[index][2]
        sighting = self._sighting(found)
        return None if sighting is None or sighting.sent else found

    def _send(self, place: Place | None) -> None:
        """Note that an answer follows a secret, and those before it."""
        while (sighting := self._sighting(place)) is not None and not sighting.sent:
            sighting.sent, place = True, sighting.before


def _lead(log: _Log, seq: int, carried: Place) -> None:
    """Note which secret a node leads to: if the node before it in the log leads there too, both are one run."""
    first, last, before = log.runs[-1] if log.runs else (0, 0, None)
    if (last, before) == (log.newest, carried):
        log.runs[-1] = first, seq, carried
    else:
        log.runs.append((seq, seq, carried))


def secrets_of(event: Event, fingerprint: Callable[[str], str]) -> list[Secret]:
    """Return the secrets and the marks in an event, each once."""
    secrets: dict[Secret, None] = {}
    for text in _texts(event):
        secrets |= dict.fromkeys(Secret(*mark, masked=True) for mark in marks(text))
        secrets |= dict.fromkeys(Secret(one.kind, fingerprint(one.text), masked=False) for one in find(text))
    return list(secrets)


def _texts(event: Event) -> list[str]:
    # JSON as it is: the name of a value stands before it, and escapes are known.
    return [text for name in ("content", "data_json") if isinstance(text := event.get(name), str)]


def _time(event: Event) -> int:
    sent = event.get("sent")
    return event["time"] if sent is None else sent


def _kept(log: _Log) -> list[Any]:
    sightings = [
        [seq, one.time, one.before, one.sent, [list(secret) for secret in one.secrets]]
        for seq, one in log.sightings.items()
    ]
    return [log.reader, log.head, log.newest, log.runs, sightings]


def _restored(kept: Any) -> _Log:
    reader, head, newest, runs, sightings = kept
    log = _Log(reader)
    log.head, log.newest = head, newest
    log.runs = [(first, last, (agent, seq)) for first, last, (agent, seq) in runs]
    for seq, time, before, sent, secrets in sightings:
        place = None if before is None else (before[0], before[1])
        log.sightings[seq] = Sighting(time, [Secret(*each) for each in secrets], place, sent=sent)
    return log
