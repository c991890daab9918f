"""The commands edit, with a line of shell as the editor, and draft, as a process beside its readers."""

import shlex
import tempfile
from pathlib import Path

import pytest

from reel.pushes import EventPush
from reel.sync.client import Client

from .conftest import Reel, texts
from .running import TIMEOUT, started


@pytest.fixture
def talk(reel: Reel, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """An agent without a message; what editors leave behind is in ``tmp_path``."""
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    reel("new", name)
    return name


def editor(script: str) -> str:
    """An editor that runs a line of shell, with the file as ``$0``."""
    return f"sh -c {shlex.quote(script)}"


def said(reel: Reel, agent: str) -> list[tuple[str, str]]:
    """Who said what."""
    return [(each["role"], each["content"][0]["text"]) for each in reel("show", agent, "--json").documents]


def test_edit_adds_what_was_written(reel: Reel, talk: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The end of the last line is the editor's; no file is left."""
    monkeypatch.setenv("EDITOR", editor('printf "one\\ntwo\\n" > "$0"'))

    assert reel("edit", talk) == (0, f"{talk}: added #2\n", "")
    assert said(reel, talk) == [("user", "one\ntwo")]
    assert not list(tmp_path.iterdir())


def test_visual_goes_before_editor(reel: Reel, talk: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The editor is chosen as other programs do, and the role as with add."""
    monkeypatch.setenv("EDITOR", "false")
    monkeypatch.setenv("VISUAL", editor('echo hi > "$0"'))

    assert reel("edit", talk, "--role", "assistant").status == 0
    assert said(reel, talk) == [("assistant", "hi")]


@pytest.mark.parametrize("script", ["true", 'echo > "$0"'])
def test_nothing_written(reel: Reel, talk: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str) -> None:
    """Who changes their mind leaves the text empty."""
    monkeypatch.setenv("EDITOR", editor(script))

    assert reel("edit", talk) == (0, f"{talk}: the text is empty; nothing was added\n", "")
    assert said(reel, talk) == []
    assert not list(tmp_path.iterdir())


def test_editor_that_fails(reel: Reel, talk: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An editor's failure is a change of mind as well (:cq), and the status says so."""
    monkeypatch.setenv("EDITOR", editor('echo half > "$0"; exit 3'))

    assert reel("edit", talk) == (1, "", "reel: sh exited with status 3; nothing was added\n")
    assert said(reel, talk) == []


def test_editor_that_is_not_there(reel: Reel, talk: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It is one line, and no file is left."""
    monkeypatch.setenv("EDITOR", "/none/editor")

    assert reel("edit", talk) == (1, "", "reel: system: /none/editor: No such file or directory\n")
    assert not list(tmp_path.iterdir())


def test_editor_that_is_no_command(reel: Reel, talk: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A quote without its other end is a mistake like any other."""
    monkeypatch.setenv("EDITOR", "vi '")
    expected = """reel: usage: cannot start the editor "vi '": No closing quotation; see: reel edit --help\n"""

    assert (2, "", expected) == reel("edit", talk)


def test_no_agent(reel: Reel, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """That there is no such agent is said before anybody has written anything."""
    monkeypatch.setenv("EDITOR", "/none/editor")

    assert 4 == reel("edit", name).status


def test_text_that_could_not_be_added_is_kept(
    reel: Reel, talk: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What was written is never lost, and can be added by the line that is printed."""
    monkeypatch.setenv("EDITOR", editor('echo precious > "$0"'))
    reel("kill", talk)
    refused = reel("edit", talk, "--role", "assistant")
    (kept,) = tmp_path.iterdir()

    assert (1, "precious\n") == (refused.status, kept.read_text())
    assert f"reel: your text was saved; add it with: reel add {talk} - --role assistant < {kept}\n" in refused.err


def test_a_draft_grows_and_is_added(client: Client, daemon: str, name: str) -> None:
    """What comes from stdin is shown as it comes, and added at its end."""
    client.create(name)
    with client.subscribe(name) as pushes, started(daemon, "draft", name, "--add", "--role", "assistant") as running:
        stdin = running.process.stdin
        assert stdin is not None
        stdin.write(b"So f\xc3")
        stdin.flush()
        assert "So f" == next(pushes).text  # type: ignore[union-attr]
        stdin.write(b"\xa4r\n")
        stdin.close()
        running.until("added #2")
        told = [next(pushes)]
        while not isinstance(told[-1], EventPush):
            told.append(next(pushes))

    assert not told[-2].text  # type: ignore[union-attr]
    (message,) = client.messages(name).messages
    assert ("assistant", "So fär") == (message["role"], message["content"][0]["text"])  # type: ignore[typeddict-item]


def test_a_draft_that_is_not_added(client: Client, daemon: str, name: str) -> None:
    """Without --add nothing stays."""
    client.create(name)
    with client.subscribe(name) as pushes, started(daemon, "draft", name) as running:
        stdin = running.process.stdin
        assert stdin is not None
        stdin.write(b"hm")
        stdin.close()

        assert ["hm", ""] == [next(pushes).text for _ in range(2)]  # type: ignore[union-attr]
        assert 0 == running.process.wait(TIMEOUT)

    assert not client.messages(name).messages


def test_a_draft_is_held(client: Client, daemon: str, name: str) -> None:
    """A text that is given as a word is shown until the command ends."""
    client.create(name)
    with client.subscribe(name) as pushes:
        with started(daemon, "draft", name, "thinking"):
            assert "thinking" == next(pushes).text  # type: ignore[union-attr]

        assert not next(pushes).text  # type: ignore[union-attr]


@pytest.mark.parametrize(("argv", "said"), [(("a text", "--add"), "reel add"), (("--add",), "stdin was empty")])
def test_a_draft_that_cannot_be_added(client: Client, daemon: str, name: str, argv: tuple[str, ...], said: str) -> None:
    """Where there is nothing to add, or another command for it, that is said."""
    client.create(name)
    with started(daemon, "draft", name, *argv) as running:
        assert running.process.stdin is not None
        running.process.stdin.close()

        assert said in running.until("--help")
        assert 2 == running.process.wait(TIMEOUT)


def test_a_draft_that_is_refused_in_the_end(
    reel: Reel, client: Client, daemon: str, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What was to be added is read to its end and kept, and can be added by the line that is printed."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    client.create(name)
    with client.subscribe(name) as pushes, started(daemon, "draft", name, "--add", "--role", "assistant") as running:
        stdin = running.process.stdin
        assert stdin is not None
        stdin.write(b"one,")
        stdin.flush()
        assert "one," == next(pushes).text  # type: ignore[union-attr]
        client.kill(name)
        stdin.write(b" two\n\n")
        stdin.close()
        assert 1 == running.process.wait(TIMEOUT)
        said = running.until("killed: ")

    (kept,) = tmp_path.iterdir()
    assert f"reel: your text was saved; add it with: reel add {name} - --role assistant < {kept}\n" in said
    client.revive(name)
    reel("add", name, "-", "--role", "assistant", stdin=kept.read_bytes())
    assert texts(reel, name) == ["one, two\n"]
