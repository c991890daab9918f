"""What is asked: nothing that was given is left out without a word, or sent in another form."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from reel.sync.client import Client
from tests.patience import PATIENCE
from tests.reel.cli.commands.test_asking import Via, said
from tests.reel.cli.conftest import Reel

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256))
COMMAND = [sys.executable, "-c", "from reel.cli import process; process()"]


@pytest.fixture
def via(tmp_path: Path) -> Via:
    """A command that answers."""
    return Via(tmp_path)


def asked(reel: Reel, name: str) -> list[Any]:
    """Return the blocks of the newest question, without the data of media."""
    question = [message for message in reel("show", name, "--json").documents if message["role"] == "user"][-1]
    return [
        block.get("text") or (block["mime_type"], block.get("name"), len(block["data_base64"]))
        for block in question["content"]
    ]


def test_files_of_any_type(reel: Reel, name: str, via: Via, tmp_path: Path) -> None:
    """Texts are sent as text in their order, a picture as a picture; an attached text has its name."""
    for file, data in (("a.txt", b"A\n"), ("b.txt", b"B\r\n"), ("c.png", PNG), ("d.pdf", b"%PDF-1.7 x")):
        (tmp_path / file).write_bytes(data)
    paths = {path.name: str(path) for path in tmp_path.iterdir()}
    with_all = [word for file in sorted(paths) if file[1] == "." for word in ("--with", paths[file])]
    reel("ask", name, "Compare.", "--create", *with_all, *via(said("1")), stdin=b"")

    size = len(PNG) // 3 * 4 + 4
    assert ["Compare.\n\nA\n\nB", ("image/png", "c.png", size), ("application/pdf", "d.pdf", 16)] == asked(reel, name)
    reel("ask", name, "And?", "--attach", paths["a.txt"], "--attach", paths["c.png"], *via(said("2")), stdin=b"")
    assert ["And?\n\na.txt:\n\nA", ("image/png", "c.png", size)] == asked(reel, name)


def test_an_attached_text_reaches_the_model(reel: Reel, name: str, via: Via, tmp_path: Path) -> None:
    """The request has the text, with the name of its file, and nothing was dropped."""
    (tmp_path / "README.md").write_text("A tape deck.\n")
    ran = reel("ask", name, "What is in it?", "--create", "--attach", str(tmp_path / "README.md"), *via(said("1")))

    assert "What is in it?\n\nREADME.md:\n\nA tape deck." == via.body["messages"][-1]["content"]
    assert "dropped" not in ran.err


def test_what_the_format_cannot_carry(reel: Reel, name: str, via: Via, tmp_path: Path) -> None:
    """stderr says what of the question is not sent, and says it for this question only."""
    (tmp_path / "a.webm").write_bytes(b"\x1aE\xdf\xa3 a video")
    attached = ("--attach", str(tmp_path / "a.webm"))
    first = reel("ask", name, "What is in it?", "--create", *attached, *via(said("1")))
    later = reel("ask", name, "And?", *via(said("2")))

    assert (0, True) == (first.status, "dropped: " in first.err)
    assert (0, False) == (later.status, "dropped: " in later.err)


@pytest.mark.parametrize(
    ("options", "stdin", "expected"),
    [
        (("--with", "{}"), b"", "x.bin is neither text nor a picture"),
        (("--attach", "{}"), b"", "x.bin is neither text nor a picture"),
        (("--with", "-"), b"a\0b", "stdin is neither text"),
        ((), b"a\0b", "stdin is neither text"),
        ((), b"x" * 1_000_001, "stdin has more than 1,000,000 bytes"),
        (("--with", "-", "--with", "-"), b"x", "stdin is named twice"),
    ],
)
def test_what_cannot_be_sent(
    reel: Reel, name: str, via: Via, tmp_path: Path, options: tuple[str, ...], stdin: bytes, expected: str
) -> None:
    """It is refused before anything is added."""
    (tmp_path / "x.bin").write_bytes(b"MZ\0\1\2")
    given = [option.format(tmp_path / "x.bin") for option in options]
    ran = reel("ask", name, "What?", "--create", *given, *via(said("1")), stdin=stdin)

    assert (2, True) == (ran.status, expected in ran.err)
    assert 4 == reel("show", name).status


@pytest.mark.parametrize(
    ("stdin", "options", "question", "note"),
    [
        (b"a diff\n", (), ["Review.\n\na diff"], "sent 7 bytes of stdin"),
        (PNG, (), ["Review.", ("image/png", None, len(PNG) // 3 * 4 + 4)], "bytes of stdin"),
        (b"a diff\n", ("--no-stdin",), ["Review."], ""),
        (b"x" * 1_000_001, ("--no-stdin",), ["Review."], ""),
        (b"", (), ["Review."], ""),
    ],
)
def test_what_is_piped_in_beside_a_text(
    reel: Reel, name: str, via: Via, stdin: bytes, options: tuple[str, ...], question: list[Any], note: str
) -> None:
    """It is sent behind the text, and stderr says so, unless it is turned off."""
    ran = reel("ask", name, "Review.", "--create", *options, *via(said("1")), stdin=stdin)

    assert question == asked(reel, name)
    assert note in ran.err
    assert bool(note) == ("stdin" in ran.err)


def test_a_pipe_that_stays_silent(client: Client, daemon: str, name: str, via: Via) -> None:
    """It is not waited for beside a text, as an editor leaves one open, and stderr says so."""
    client.create(name)
    read, write = os.pipe()
    command = [*COMMAND, "--socket", daemon, "ask", name, "What?", *via(said("Hi"))]
    ran = subprocess.run(
        command, stdin=read, capture_output=True, text=True, timeout=PATIENCE, check=False
    )  # one that hangs
    os.close(read)
    os.close(write)

    assert (0, "Hi\n") == (ran.returncode, ran.stdout)
    assert "nothing came on stdin within 1 s" in ran.stderr


def test_an_empty_pipe_asks_nothing(reel: Reel, name: str, via: Via, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was to write the question wrote none, so nobody is asked; --no-stdin and /dev/null ask for an answer."""
    reel("ask", name, "What?", "--create", "--no-stdin", "--via", "exit 3", "--format", "openai-chat")

    def asked(*options: str) -> tuple[int, str]:
        read, write = os.pipe()
        os.close(write)
        with os.fdopen(read) as pipe, monkeypatch.context() as patch:
            patch.setattr("sys.stdin", pipe)
            ran = reel("ask", name, *via(said("That.")), *options)
        return ran.status, ran.err

    status, error = asked()
    assert (2, True) == (status, "stdin was empty" in error and "--no-stdin" in error)
    assert 1 == len(reel("show", name, "--json").documents)
    assert 0 == asked("--no-stdin")[0]


def test_a_question_without_a_name(reel: Reel, client: Client, via: Via) -> None:
    """A text that no agent can be called begins a conversation, and so does a pipe; a name is a name."""
    for given, stdin in ((["What is 2+2?"], b""), ([], b"What is 2+2?"), (["Was ist 2+2?", "--system", "Brief."], b"")):
        ran = reel("ask", *given, "--json", *via(said("4")), stdin=stdin)
        agent = ran.documents[0]["agent"]
        assert ["user", "assistant"] == [message["role"] for message in client.messages(agent).messages]
    assert "Brief." == client.agent(agent).system
    assert 4 == reel("ask", "nobody", *via(said("4")), stdin=b"").status
    nothing = reel("ask", *via(said("4")), stdin=b"")
    assert (2, True) == (nothing.status, "no conversation was named" in nothing.err)


def test_a_question_that_failed_is_asked_again(reel: Reel, name: str, via: Via) -> None:
    """It is in the conversation once, whatever it consists of; another one, and an answered one, are added."""
    fails = [*via(b""), "--via", "exit 3"]
    for _ in range(3):
        assert 1 == reel("ask", name, "What?", "--create", *fails, stdin=b"more").status
    reel("ask", name, "What?", *via(said("That.")), stdin=b"more")
    reel("ask", name, "What?", *via(said("That.")), stdin=b"more")

    assert ["user", "assistant"] * 2 == [message["role"] for message in reel("show", name, "--json").documents]


@pytest.mark.parametrize(
    ("reason", "text", "why"),
    [
        ("length", "The answer is forty-", "it reached the limit of tokens"),
        ("content_filter", "The", "the provider's filter stopped it"),
        ("stop", "", "it is empty"),
        ("stop", "Whole.", None),
        ("tool_calls", "Whole.", None),
    ],
)
def test_an_answer_that_was_cut(reel: Reel, name: str, via: Via, reason: str, text: str, why: str | None) -> None:
    """It is added; the status, stderr, --json and show say so."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": reason}
    body = json_of({"object": "chat.completion", "model": "m", "choices": [choice], "usage": {"prompt_tokens": 3}})
    ran = reel("ask", name, "What?", "--create", *via(body), stdin=b"")
    told = reel("ask", name, "And?", "--json", *via(body), stdin=b"").documents[0]

    assert (0 if why is None else 6, f"{text}\n" if text else "") == (ran.status, ran.out)
    assert (why is None) == ("not whole" not in ran.err)
    assert why is None or f"the answer is not whole: {why}" in ran.err
    assert (why, text, 3) == (told.get("cut"), told["text"], told["usage"]["read"])
    shown = why if text else None
    assert (shown is None) == ("not whole" not in reel("show", name).out)


def json_of(value: Any) -> bytes:
    """Return a value as JSON."""
    return json.dumps(value).encode()
