"""What imports make of the agents' files: one that watches, and a fresh one."""

import difflib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from reel import requests
from reel.said.messages import Record
from reel.sync.client import Client
from tests.daemon import Daemon
from tests.patience import LONGEST, Deadline

_REEL = [sys.executable, "-c", "from reel.cli import process; process()"]


@contextmanager
def watching(home: Path, daemon: Daemon) -> Iterator[None]:
    """Run an import for a block."""
    command = [*_REEL, "import", "--yes", "--watch"]
    with (home / "watch.log").open("wb") as log:
        running = subprocess.Popen(command, env=_environment(home, daemon), stdout=log, stderr=log)
    try:
        yield
        assert running.poll() is None, (home / "watch.log").read_text()
    finally:
        running.send_signal(signal.SIGINT)
        running.wait(LONGEST)


def _environment(home: Path, daemon: Daemon) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("LANG", "PYTHONPATH", "PATH") if name in os.environ}
    return {**kept, "HOME": str(home), "REEL_SOCKET": daemon.socket, "XDG_STATE_HOME": f"{daemon.socket}.state"}


def seen(daemon: Daemon) -> Callable[[str], None]:
    """Return what waits until an import has stored the answer with a word."""

    def wait(word: str) -> None:
        deadline = Deadline()
        with daemon.client() as client:
            while not client.search(f'"Ended {word}"').hits:
                assert not deadline.is_over, f"{word} was not imported"
                time.sleep(0.2)  # between two looks

    return wait


class Kept(NamedTuple):
    """What a daemon has of a conversation."""

    title: str | None
    tags: dict[str, str]
    said: list[Any]


def kept(client: Client) -> dict[str, Kept]:
    """Return what a daemon has now, by names."""
    found = {}
    for page in client.pages(requests.agents()):
        for row in page.agents:
            records = [each for part in client.pages(requests.conversation(row.id)) for each in part.conversation]
            found[row.name] = Kept(row.title, row.tags, [_said(record) for record in records])
    return found


def _said(record: Record) -> tuple[str, Any, Any]:
    """Return who says something, what, and what is known of it."""
    data = json.loads(record["data_json"] or "{}")
    blocks = data.pop("blocks", None) or [{"type": "text", "text": record["content"]}]
    return record["kind"], data, blocks


@contextmanager
def daemon_in(directory: Path) -> Iterator[Daemon]:
    """Run a daemon in a directory for a block."""
    directory.mkdir()
    with closing(Daemon(directory)) as daemon:
        yield daemon.start()


def imported_afresh(home: Path, daemon: Daemon) -> dict[str, Kept]:
    """Return what an import into another daemon makes of what the agents have kept."""
    with (home / "fresh.log").open("ab") as log:
        subprocess.run([*_REEL, "import", "--yes"], env=_environment(home, daemon), check=False, stdout=log, stderr=log)
    with daemon.client() as client:
        return kept(client)


@contextmanager
def until_alike(home: Path, daemon: Daemon) -> Iterator[tuple[Daemon, list[str], list[str]]]:
    """Wait until an import has the same as a fresh one, for as long as it may take.

    Of an answer whose agent was killed, either takes what there is only when nobody has written to it for a while.

    Yields:
        The daemon of the fresh one, the differences, and the conversations that only the first one has, because the
        agent has deleted their files.
    """
    deadline = Deadline()
    while True:
        # With what it has from the look before, it would not be fresh.
        shutil.rmtree(home / "fresh", ignore_errors=True)
        with daemon_in(home / "fresh") as other:
            fresh = imported_afresh(home, other)
            with daemon.client() as client:
                there = kept(client)
            deleted = [name for name in sorted(there.keys() - fresh.keys()) if _is_deleted(there[name])]
            differences = [
                f"{name} watched: {_shortly(there.get(name), fresh.get(name))}"
                for name in sorted({*there, *fresh} - {*deleted})
                if there.get(name) != fresh.get(name)
            ]
            if not differences or deadline.is_over:
                yield other, differences, deleted
                return
        time.sleep(1)  # between two looks


def _is_deleted(conversation: Kept) -> bool:
    return not Path(conversation.tags.get("source", "")).exists()


def _shortly(watched: Kept | None, fresh: Kept | None) -> str:
    if watched is None or fresh is None:
        return "not there" if watched is None else "there, and not in a fresh import"
    before, after = ([each.title or "", str(each.tags), *map(str, each.said)] for each in (watched, fresh))
    lines = difflib.ndiff(before, after)
    return "\n".join(["differs", *(f"    {line[:300]}" for line in lines if line[0] in "+-")])
