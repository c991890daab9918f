"""``reel help`` explains commands and topics."""

from pathlib import Path

import pytest

from reel.cli import main
from reel.cli.line.overview import TOPICS


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No daemon answers."""
    monkeypatch.setenv("REEL_SOCKET", str(tmp_path / "none.sock"))


@pytest.mark.parametrize(("words", "option"), [(["help"], ["--help"]), (["help", "add"], ["add", "--help"])])
def test_help_of_a_command(words: list[str], option: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """`reel help` and `reel help COMMAND` print what --help prints."""
    assert main(words) == main(option) == 0
    printed = capsys.readouterr().out

    assert printed[: len(printed) // 2] == printed[len(printed) // 2 :]


@pytest.mark.parametrize("topic", TOPICS)
def test_help_of_a_topic(topic: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A topic is printed in lines of at most 80 columns."""
    assert 0 == main(["help", topic])
    printed = capsys.readouterr().out

    assert f"{TOPICS[topic]}\n" == printed
    assert all(len(line) <= 80 for line in printed.splitlines())


def test_a_topic_by_its_former_name(capsys: pytest.CaptureFixture[str]) -> None:
    """What was `reel help agent` is still found."""
    assert 0 == main(["help", "agent"])

    assert f"{TOPICS['name']}\n" == capsys.readouterr().out


def test_help_of_nothing_known(capsys: pytest.CaptureFixture[str]) -> None:
    """A word that is neither a command nor a topic is wrong usage."""
    assert 2 == main(["help", "ad"])

    assert "reel: usage: no command 'ad' (did you mean add?); see: reel help --help\n" == capsys.readouterr().err
