"""``reel continue``."""

from pathlib import Path

import pytest

from reel.said.messages import NewMessage
from reel.sync.client import Client
from tests.reel.cli.conftest import Reel
from tests.reel.cli.running import talking
from tests.reel.reading.wire import wire_to


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The directory of the test, in which the command runs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PWD", str(tmp_path))
    return str(tmp_path)


def test_last_conversation_of_the_directory(reel: Reel, client: Client, name: str, here: str) -> None:
    """Its name is printed: the one in which the last message was said; a sub-agent's does not count."""
    for number, tags in enumerate(({"cwd": here}, {"cwd": here}, {"cwd": here, "parent": "x"}, {"cwd": "/else"})):
        client.create(f"{name}-{number}", tags=tags)
        client.add(f"{name}-{number}", "Hi")
    client.change(f"{name}-0", title="Changed later")

    assert f"{name}-1\n" == reel("continue").out
    assert [f"{name}-1", f"{name}-0"] == [row["name"] for row in reel("continue", "--list", "--json").documents]
    assert [f"{name}-1", f"{name}-0"] == [line.split()[0] for line in reel("continue", "--list").out.splitlines()]
    assert {"cwd": here} == reel("continue", "--json").documents[0]["tags"]


def test_one_request_for_all_conversations(
    reel: Reel, client: Client, name: str, here: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list says when each of them heard its last message: an imported one is as old as that says."""
    with wire_to(client.path) as wire:
        monkeypatch.setenv("REEL_SOCKET", wire.path)
        said: list[NewMessage] = [{"role": "user", "content": "Hi"} for _ in range(3)]
        said[1]["sent"], said[2]["sent"] = 5, 7
        for number, message in enumerate(said):
            client.create(f"{name}-{number}", tags={"cwd": here})
            client.add(f"{name}-{number}", message)

        assert [f"{name}-0", f"{name}-2", f"{name}-1"] == [
            row["name"] for row in reel("continue", "--list", "--json").documents
        ]
        assert ["agents"] == [method for method in wire.asked if method != "hello"]


def test_runs_of_programs(reel: Reel, client: Client, name: str, here: str) -> None:
    """A conversation of a person comes before those of programs, even if these are newer."""
    for number, tags in enumerate(({"cwd": here}, {"cwd": here, "run": "sdk-py"})):
        client.create(f"{name}-{number}", tags=tags)
        client.add(f"{name}-{number}", "Hi")

    assert [f"{name}-0", f"{name}-1"] == [row["name"] for row in reel("continue", "--list", "--json").documents]


def test_directory_above(reel: Reel, client: Client, name: str, here: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the directory has no conversation, that of the nearest one above counts."""
    client.create(name, tags={"cwd": here})
    below = Path(here, "a/b")
    below.mkdir(parents=True)
    monkeypatch.chdir(below)

    assert f"{name}\n" == reel("continue").out


@pytest.mark.usefixtures("here")
def test_none(reel: Reel) -> None:
    """If there is none, the error says so."""
    ran = reel("continue")

    assert (1, True) == (ran.status, "no conversation has the tag cwd=" in ran.err)


@pytest.mark.slow
@pytest.mark.usefixtures("reel")
def test_at_a_terminal(client: Client, name: str, here: str) -> None:
    """At a terminal without a provider, the last messages are shown, and how to go on."""
    client.create(name, tags={"cwd": here})
    client.add(name, "What is a tape deck?")

    with talking(client.path, "continue") as command:
        assert "What is a tape deck?" in command.until(f"export REEL_AGENT={name}")


@pytest.mark.slow
@pytest.mark.usefixtures("reel")
def test_with_a_provider(client: Client, name: str, here: str) -> None:
    """At a terminal with a provider, it is a chat."""
    client.create(name, tags={"cwd": here})

    with talking(client.path, "continue", "--via", "cat", "--format", "openai-chat") as command:
        command.until(f"{name}> ")
        command.type("\x04")
        assert 0 == command.process.wait()
