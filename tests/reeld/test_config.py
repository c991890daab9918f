"""Flags go before the environment, and that before the defaults."""

import pytest

from reel.version import PROTOCOL, __version__
from reeld.config import Config, parse


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin with both paths in the environment."""
    monkeypatch.setenv("REEL_SOCKET", "/e/s.sock")
    monkeypatch.setenv("REEL_DATABASE", "/e/r.db")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], Config("/e/s.sock", "/e/r.db", "info")),
        (["--socket", "/f/s.sock"], Config("/f/s.sock", "/e/r.db", "info")),
        (["--database=/f/r.db", "--log-level", "debug"], Config("/e/s.sock", "/f/r.db", "debug")),
    ],
)
def test_flags_before_environment(arguments: list[str], expected: Config) -> None:
    """What is not given on the command line is taken from the environment."""
    assert expected == parse(arguments)


def test_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without either, the directories of the user decide."""
    monkeypatch.delenv("REEL_SOCKET")
    monkeypatch.delenv("REEL_DATABASE")
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/7")
    monkeypatch.setenv("XDG_STATE_HOME", "/state")

    assert Config("/run/user/7/reel/reel.sock", "/state/reel/reel.db") == parse([])


@pytest.mark.parametrize("arguments", [["--nonsense"], ["extra"], ["--log-level", "loud"], ["--socket"]])
def test_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A command line that is none ends with a status of its own, and says how it is meant."""
    with pytest.raises(SystemExit) as ended:
        parse(arguments)

    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith("usage: reeld ")


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    """The version is that of the distribution, and the protocol's."""
    with pytest.raises(SystemExit) as ended:
        parse(["--version"])

    assert ended.value.code == 0
    assert capsys.readouterr().out == f"reeld {__version__}, protocol {PROTOCOL}\n"
