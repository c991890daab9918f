"""What was redacted or purged is in no file, wherever the daemon was killed while it erased it."""

import json
import sqlite3
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, suppress
from pathlib import Path
from threading import Thread
from typing import Any, TypeAlias

import pytest

from reel.base.errors import NotFound, ReelError
from reel.base.ids import new_id
from reel.sync.client import Client
from tests.crash.crash_points import CLEARING, ERASING
from tests.crash.crashing_daemon import CrashingDaemon
from tests.crash.test_deaths import death_at
from tests.crash.workload import LONG
from tests.daemon import Daemon, until, until_indexed

pytestmark = pytest.mark.slow

# It has what JSON escapes, and a letter that is not ASCII.
SECRET = 'xyzzy"plugh\u00e9'
# What a program says is left of its records.
LEFT = '{"kept":1}'
PIECE = b"xyzzy"
Erase: TypeAlias = Callable[[Client], Any]
# The points that are tried unless there is time for all.
_FEW = {
    "before it is decided",
    "before the log is changed",
    "before events are deleted",
    "before it is done",
    "before the file is cleared",
}
# The points up to which nothing was erased: the command is repeated. After these the daemon finishes it by itself.
_UNDECIDED = {"before an erasure is staged", "between staged events", "before it is decided"}
# The points that only one of the two commands reaches.
_ONLY_REDACT = {"before the log is changed", "between changed events"}
_ONLY_PURGE = {"before events are deleted", "before an agent is deleted", "before it is noted who was purged"}


def purge(client: Client) -> None:
    """Purge the agent and its clones."""
    with suppress(NotFound):  # it was purged before the daemon died
        client.purge("demo", force=True)


def redact(client: Client) -> None:
    """Redact the secret."""
    client.redact("demo", text=SECRET)


def prune(client: Client) -> None:
    """Prune what was replaced."""
    records = [(event["seq"], LEFT) for event in client.iter_history("pruned") if event["kind"] == "command"]
    client.prune("pruned", client.agent("pruned").head + 1, records=records)


def fill_replaced(client: Client) -> None:
    """Replace a stretch that has the secret, as a summary does, and a value."""
    with suppress(NotFound):
        client.purge("pruned")
    client.create("pruned", f"system {SECRET}")
    client.add("pruned", ["kept", *(f"{number} {SECRET} {'long ' * 300}" for number in range(30))])
    client.add("pruned", list(touching()))
    client.add("pruned", [{"kind": "command", "data_json": json.dumps({"mine": SECRET, "kept": 1})}] * 5)
    client.add("pruned", [{"kind": "state", "content": "key", "data_json": json.dumps({"value": SECRET})}])
    client.add("pruned", [{"kind": "state", "content": "key", "data_json": json.dumps({"value": "kept"})}])
    client.restore("pruned", 0)
    client.add("pruned", ["a summary"])
    until_indexed(client)


def fill(client: Client) -> None:
    """Write the secret wherever a command can put it."""
    with suppress(NotFound):
        client.purge("demo", force=True)
    client.create("demo", f"system {SECRET}", f"title {SECRET}", {"tag": SECRET}, key=new_id())
    client.add("demo", [f"{number} {SECRET} {'long ' * 300}" for number in range(30)])
    call: Any = {"type": "tool_call", "id": f"id-{SECRET}", "name": "run", "arguments": f'{{"{SECRET}":"é"}}'}
    result: Any = {"type": "tool_result", "tool_call_id": f"id-{SECRET}", "content": SECRET}
    client.add(
        "demo",
        [
            {"role": "assistant", "content": [call]},
            {"role": "tool", "content": [result]},
            {"kind": "note", "content": SECRET, "ref": SECRET},
        ],
    )
    client.add("demo", list(touching()))
    client.mark("demo", SECRET)
    client.rewind("demo", SECRET)
    client.clear("demo")
    client.undo("demo")
    client.clone("demo", "copy")
    client.clear("copy")
    client.kill("copy")
    client.kill("demo", SECRET)
    client.revive("demo")
    client.change("demo", title=SECRET)
    client.render("demo", "openai-chat", model="m")
    client.draft("demo", SECRET)
    until_indexed(client)


def touching() -> Iterator[Any]:
    """Yield calls that put the secret into the table of edits, and their results."""
    edit = {"file_path": f"/{SECRET}/{SECRET}.py", "old_string": f"{SECRET} 1", "new_string": f"{SECRET} 2"}
    for number, (name, arguments) in enumerate([("Edit", edit), ("Bash", {"command": f"echo {SECRET}"})]):
        call = {"type": "tool_call", "id": f"c{number}", "name": name, "arguments": json.dumps(arguments)}
        yield {"role": "assistant", "content": [call]}
        yield {"role": "tool", "content": [{"type": "tool_result", "tool_call_id": f"c{number}", "content": "done"}]}


def places(directory: Path) -> list[str]:
    """Return the names of the files that have the secret."""
    found = []
    for path in directory.iterdir():
        with suppress(FileNotFoundError):  # the index is removed, and built again
            if path.is_file() and PIECE in path.read_bytes():
                found.append(path.name)
    return found


def unfinished(daemon: Daemon) -> list[Any]:
    """Return the states of the erasures that are not done."""
    with closing(sqlite3.connect(f"file:{daemon.database}?mode=ro", uri=True)) as connection:
        return connection.execute("SELECT state FROM erasures WHERE state <> 'done'").fetchall()


def ends_without_a_trace(daemon: Daemon) -> None:
    """Wait until nothing is left of an erasure, and look at every file, also after the daemon was killed."""
    directory = Path(daemon.database).parent
    until(lambda: not unfinished(daemon))
    with Client(daemon.socket) as client:
        assert [] == client.verify().problems
        assert [] == client.search("xyzzy").hits
        assert "xyzzy" not in repr(client.edits(wait=10_000))
    daemon.kill()
    assert [] == places(directory)
    assert [] == unfinished(daemon)
    daemon.start()


def try_it(daemon: Daemon, erase: Erase) -> None:
    """Begin an erasure during which the daemon dies."""
    with suppress(ReelError), Client(daemon.socket, patience=0) as client:
        erase(client)


def test_every_step_is_reached(crashing: CrashingDaemon) -> None:
    """Each point is one of the code: a death at one that is never reached could not be waited for."""
    crashing.start()
    for erase in (redact, purge):
        with Client(crashing.socket) as client:
            fill(client)
            erase(client)
        ends_without_a_trace(crashing)

    assert set() == (ERASING | CLEARING).keys() - crashing.reached()


def dies_and_ends(crashing: CrashingDaemon, point: str, make: Callable[[Client], None], erase: Erase) -> None:
    """Let the daemon die at a point of an erasure; the next start ends it, or a repetition if it was not decided."""
    crashing.start()
    with Client(crashing.socket) as client:
        make(client)
        assert places(Path(crashing.database).parent)
    with death_at(crashing, point):
        thread = Thread(target=try_it, args=(crashing, erase))
        thread.start()
    thread.join()
    crashing.start()
    if point in _UNDECIDED:
        with Client(crashing.socket) as client:
            assert places(Path(crashing.database).parent)
            erase(client)
    ends_without_a_trace(crashing)


def points(*, without: Collection[str]) -> list[str]:
    """Return the points of an erasure that a test takes, without those that only another command reaches."""
    return [point for point in (*ERASING, *CLEARING) if point not in without and (LONG or point in _FEW)]


def test_death_while_it_prunes(crashing: CrashingDaemon) -> None:
    """After kill -9 at any step of a prune, nothing that is reached is lost, and it is done, or done if repeated."""
    for point in points(without=_ONLY_PURGE):
        dies_and_ends(crashing, point, fill_replaced, prune)
        with Client(crashing.socket) as client:
            (left,) = client.messages("pruned").messages
            assert [{"type": "text", "text": "a summary"}] == left["content"]
            assert ["kept"] == [value.value for value in client.state("pruned").values]
            events = client.iter_history("pruned")
            assert [LEFT] * 5 == [event["data_json"] for event in events if event["kind"] == "command"]
        crashing.end()


@pytest.mark.parametrize("erase", [redact, purge])
def test_death_at_every_step(crashing: CrashingDaemon, erase: Erase) -> None:
    """After kill -9 at any step, the next start finishes what was decided, and what was not is done when repeated."""
    for point in points(without=_ONLY_PURGE if erase is redact else _ONLY_REDACT):
        dies_and_ends(crashing, point, fill, erase)
        crashing.end()
