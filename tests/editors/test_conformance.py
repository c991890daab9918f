"""What docs/editors.md promises of all four editors, tested once for each."""

import json
import os
import re
import shlex
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reel.said.messages import NewMessage
from reel.sync.client import Client
from tests.daemon import Daemon
from tests.editors import alike
from tests.editors.alike import without_times
from tests.editors.dripping import BREAKS
from tests.editors.driven import EDITORS, Driven, editor
from tests.patience import PATIENCE

__all__ = ["editor"]  # a fixture
# The key of a command, in JSON or MessagePack.
KEY = re.compile(rb"key[^\w]*([\w-]{8,})")
# Far more with `make editors`, where the long way of each editor takes half a minute.
MANY = 50_000 if "REEL_EVERY_NVIM" in os.environ else 17_000  # more than 65,536 lines
AWAY = "*the daemon went away; waiting for it to come back*"
WRITING = "## assistant · writing… (python)"
# Answers with what was said last.
ECHO = """
import json, sys
said = json.load(sys.stdin)["messages"][-1]["content"]
choice = {"index": 0, "delta": {"content": "You said: " + said}, "finish_reason": "stop"}
print("data: " + json.dumps({"choices": [choice]}) + "\\n")
"""


def until(look: Callable[[], Any], expected: Any) -> None:
    """Wait until something is as expected."""
    deadline = time.monotonic() + PATIENCE
    while True:
        begun = time.monotonic()
        if (found := look()) == expected:
            return
        ended = time.monotonic()
        assert ended < deadline, f"expected {expected!r:.2000}, found {found!r:.2000}"
        time.sleep(max(0.02, ended - begun))  # between two looks: half of the time is the editor's own


def shows(editor: Driven, *lines: str) -> None:
    """Wait until the buffer has these lines, apart from blank lines and the times of headings."""
    until(lambda: without_times(editor.lines()), list(lines))


def says(editor: Driven, words: str) -> None:
    """Wait until something was said that has these words."""
    deadline = time.monotonic() + PATIENCE
    while not any(words in line for line in editor.said()):
        assert time.monotonic() < deadline, f"{words!r} was not said; {editor.said()[-10:]}"
        time.sleep(0.02)  # between two looks


def answer(text: str) -> NewMessage:
    """Return a message of the assistant."""
    return {"role": "assistant", "content": text}


def test_every_editor_has_a_driver() -> None:
    """None of the editors is left out."""
    assert ["emacs", "nvim", "vim", "vscode"] == EDITORS


def test_opening(editor: Driven, client: Client) -> None:
    """A conversation is shown with every kind of block and a draft, and calls, results and thinking are folds."""
    alike.converse(client)
    editor.open("demo")
    shows(editor, *alike.SHOWN)
    lines = editor.lines()

    labels = ["### thinking", "### call look c1", "### opaque block of acme", "### result of look c1", "### error c2"]
    ends = ["two", "```", "```", "```", "````"]
    until(lambda: [(lines[first], lines[last]) for first, last in editor.folds()], list(zip(labels, ends, strict=True)))


def test_opening_what_is_not_there(editor: Driven, client: Client) -> None:
    """Of an unknown conversation it is said what creates it."""
    client.create("demo")
    editor.open("zed")

    says(editor, "no conversation zed (")


def test_opening_a_short_form(editor: Driven, client: Client) -> None:
    """A short form opens the only live conversation for which it stands; if there are several, they are named."""
    names = [f"codex/0b3f1234-77b1-4d25-bc34-{digits}" for digits in ("9ea864913c3b", "000000000000", "111111111111")]
    client.create(names[0])
    client.kill(names[0])
    client.add(names[1], "a", create=True)
    editor.open("codex/0b3f1234")
    shows(editor, "## user #2", "a")
    client.create(names[2])
    editor.open("0b3f1234")

    says(editor, f"no conversation 0b3f1234, but several are meant by it: {names[1]}, {names[2]}")


def test_sending(editor: Driven, client: Client) -> None:
    """A message that is sent is in the buffer, and its seq is said."""
    client.create("demo")
    editor.open("demo")
    editor.give("send", "hello you")

    says(editor, "demo: added #2")
    shows(editor, "## user #2", "hello you")


@pytest.fixture
def answering(environment: dict[str, str], directory: Path) -> None:
    """Settings of the command ``reel`` that name who answers; it must be named before the editor."""
    echo = directory / "echo.py"
    echo.write_text(ECHO)
    settings = Path(environment["HOME"]) / ".config" / "reel" / "reel.toml"
    settings.parent.mkdir(parents=True)
    command = shlex.join([sys.executable, str(echo)])
    settings.write_text(f'via = "echo"\n[providers.echo]\ncommand = {json.dumps(command)}\nformat = "openai-chat"\n')


@pytest.mark.usefixtures("answering")
def test_asking(editor: Driven, client: Client) -> None:
    """Without a setting in the editor, whoever reel.toml names answers."""
    client.create("demo")
    editor.open("demo")
    editor.give("ask", "What?")

    shows(editor, "## user #2", "What?", "## assistant #3", "You said: What?")


def test_asking_nobody(editor: Driven, client: Client) -> None:
    """If nobody is named who answers, that is said, and what was sent stays."""
    client.create("demo")
    editor.open("demo")
    editor.give("ask", "What?")

    says(editor, "nothing says which command answers")
    shows(editor, "## user #2", "What?")


def test_drafts_of_others(editor: Driven, client: Client) -> None:
    """A draft is shown below the messages as it grows, and its message takes its place."""
    client.add("demo", "a", create=True)
    editor.open("demo")
    shows(editor, "## user #2", "a")
    client.draft("demo", "I th")
    shows(editor, "## user #2", "a", WRITING, "I th")
    client.draft("demo", "I think\nso")
    shows(editor, "## user #2", "a", WRITING, "I think", "so")
    client.add("demo", [answer("I think\nso.")])

    shows(editor, "## user #2", "a", "## assistant #3", "I think", "so.")


def test_who_reads_a_draft_keeps_the_place(editor: Driven, client: Client) -> None:
    """A cursor inside a draft stays on its line when the draft grows, and when its message takes its place."""
    client.add("demo", "a", create=True)
    editor.open("demo")
    shows(editor, "## user #2", "a")
    lines = [f"line {number}" for number in range(60)]
    client.draft("demo", "\n".join(lines))
    shows(editor, "## user #2", "a", WRITING, *lines)
    row = editor.lines().index("line 30")
    editor.go(row)
    client.draft("demo", "\n".join([*lines, "more"]))
    shows(editor, "## user #2", "a", WRITING, *lines, "more")
    assert row == editor.row()
    client.add("demo", [answer("\n".join([*lines, "more."]))])
    shows(editor, "## user #2", "a", "## assistant #3", *lines, "more.")

    assert row == editor.row()


def test_the_cursor(editor: Driven, client: Client) -> None:
    """A cursor at the end stays at the end; elsewhere it does not move."""
    client.add("demo", ["a", "b"], create=True)
    editor.open("demo")
    shows(editor, "## user #2", "a", "## user #3", "b")
    editor.go(editor.tail(1)[0] - 1)
    client.add("demo", "c")
    shows(editor, "## user #2", "a", "## user #3", "b", "## user #4", "c")
    until(editor.row, editor.tail(1)[0] - 1)
    editor.go(2)
    client.add("demo", "d")
    shows(editor, "## user #2", "a", "## user #3", "b", "## user #4", "c", "## user #5", "d")

    assert 2 == editor.row()


def test_undo_and_redo(editor: Driven, client: Client) -> None:
    """What others do is in the buffer; undo and redo say what they did."""
    client.create("demo", system="be brief")
    client.add("demo", ["a", "b"])
    editor.open("demo")
    said = ["## system", "be brief", "## user #3", "a", "## user #4", "b"]
    shows(editor, *said)
    client.clear("demo")
    shows(editor, *said[:2])
    editor.give("undo")
    says(editor, "demo: undid the clear (#5); ")
    shows(editor, *said)
    editor.give("redo")

    says(editor, "demo: redid the clear (#5)")
    shows(editor, *said[:2])


def test_renaming(editor: Driven, client: Client) -> None:
    """A conversation that is renamed, here or elsewhere, stays in its buffer, and is spoken of by its new name."""
    client.create("demo")
    editor.open("demo")
    editor.give("rename", "other")
    says(editor, "demo renamed to other")
    client.add("other", "zero")
    shows(editor, "## user #3", "zero")  # what comes later has the new name as well
    editor.give("send", "one")
    says(editor, "other: added #4")
    client.change("other", name="third")
    client.add("third", "two")
    shows(editor, "## user #3", "zero", "## user #4", "one", "## user #6", "two")
    editor.give("send", "three")

    says(editor, "third: added #7")


def test_a_purge(editor: Driven, client: Client) -> None:
    """Nothing is left of a conversation that is purged, and the buffer says so."""
    client.add("demo", "a", create=True)
    editor.open("demo")
    shows(editor, "## user #2", "a")
    client.kill("demo")
    client.purge("demo")

    shows(editor, "*the conversation is gone*")


def test_copying(editor: Driven, client: Client) -> None:
    """The last code block and the last answer are copied, or it is said that there is none."""
    client.add("demo", "```\nmine\n```", create=True)
    editor.open("demo")
    shows(editor, "## user #2", "```", "mine", "```")
    editor.give("code")
    says(editor, "demo: no code block in an answer")
    client.add("demo", [answer("x\n```py\n1\n\n2\n```"), answer("the end")])
    editor.give("code")
    says(editor, "demo: copied 3 lines of py from #3")
    editor.give("answer")

    says(editor, "demo: copied the answer #4")


def test_a_restart(editor: Driven, client: Client, daemon: Daemon) -> None:
    """The buffer says that the daemon is away, and after a restart has everything once; the cursor stays."""
    client.create("demo", system="be kind")
    client.add("demo", [f"n{number}" for number in range(600)])
    editor.open("demo")
    said = ["## system", "be kind", *(line for each in range(600) for line in (f"## user #{each + 3}", f"n{each}"))]
    shows(editor, *said)
    editor.go(1000)
    for end, text in ((daemon.end, "missed"), (daemon.kill, "missed again")):
        end()
        until(lambda: editor.tail(1)[1], [AWAY])
        daemon.start()
        with daemon.client() as other:
            seq = other.add("demo", text).first
        said += [f"## user #{seq}", text]
        shows(editor, *said)
        until(editor.row, 1000)
    editor.give("send", "back")

    shows(editor, *said, f"## user #{seq + 1}", "back")


def test_a_command_without_an_answer(editor: Driven, client: Client, daemon: Daemon) -> None:
    """A command that a killed daemon did not answer is applied once."""
    client.create("demo")
    editor.open("demo")
    until(lambda: client.agent("demo").attached, 1)
    os.kill(daemon.process.pid, signal.SIGSTOP)
    editor.give("send", "important")
    daemon.kill()
    daemon.start()

    shows(editor, "## user #2", "important")
    editor.give("send", "next")
    shows(editor, "## user #2", "important", "## user #3", "next")


@pytest.fixture
def broken(breaking: tuple[str, list[bytes]], environment: dict[str, str]) -> list[bytes]:
    """What was sent on connections that broke; it must be named before the editor, which connects there."""
    environment["REEL_SOCKET"], broken = breaking
    return broken


def test_a_command_is_sent_twice_at_most(broken: list[bytes], editor: Driven, client: Client) -> None:
    """A command on which the connection breaks is sent once more, with its key, and then given up."""
    client.create("demo")
    editor.open("demo")
    until(lambda: client.agent("demo").attached, 1)
    editor.give("send", BREAKS.decode())
    says(editor, "the daemon went away before it answered add; check whether it was applied")
    editor.give("send", "next")
    shows(editor, "## user #2", "next")

    first, again = map(KEY.findall, broken)
    assert first == again != []


@pytest.fixture
def before_lines(older: str, environment: dict[str, str]) -> None:
    """Have the editor, which is to be named later, find a daemon that cannot lay out what the plug-ins show."""
    environment["REEL_SOCKET"] = older


@pytest.mark.usefixtures("before_lines", "editor")
def test_an_older_daemon(editor: Driven, client: Client) -> None:
    """If the daemon cannot lay out what the plug-ins show, the buffer or a message says what to do."""
    client.add("demo", "a", create=True)
    editor.open("demo")

    until(lambda: any("restart the daemon: reel stop; reel start" in line for line in _everything(editor)), True)


def _everything(editor: Driven) -> list[str]:
    return [*editor.lines(), *editor.said()]


@pytest.mark.large
def test_many_messages(editor: Driven, client: Client) -> None:
    """A long conversation is whole, and goes on."""
    client.create("demo")
    for begin in range(0, MANY, 1000):
        client.add("demo", [f"n{begin + number}" for number in range(1000)])
    editor.open("demo")
    until(lambda: _end(editor), (4 * MANY, [f"## user #{MANY + 1}", f"n{MANY - 1}"]))
    client.add("demo", "more")

    until(lambda: _end(editor), (4 * MANY + 4, [f"## user #{MANY + 2}", "more"]))


def _end(editor: Driven) -> tuple[int, list[str]]:
    """Return the number of lines, and the last message. An editor may have an empty line at the end."""
    count, lines = editor.tail(5)
    return count - count % 4, without_times(lines)[-2:]


@pytest.mark.large
def test_two_megabytes(editor: Driven, client: Client) -> None:
    """A message of 2 MB is shown whole if it has lines; of a line of that length, 64 KiB are shown."""
    lines = [f"{number:09}" for number in range(200_000)]
    client.add("demo", ["\n".join(lines), "x" * (2 << 20), "end"], create=True)
    editor.open("demo")
    until(lambda: without_times(editor.tail(5)[1])[-2:], ["## user #4", "end"])
    shown = without_times(editor.lines())

    assert lines == shown[1:200_001]
    assert "x" * (1 << 16) == shown[200_002][: 1 << 16]
    assert len(shown[200_002]) < (1 << 16) + 100


def test_broken_text(editor: Driven, client: Client) -> None:
    """Control characters are shown as escapes, and only a line break begins a line."""
    text = "a\x01b\x1b[2Jc\rd\r\n\ttab\u2028e\x0bf\x85g é 🎉"
    client.add("demo", [text, answer("end")], create=True)
    client.draft("demo", "dr\x07aft")
    editor.open("demo")

    shows(
        editor,
        *("## user #2", "a\\x01b\\x1b[2Jc\\rd", "\ttab\\u2028e\\x0bf\\x85g é 🎉"),
        *("## assistant #3", "end", WRITING, "dr\\x07aft"),
    )
