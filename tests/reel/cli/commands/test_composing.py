"""The commands edit, with a line of shell as the editor, and draft, as a process beside its readers."""

import shlex
import tempfile
from pathlib import Path

import pytest

from reel.sync.client import Client
from reel.wire.pushes import EventPush
from tests.patience import PATIENCE
from tests.reel.cli.conftest import Reel, texts
from tests.reel.cli.running import started


@pytest.fixture
def talk(reel: Reel, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """An agent without a message; editors leave their files in ``tmp_path``."""
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    reel("new", name)
    return name


def editor(script: str) -> str:
    """Return an editor that runs a line of shell, with the file as ``$0``."""
    return f"sh -c {shlex.quote(script)}"


def said(reel: Reel, agent: str) -> list[tuple[str, str]]:
    """Return the roles and texts of an agent's messages."""
    return [(each["role"], each["content"][0]["text"]) for each in reel("show", agent, "--json").documents]


def test_edit_adds_the_text(reel: Reel, talk: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The last newline is removed, and no file is left behind."""
    monkeypatch.setenv("EDITOR", editor('printf "one\\ntwo\\n" > "$0"'))

    assert (0, f"{talk}: added #2\n", "") == reel("edit", talk)
    assert [("user", "one\ntwo")] == said(reel, talk)
    assert not list(tmp_path.iterdir())


def test_what_the_editor_opens_with(reel: Reel, talk: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Below a cut line are to whom one writes and the last message; it is neither sent nor obeyed by the editor."""
    reel("add", talk, "one\x1b[2J\n# vim: set shell=sh\nLocal Variables: x")
    monkeypatch.setenv("EDITOR", editor(f'cp "$0" {tmp_path}/seen; sed -i "1s/^/mine/" "$0"'))
    reel("edit", talk, "--role", "assistant")
    blank, cut, to, _, *rest = (tmp_path / "seen").read_text().splitlines()

    assert ("", "------------------------ >8 ------------------------") == (blank, cut)
    assert f"You are writing to {talk} as the assistant." == to
    assert ["  one\\x1b[2J", "  # vim\\: set shell=sh", "  Local Variables\\: x"] == rest[-3:]
    assert ("assistant", "mine") == said(reel, talk)[-1]


def test_a_text_without_the_cut_line(reel: Reel, talk: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is similar to the cut line is text; if the line was removed, everything is."""
    text = "a\n-- >8 --\nb"
    monkeypatch.setenv("EDITOR", editor(f"printf '{text}' > \"$0\""))

    assert 0 == reel("edit", talk).status
    assert ("user", text) == said(reel, talk)[-1]


def test_a_long_message_below_the_cut_line(reel: Reel, talk: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the beginning of a long message is shown."""
    reel("add", talk, "line\n" * 400)
    monkeypatch.setenv("EDITOR", editor('tail -1 "$0" > "$0.new"; mv "$0.new" "$0"'))
    reel("edit", talk)

    assert ("user", "… 101 more lines") == said(reel, talk)[-1]


@pytest.mark.parametrize(
    ("argv", "stdin"),
    [(("edit",), None), (("draft", "--add"), b"a\xff\n")],
)
def test_a_text_that_is_not_utf8(
    reel: Reel, talk: str, monkeypatch: pytest.MonkeyPatch, argv: tuple[str, ...], stdin: bytes | None
) -> None:
    """What could not be read as UTF-8 is replaced, and stderr says how much."""
    monkeypatch.setenv("EDITOR", editor(r'printf "a\377\n" > "$0"'))
    ran = reel(argv[0], talk, *argv[1:], stdin=stdin)

    assert "reel: note: 1 invalid character was replaced by U+FFFD\n" == ran.err
    assert [("user", "a\ufffd")] == said(reel, talk)


def test_visual_takes_precedence_over_editor(reel: Reel, talk: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The editor is chosen as other programs do, and the role as by add."""
    monkeypatch.setenv("EDITOR", "false")
    monkeypatch.setenv("VISUAL", editor('echo hi > "$0"'))

    assert 0 == reel("edit", talk, "--role", "assistant").status
    assert [("assistant", "hi")] == said(reel, talk)


@pytest.mark.parametrize("script", ["true", 'echo > "$0"'])
def test_edit_of_an_empty_text_adds_nothing(
    reel: Reel, talk: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str
) -> None:
    """An empty or blank text adds nothing."""
    monkeypatch.setenv("EDITOR", editor(script))

    assert (0, f"{talk}: the text is empty; nothing was added\n", "") == reel("edit", talk)
    assert [] == said(reel, talk)
    assert not list(tmp_path.iterdir())


def test_editor_that_fails_adds_nothing(reel: Reel, talk: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An editor that fails, as by :cq, adds nothing, and the status is 1."""
    monkeypatch.setenv("EDITOR", editor('echo half > "$0"; exit 3'))

    assert (1, "", "reel: sh exited with status 3; nothing was added\n") == reel("edit", talk)
    assert [] == said(reel, talk)


def test_editor_that_does_not_exist(reel: Reel, talk: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It is one line of error, and no file is left behind."""
    monkeypatch.setenv("EDITOR", "/none/editor")

    assert (1, "", "reel: system: /none/editor: No such file or directory\n") == reel("edit", talk)
    assert not list(tmp_path.iterdir())


def test_editor_with_an_unbalanced_quote(reel: Reel, talk: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unbalanced quote is wrong usage."""
    monkeypatch.setenv("EDITOR", "vi '")
    expected = """reel: usage: cannot start the editor "vi '": No closing quotation; see: reel edit --help\n"""

    assert (2, "", expected) == reel("edit", talk)


def test_edit_fails_before_the_editor_starts(reel: Reel, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing agent is reported before the editor starts."""
    monkeypatch.setenv("EDITOR", "/none/editor")

    assert 4 == reel("edit", name).status


def test_text_that_cannot_be_added_is_saved(
    reel: Reel, talk: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A text that cannot be added is saved, and the printed command adds it."""
    monkeypatch.setenv("EDITOR", editor('echo precious > "$0"'))
    reel("kill", talk)
    refused = reel("edit", talk, "--role", "assistant")
    (kept,) = tmp_path.iterdir()

    assert (1, "precious\n") == (refused.status, kept.read_text())
    assert f"reel: your text was saved; add it with: reel add {talk} - --role assistant < {kept}\n" in refused.err


@pytest.mark.slow
def test_a_draft_grows_and_is_added(client: Client, daemon: str, name: str) -> None:
    """stdin is shown as it arrives, and added at its end."""
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


@pytest.mark.slow
def test_a_draft_that_is_not_added(client: Client, daemon: str, name: str) -> None:
    """Without --add nothing is stored."""
    client.create(name)
    with client.subscribe(name) as pushes, started(daemon, "draft", name) as running:
        stdin = running.process.stdin
        assert stdin is not None
        stdin.write(b"hm")
        stdin.close()

        assert ["hm", ""] == [next(pushes).text for _ in range(2)]  # type: ignore[union-attr]
        assert 0 == running.process.wait(PATIENCE)

    assert not client.messages(name).messages


@pytest.mark.slow
def test_draft_of_an_argument_is_shown_until_the_end(client: Client, daemon: str, name: str) -> None:
    """A text that is given as an argument is shown until the command ends."""
    client.create(name)
    with client.subscribe(name) as pushes:
        with started(daemon, "draft", name, "thinking"):
            assert "thinking" == next(pushes).text  # type: ignore[union-attr]

        assert not next(pushes).text  # type: ignore[union-attr]


@pytest.mark.parametrize(("argv", "said"), [(("a text", "--add"), "reel add"), (("--add",), "stdin was empty")])
def test_a_draft_that_cannot_be_added(client: Client, daemon: str, name: str, argv: tuple[str, ...], said: str) -> None:
    """An empty stdin, or a text as an argument, cannot be added."""
    client.create(name)
    with started(daemon, "draft", name, *argv) as running:
        assert running.process.stdin is not None
        running.process.stdin.close()

        assert said in running.until("--help")
        assert 2 == running.process.wait(PATIENCE)


@pytest.mark.slow
def test_draft_that_is_refused_at_its_end_is_saved(
    reel: Reel, client: Client, daemon: str, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """stdin is read to its end and saved, and the printed command adds it."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
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
        assert 1 == running.process.wait(PATIENCE)
        said = running.until("killed: ")

    (kept,) = (tmp_path / "reel" / "kept").iterdir()
    assert f"reel: your text was saved; add it with: reel add {name} - --role assistant < {kept}\n" in said
    client.revive(name)
    reel("add", name, "-", "--role", "assistant", stdin=kept.read_bytes())
    assert ["one, two\n"] == texts(reel, name)
