"""The command ask: a question, an answer by the user's own command, both in the conversation."""

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from reel.sync.client import Client
from tests.formats.checker import check
from tests.patience import PATIENCE
from tests.reel.cli.conftest import Ran, Reel, texts
from tests.reel.cli.running import started
from tests.reel.streams.samples.openai_chat import CHAT, chunk
from tests.reel.streams.samples.sample import sse

HALF = b"\n\n".join(CHAT.data.split(b"\n\n")[:3]) + b"\n\n"
WHOLE = {
    "object": "chat.completion",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi."}, "finish_reason": "stop"}],
}

# What a command does that has said half of its answer: it is killed after two seconds, or ends by itself when nobody
# reads its output any more.
STAYS, UNTIL_CLOSED = "; sleep 600", "; while sleep 0.05; do echo; done"


class Via:
    """A command that keeps the body that it gets, and answers with prepared bytes.

    Args:
        directory: where its files are.
    """

    def __init__(self, directory: Path) -> None:
        self._body, self._response = directory / "body.json", directory / "response"
        self.then = ""

    def __call__(self, response: bytes) -> list[str]:
        """Return the options that let this command answer."""
        self._response.write_bytes(response)
        command = f"cat > {shlex.quote(str(self._body))}; cat {shlex.quote(str(self._response))}{self.then}"
        return ["--via", command, "--format", "openai-chat"]

    @property
    def body(self) -> Any:
        """The body that it got last."""
        return json.loads(self._body.read_text())


@pytest.fixture
def via(tmp_path: Path) -> Via:
    """A command that answers."""
    return Via(tmp_path)


def said(text: str) -> bytes:
    """Return the stream of an answer."""
    return sse([chunk({"content": text}, "stop")], done=True)


def kinds(reel: Reel, agent: str) -> list[str]:
    """Return the kinds of the events after those of ``talk``."""
    return [event["kind"] for event in reel("log", agent, "--json").documents[4:]]


def test_only_the_tools_that_the_model_has(reel: Reel, client: Client, talk: str, via: Via) -> None:
    """With --only-tools, the calls of all other tools are sent as text."""
    call: Any = {"type": "tool_call", "id": "c", "name": "look", "arguments": "{}"}
    result: Any = {"type": "tool_result", "tool_call_id": "c", "content": "x"}
    client.add(talk, [{"role": "assistant", "content": [call]}, {"role": "tool", "content": [result]}])

    reel("ask", talk, "And a reel?", *via(said("Yes.")), "--only-tools", "other")

    assert "Call of " in json.dumps(via.body)
    assert "tool_calls" not in json.dumps(via.body)


def test_an_answer_is_printed_and_added(reel: Reel, talk: str, via: Via) -> None:
    """stdout has the text and nothing else, stderr the calls that wait; both texts are in the conversation."""
    ran = reel("ask", talk, "And a reel?", *via(CHAT.data), "--set", "model=gpt-5")

    assert (0, f"{CHAT.text}\n") == ran[:2]
    assert 'reel: waiting for the result of weather (call_1): {"city":"Oslo"}\n' in ran.err
    assert ["And a reel?", CHAT.text] == texts(reel, talk)[-2:]
    assert ("gpt-5", True, "And a reel?") == (
        via.body["model"],
        via.body["stream"],
        via.body["messages"][-1]["content"],
    )


def test_a_dialect_of_the_command(reel: Reel, talk: str, via: Via) -> None:
    """The body is such as the server accepts."""
    reel("ask", talk, "And a reel?", *via(CHAT.data), "--dialect", "vllm")

    assert [] == check("openai_chat/vllm", {**via.body, "model": "x"})


def test_a_response_that_is_not_streamed(reel: Reel, talk: str, via: Via) -> None:
    """A whole response is printed when it has been read."""
    assert (0, "Hi.\n", "") == reel("ask", talk, "What?", *via(json.dumps(WHOLE).encode()), "--set", "stream=false")
    assert via.body["stream"] is False


def test_ask_prints_the_reply_as_json(reel: Reel, talk: str, via: Via) -> None:
    """With --json only the reply is printed."""
    (added,) = reel("--json", "ask", talk, "What?", *via(said("That."))).documents

    assert (6, 6) == (added["first"], added["head"])


def test_a_question_from_stdin_and_files(reel: Reel, talk: str, via: Via, tmp_path: Path) -> None:
    """Without TEXT stdin is the question; --with appends a file or stdin; without anything, the last word counts."""
    (tmp_path / "file").write_text("a file\n")
    reel("ask", talk, *via(said("1")), stdin=b"from stdin\n")
    reel("ask", talk, "Look:", "--with", "-", *via(said("2")), stdin=b"a diff\n")
    reel("ask", talk, "Look:", "--with", str(tmp_path / "file"), *via(said("3")), stdin=b"piped\n")
    reel("ask", talk, "--with", "-", *via(said("4")), stdin=b"alone")
    reel("add", talk, "added before")
    reel("ask", talk, *via(said("5")), stdin=b"")

    questions = ["from stdin", "Look:\n\na diff", "Look:\n\npiped\n\na file", "alone", "added before"]
    assert questions == texts(reel, talk)[2::2]


@pytest.mark.parametrize(("options", "stdin"), [((), b"a\xff\r\n"), (("--with", "-"), b"a\xff\n")])
def test_a_question_that_is_not_utf8(reel: Reel, talk: str, via: Via, options: tuple[str, ...], stdin: bytes) -> None:
    """It is refused; if it is asked for, it is replaced, and stderr says how much, as of reel add."""
    refused = reel("ask", talk, *options, *via(said("1")), stdin=stdin)
    ran = reel("ask", talk, "--replace", *options, *via(said("1")), stdin=stdin)

    assert (2, True) == (refused.status, "stdin is not UTF-8: byte 2 is 0xff" in refused.err)
    assert "reel: note: 1 invalid character was replaced by U+FFFD\n" == ran.err
    assert "a\ufffd" == texts(reel, talk)[2]


def test_ask_if_there_is_nothing_to_answer(reel: Reel, talk: str, via: Via) -> None:
    """Nothing is asked, and the command is not run."""
    ran = reel("ask", talk, *via(said("1")), stdin=b"")

    assert (2, "") == ran[:2]
    assert "there is nothing to answer" in ran.err
    assert [] == kinds(reel, talk)


@pytest.mark.parametrize(
    ("response", "then", "expected"),
    [
        (b'{"error": {"message": "No key"}}', "", "the provider refused: No key"),
        (b'{"error": {"message": "No key"}}', "; echo '401 \x1b[2J' >&2; exit 22", "reel: 401 \\x1b[2J\n"),
        (b"", "; exit 7", "exited with status 7"),
        (b"", "; kill -9 $$", "was ended by SIGKILL"),
        (b"", "; kill -36 $$", "was ended by signal 36"),
        (b"", "", "wrote nothing to stdout"),
        (b"hello", "", "no answer came: it is not an event stream of openai-chat; it begins with: hello\n"),
        (b"data: {}\n\n", "", "nothing in it is an answer of openai-chat; it begins with: data: {}\n"),
        (b"{}\n{}\n", "", "no answer came: it is not a whole JSON text; it begins with: {} {}\n"),
    ],
)
def test_a_command_that_does_not_answer(
    reel: Reel, talk: str, via: Via, response: bytes, then: str, expected: str
) -> None:
    """The question is in the conversation, and one can ask again; stderr says why there is no answer."""
    via.then = then
    ran = reel("ask", talk, "What?", *via(response))

    assert (1, "") == ran[:2]
    assert expected in ran.err
    assert f"only the question was added to {talk}; ask again with: reel ask -a {talk} --via " in ran.err
    assert ["user"] == kinds(reel, talk)


def test_a_command_that_does_not_answer_what_was_said_last(reel: Reel, talk: str, via: Via) -> None:
    """Without a question in the command none was added, and the reason comes last: editors show the last line."""
    reel("add", talk, "What?")
    via.then = "; exit 7"
    ran = reel("ask", talk, *via(b""), stdin=b"")

    assert (1, "") == ran[:2]
    assert ran.err.endswith("exited with status 7\n")


def test_an_answer_that_breaks_off(reel: Reel, talk: str, via: Via) -> None:
    """What came is added and marked as interrupted, and the status is 1."""
    ran = reel("ask", talk, "What?", *via(HALF))

    assert (1, f"{CHAT.text}\n") == ran[:2]
    assert "reel: the answer broke off; what arrived was added and marked as interrupted\n" == ran.err
    assert ["user", "assistant", "interrupted"] == kinds(reel, talk)
    (heading,) = (line for line in reel("show", talk, "--last", "1").out.splitlines() if line.startswith("assistant"))
    assert heading.endswith("  not whole: it broke off")


def meanwhile(daemon: str, *words: str) -> str:
    """Return what a command does when it has answered: it runs the command line of reel with these words."""
    command = [sys.executable, "-c", "from reel.cli import process; process()", "--socket", daemon, *words]
    return f"; {shlex.join(command)} >&2"


@pytest.mark.parametrize(
    "words", [("title", "{}", "T"), ("tag", "{}", "a=b"), ("mark", "{}"), ("rename", "{}", "{}-2")]
)
def test_what_happens_during_an_answer(
    reel: Reel, client: Client, talk: str, via: Via, daemon: str, words: tuple[str, ...]
) -> None:
    """Nothing that leaves the question where it is keeps the answer from being added."""
    via.then = meanwhile(daemon, *(word.format(talk) for word in words))
    uid = client.agent(talk).id
    ran: Ran = reel("ask", talk, "What?", *via(CHAT.data))

    assert 0 == ran.status
    assert CHAT.text == texts(reel, uid)[-1]


def test_somebody_speaks_during_an_answer(reel: Reel, talk: str, via: Via, daemon: str) -> None:
    """The answer is added behind, and stderr says that it does not answer that."""
    via.then = meanwhile(daemon, "add", talk, "Wait!")
    ran: Ran = reel("ask", talk, "What?", *via(said("That.")))

    assert 0 == ran.status
    assert (
        "reel: 1 message came meanwhile, which this answer does not answer; the next request has them after it\n"
        in ran.err
    )
    assert ["What?", "Wait!", "That."] == texts(reel, talk)[-3:]
    reel("ask", talk, *via(said("Oh.")), stdin=b"")
    sent = [message["content"] for message in via.body["messages"][-3:]]
    assert ["What?", "That.", "Wait!"] == sent


def test_an_answer_to_what_is_gone_is_kept_in_the_log(reel: Reel, talk: str, via: Via, daemon: str) -> None:
    """The printed command adds it; once more adds nothing, and no other note can be placed."""
    via.then = meanwhile(daemon, "clear", talk)
    ran: Ran = reel("ask", talk, "What?", *via(said("That.")))
    line = next(line for line in ran.err.splitlines() if "place it with: reel " in line)
    again = shlex.split(line.partition("with: reel ")[2])

    assert 5 == ran.status
    assert [] == texts(reel, talk)
    assert 0 == reel(*again).status
    assert ["That."] == texts(reel, talk)
    assert "was placed before" in reel("ingest", talk, "--kept").err
    assert ["That."] == texts(reel, talk)
    missing = reel("ingest", talk, "--kept", "1")
    assert (2, True) == (missing.status, "#1 of " in missing.err and "keeps no answer" in missing.err)


def test_kept_answers_are_placed_one_after_the_other(reel: Reel, talk: str, via: Via, daemon: str) -> None:
    """Without a number the newest one is placed that was not placed before."""
    via.then = meanwhile(daemon, "clear", talk)
    for text in ("One.", "Two."):
        reel("ask", talk, "What?", *via(said(text)))
    for _ in range(3):
        reel("ingest", talk, "--kept")

    assert ["Two.", "One."] == texts(reel, talk)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], "nothing says which command answers; name it with --via, or set via in reel.toml"),
        (["--via", "cat"], "--format is missing"),
    ],
)
def test_ask_without_a_command(reel: Reel, talk: str, options: list[str], expected: str) -> None:
    """Nothing is added if nothing says who answers, and in which format."""
    ran = reel("ask", talk, "What?", *options)

    assert 2 == ran.status
    assert expected in ran.err
    assert [] == kinds(reel, talk)


def test_a_provider_of_the_settings(
    reel: Reel, talk: str, via: Via, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A provider in reel.toml has a command, a format and fields; options win over it. A single one needs no name."""
    command = via(said("yes"))[1]
    (tmp_path / "reel").mkdir()
    fields = 'set = { model = "m", temperature = 0 }'
    (tmp_path / "reel" / "reel.toml").write_text(
        f"[providers.one]\ncommand = {json.dumps(command)}\nformat = 'openai-chat'\n{fields}\n"
    )
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))

    assert "yes\n" == reel("ask", talk, "What?", "--set", "temperature=1").out
    assert ("m", 1) == (via.body["model"], via.body["temperature"])
    assert "yes\n" == reel("ask", talk, "What?", "--via", "one").out


def test_ask_creates_an_agent(reel: Reel, name: str, via: Via) -> None:
    """With --create the agent is created; without it, the remedy is printed."""
    assert (
        f"no conversation {name}; to begin it, ask with --create\n" in reel("ask", name, "What?", *via(said("x"))).err
    )
    assert 0 == reel("ask", name, "What?", "--create", *via(said("x"))).status


def test_control_characters_of_an_answer_are_escaped(reel: Reel, talk: str, via: Via) -> None:
    """No answer can control the terminal."""
    assert "a\\x1b[2Jb\n" == reel("ask", talk, "What?", *via(said("a\x1b[2Jb"))).out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "then"), [(signal.SIGINT, STAYS), (signal.SIGTERM, UNTIL_CLOSED), (signal.SIGHUP, UNTIL_CLOSED)]
)
def test_an_answer_that_is_interrupted(
    client: Client, daemon: str, name: str, via: Via, number: signal.Signals, then: str
) -> None:
    """Ctrl-C and its like end the answer: what came is added and marked, and the command dies of the signal."""
    client.create(name)
    via.then = then
    with started(daemon, "ask", name, "What?", *via(HALF)) as running:
        running.until(CHAT.text)
        running.process.send_signal(number)
        assert "interrupted; what arrived was added as #3 and marked as interrupted" in running.until("interrupted\n")

        assert -number == running.process.wait(PATIENCE)
    assert "interrupted" == client.history(name).events[-1]["kind"]


@pytest.mark.slow
def test_a_signal_that_is_ignored(client: Client, daemon: str, name: str, via: Via, tmp_path: Path) -> None:
    """What nohup lets a command ignore does not end an answer."""
    client.create(name)
    go = tmp_path / "go"
    os.mkfifo(go)
    via.then = f"; cat {shlex.quote(str(go))}"
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with started(daemon, "ask", name, "What?", *via(HALF)) as running:
            running.until(CHAT.text)
            running.process.send_signal(signal.SIGHUP)
            go.write_bytes(CHAT.data[len(HALF) :])

            assert 0 == running.process.wait(PATIENCE)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_reader_that_goes_away(client: Client, daemon: str, name: str, via: Via) -> None:
    """If nobody reads stdout any longer, the answer is still added; the status says so."""
    client.create(name)
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-c", "from reel.cli import process; process()", "--socket", daemon]
    ran = subprocess.run([*command, "ask", name, "What?", *via(CHAT.data)], stdout=write, check=False, timeout=PATIENCE)
    os.close(write)

    assert 141 == ran.returncode
    assert 2 == len(client.messages(name).messages)
