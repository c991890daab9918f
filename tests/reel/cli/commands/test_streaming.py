"""``reel ingest --stream``: the text is printed while it arrives, and the response is added however the stream ends."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from reel.sync.client import Client
from reel.wire.pushes import EventPush
from tests.patience import PATIENCE
from tests.reel.cli.conftest import Reel, texts
from tests.reel.streams.samples.ollama import OLLAMA
from tests.reel.streams.samples.openai_chat import CHAT, chunk
from tests.reel.streams.samples.sample import sse

ARGV = ("--format", "openai-chat", "--stream")
# The first three events: the text is there, the calls are not.
HALF = b"\n\n".join(CHAT.data.split(b"\n\n")[:3]) + b"\n\n"
REST = CHAT.data[len(HALF) :]


def kinds(reel: Reel, agent: str) -> list[str]:
    """Return the kinds of the events after the first."""
    return [event["kind"] for event in reel("log", agent, "--json").documents[1:]]


def test_stdout_has_only_the_text(reel: Reel, name: str) -> None:
    """A script gets only the text, and the response is added."""
    reel("new", name)

    assert (0, f"{CHAT.text}\n", "") == reel("ingest", name, *ARGV, stdin=CHAT.data)
    assert ["assistant", "usage"] == kinds(reel, name)


def test_a_stream_of_objects(reel: Reel, name: str) -> None:
    """A stream whose events are JSON objects begins like a whole response, and its text is printed as well."""
    argv = ("--create", "--format", "ollama", "--stream")

    assert (0, f"{OLLAMA.text}\n", "") == reel("ingest", name, *argv, stdin=OLLAMA.data)
    assert "assistant" == kinds(reel, name)[0]


def test_stream_with_json_prints_the_reply(reel: Reel, name: str) -> None:
    """With --json there is no text, and an interrupted response has a reply as well."""
    whole = reel("ingest", name, "--create", *ARGV, "--json", stdin=CHAT.data)
    broken = reel("ingest", name, *ARGV, "--json", stdin=HALF)

    assert (0, 1) == (whole.status, broken.status)
    assert [2, 4] == [ran.documents[0]["first"] for ran in (whole, broken)]


@pytest.mark.parametrize(
    ("tail", "why"), [(b"", ""), (b'data: {"error": {"message": "Overloaded"}}\n\n', ": Overloaded")]
)
def test_a_stream_that_breaks_off(reel: Reel, name: str, tail: bytes, why: str) -> None:
    """What arrived is added and marked as interrupted, and the status is 1."""
    reel("new", name)
    ran = reel("ingest", name, *ARGV, stdin=HALF + tail)
    expected = f"reel: the response broke off{why}; what arrived was added as #2, marked as interrupted\n"

    assert (1, f"{CHAT.text}\n", expected) == ran
    assert ["assistant", "interrupted"] == kinds(reel, name)


def test_a_provider_that_does_not_stream(reel: Reel, name: str) -> None:
    """A whole response is added as usual; an error is printed, and nothing is saved."""
    reel("new", name)
    whole = reel("ingest", name, *ARGV, stdin=json.dumps(CHAT.body).encode())
    error = reel("ingest", name, *ARGV, stdin=b' {"error": {"message": "No key"}}')

    assert (0, f"{name}: added #2 and its usage\n", "") == whole
    assert (1, "") == error[:2]
    assert "reel: invalid_message: error: the provider refused: No key\n" == error.err


@pytest.mark.parametrize(
    ("stdin", "status", "expected"),
    [
        (b"", 2, "stdin is empty"),
        (b"<html>", 1, "no response arrived: stdin is not an event stream of openai-chat"),
        (b'data: {"choices": []}\n\n', 1, "no response arrived: nothing in stdin is an answer of openai-chat"),
        (b'data: {"error": {"message": "No key"}}\n\n', 1, "no response arrived: No key"),
    ],
)
def test_stream_without_a_response(reel: Reel, name: str, stdin: bytes, status: int, expected: str) -> None:
    """Nothing is added, and one line says why."""
    reel("new", name)
    ran = reel("ingest", name, *ARGV, stdin=stdin)

    assert (status, "") == ran[:2]
    assert expected in ran.err
    assert [] == kinds(reel, name)


def test_stream_for_an_agent_that_does_not_exist(reel: Reel, name: str) -> None:
    """The stream is not read if the agent does not exist."""
    ran = reel("ingest", name, *ARGV, stdin=CHAT.data)

    assert (4, "") == ran[:2]


def test_a_response_to_what_is_gone(reel: Reel, name: str) -> None:
    """The log keeps it, and the printed command adds it; one to what stands is added, whatever came after it."""
    reel("new", name)
    reel("add", name, "What?")
    reel("title", name, "T")
    added = reel("ingest", name, *ARGV, "--if-stands", "2", "--json", stdin=CHAT.data)
    reel("clear", name)
    ran = reel("ingest", name, *ARGV, "--if-stands", "2", stdin=CHAT.data)
    again = re.search(r"place it with: reel (.*)$", ran.err, re.MULTILINE)

    assert (0, 5) == (added.status, ran.status)
    assert again is not None
    assert 0 == reel(*shlex.split(again[1])).status
    assert [CHAT.text] == texts(reel, name)


def test_response_that_cannot_be_added_is_saved(
    reel: Reel, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The response is saved in a file, and the printed command adds it."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    reel("new", name)
    (tmp_path / "names").write_text('{"prefix": {}, "names": {"a_b": "a.b"}}')
    options = ["--model", "m1", "--names", str(tmp_path / "names")]
    ran = reel("ingest", name, *ARGV, *options, "--if-seq", "9", stdin=HALF)
    found = re.search(r"^reel: the response was saved; add it with: reel (.*)$", ran.err, re.MULTILINE)

    assert 5 == ran.status
    assert found is not None
    assert " ".join(options) in found[1]
    assert (0, f"{name}: added #2\n") == reel(*found[1].split())[:2]
    assert ["assistant", "interrupted"] == kinds(reel, name)


def test_control_characters_of_a_stream_are_escaped(reel: Reel, name: str) -> None:
    """Control characters of a response are escaped; its line breaks are kept."""
    stdin = sse([chunk({"content": "a\x1b[2J\n"}), chunk({"content": "b\r\nc"}, "stop")], done=True)

    assert "a\\x1b[2J\nb\nc\n" == reel("ingest", name, "--create", *ARGV, stdin=stdin).out


def test_interrupt_before_the_stream_begins(reel: Reel, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is nothing to add."""
    pieces = iter([b": hello\n\n"])

    def read(_size: int) -> bytes:
        for piece in pieces:
            return piece
        raise KeyboardInterrupt

    reel("new", name)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=bool, buffer=SimpleNamespace(read1=read)))

    assert (130, "", "") == reel("ingest", name, *ARGV)
    assert [] == kinds(reel, name)


class Piped:
    """The command as a process, fed by the test.

    Args:
        socket: where the daemon listens.
        agent: who gets the answer.
    """

    def __init__(self, socket: str, agent: str) -> None:
        code = "from reel.cli import process; process()"
        command = [sys.executable, "-c", code, "--socket", socket, "ingest", agent, *ARGV, "--create"]
        environment = {name: value for name, value in os.environ.items() if name != "REEL_AGENT"}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, bufsize=0
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.stdin, self.stdout = self.process.stdin, self.process.stdout
        self.stdin.write(HALF)

    def read(self, text: str) -> str:
        """Read as much as this from stdout, which comes before the stream goes on."""
        wanted, data = len(text.encode()), b""
        while len(data) < wanted and (piece := self.stdout.read(wanted - len(data))):
            data += piece
        return data.decode()

    def end(self) -> int:
        """Wait for its end."""
        with self.process:
            self.stdin.close()
            return self.process.wait(PATIENCE)


def test_text_is_printed_while_the_stream_goes_on(reel: Reel, name: str, daemon: str) -> None:
    """The text is printed before the rest of the stream arrives."""
    piped = Piped(daemon, name)

    assert CHAT.text == piped.read(CHAT.text)
    piped.stdin.write(REST)
    assert 0 == piped.end()
    assert ["assistant", "usage"] == kinds(reel, name)


def test_stream_is_a_draft_until_it_is_added(name: str, daemon: str) -> None:
    """Other clients see the text as a draft until the response is added."""
    with Client(daemon) as client:
        client.create(name)
        with client.subscribe(name) as pushes:
            piped = Piped(daemon, name)
            drafts = [next(pushes)]
            piped.stdin.write(REST)
            assert 0 == piped.end()
            while not isinstance(drafts[-1], EventPush):
                drafts.append(next(pushes))

    *texts, message = drafts
    assert "Let me look \U0001f50e.".startswith(texts[0].text)  # type: ignore[union-attr]
    assert "" == texts[-1].text  # type: ignore[union-attr]
    assert "assistant" == message.kind  # type: ignore[union-attr]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupt_of_a_stream(reel: Reel, name: str, daemon: str, number: signal.Signals) -> None:
    """Ctrl-C and its like end the reading, and what arrived is added."""
    piped = Piped(daemon, name)
    piped.read(CHAT.text)
    piped.process.send_signal(number)

    assert -number == piped.process.wait(PATIENCE)
    piped.end()
    assert ["assistant", "interrupted"] == kinds(reel, name)


def test_stream_with_a_closed_stdout(reel: Reel, name: str, daemon: str) -> None:
    """If stdout is closed, the response is still read to its end and added."""
    piped = Piped(daemon, name)
    piped.read(CHAT.text)
    piped.stdout.close()
    piped.stdin.write(sse([chunk({"content": "More."})]))
    piped.stdin.write(REST)

    assert 141 == piped.end()
    assert ["assistant", "usage"] == kinds(reel, name)
