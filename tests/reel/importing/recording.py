"""Models of how tools record a session, and what has to come of it, however often an import has looked meanwhile."""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from random import Random
from typing import Any

from reel.said.formats import Format
from reel.sync.client import Client
from tests.adapters.asked_blocks import Block
from tests.adapters.at_work.report import States
from tests.reel.importing.adding.test_growing import Import
from tests.thoroughness import FUZZ

Record = dict[str, Any]
# The numbers of the sessions that are tried.
SEEDS = range(FUZZ // 20 or 6)
# When the first line is written, in seconds.
_BEGIN = 1_785_000_000


class Disk:
    """Where a tool writes; an import looks now and then, also in the middle of a line.

    Args:
        root: the directory.
        chance: what decides.
        look: imports what is there.
    """

    def __init__(self, root: Path, chance: Random, look: Callable[[], None]) -> None:
        self.root = root
        self._chance = chance
        self.look = look
        self._often, self._is_torn = chance.choice([0, 1 / 20, 1 / 3, 1]), chance.random() < 1 / 3
        self._writes = 0

    def append(self, name: str, line: str) -> None:
        """Append a line to a file."""
        path, data = self.root / name, line.encode()
        path.parent.mkdir(parents=True, exist_ok=True)
        cuts = [self._chance.randrange(1, len(data))] if self._is_torn and self._chance.random() < self._often else []
        for first, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
            with path.open("ab") as file:
                file.write(data[first:end])
            self.wrote(path, is_looked_at=bool(cuts))

    def take_out(self, name: str, line: str) -> None:
        """Take a line out of a file, which is written again from there on."""
        path = self.root / name
        before, _, after = path.read_bytes().partition(line.encode())
        for data in (before, before + after):
            path.write_bytes(data)
            self.wrote(path)

    def wrote(self, path: Path, *, is_looked_at: bool = False) -> None:
        """Let an import look, maybe, at what was written to a file."""
        self._writes += 1
        os.utime(path, (_BEGIN + self._writes, _BEGIN + self._writes))
        if is_looked_at or self._chance.random() < self._often:
            self.look()


class Recorder(ABC):
    """A person's work with a tool, as far as the tool records it.

    Args:
        session: tells its sessions from others.
        chance: what decides.
        disk: where it writes.
    """

    # The tool's name here, and the format in which it asks its model.
    tool: str
    api: Format

    def __init__(self, session: str, chance: Random, disk: Disk) -> None:
        self._session = session
        self._chance = chance
        self._disk = disk
        self._number = 0
        # What the model was sent, and answered.
        self.sent: list[tuple[Block, ...]] = []
        # What the tool has deleted of that: texts, and the ids of calls.
        self.deleted: set[str] = set()

    def work(self, acts: int) -> None:
        """Do some things."""
        self._turn()
        for _ in range(acts):
            self._chance.choice(self._acts())()

    @abstractmethod
    def _turn(self) -> None:
        """Ask something, and let the model answer."""

    @abstractmethod
    def _acts(self) -> list[Callable[[], None]]:
        """Return what can be done, a turn among it."""

    def _id(self, kind: str) -> str:
        self._number += 1
        return f"{kind}{self._number}"

    def _time(self) -> str:
        self._number += 1
        when = datetime.fromtimestamp(_BEGIN + self._number / 1000, UTC)
        return when.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def _is(self, often: float) -> bool:
        return self._chance.random() < often

    def _send(self, blocks: list[Block]) -> None:
        """Note what the model was sent and answered: results are in the order of their calls, as a log has them."""
        runs = (list(run) for _, run in groupby(blocks, lambda block: block[0]))
        self.sent.append(tuple(block for run in runs for block in (sorted({*run}) if run[0][0] == "result" else run)))


def check(client: Client, directory: Path, recorder: type[Recorder], seed: int) -> None:
    """Check that all that a tool has sent is in the log, and that an import at the end has all that is there then."""
    chance, root, name = Random(f"{recorder.tool} {seed}"), directory / "root", f"{recorder.tool}/"
    watch, fresh = (Import(client, recorder.tool, root, directory / seen) for seen in ("watched", "fresh"))
    root.mkdir()
    made = recorder(f"recorded-{seed}", chance, Disk(root, Random(seed), watch.look))
    made.work(chance.randrange(1, 6))
    watch.look()
    states, said = States(client).of(recorder.tool, recorder.api), watch.said(name)
    watch.purge(name)
    fresh.look()
    states_at_once, said_at_once = States(client).of(recorder.tool, recorder.api), fresh.said(name)
    fresh.purge(name)

    there = [blocks for blocks in made.sent if not any(block[1] in made.deleted for block in blocks)]
    assert [] == [blocks for blocks in made.sent if blocks not in states]
    assert [] == [blocks for blocks in there if blocks not in states_at_once]
    assert said_at_once == said
