"""Looks for secrets in everything that the daemon stores; a later look reads only what came since."""

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from reel import requests
from reel.base.errors import NotFound
from reel.base.light_typing import NamedTuple
from reel.cli.line.context import Context
from reel.daemon.address import state_directory
from reel.importing.adding import state_file
from reel.importing.values import digest
from reel.reading.secret_ledger import Ledger, Secret, Sighting
from reel.replies import AgentRow
from reel.secrets.shapes import SHAPES

# The file, in the state directory. It has kinds, fingerprints and seqs, and nothing of a secret.
NAME = "secrets.json"
_VERSION = 1


class Stored(NamedTuple):
    """A secret in an event.

    Args:
        secret: the secret.
        reader: the id of an agent that has it in its past.
        agent: the id of the agent in whose log it is.
        seq: the seq of the event there.
        time: when it was said.
        sent: whether an answer follows it.
    """

    secret: Secret
    reader: str
    agent: str
    seq: int
    time: int
    sent: bool


class Look:
    """What a look found.

    Args:
        names: the names of all agents, by their ids.
        ledger: where secrets are.
    """

    def __init__(self, names: Mapping[str, str], ledger: Ledger) -> None:
        self.names = names
        found = [stored for sighting in ledger.sightings() for stored in _each(*sighting)]
        # When each secret was seen first.
        self.first_seen: dict[str, int] = {}
        for stored in found:
            fingerprint = stored.secret.fingerprint
            self.first_seen[fingerprint] = min(stored.time, self.first_seen.get(fingerprint, stored.time))
        # The secrets, those that were seen first before others.
        self.stored = sorted(found, key=self._order)

    def _order(self, stored: Stored) -> tuple[Any, ...]:
        fingerprint = stored.secret.fingerprint
        return self.first_seen[fingerprint], fingerprint, self.names.get(stored.reader, ""), stored.agent, stored.seq


def _each(reader: str, place: tuple[str, int], sighting: Sighting) -> Iterable[Stored]:
    for secret in sighting.secrets:
        yield Stored(secret, reader, *place, sighting.time, sighting.sent)


def look(ctx: Context, fingerprint: Callable[[str], str]) -> Look:
    """Look through all logs, and remember what was found."""
    path, daemon = f"{state_directory()}/{NAME}", str(ctx.socket)
    basis = digest(str(_VERSION), fingerprint(""), repr(SHAPES))
    daemons = _remembered(path, basis)
    try:
        ledger = Ledger(fingerprint, daemons.get(daemon))
    except (AttributeError, LookupError, TypeError, ValueError):  # somebody has edited the file
        ledger = Ledger(fingerprint)
    rows = list(ctx.client.iter_agents())
    try:
        with ctx.out.waiting("looking for secrets"):
            _read_all(ctx, rows, ledger)
    finally:  # what was read until Ctrl-C need not be read again
        with suppress(OSError):
            state_file.replace(path, {"basis": basis, "daemons": {**daemons, daemon: ledger.kept()}})
    return Look({row.id: row.name for row in rows}, ledger)


def _remembered(path: str, basis: str) -> dict[str, Any]:
    """Return what is remembered of each daemon; nothing if other secrets were known then, or other fingerprints."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        kept = json.loads(Path(path).read_text(encoding="utf-8"))
        if kept["basis"] == basis:
            return dict(kept["daemons"])
    return {}


def _read_all(ctx: Context, rows: list[AgentRow], ledger: Ledger) -> None:
    """Read what is new in each log, those of sources before those of their clones."""
    there = {row.id for row in rows}
    for gone in ledger.readers() - there:
        ledger.forget(gone)
    known = ledger.with_secrets()
    # A redaction changes events that were read, also of other agents.
    were_redacted = [_read(ctx, row, there, ledger) for row in rows]
    if any(were_redacted):
        for row in rows:
            if row.id in known:
                ledger.forget(row.id)
                _read(ctx, row, there, ledger)


def _read(ctx: Context, row: AgentRow, there: set[str], ledger: Ledger) -> bool:
    """Read what is new in a log, and what is left of a source that was purged; return whether it was redacted."""
    source = row.source
    is_heir = source is not None and source.agent not in there and ledger.head(source.agent) < source.at
    if is_heir or row.head < ledger.head(row.id):  # else a backup was restored
        ledger.forget(row.id)
    since = ledger.head(row.id)
    if row.head <= since:
        return False
    was_redacted = False
    with suppress(NotFound):  # it was purged a moment ago
        for page in ctx.client.pages(requests.history(row.id, since or None, inherited=is_heir or None)):
            for event in page.events:
                ledger.take(row.id, event)
                was_redacted = was_redacted or event["kind"] == "redacted"
    return was_redacted
