"""The command compact: a summary by a model in place of the beginning of a conversation."""

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from reel.said.formats import ANSWERING_FORMATS
from reel.sync.client import Client
from tests.formats.checker import check
from tests.reel.cli.conftest import Reel, texts
from tests.reel.cli.running import started

_HEADING = "This conversation began earlier. This is a summary of what was said before:\n\n"
USAGE = {"prompt_tokens": 9000, "completion_tokens": 20}


def whole(text: str | None = "All of it.", end: str = "stop", **more: Any) -> bytes:
    """Return the response of a model."""
    message = {"role": "assistant", "content": text, **more}
    choices = [{"index": 0, "message": message, "finish_reason": end}]
    return json.dumps({"object": "chat.completion", "model": "gpt-5", "choices": choices, "usage": USAGE}).encode()


def via(directory: Path, response: bytes, then: str = "") -> list[str]:
    """Return the options that let a command answer, which keeps what it was sent."""
    (directory / "response").write_bytes(response)
    body, response_file = (shlex.quote(str(directory / name)) for name in ("body", "response"))
    return ["--via", f"cat > {body}; {then} cat {response_file}", "--format", "openai-chat"]


def asked(directory: Path) -> list[Any]:
    """Return the messages that the model was sent."""
    messages: list[Any] = json.loads((directory / "body").read_text())["messages"]
    return messages


@pytest.fixture
def long(client: Client, name: str) -> str:
    """An agent with a prompt and four questions with their answers: seqs 3 to 10."""
    client.create(name, system="Be brief.")
    for number in range(1, 5):
        client.add(name, [f"q{number}", {"role": "assistant", "content": f"a{number}"}])
    return name


def test_a_summary(reel: Reel, client: Client, long: str, tmp_path: Path) -> None:
    """It takes the place of all but the newest two questions; one undo takes it back, and nothing is lost."""
    ran = reel("compact", long, *via(tmp_path, whole()))

    assert (0, f"{long}: 4 messages became a summary of 20 tokens; 4 stayed\n") == ran[:2]
    assert ["q1", "a1", "q2", "a2"] == [message["content"] for message in asked(tmp_path)[1:5]]
    assert 6 == len(asked(tmp_path))
    assert [f"{_HEADING}All of it.", "q3", "a3", "q4", "a4"] == texts(reel, long)
    assert "Be brief." == client.agent(long).system
    assert "q1" in reel("tree", long).out
    assert "9,000" in reel("usage", long).out
    assert "estimated" in reel("info", long).out.partition("\ncontext")[2].splitlines()[0]
    reel("undo", long)
    assert ["q1", "a1", "q2", "a2", "q3", "a3", "q4", "a4"] == texts(reel, long)
    assert "estimated" in reel("info", long).out.partition("\ncontext")[2].splitlines()[0]
    assert "9,000" in reel("usage", long).out


def test_a_summary_of_a_summary(reel: Reel, long: str, tmp_path: Path) -> None:
    """It is a message like others, in a clone as well."""
    reel("compact", long, *via(tmp_path, whole("First.")))
    reel("clone", long, f"{long}-2")
    reel("compact", f"{long}-2", "--keep", "1", *via(tmp_path, whole("Second.")))

    assert [f"{_HEADING}Second.", "q4", "a4"] == texts(reel, f"{long}-2")
    assert f"{_HEADING}First." == texts(reel, long)[0]


def test_what_a_conversation_is_about(reel: Reel, client: Client, long: str, tmp_path: Path) -> None:
    """A list shows what a person said first, before a summary and after it, and in a clone."""
    reel("compact", long, *via(tmp_path, whole("First.")))
    reel("clone", long, f"{long}-2")
    reel("compact", f"{long}-2", "--keep", "1", *via(tmp_path, whole("Second.")))

    assert ["q1", "q1"] == [row.first_words for row in client.agents(prefix=long, details=True).agents]


def test_up_to_a_mark(reel: Reel, client: Client, long: str, tmp_path: Path) -> None:
    """What is after it stays; a mark that does not exist is refused before anybody is asked."""
    client.mark(long, "here")
    client.add(long, ["q5", {"role": "assistant", "content": "a5"}])
    refused = reel("compact", long, "--to", "there", *via(tmp_path, whole()))
    reel("compact", long, "--to", "here", *via(tmp_path, whole()), "--note", "Keep q1.")

    assert (1, f"reel: no_such_mark: no mark there in {long}; there are here\n") == (refused.status, refused.err)
    assert [f"{_HEADING}All of it.", "q5", "a5"] == texts(reel, long)
    assert asked(tmp_path)[-1]["content"].endswith(" Keep q1.")


def test_the_document(reel: Reel, long: str, tmp_path: Path) -> None:
    """--json has the daemon's reply, the summary, and what it took."""
    document = reel("compact", long, "--keep", "0", "--json", *via(tmp_path, whole())).documents[0]

    assert ("All of it.", 8, 0, "gpt-5") == tuple(document[key] for key in ("text", "summarized", "kept", "model"))
    assert (9000, 20) == (document["usage"]["read"], document["usage"]["written"])


def test_a_prompt_that_changed(reel: Reel, client: Client, long: str, tmp_path: Path) -> None:
    """The one in force stays so, although the conversation goes on from where it was another."""
    client.add(long, [{"role": "system", "content": "Be kind."}, "q5"])
    reel("compact", long, *via(tmp_path, whole()))

    assert "Be kind." == client.agent(long).system
    assert "Be kind." == asked(tmp_path)[0]["content"]


@pytest.mark.parametrize(
    ("response", "status", "why"),
    [
        (whole(end="length"), 6, "the answer is not whole: it reached the limit of tokens"),
        (whole(None, refusal="No."), 6, "the answer is not whole: the model refused"),
        (whole(""), 6, "the answer is not whole: it is empty"),
        (
            whole(None, tool_calls=[{"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}]),
            6,
            "the model called look in place of an answer",
        ),
        (whole()[:-1], 1, ""),
        (b'data: {"choices": [{"index": 0, "delta": {"content": "All"}}]}\n\n', 1, "the answer broke off\n"),
        (b'{"error": {"message": "too long"}}', 1, "too long"),
        (b"", 1, " did not answer"),
    ],
)
def test_no_whole_summary(
    reel: Reel, client: Client, long: str, tmp_path: Path, response: bytes, status: int, why: str
) -> None:
    """If it was cut, refused, left empty, or is something else, nothing is changed, and the reason is said."""
    before = client.history(long).events
    ran = reel("compact", long, *via(tmp_path, response))

    assert (status, "") == ran[:2]
    assert why in ran.err
    assert ran.err.endswith(f"{long} was not changed\n")
    assert before == client.history(long).events


@pytest.mark.parametrize("option", [["--keep", "4"], ["--keep", "9"]])
def test_nothing_to_sum_up(reel: Reel, long: str, tmp_path: Path, option: list[str]) -> None:
    """If everything stays, nobody is asked."""
    ran = reel("compact", long, *option, *via(tmp_path, whole()))

    assert 2 == ran.status
    assert "there is nothing to summarize before what stays" in ran.err
    assert not (tmp_path / "body").exists()


def test_refused_before_anybody_is_asked(reel: Reel, client: Client, long: str, tmp_path: Path) -> None:
    """A conversation that has moved on, or was killed, is not paid for."""
    moved = reel("compact", long, "--if-seq", "9", *via(tmp_path, whole()))
    client.kill(long)
    killed = reel("compact", long, *via(tmp_path, whole()))

    assert (5, f"reel: conflict: {long} is at #10, not at #9;") == (moved.status, moved.err.partition(" see")[0])
    assert (1, f"reel: killed: {long} was killed;") == (killed.status, killed.err.partition(" revive")[0])
    assert not (tmp_path / "body").exists()


def test_a_summary_that_cannot_be_stored(reel: Reel, daemon: str, long: str, tmp_path: Path) -> None:
    """It was paid for, so it is saved."""
    meanwhile = f"{reel_line(daemon, 'kill', long)} >/dev/null;"
    ran = reel("compact", long, *via(tmp_path, whole(), meanwhile))

    assert 1 == ran.status
    path = Path(ran.err.splitlines()[0].removeprefix("reel: the summary was saved: "))
    assert "All of it." == path.read_text()
    path.unlink()


@pytest.mark.parametrize("option", [["--keep", "-1"], ["--keep", "1", "--to", "x"], ["--to"]])
def test_wrong_options(reel: Reel, long: str, tmp_path: Path, option: list[str]) -> None:
    """They are wrong usage."""
    assert 2 == reel("compact", long, *via(tmp_path, whole()), *option).status


def reel_line(daemon: str, *words: str) -> str:
    """Return a command line of this command."""
    code = "from reel.cli import process; process()"
    return shlex.join([sys.executable, "-c", code, *words, "--socket", daemon])


def test_somebody_adds_meanwhile(reel: Reel, daemon: str, long: str, tmp_path: Path) -> None:
    """What was added while the model wrote stays behind the summary."""
    meanwhile = f"{reel_line(daemon, 'add', long, 'late')} >/dev/null;"
    ran = reel("compact", long, *via(tmp_path, whole(), meanwhile))

    assert (0, f"{long}: 4 messages became a summary of 20 tokens; 4 stayed\n") == ran[:2]
    assert [f"{_HEADING}All of it.", "q3", "a3", "q4", "a4", "late"] == texts(reel, long)


@pytest.mark.parametrize("option", [[], ["--if-seq", "10"]])
def test_what_was_summed_up_goes_meanwhile(
    reel: Reel, client: Client, daemon: str, long: str, tmp_path: Path, option: list[str]
) -> None:
    """Then it is a conflict, nothing of the conversation is changed, and the log keeps what was paid for."""
    meanwhile = f"{reel_line(daemon, 'clear', long)} >/dev/null;"
    ran = reel("compact", long, *option, *via(tmp_path, whole(), meanwhile))

    assert 5 == ran.status
    assert "the log keeps the summary as #14" in ran.err
    assert 0 == client.agent(long).messages
    assert ("note", "All of it.") == tuple(client.history(long).events[-1][key] for key in ("kind", "content"))


def test_killed_in_the_middle(daemon: str, client: Client, long: str, tmp_path: Path) -> None:
    """A command that is killed while the model writes has changed nothing."""
    before = client.history(long).events
    waits = f"touch {shlex.quote(str(tmp_path / 'began'))}; sleep 600;"
    with started(daemon, "compact", long, *via(tmp_path, whole(), waits)) as running:
        while not (tmp_path / "began").exists():
            assert running.process.poll() is None
        running.process.kill()
        running.process.wait()

    assert before == client.history(long).events


CALL: Any = {"type": "tool_call", "id": "c1", "name": "look", "arguments": "{}"}
RESULT: Any = {"type": "tool_result", "tool_call_id": "c1", "content": "x", "is_error": False}
THOUGHT: Any = {
    "type": "thinking",
    "text": "hm",
    "signature": "s",
    "provider": "anthropic",
    "model": "claude-fable-5-1",
}


@pytest.mark.parametrize("format", ANSWERING_FORMATS)
def test_what_is_rendered_afterwards(reel: Reel, client: Client, name: str, tmp_path: Path, format: str) -> None:  # noqa: A002 - the protocol's name
    """Every provider accepts it: calls have their results, and thinking that was bound to what is gone stays out."""
    client.create(name, system="Be brief.")
    bound = {"provider": "anthropic", "model": "claude-fable-5-1", "prefix": "0" * 64}
    called: Any = {"role": "assistant", "content": [THOUGHT, CALL], "provider_metadata": bound}
    answered: Any = {"role": "tool", "content": [RESULT]}
    client.add(name, ["q1", {"role": "assistant", "content": "a1"}, "q2", called, "wait", answered, "q3"])
    reel("compact", name, "--keep", "1", *via(tmp_path, whole()))
    extra: Any = {"anthropic": {"model": "claude-fable-5-1", "max_tokens": 9}, "gemini": {}}.get(
        format, {"model": "gpt-5"}
    )
    rendered = client.render(name, format, extra=extra)  # type: ignore[arg-type]

    assert [] == check(format.replace("-", "_"), json.loads(rendered.body))
    assert rendered.ready
    assert "hm" not in rendered.body or format != "anthropic"
    assert "All of it." in rendered.body
