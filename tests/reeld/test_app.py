"""The daemon as a whole, in this process: its exit status, and what it leaves behind."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from reel.process import answers
from reel.sync.client import Client
from reeld import app
from reeld.config import Config
from reeld.startup import ALREADY_RUNNING, CANNOT_START, OK, lock
from tests.daemon import PATIENCE, short_directory


@pytest.fixture
def config() -> Iterator[Config]:
    """A socket and a database of the test's own; the daemon's umask, directory and signals end with the test."""
    umask, before = os.umask(0o022), Path.cwd()
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    with short_directory() as directory:
        yield Config(str(directory / "s.sock"), str(directory / "r.db"))
    for number, handler in handlers.items():
        signal.signal(number, handler)
    os.chdir(before)
    os.umask(umask)


def test_it_runs_until_it_is_told_to_stop(config: Config) -> None:
    """It serves until a client ends it; then the socket is gone, the WAL is in the file, and the status is good."""
    user = threading.Thread(target=_add_and_stop, args=(config.socket,))
    user.start()
    status = app.main(config)
    user.join(PATIENCE)

    assert status == OK
    assert ["r.db", "r.db.lock", "s.sock.lock"] == sorted(path.name for path in Path(config.socket).parent.iterdir())


def _add_and_stop(path: str) -> None:
    """Wait for a daemon, add a message and end it."""
    while not answers(path):
        time.sleep(0.005)  # between two looks
    with Client(path) as client:
        client.add("demo", "hi", create=True)
        client.shutdown()


def test_another_runs(config: Config, capsys: pytest.CaptureFixture[str]) -> None:
    """Who comes second is told in a sentence, and by the status."""
    with lock(config.socket, "the socket"):
        assert app.main(config) == ALREADY_RUNNING

    assert capsys.readouterr().err == (
        f"reeld: another reeld is running (pid {os.getpid()}); it holds the socket {config.socket}\n"
    )


def test_refused(config: Config, capsys: pytest.CaptureFixture[str]) -> None:
    """What keeps it from starting is said in a sentence; both locks are free again."""
    Path(config.database).write_text("dear diary" * 1000)
    status = app.main(config)
    said = capsys.readouterr().err

    assert status == CANNOT_START
    assert said.startswith(f"reeld: {config.database} is ")
    assert said.count("\n") == 1
    with lock(config.socket, "the socket"), lock(config.database, "the database"):
        pass


def test_bug(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bug ends it loudly: what is no refusal is not made one."""
    monkeypatch.setattr("reeld.app.AgentFactory", lambda _: 1 // 0)

    with pytest.raises(BaseExceptionGroup) as crashed:
        app.main(config)
    assert crashed.group_contains(ZeroDivisionError)


def test_everything_is_its_owners(config: Config) -> None:
    """Whatever it makes is for its owner alone, whatever the shell's umask is."""
    Path(config.database).write_text("dear diary" * 1000)
    app.main(config)

    assert os.umask(0o077) == 0o077
