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
    """A socket and a database of the test's own; the daemon's umask, directory and signals are reset after the test."""
    umask, before = os.umask(0o022), Path.cwd()
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    with short_directory() as directory:
        yield Config(str(directory / "s.sock"), str(directory / "r.db"))
    for number, handler in handlers.items():
        signal.signal(number, handler)
    os.chdir(before)
    os.umask(umask)


def test_it_runs_until_it_is_told_to_stop(config: Config) -> None:
    """The daemon serves until a client stops it; then the socket is gone, the WAL is in the file, the status is 0."""
    user = threading.Thread(target=_add_and_stop, args=(config.socket,))
    user.start()
    status = app.main(config)
    user.join(PATIENCE)

    assert status == OK
    assert ["r.db", "r.db.lock", "s.sock.lock"] == sorted(path.name for path in Path(config.socket).parent.iterdir())


def _add_and_stop(path: str) -> None:
    """Wait for a daemon, add a message and stop it."""
    while not answers(path):
        time.sleep(0.005)  # between two looks
    with Client(path) as client:
        client.add("demo", "hi", create=True)
        client.shutdown()


def test_a_second_daemon_is_refused(config: Config, capsys: pytest.CaptureFixture[str]) -> None:
    """A second daemon ends with a status of its own, and its error names the first one."""
    with lock(config.socket, "the socket"):
        assert app.main(config) == ALREADY_RUNNING

    assert capsys.readouterr().err == (
        f"reeld: another reeld is running (pid {os.getpid()}); it holds the socket {config.socket}\n"
    )


def test_a_file_that_is_not_a_database_stops_the_start(config: Config, capsys: pytest.CaptureFixture[str]) -> None:
    """A refused start prints one line, and both locks are free again."""
    Path(config.database).write_text("dear diary" * 1000)
    status = app.main(config)
    said = capsys.readouterr().err

    assert status == CANNOT_START
    assert said.startswith(f"reeld: {config.database} is ")
    assert said.count("\n") == 1
    with lock(config.socket, "the socket"), lock(config.database, "the database"):
        pass


def test_a_bug_at_start_is_raised(config: Config) -> None:
    """A bug, such as settings that were never made, ends the daemon with a traceback; only a refusal is one line."""
    with pytest.raises(BaseExceptionGroup) as crashed:
        app.main(config._replace(connection=None))  # type: ignore[arg-type]
    assert crashed.group_contains(AttributeError)


def test_everything_is_its_owners(config: Config) -> None:
    """The daemon's umask lets only the owner use its files, whatever the shell's umask is."""
    Path(config.database).write_text("dear diary" * 1000)
    app.main(config)

    assert os.umask(0o077) == 0o077
