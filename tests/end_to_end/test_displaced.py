"""If a daemon's database is removed or replaced while it runs, no acknowledged command is lost."""

import shutil
from pathlib import Path

import pytest

from reel.base.errors import Storage
from reel.cli import main
from reel.sync.client import Client
from reel.wire.pushes import EventPush, ResetPush
from tests import documents
from tests.daemon import Daemon, until
from tests.end_to_end.shell import run
from tests.end_to_end.writers import Writers, texts


def noticed(client: Client) -> bool:
    """Return whether the daemon knows that a file is not at its path."""
    return client.stats()["storage_problem"] is not None


def test_everything_was_removed(daemon: Daemon, client: Client, directory: Path) -> None:
    """A backup saves what was acknowledged before the daemon noticed, and a restart from the backup has it."""
    with Writers(daemon) as writers:
        for path in directory.glob("r.db*"):
            path.unlink()
        writers.wait_for_the_end()
    client.backup(f"{directory}/saved.db")
    client.shutdown()
    daemon.process.wait()
    shutil.copy(f"{directory}/saved.db", daemon.database)
    daemon.start()

    assert {"storage"} == {error.name for error in writers.errors}
    assert set(writers.texts) == texts(daemon)


def test_what_is_documented(prepared: Daemon, home: Path) -> None:
    """The documented commands restore everything that was acknowledged, even if the whole directory was removed."""
    (procedure,) = documents.blocks("operations.md", "### The database file was removed while the daemon ran", "sh")
    prepared.start()
    with Writers(prepared) as writers:
        shutil.rmtree(Path(prepared.database).parent)
        writers.wait_for_the_end()

    assert "nothing is wrong" in run(procedure)
    assert set(writers.texts) == texts(prepared)
    assert (home / "saved.db").exists()
    run("reel stop")


def test_the_wal_was_removed(daemon: Daemon, client: Client) -> None:
    """An idle daemon notices that the WAL was removed; if it is then killed, the next one still has everything."""
    for number in range(20):
        client.add("demo", f"{number}", create=True)
    Path(f"{daemon.database}-wal").unlink()
    until(lambda: "a copy of the WAL is at its path" in daemon.log.read_text())
    daemon.kill()
    daemon.start()

    assert {f"{number}" for number in range(20)} == texts(daemon)


def test_a_command_that_is_refused_changes_nothing(daemon: Daemon, client: Client) -> None:
    """A refused command leaves the conversation as it was and readable; commands work again when the file is back."""
    head = client.add("demo", "one", create=True).head
    shutil.move(daemon.database, f"{daemon.database}.away")
    with pytest.raises(Storage, match=r"nothing was written: .* was removed or moved away while reeld ran; put"):
        client.add("demo", "two")
    assert head == client.agent("demo").head
    shutil.move(f"{daemon.database}.away", daemon.database)

    assert head + 1 == client.add("demo", "two").head
    assert 1 == daemon.log.read_text().count("every command is refused")


def test_a_restored_backup_is_refused_until_the_file_is_back(daemon: Daemon, client: Client, directory: Path) -> None:
    """A backup that takes the place of the file under a running daemon is not used; the daemon goes on with its own."""
    client.add("demo", "one", create=True)
    client.backup(f"{directory}/backup.db")
    head = client.add("demo", "two").head
    shutil.move(daemon.database, f"{daemon.database}.away")
    shutil.copy(f"{directory}/backup.db", daemon.database)
    with pytest.raises(Storage, match=r"another file is in the place of .*; put"):
        client.add("demo", "three")
    shutil.move(f"{daemon.database}.away", daemon.database)

    assert head + 1 == client.add("demo", "three", if_seq=head).head
    assert {"one", "two", "three"} == texts(daemon)


@pytest.mark.parametrize("agent", ["demo", None])
def test_a_follower_over_a_restored_backup(daemon: Daemon, client: Client, directory: Path, agent: str | None) -> None:
    """Who remembers an event that is gone is told so, also if the log has become longer than it was."""
    client.add("demo", "one", create=True)
    client.backup(f"{directory}/backup.db")
    with client.subscribe(agent) as pushes:
        client.add("demo", "two")
        known = next(pushes)
        daemon.end()
        for path in directory.glob("r.db*"):
            path.unlink()
        shutil.copy(f"{directory}/backup.db", daemon.database)
        daemon.start()
        with daemon.client() as other:
            for text in ("other", "and more"):
                other.add("demo", text)
        told = [next(pushes)]
        while not isinstance(told[-1], EventPush):
            told.append(next(pushes))

    assert isinstance(known, EventPush)
    assert [ResetPush, EventPush] == [type(push) for push in told]
    assert known.seq + 1 == told[-1].seq


def test_a_daemon_does_not_stop_with_what_would_be_lost(daemon: Daemon, client: Client, directory: Path) -> None:
    """A client cannot stop such a daemon before there is a backup; a signal can."""
    client.add("demo", "one", create=True)
    Path(daemon.database).unlink()
    until(lambda: noticed(client))

    with pytest.raises(Storage, match="everything in it is lost when reeld stops; save it with: reel backup FILE"):
        client.shutdown()
    client.backup(f"{directory}/saved.db")
    client.shutdown()
    assert 0 == daemon.process.wait()


def test_it_is_reported(
    daemon: Daemon, client: Client, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The status and the doctor say what happened, and the doctor says what to do."""
    monkeypatch.setenv("REEL_SOCKET", daemon.socket)
    shutil.copy(daemon.database, f"{daemon.database}.copy")
    shutil.move(f"{daemon.database}.copy", daemon.database)
    until(lambda: noticed(client))
    about = f"another file is in the place of {daemon.database}"

    assert 0 == main(["status"])
    assert f"storage        {about}; " in capsys.readouterr().out
    assert 1 == main(["doctor"])
    assert f"bad   database         {about}\n" in capsys.readouterr().out
