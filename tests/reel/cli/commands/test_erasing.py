"""redact and purge: what they show, ask and remove."""

import json
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from reel import requests, state
from reel.base.errors import ReelError
from reel.importing.adding.pipeline import Pipeline
from reel.importing.adding.tombstones import Tombstones
from reel.sync.client import Client
from tests.daemon import until
from tests.forkserver import ForkedDaemon
from tests.reel.cli.conftest import Reel, texts
from tests.reel.cli.running import talking
from tests.reeld.store.making import query, seal, unguarded


def test_redact_what_matches(reel: Reel, talk: str) -> None:
    """The texts that match are shown and replaced, those in arguments of calls and in titles as well."""
    call = '{"kind": "tool_call", "data_json": "{\\"tool_call_id\\":\\"c\\",\\"name\\":\\"n\\",\\"arguments\\":\\"[\\\\\\"key-1\\\\\\"]\\"}"}'  # fmt: skip  # noqa: E501
    reel("add", talk, "--json", stdin=f"{call}\n".encode())
    reel("add", talk, "my key-22 here")
    reel("title", talk, "about key-1")
    tried = reel("redact", talk, "--match", r"key-\d+", "--dry-run")
    asked = reel("redact", talk, "--match", r"key-\d+")
    done = reel("redact", talk, "--match", r"key-\d+", "--yes")

    assert "'key-22'" in tried.out
    assert (1, True) == (asked.status, "--yes" in asked.err)
    assert f"events of {talk} redacted" in done.out
    assert "key-" not in reel("log", talk, "--json").out + reel("info", talk).out
    assert "there is nothing to redact\n" == reel("redact", talk, "--match", "key-", "--yes").out


@pytest.mark.slow
def test_redact_if_nothing_changed(daemon: str, reel: Reel, talk: str) -> None:
    """With --if-seq the redaction itself is refused if the agent has moved on, not only what is tried before."""
    head = reel("info", talk, "--json").documents[0]["head"]
    refused = reel("redact", talk, "--match", "machine", "--if-seq", str(head - 1), "--yes")
    with talking(daemon, "redact", talk, "--match", "machine", "--if-seq", str(head)) as running:
        running.until("[y/N]")
        reel("add", talk, "another machine")
        running.type("y\n")
        running.until("is at")
        status = running.process.wait()

    assert (5, 5) == (refused.status, status)
    assert "machine" in reel("log", talk).out


def test_redact_in_a_backup_that_cannot_be_searched(reel: Reel, talk: str, tmp_path: Path) -> None:
    """A backup is not searched for a pattern: if nothing in the conversation matches, that is said."""
    refused = reel("redact", talk, "--match", "nowhere", "--backup", str(tmp_path / "b.db"), "--yes")

    assert (1, True) == (refused.status, "name the text" in refused.err)


def test_redact_by_seq(reel: Reel, talk: str) -> None:
    """An event is redacted by its seq; the others stay."""
    reel("redact", talk, "--seq", "3", "--yes")

    shown = texts(reel, talk)
    assert shown[0].startswith("[redacted ")
    assert ["A machine."] == shown[1:]


def test_redact_what_a_title_says(reel: Reel, daemon: str, talk: str) -> None:
    """A title with the words of a message that is redacted by its seq is named; a shorter one may be any."""
    with Client(daemon) as client:
        seqs = [client.add(talk, said).first for said in ("It is\nhunter2. Or not?", "Yes, yes", "Other than that")]
    warnings = []
    for title, seq in zip(("It is hunter2.", "Yes", "As it was"), seqs, strict=True):
        reel("title", talk, title)
        warnings.append("the title of" in reel("redact", talk, "--seq", str(seq), "--yes").err)

    assert [True, False, False] == warnings


def test_redact_copies_by_seq(reel: Reel, daemon: str, talk: str) -> None:
    """Values that have a message's words go with it; other records that have them are named, if the words are some."""
    secret = 'hunter2 "secret"\nof mine'
    deep = json.dumps({"mine": {"values": json.dumps(["msgpack", [secret]])}})
    with Client(daemon) as client:
        seq = client.add(talk, secret).first
        client.add(talk, [state("summary", {"first": secret}), state("other", "nothing"), state("short", "What")])
        kept = client.add(talk, [{"kind": "command", "data_json": deep}]).first
        yes = client.add(talk, "What").first

    tried = reel("redact", talk, "--seq", str(seq), "--dry-run")
    done = reel("redact", talk, "--seq", str(seq), "--yes")

    assert tried.out.startswith("2 events of")
    assert done.out.startswith("2 events of")
    assert f"still have these words: #{kept}; " in done.err
    with Client(daemon) as client:
        values = {found.key: found.value for found in client.state(talk).values}
    assert ("nothing", "What") == (values["other"], values["short"])
    assert values["summary"]["first"].startswith("[redacted")
    reel("redact", talk, "--text", secret, "--yes")
    assert "hunter2" not in reel("log", talk, "--json").out
    assert "still have" not in reel("redact", talk, "--seq", str(yes), "--yes").err


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ([], "one of them"),
        (["--text", "x", "--seq", "3"], "one of them"),
        (["--match", "("], "not a regular expression"),
    ],
)
def test_what_redact_refuses(reel: Reel, talk: str, options: list[str], says: str) -> None:
    """It takes one of its options, and a regular expression that is one."""
    refused = reel("redact", talk, *options)

    assert (2, True) == (refused.status, says in refused.err)


def test_purge(reel: Reel, talk: str) -> None:
    """It says what goes and what stays, asks, and removes several agents and what they had together."""
    reel("clone", talk, f"{talk}-2")
    tried = reel("purge", talk, "--dry-run")
    asked = reel("purge", talk)
    done = reel("purge", talk, f"{talk}-2", "--yes")

    assert f"{talk}: 0 events\n  4 events will stay as the past of {talk}-2\n" == tried.out
    assert (1, True) == (asked.status, "--yes" in asked.err)
    assert f"{talk}-2 purged: 5 events" == done.out.splitlines()[-1]
    assert reel("show", talk).status != 0


def test_purge_with_json(reel: Reel, talk: str) -> None:
    """With --json the reply is printed, also of a dry run."""
    reel("clone", talk, f"{talk}-2")
    tried = reel("purge", talk, "--force", "--dry-run", "--json").documents
    done = reel("purge", talk, f"{talk}-2", "--force", "--yes", "--json").documents

    assert (5, 5, 1) == (tried[0]["events"], done[0]["events"], len(done))


@pytest.mark.slow
def test_purge_asks(daemon: str, reel: Reel, talk: str) -> None:
    """At a terminal it asks, and only a yes removes anything."""
    for answer, end in (("\n", "[y/N]"), ("y\n", "purged")):
        with talking(daemon, "purge", talk) as running:
            running.until("This cannot be undone. [y/N]")
            running.type(answer)
            if answer == "y\n":
                running.until(end)
            running.process.wait()
    assert reel("info", talk).status != 0


def test_retention(reel: Reel, talk: str) -> None:
    """Without a retention in the settings it is off, and says so; it is for all agents, or none is named."""
    both = reel("purge", talk, "--retention")

    for options in (["--yes"], ["--dry-run"], ["--now", "--dry-run"]):
        said = reel("purge", "--retention", *options).out
        assert "retention is off: no setting says after how many days a conversation is too old\n" == said
    assert [] == reel("purge", "--retention", "--dry-run", "--json").documents[0]["agents"]
    assert (2, True) == (both.status, "one of both" in both.err)


@pytest.fixture
def retaining(reel: Reel, directory: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:  # noqa: ARG001 - after it
    """A daemon that purges agents a day after they were killed, used instead of the shared one; one that is too old."""
    daemon = ForkedDaemon(directory)
    daemon.options = ["--retention-killed-days", "1"]
    with closing(daemon.start()), daemon.client() as client:
        monkeypatch.setenv("REEL_SOCKET", daemon.socket)
        client.create("old")
        client.kill("old")
        query(client.stats()["database"], "UPDATE agents SET killed = 1")
        until(lambda: client.stats()["retention_after"] is not None)
        yield daemon.socket


@pytest.mark.slow
def test_retention_that_is_new(reel: Reel, retaining: str) -> None:  # noqa: ARG001 - it is there
    """Nothing is purged on the first day of a setting, unless one says so; it is said how, and nobody is asked."""
    tried = reel("purge", "--retention", "--dry-run")
    (told,) = reel("purge", "--retention", "--dry-run", "--json").documents
    refused = [reel("purge", "--retention", *options) for options in ([], ["--yes"])]
    left = reel("list", "--all").out
    would = reel("purge", "--retention", "--now", "--dry-run")
    status = reel("status").out
    done = reel("purge", "--retention", "--now", "--yes")
    wrong = reel("purge", "old", "--now", "--yes")

    assert (0, "1 conversation too old") == (tried.status, tried.out.splitlines()[-1])
    assert "nothing would be purged or pruned: the settings are new" in tried.err
    assert (1, [], True) == (told["agents_count"], told["purged"], told["after"] > 0)
    for early in refused:
        assert (1, "old" in left) == (early.status, True)
        assert "nothing was purged or pruned: the settings are new" in early.err
        assert "reel purge --retention --now" in early.err
    assert ("1 conversation too old: 2 events", "") == (would.out.splitlines()[-1], would.err)
    assert (0, "1 conversation purged: 2 events\n") == (done.status, done.out.splitlines(keepends=True)[-1])
    assert "the settings are new: the conversations that are too old are purged in " in status
    assert (2, True) == (wrong.status, "--now goes with --retention" in wrong.err)


@pytest.mark.slow
def test_retention_in_a_living_conversation(reel: Reel, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said how much would be pruned and when that begins; with --now it is pruned, and nothing is purged."""
    daemon = ForkedDaemon(directory)
    daemon.options = ["--retention-history-days", "30"]
    with closing(daemon.start()), daemon.client() as client:
        monkeypatch.setenv("REEL_SOCKET", daemon.socket)
        client.add("talk", "a secret" * 1000, create=True)
        client.clear("talk")
        with unguarded(client.stats()["database"]) as connection:
            connection.execute("UPDATE events SET time = time - 100 * 86400000")
            seal(connection)
        until(lambda: client.stats()["retention_history_after"] is not None)
        tried = reel("purge", "--retention", "--dry-run")
        refused = reel("purge", "--retention", "--yes")
        doctor = reel("doctor").out
        done = reel("purge", "--retention", "--now", "--yes")
        none = reel("purge", "--retention", "--now", "--yes")
        left = client.agents().agents

    assert "1 event of 1 living conversation, 8.0 kB of text, that nothing reaches any more\n" == tried.out
    assert "nothing would be purged or pruned: the settings are new" in tried.err
    assert (1, "nothing was purged or pruned" in refused.err) == (refused.status, True)
    assert "what nothing reaches any more and is too old is pruned in " in doctor
    assert (0, "1 event of 1 living conversation, 8.0 kB of text, pruned") == (done.status, done.out.splitlines()[-1])
    assert (0, "no conversation is too old\n", 1) == (none.status, none.out, len(left))


@pytest.mark.slow
def test_retention_of_what_was_imported(reel: Reel, retaining: str, tmp_path: Path) -> None:
    """No import brings back what was purged for its age, however much that is; what is left may go on."""
    names = [f"codex/{number}" for number in range(1002)]
    with Client(retaining) as client, Pipeline(client) as pipeline:
        for name in names:
            pipeline.submit(requests.create(name, tags={"import": name}), _succeeds)
        for name in names[1:]:
            pipeline.submit(requests.kill(name), _succeeds)
        pipeline.drain()
        query(client.stats()["database"], "UPDATE agents SET killed = 1 WHERE killed IS NOT NULL")

    done = reel("purge", "--retention", "--now", "--yes")

    assert "1,002 conversations purged" in done.out
    stones = Tombstones(str(tmp_path / "reel/purged.json"), retaining)
    assert names[1:] == [name for name in names if stones.has(name)]


def _succeeds(reply: object) -> None:
    assert not isinstance(reply, ReelError)


@pytest.mark.slow
def test_retention_of_what_is_followed(reel: Reel, retaining: str) -> None:
    """An agent that is too old and followed is left, and that is said."""
    with Client(retaining) as client, client.subscribe("old"):
        tried = reel("purge", "--retention", "--now", "--dry-run")
        done = reel("purge", "--retention", "--now", "--yes")
    reel("revive", "old")
    none = reel("purge", "--retention", "--dry-run")

    said = "1 conversation too old and left, because somebody follows it\n"
    assert [(0, said)] * 2 == [(ran.status, ran.out) for ran in (tried, done)]
    assert "no conversation is too old\n" == none.out


@pytest.fixture
def keeping(reel: Reel, directory: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:  # noqa: ARG001 - after it
    """A daemon that makes backups by itself, used instead of the shared one; the directory of these."""
    daemon = ForkedDaemon(directory)
    daemon.options = ["--backup-directory", str(directory / "daily")]
    with closing(daemon.start()), daemon.client() as client:
        monkeypatch.setenv("REEL_SOCKET", daemon.socket)
        until(lambda: client.stats()["scheduled_backup_time"] is not None)
        yield Path(client.stats()["scheduled_backup_directory"])


@pytest.mark.slow
def test_where_it_may_still_be(reel: Reel, keeping: Path, directory: Path) -> None:
    """The backups that the daemon knows are listed, before and after, except for those that were named."""
    reel("add", "demo", "a key", "--create")
    (first,) = keeping.iterdir()
    daily = keeping / "20260101T000000Z.db"
    reel("backup", str(daily))
    older = [directory / name for name in ("r-before-2026-11-23-000000.db", "r-version-3-event-9.db")]
    for number, path in enumerate((*older, first)):
        path.touch()
        os.utime(path, (number, number))
    tried = reel("redact", "demo", "--match", "key", "--dry-run", "--json")
    done = reel("redact", "demo", "--match", "key", "--backup", str(daily), "--yes")
    purged = reel("purge", "demo", "--yes")
    command = purged.err.partition("purge them there as well with: reel ")[2].replace("FILE\n", str(daily)).split()

    says = f"these may still have it: {daily}, {first}, {older[1]} and 1 older one; name them with --backup FILE"
    assert f"reel: {says}\n" == tried.err
    assert done.err.startswith(f"reel: these may still have it: {first}, {older[1]}, {older[0]}; repeat it with")
    assert f"{command[1]} is gone; it is purged from backups only\n{daily}: 2 events\n" == reel(*command, "--yes").out
    assert b"[redacted" not in daily.read_bytes()


def test_prune(reel: Reel, talk: str) -> None:
    """What was replaced goes before a seq, a time, or the newest messages; without --yes, nothing does."""
    reel("add", talk, "a long first thought")
    reel("undo", talk)
    reel("add", talk, "a second thought")
    tried = reel("prune", talk, "--keep-last", "1", "--dry-run")
    asked = reel("prune", talk, "--before", "2100", "--json")
    later = reel("prune", talk, "--before", "1m", "--yes")
    done = reel("prune", talk, "--before", "#99", "--yes")

    assert tried.out.startswith("1 event before #")
    assert "would be pruned" in tried.out
    assert (1, True) == (asked.status, "repeat the command with --yes" in asked.err)
    assert later.out.startswith("there is nothing to prune before #1\n")
    assert "pruned: " in done.out
    assert "first thought" not in reel("log", talk, "--json").out
    assert "a second thought" in reel("show", talk).out
    assert reel("prune", talk, "--before", "99", "--yes").out.startswith("there is nothing to prune")
    for wrong in ([], ["--before", "some day"], ["--before", "3", "--keep-last", "4"]):
        assert 2 == reel("prune", talk, *wrong).status
