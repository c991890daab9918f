"""Both clients raise the same errors, and reconnect in the same way."""

from pathlib import Path
from typing import Any

import anyio
import pytest

import reel
from tests.daemon import Daemon
from tests.reel.both_clients import Run


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda client: client.agent("nobody"), reel.NotFound),
        (lambda client: client.create("taken"), reel.Exists),
        (lambda client: client.rewind("taken", "x"), reel.NoSuchMark),
        (lambda client: client.add("taken", []), reel.InvalidParams),
        (lambda client: client.add("taken", 5), reel.InvalidParams),
        (lambda client: client.add("taken", [7]), reel.InvalidMessage),
        (lambda client: client.add("taken", "hi", if_seq=99), reel.Conflict),
        (lambda client: client.messages("taken", since=1 << 80), reel.InvalidParams),
        (lambda client: client.undo("taken"), reel.NothingToUndo),
        (lambda client: client.render("taken", "cohere"), reel.InvalidParams),
        (lambda client: client.ingest("taken", "gemini", "x"), reel.InvalidMessage),
        (lambda client: client.load("taken", "gemini", "{}"), reel.InvalidMessage),
    ],
)
def test_both_clients_raise_the_same_errors(run: Run, daemon: Daemon, call: Any, error: type[reel.ReelError]) -> None:
    """Both clients raise the same exception for a refusal."""
    with daemon.client() as client:
        client.add("taken", "x", create=True)
        client.kill("taken")
        client.create("taken")
        with pytest.raises(error) as expected:
            call(client)

    async def scenario(client: Any) -> reel.ReelError:
        with pytest.raises(error) as caught:
            await call(client)
        return caught.value

    found = run(scenario)
    assert (str(expected.value), expected.value.data) == (str(found), found.data)


@pytest.mark.slow
def test_both_clients_reconnect_after_a_restart(run: Run, daemon: Daemon) -> None:
    """A client reconnects by itself, and finds what was acknowledged before."""

    async def scenario(client: Any) -> int:
        made = await client.create()
        await client.add(made.id, "one")
        daemon.kill()
        daemon.start()
        await client.add(made.id, "two")
        return len((await client.messages(made.id)).messages)

    assert 2 == run(scenario)


def test_both_clients_report_that_no_daemon_answers(run: Run, tmp_path: Any) -> None:
    """If no daemon answers, both clients raise the same error, with the remedy."""

    async def scenario(_: Any) -> str:
        with pytest.raises(reel.NotRunning, match="reel start") as caught:
            async with reel.aio.connect(str(tmp_path / "s")):
                pass
        with pytest.raises(reel.NotRunning) as expected:
            reel.connect(str(tmp_path / "s"))
        return "same" if str(caught.value) == str(expected.value) else "different"

    assert "same" == run(scenario)


# A daemon that answers one connection, and no longer listens then.
_BRIEF_DAEMON = """
import os, socket, sys
from tests.patience import PATIENCE
path = sys.argv[sys.argv.index("--socket") + 1]
with socket.socket(socket.AF_UNIX) as listener:
    listener.bind(path)
    listener.listen()
    connection, _ = listener.accept()
os.unlink(path)
connection.sendall(b"x")
"""


@pytest.fixture
def brief(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The socket of a daemon that ends as soon as it has replied."""
    (tmp_path / "reeld").mkdir()
    (tmp_path / "reeld" / "__init__.py").touch()
    (tmp_path / "reeld" / "__main__.py").write_text(_BRIEF_DAEMON)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return str(tmp_path / "s")


def test_autostart_of_a_daemon_that_ends_at_once(brief: str) -> None:
    """The blocking client fails if the daemon that it started is gone when it connects."""
    with pytest.raises(reel.NotRunning):
        reel.connect(brief, autostart=True)


@pytest.mark.parametrize("backend", ["trio", "asyncio"])
def test_async_autostart_of_a_daemon_that_ends_at_once(brief: str, backend: str) -> None:
    """The async client fails if the daemon that it started is gone when it connects."""

    async def concurrent() -> None:
        async with reel.aio.connect(brief, autostart=True):
            pass

    with pytest.raises(reel.NotRunning):
        anyio.run(concurrent, backend=backend)
