"""``reel secrets``: what is listed, and what is erased."""

import json
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from reel.said.messages import ToolCallBlock
from reel.sync.client import Client
from tests.daemon import Daemon, until, until_indexed
from tests.forkserver import ForkedDaemon
from tests.postgres import own_schema, programs
from tests.reel.cli.conftest import Reel
from tests.reel.cli.running import talking

GITHUB = "ghp_aB3dE5fG7hJ9kL2mN4pQ6rS8tU1vW3xY5zA7"
ADDRESS = "postgres://app:Tr0ub4dor-and-3@db.internal/app"
MASKED = "[masked:jwt.0123456789abcdef]"
LINE = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIB"
PRIVATE_KEY = f"-----BEGIN PRIVATE KEY-----\n{LINE}\n{LINE[::-1]}\n-----END PRIVATE KEY-----\n"
TRACES = (b"aB3dE5fG7hJ9", b"Tr0ub4dor", LINE.encode())


def rows(reel: Reel) -> list[Any]:
    """Return what is listed, without times and fingerprints."""
    names = ("kind", "conversation", "seq", "masked", "sent")
    return [tuple(found[name] for name in names) for found in reel("secrets", "--json").documents]


@pytest.fixture
def own(reel: Reel, directory: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:  # noqa: ARG001 - after it
    """A client of a daemon that is used instead of the shared one; its database is in the state directory."""
    state = directory / "reel"
    monkeypatch.setenv("XDG_STATE_HOME", str(directory))
    daemon = ForkedDaemon(directory)
    state.mkdir()
    daemon.database = str(state / "reel.db")
    daemon.options = ["--backup-directory", str(directory / "daily")]
    yield from using(daemon, monkeypatch)


def using(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    """Run a daemon while a test uses it."""
    with closing(daemon.start()), daemon.client() as client:
        monkeypatch.setenv("REEL_SOCKET", daemon.socket)
        yield client


def files_with_traces(directory: Path) -> list[str]:
    """Return the files below a directory that have something of the secrets."""
    found = [path for path in directory.rglob("*") if path.is_file()]
    return [str(path) for path in found if any(trace in path.read_bytes() for trace in TRACES)]


def test_what_is_listed(reel: Reel, own: Client) -> None:
    """Each place is listed with the kind, whether it is masked, and whether it was sent; nothing of the secret is."""
    none = reel("secrets").out
    own.add("demo", f"use {GITHUB}", create=True)
    own.add("demo", [{"role": "assistant", "content": "No"}, {"role": "user", "content": f"{ADDRESS} {MASKED}"}])
    first = rows(reel)
    own.add("demo", [{"role": "assistant", "content": "Never"}])
    listed = reel("secrets")

    assert "no keys and no passwords were found\n" == none
    assert [
        ("github-token", "demo", 2, False, True),
        ("jwt", "demo", 4, True, None),
        ("password", "demo", 4, False, None),
    ] == sorted(first)
    assert {True} == {sent for *_, sent in rows(reel)}
    assert [("sent", "demo")] * 3 == [(words[-3], words[-1]) for words in map(str.split, listed.out.splitlines())]
    assert not any(trace.decode() in listed.out for trace in TRACES)


def test_the_same_secret(reel: Reel, own: Client) -> None:
    """The same secret has the same fingerprint in every conversation, and was first seen when it was said first."""
    own.add("one", [{"role": "user", "content": GITHUB, "sent": 2_000}], create=True)
    own.add("two", [{"role": "user", "content": f"K='{GITHUB}'", "sent": 1_000}], create=True)
    found = reel("secrets", "--json").documents

    assert (2, 1, {1_000}) == (
        len(found),
        len({one["fingerprint"] for one in found}),
        {one["first_seen"] for one in found},
    )
    assert GITHUB not in json.dumps(found)


def test_only_what_is_new_is_read(reel: Reel, own: Client, directory: Path) -> None:
    """What was found is remembered: a log is read again only from where it has grown, or if it was redacted."""
    own.add("demo", GITHUB, create=True)
    own.add("other", "nothing", create=True)
    rows(reel)
    file = directory / "reel" / "secrets.json"
    kept = json.loads(file.read_text())
    (logs,) = kept["daemons"].values()
    # If the log were read again, the row would have its own time.
    logs[own.agent("demo").id][4][0][1] = 5
    file.write_text(json.dumps(kept))
    own.add("demo", "more")
    known = reel("secrets", "--json").documents
    own.redact("demo", text="nothing but a text that is not there")
    own.redact("demo", text="more")
    again = reel("secrets", "--json").documents

    assert ([5], 1) == ([one["time"] for one in known], len(again))
    assert 5 != again[0]["time"]
    assert 0o600 == file.stat().st_mode & 0o777


def test_what_is_gone_is_not_listed(reel: Reel, own: Client) -> None:
    """What was redacted or purged is not listed any more; what a clone has of it is, under the clone's name."""
    own.add("demo", GITHUB, create=True)
    own.add("other", ADDRESS, create=True)
    own.clone("demo", "copy")
    before = rows(reel)
    own.purge("demo")
    own.redact("other", text="Tr0ub4dor-and-3")

    assert [("github-token", "demo", 2), ("password", "other", 2)] == sorted(row[:3] for row in before)
    assert [("github-token", "copy", 2)] == [row[:3] for row in rows(reel)]


def test_a_memory_that_is_damaged(reel: Reel, own: Client, directory: Path) -> None:
    """What cannot be used of what was remembered is read again."""
    own.add("demo", GITHUB, create=True)
    expected = rows(reel)
    file = directory / "reel" / "secrets.json"
    kept = json.loads(file.read_text())
    socket = str(own.path)
    broken = [json.dumps({**kept, "daemons": logs}) for logs in (1, {socket: {"x": [1]}}, {socket: [1]})]
    for damage in ("", "[]", "{", '{"basis": 1, "daemons": {}}', *broken):
        file.write_text(damage)
        assert expected == rows(reel)


def store(client: Client) -> None:
    """Store secrets in texts, calls, titles, tags and notes, and a password alone."""
    arguments = json.dumps({"command": f"PGPASSWORD=x psql {ADDRESS}"})
    client.create("demo", title=f"What is {GITHUB}?", tags={"why": GITHUB})
    client.add("demo", [{"role": "user", "content": f"use {GITHUB}"}, {"kind": "note", "content": f"note {ADDRESS}"}])
    call: ToolCallBlock = {"type": "tool_call", "id": "c", "name": "sh", "arguments": arguments}
    client.add("demo", [{"role": "assistant", "content": [call]}])
    client.add("demo", [{"kind": "note", "data_json": json.dumps({"key": PRIVATE_KEY})}])
    client.clone("demo", "copy")
    client.add("other", "the password is Tr0ub4dor-and-3", create=True)
    client.add("other", [{"role": "assistant", "content": "Fine"}])


def test_redact(reel: Reel, own: Client, directory: Path) -> None:
    """After it, no file has anything of a secret: no log, no index, no backup; conversations go on as before."""
    store(own)
    until_indexed(own)
    until(lambda: own.stats()["scheduled_backup_time"] is not None)
    backup, early = directory / "named.db", directory / "reel" / "reel-before-2026-11-23-000000.db"
    reel("backup", str(backup))
    reel("backup", str(early))
    shutil.copy(backup, Path(str(own.stats()["scheduled_backup_directory"])) / "20260101T000000Z.db")
    asked = reel("secrets", "--redact")
    there = files_with_traces(directory)
    done = reel("secrets", "--redact", "--backup", str(backup), "--yes")

    assert (1, True) == (asked.status, "repeat the command with --yes" in asked.err)
    assert 4 <= len(there)
    assert (0, []) == (done.status, files_with_traces(directory))
    assert f"{backup}: " in done.out
    assert "some were sent to a model" in done.err
    assert "there is no secret to erase\n" == reel("secrets", "--redact", "--yes").out
    assert ["user", "assistant"] == [message["role"] for message in own.iter_messages("demo")]


def test_what_cannot_be_reached(reel: Reel, own: Client, directory: Path) -> None:
    """What has the secrets elsewhere is named: the file of a tool, a copy of an older version, other files."""
    tool, older = directory / "session.jsonl", directory / "reel" / "reel-version-3-event-9.db"
    own.create("demo", tags={"import": "tool/1", "source": str(tool)})
    own.add("demo", GITHUB)
    for path in (tool, older, directory / "reel" / "log"):
        path.write_text(f"x {GITHUB}")
    told = reel("secrets", "--redact", "--yes")
    (document,) = reel("secrets", "--redact", "--yes", "--json").documents

    assert f"not erased in {tool}: the tool's own file" in told.err
    assert f"not erased in {older}: " in told.err
    assert f"not erased in {directory / 'reel' / 'log'}: still has it" in told.err
    assert (0, {}) == (document["redacted"], document["unreached"])


@pytest.mark.slow
def test_redact_asks(reel: Reel, own: Client, directory: Path) -> None:
    """At a terminal it shows the list and asks, and only a yes erases anything."""
    own.add("demo", GITHUB, create=True)
    for answer, left in (("\n", 1), ("y\n", 0)):
        with talking(own.path, "secrets", "--redact", XDG_STATE_HOME=str(directory)) as running:
            assert "github-token" in running.until(
                "Erase 1 secret in 1 conversation for good? This cannot be undone. [y/N]"
            )
            running.type(answer)
            if left == 0:
                running.until("1 event redacted")
            running.process.wait()
        assert left == len(rows(reel))


@pytest.mark.slow
@pytest.mark.skipif(programs() is None, reason="PostgreSQL is not installed")
def test_redact_on_a_server(reel: Reel, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same holds for a database on a server: the log there has nothing of a secret, and nor has any file."""
    monkeypatch.setenv("XDG_STATE_HOME", str(directory))
    with own_schema() as url:
        daemon = ForkedDaemon(directory)
        daemon.database = url
        for client in using(daemon, monkeypatch):
            store(client)
            until_indexed(client)
            listed = rows(reel)
            done = reel("secrets", "--redact", "--yes")
            events = [list(client.iter_history(row.id)) for row in client.iter_agents()]

            assert 5 == len(listed)
            assert (0, []) == (done.status, rows(reel))
            assert not any(trace.decode() in json.dumps(events) for trace in TRACES)
            assert [] == files_with_traces(directory)
