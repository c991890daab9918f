"""``reel export``."""

import json
import os
import stat
from pathlib import Path

import pytest

from reel.cli.commands.export import path_of
from reel.sync.client import Client
from tests.reel.cli.conftest import Reel
from tests.reel.cli.running import started


@pytest.fixture
def agent(client: Client, name: str) -> str:
    """An agent with two messages, of which one was undone."""
    client.add(name, "kept", create=True)
    client.add(name, "undone")
    client.undo(name)
    return name


def test_markdown_is_what_is_in_the_conversation(reel: Reel, agent: str) -> None:
    """By default, stdout gets the conversation as it is now."""
    assert f"# {agent}\n\n### User\n\nkept\n" == reel("export", agent).out


def test_a_page_has_what_was_undone(reel: Reel, agent: str, tmp_path: Path) -> None:
    """The page has everything, and only its owner can read the file."""
    file = tmp_path / "demo.html"

    assert f"written: {file}\n" == reel("export", agent, "--format", "html", "-o", str(file)).out

    text = file.read_text()
    assert "One message, #3, is no longer in the conversation" in text
    assert 0o600 == stat.S_IMODE(file.stat().st_mode)
    assert [file] == list(tmp_path.iterdir())


def test_an_earlier_moment(reel: Reel, agent: str) -> None:
    """With --at, nothing that came later is there."""
    text = reel("export", agent, "--format", "html", "--at", "3").out

    assert "no longer in the conversation" not in text
    assert "undone</div>" in text


def test_the_whole_log(reel: Reel, client: Client, agent: str) -> None:
    """JSON Lines have the agent first, and then each of its events."""
    about, *events = reel("export", agent, "--format", "jsonl").documents

    assert about["agent"]["name"] == agent
    assert events == client.history(agent).events


def test_a_provider_format(reel: Reel, agent: str) -> None:
    """A format of render gives the body of a request."""
    body = json.loads(reel("export", agent, "--format", "openai-chat").out)

    assert {"messages": [{"role": "user", "content": "kept"}]} == body


def test_all_conversations(reel: Reel, client: Client, agent: str, tmp_path: Path) -> None:
    """Each conversation is a file that is named after it, in folders as its name has them."""
    client.add(f"{agent}/.hidden", "more", create=True)

    assert "written to" in reel("export", "--all", str(tmp_path)).out

    assert "kept" in (tmp_path / f"{agent}.md").read_text()
    assert "more" in (tmp_path / agent / "_.hidden.md").read_text()


def test_killed_conversations(reel: Reel, client: Client, agent: str, tmp_path: Path) -> None:
    """A killed conversation has a file of its own, even if another one has its name by now."""
    killed = client.agent(agent).id
    client.kill(agent)
    client.add(agent, "after", create=True)

    reel("export", "--all", str(tmp_path))

    assert "after" in (tmp_path / f"{agent}.md").read_text()
    assert "kept" in (tmp_path / f"{agent}@{killed}.md").read_text()


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("a/b", "a/b"),
        ("../../x", "_../_../x"),
        (".a//b/", "_.a/b"),
        ("/", "_"),
        ("a/..", "a/_.."),
        ("a.md/b.md", "a.md_/b.md"),
        ("a.MD/b", "a.MD_/b"),
    ],
)
def test_paths(name: str, path: str) -> None:
    """No name leads out of the directory, and no folder is in the place of a file."""
    assert path_of(name, ".md") == path


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "no conversation was named; name one, or export all of them with --all DIR"),
        (("--all", "x", "--at", "3"), "--all cannot be combined with --at"),
        (("--all", "x", "-o", "y"), "--all cannot be combined with --output"),
        (("--all", ""), "the name of the file or directory is empty"),
        (("demo", "-o", ""), "the name of the file or directory is empty"),
    ],
)
def test_arguments_that_do_not_go_together(reel: Reel, arguments: tuple[str, ...], words: str) -> None:
    """What cannot be carried out is refused before anything is written."""
    ran = reel("export", *arguments)

    assert (2, "") == (ran.status, ran.out)
    assert words in ran.err


def test_a_directory_that_is_not_there(agent: str, reel: Reel, tmp_path: Path) -> None:
    """A typing error in the path of a file makes no directory."""
    ran = reel("export", agent, "-o", str(tmp_path / "typo" / "demo.md"))

    assert (1, "") == (ran.status, ran.out)
    assert f"{tmp_path / 'typo'}: No such file or directory" in ran.err
    assert [] == [*tmp_path.iterdir()]


def test_a_file_that_cannot_be_written(reel: Reel, agent: str, tmp_path: Path) -> None:
    """The path and the reason are named, and no piece of the file is left."""
    (tmp_path / "is-a-directory").mkdir()
    ran = reel("export", agent, "-o", str(tmp_path / "is-a-directory"))

    assert ran.status != 0
    assert f"{tmp_path / 'is-a-directory'}: Is a directory" in ran.err
    assert ["is-a-directory"] == [path.name for path in tmp_path.iterdir()]


def test_a_link_in_the_place_of_the_draft(reel: Reel, agent: str, tmp_path: Path) -> None:
    """Nothing is written through a link that somebody else put where the file is prepared."""
    target, draft = tmp_path / "target", tmp_path / f"demo.md.{os.getpid()}.part"
    target.write_text("theirs")
    draft.symlink_to(target)

    ran = reel("export", agent, "-o", str(tmp_path / "demo.md"))

    assert ran.status != 0
    assert "theirs" == target.read_text()
    assert draft.is_symlink()


def test_a_pipe(reel: Reel, agent: str, tmp_path: Path) -> None:
    """A pipe or a device, such as that of >(command), gets the text, and stays what it is."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    descriptor = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)

    ran = reel("export", agent, "-o", str(pipe))
    text = os.read(descriptor, 1000)
    os.close(descriptor)

    assert (0, f"# {agent}\n\n### User\n\nkept\n".encode()) == (ran.status, text)
    assert pipe.is_fifo()


@pytest.mark.parametrize("form", ["markdown", "html", "openai-chat"])
def test_a_terminal(daemon: str, client: Client, name: str, form: str) -> None:
    """A terminal gets control characters as text, whatever the form."""
    client.add(name, "before \x1b[2J\x9b31m after", create=True)

    with started(daemon, "export", name, "--format", form, terminal=True) as running:
        shown = running.until("after")

    assert "\x1b" not in shown
    assert "\x9b" not in shown


def test_a_dash_is_stdout(reel: Reel, agent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dash makes no file of that name."""
    monkeypatch.chdir(tmp_path)

    assert reel("export", agent).out == reel("export", agent, "-o", "-").out != ""
    assert [] == [*tmp_path.iterdir()]
