"""What the command chat can do besides asking: results of calls, files, models, going back, and completion."""

import json
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import reel
from reel.sync.client import Client
from tests.reel.cli.running import Running, talking

pytestmark = pytest.mark.slow

# Calls a tool if it is told "call", and says what it got of it; else says which model it is, and what it was sent.
_MODEL = """
import json, sys
body = json.load(sys.stdin)
last, tools = body["messages"][-1], [tool["function"]["name"] for tool in body.get("tools", [])]
def send(delta, end=None):
    choice = {"index": 0, "delta": delta, "finish_reason": end}
    print("data: " + json.dumps({"choices": [choice]}) + "\\n", flush=True)
if last["content"] == "call":
    function = {"name": "look", "arguments": '{"at": "sky"}'}
    send({"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": function}]}, "tool_calls")
elif last["role"] == "tool":
    send({"content": "I see " + last["content"]}, "stop")
else:
    parts = 1 if isinstance(last["content"], str) else len(last["content"])
    send({"content": f"**{body.get('model')}** with {tools}, {parts} of {len(body['messages'])}"}, "stop")
"""


@contextmanager
def chatting(daemon: str, directory: Path, name: str, settings: str = "") -> Iterator[Running]:
    """Run a chat with two providers, and further settings."""
    (directory / "model.py").write_text(_MODEL)
    command = json.dumps(shlex.join([sys.executable, str(directory / "model.py")]))
    provider = f'command = {command}\nformat = "openai-chat"\n'
    (directory / "reel").mkdir()
    (directory / "reel" / "reel.toml").write_text(
        f'via = "one"\n[providers.one]\n{provider}model = "m1"\n[providers.two]\n{provider}model = "m2"\n{settings}'
    )
    with talking(
        daemon, "chat", name, "--create", XDG_CONFIG_HOME=str(directory), TERM="xterm", NO_COLOR=""
    ) as running:
        running.until(f"{name}> ")
        yield running


def said(client: Client, agent: str) -> list[str]:
    """Return the roles and texts of a conversation."""
    texts = []
    for message in client.messages(agent).messages:
        block = message["content"][0]
        what = block.get("text") or block.get("content") or block["type"]
        texts.append(f"{message['role']}: {what}")
    return texts


def test_a_call_without_a_command(client: Client, daemon: str, name: str, tmp_path: Path) -> None:
    """Its arguments are shown, and its result is asked for; then the model goes on with it."""
    with chatting(daemon, tmp_path, name) as chat:
        chat.type("call\n")
        assert 'look\x1b[0m  {"at": "sky"}' in chat.until("result of look> ")
        chat.type("a cloud\n")
        chat.until("I see a cloud")
        chat.until(f"{name}> ")

    assert ["user: call", "assistant: tool_call", "tool: a cloud", "assistant: I see a cloud"] == said(client, name)


def test_a_call_that_is_left_open(client: Client, daemon: str, name: str, tmp_path: Path) -> None:
    """/result gives its result later; whoever goes on without is told that it has none."""
    with chatting(daemon, tmp_path, name) as chat:
        chat.type("call\n")
        chat.until("result of look> ")
        chat.type("\n")
        assert "look (c1) waits for a result; /result gives it" in chat.until(f"{name}> ")
        chat.type("/result\n")
        chat.until("result of look> ")
        chat.type("rain\n")
        chat.until("I see rain")
        chat.until(f"{name}> ")
        chat.type("call\n")
        chat.until("result of look> ")
        chat.type("\n")
        chat.until(f"{name}> ")
        chat.type("never mind\n")
        assert "look (c1) gets no result; the model is told so" in chat.until("\x1b[1mm1")
        chat.until(f"{name}> ")

    assert "user: never mind" == said(client, name)[-2]


@pytest.mark.parametrize(("answer", "asked"), [("y", 2), ("a", 1)])
def test_a_tool_of_the_settings(
    client: Client, daemon: str, name: str, tmp_path: Path, answer: str, asked: int
) -> None:
    """The model is told of it; its command runs after a question, and then its output is the result."""
    tools = '[tools.look]\ncommand = "cat"\ndescription = "Look"\n'
    with chatting(daemon, tmp_path, name, tools) as chat:
        for number in range(2):
            chat.type("call\n")
            if number < asked:
                chat.until("run cat? [y]es, [n]o, [a]lways> ")
                chat.type(f"{answer}\n")
            chat.until('I see {"at": "sky"}')
            chat.until(f"{name}> ")
        chat.type("hello\n")
        assert "with ['look']" in chat.until(f"{name}> ")

    assert 'tool: {"at": "sky"}' in said(client, name)


def test_a_tool_that_fails_or_may_not_run(client: Client, daemon: str, name: str, tmp_path: Path) -> None:
    """Its error is a result, too; if it may not run, the person gives the result."""
    tools = '[tools.look]\ncommand = "echo blind >&2; exit 3"\n'
    with chatting(daemon, tmp_path, name, tools) as chat:
        chat.type("call\n")
        chat.until("[a]lways> ")
        chat.type("y\n")
        chat.until("I see")
        chat.until(f"{name}> ")
        chat.type("call\n")
        chat.until("[a]lways> ")
        chat.type("n\n")
        chat.until("result of look> ")
        chat.type("night\n")
        chat.until("I see night")
        chat.until(f"{name}> ")

    assert ["tool: blind\nexited with status 3", "tool: night"] == [
        each for each in said(client, name) if each.startswith("tool")
    ]


def test_an_answer_is_laid_out(daemon: str, name: str, tmp_path: Path) -> None:
    """Stars become a style, and no word is cut at the last column."""
    with chatting(daemon, tmp_path, name) as chat:
        chat.type("hello\n")
        shown = chat.until(f"{name}> ")

    assert "\x1b[1mm1\x1b[0m with [], 1 of 1\r\n" in shown.rsplit("\x1b[K", 1)[-1]
    assert "**m1**" not in shown.rsplit("\x1b[K", 1)[-1]


def test_another_model_and_a_file(client: Client, daemon: str, name: str, tmp_path: Path) -> None:
    """/model and /via say who answers from now on; /attach sends a file with the next question alone."""
    (tmp_path / "x.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    with chatting(daemon, tmp_path, name, '[models]\nfast = "two/m3"\n') as chat:
        for typed, answer in (
            ("/model m9\nhello\n", "m9\x1b[0m with [], 1 of 1"),
            ("/via two\nhello 2\n", "m2\x1b[0m with [], 1 of 3"),
            ("/model fast\nhello 3\n", "m3\x1b[0m with [], 1 of 5"),
            (f"/attach {tmp_path}/x.png\nhello 4\n", "m3\x1b[0m with [], 2 of 7"),
            ("hello 5\n", "m3\x1b[0m with [], 1 of 9"),
        ):
            for line in typed.splitlines():
                chat.type(f"{line}\n")
                shown = chat.until(f"{name}> ")
            assert answer in shown
        chat.type("/via nobody\n")
        assert "there is no provider and no command 'nobody'" in chat.until(f"{name}> ")

    assert "media" == client.messages(name).messages[6]["content"][1]["type"]


def test_an_answer_that_is_asked_for_again(client: Client, daemon: str, name: str, tmp_path: Path) -> None:
    """/retry takes a complete answer back, with what its tools did, and asks once more; /undo takes back all of it."""
    with chatting(daemon, tmp_path, name) as chat:
        chat.type("call\n")
        chat.until("result of look> ")
        chat.type("a cloud\n")
        chat.until("I see a cloud")
        chat.until(f"{name}> ")
        chat.type("/retry\n")
        assert "took back 3 messages" in chat.until("result of look> ")
        chat.type("rain\n")
        chat.until("I see rain")
        chat.until(f"{name}> ")
        assert ["user: call", "assistant: tool_call", "tool: rain", "assistant: I see rain"] == said(client, name)
        chat.type("/undo\n")
        assert "took back: call" in chat.until(f"{name}> ")

    assert [] == said(client, name)


def test_the_arrow_key_gives_a_whole_message(client: Client, daemon: str, name: str, tmp_path: Path) -> None:
    """A message of several lines is one entry, as it is after leaving and coming back."""
    with chatting(daemon, tmp_path, name) as chat:
        chat.type('"""\none\ntwo\n"""\n')
        chat.until("1 of 1")
        chat.until(f"{name}> ")
        chat.type("\x1b[A\n")
        chat.until("1 of 3")
        chat.until(f"{name}> ")

    assert ["user: one\ntwo"] * 2 == [each for each in said(client, name) if each.startswith("user")]


def test_tab_in_a_chat(daemon: str, name: str, tmp_path: Path) -> None:
    """Tab completes a command, and the name of a model."""
    with chatting(daemon, tmp_path, name, '[models]\nfast = "two/m3"\n') as chat:
        chat.until(f"{name}> ")
        chat.type("/mo\t")
        chat.until("/model")
        chat.type(" fa\t")
        chat.until("fast")
        chat.type("\n")
        chat.until("m3 answers")


def test_a_conversation_with_open_calls(client: Client, daemon: str, name: str, tmp_path: Path) -> None:
    """They are shown at the beginning."""
    client.add(name, ["Look.", reel.tool_call("c9", "look", {"at": "sea"})], create=True)
    with chatting(daemon, tmp_path, name) as chat:
        chat.type("/result\n")
        chat.until("result of look> ")
        chat.type("waves\n")
        chat.until("I see waves")
        chat.until(f"{name}> ")

    assert "tool: waves" in said(client, name)
