"""The command chat, on a terminal that is typed at."""

import json
import os
import shlex
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from reel.sync.client import Client
from tests.patience import PATIENCE
from tests.reel.cli.conftest import Reel
from tests.reel.cli.running import Running, talking

# Answers with what was said last; "slow" ends when nobody reads it any more, "fail" is refused.
_ECHO = """
import json, signal, sys, time
said = json.load(sys.stdin)["messages"][-1]["content"]
def send(text, end=None):
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": end}
    counted = {"model": "gpt-5", "usage": {"prompt_tokens": 90_000, "completion_tokens": 10_000}}
    more = counted if said == "count" and end else {}
    print("data: " + json.dumps({"choices": [choice], **more}) + "\\n", flush=True)
if said == "fail":
    sys.exit("no network")
asked = said.split()[:3]
if asked[0] == "meanwhile":
    from reel.sync.client import connect
    connect().add(asked[1], "from the side")
if asked[:2] == ["Write", "a"]:
    send("The " + asked[2], "stop")
    sys.exit()
send("You said: ")
if said == "slow":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    while True:  # until nobody reads it any more
        print(flush=True)
        time.sleep(0.05)  # between two looks
send(said, "stop")
"""


@contextmanager
def chatting(daemon: str, directory: Path, *argv: str) -> Iterator[Running]:
    """Run a chat with a command that answers with what it was told."""
    (directory / "echo.py").write_text(_ECHO)
    via = ["--via", shlex.join([sys.executable, str(directory / "echo.py")]), "--format", "openai-chat"]
    with talking(daemon, "chat", *argv, *via) as running:
        yield running


def begin_an_answer(chat: Running, name: str) -> None:
    """Ask for an answer that never ends, and wait until its first text is there."""
    chat.until(f"{name}> ")
    chat.type("slow\n")
    chat.until("You said: ")


def said(client: Client, agent: str) -> list[str]:
    """Return the texts of a conversation."""
    return [
        block["text"]
        for message in client.messages(agent).messages
        for block in message["content"]
        if block["type"] == "text"
    ]


@pytest.mark.slow
def test_a_chat(client: Client, daemon: str, name: str, tmp_path: Path) -> None:
    """What is typed is asked, and the answer is printed and added; Ctrl-D leaves."""
    with chatting(daemon, tmp_path, name, "--create", "--system", "Be brief.") as chat:
        chat.until(f"{name}> ")
        chat.type("Hello\n")
        assert "You said: Hello\r\n" in chat.until("context about 17 tokens\r\n\r\n")
        chat.until(f"{name}> ")
        chat.type("\x04")
        assert 0 == chat.process.wait(PATIENCE)

    assert ["Hello", "You said: Hello"] == said(client, name)
    assert "Be brief." == client.agent(name).system


@pytest.mark.slow
def test_what_an_answer_took(daemon: str, name: str, tmp_path: Path) -> None:
    """Below it are its tokens, what they cost, and how full the context is; so is this at the beginning."""
    with chatting(daemon, tmp_path, name, "--create") as chat:
        chat.until(f"{name}> ")
        chat.type("count\n")
        chat.until("90,000 in, 10,000 out  cost 0.2125 USD  context 25 %\r\n")
    with chatting(daemon, tmp_path, name) as chat:
        assert "context 25 %" in chat.until(f"{name}> ").partition("\r\n")[0]


@pytest.mark.slow
def test_what_others_say_while_one_types(client: Client, daemon: str, name: str, tmp_path: Path) -> None:
    """It is shown as it comes, above the line that is being typed, which stays as it is."""
    client.add(name, ["one", {"role": "assistant", "content": "1"}], create=True)
    with chatting(daemon, tmp_path, name) as chat:
        chat.until(f"{name}> ")
        chat.type("half a ques")
        chat.until("half a ques")
        client.add(name, ["from another window", {"role": "assistant", "content": "its answer"}])
        chat.until("its answer")
        assert "from another window" in chat.until(f"{name}> half a ques")
        client.add(name, {"role": "assistant", "content": "more"})
        chat.until("more")
        chat.type("tion\n")
        chat.until("You said: half a question")
        chat.until(f"{name}> ")
        chat.type("/clone other-{name}\n".replace("{name}", name))
        chat.until(f"other-{name}> ")
        client.add(f"other-{name}", "in the copy")
        chat.until("in the copy")

    assert "half a question" in said(client, name)


@pytest.mark.slow
def test_what_others_say_while_an_answer_arrives(daemon: str, name: str, tmp_path: Path) -> None:
    """It is shown below the answer, and the next line is asked as usual."""
    with chatting(daemon, tmp_path, name, "--create") as chat:
        chat.until(f"{name}> ")
        chat.type(f"meanwhile {name}\n")
        assert "You said: meanwhile" in chat.until("from the side\r\n\r\ncontext about").partition("user  #3")[0]
        chat.until(f"{name}> ")


@pytest.mark.slow
def test_a_summary_in_a_chat(client: Client, daemon: str, name: str, tmp_path: Path) -> None:
    """/compact puts one in the place of all but two questions, and /undo takes it back; --title makes a title once."""
    client.add(name, ["one", {"role": "assistant", "content": "1"}] * 3, create=True)
    with chatting(daemon, tmp_path, name, "--title") as chat:
        chat.until(f"{name}> ")
        chat.type("hi\n")
        chat.until("titled: The title")
        chat.until(f"{name}> ")
        chat.type("/compact\n")
        chat.until("4 messages became a summary; 4 stayed; /undo takes that back")
        chat.until(f"{name}> ")
        assert 5 == client.agent(name).messages
        chat.type("/undo\n")
        chat.until("undid #")
        assert 8 == client.agent(name).messages
        chat.type("again\n")
        chat.until("You said: again")

    assert "The title" == client.agent(name).title


@pytest.mark.slow
def test_a_message_of_several_lines(client: Client, daemon: str, name: str, tmp_path: Path) -> None:
    """A backslash, Alt-Enter, a fence and a paste keep lines together."""
    typed = ["a\\\nb\n", "c\x1b\rd\n", '"""\ne\nf\n"""\n', "\x1b[200~g\rh\x1b[201~\n"]
    with chatting(daemon, tmp_path, name, "--create") as chat:
        for number, keys in enumerate(typed):
            chat.until(f"{name}> ")
            chat.type(keys)
            assert "You said: " in chat.until("You said: "), number

        chat.until(f"{name}> ")
    assert ["a\nb", "c\nd", "e\nf", "g\nh"] == said(client, name)[::2]


@pytest.mark.slow
def test_an_answer_that_is_interrupted_in_a_chat(client: Client, daemon: str, name: str, tmp_path: Path) -> None:
    """Ctrl-C ends the answer, which is marked; the chat goes on, and what is undone is the whole exchange."""
    with chatting(daemon, tmp_path, name, "--create") as chat:
        begin_an_answer(chat, name)
        chat.type("\x03")
        assert "interrupted; what arrived was added as #3" in chat.until(f"{name}> ")
        assert "interrupted" == client.history(name).events[-1]["kind"]
        chat.type("/undo\n")
        assert "took back: slow" in chat.until(f"{name}> ")
        assert [] == said(client, name)
        chat.type("Again\n")
        chat.until("You said: Again")
        chat.until(f"{name}> ")

    assert ["Again", "You said: Again"] == said(client, name)


@pytest.mark.slow
def test_a_chat_that_is_told_to_end(client: Client, daemon: str, name: str, tmp_path: Path) -> None:
    """SIGTERM while an answer comes ends the chat; what came is added and marked."""
    with chatting(daemon, tmp_path, name, "--create") as chat:
        begin_an_answer(chat, name)
        chat.process.send_signal(signal.SIGTERM)
        chat.until("what arrived was added as #3")

        assert -signal.SIGTERM == chat.process.wait(PATIENCE)
    assert ["slow", "You said: "] == said(client, name)
    assert "interrupted" == client.history(name).events[-1]["kind"]


@pytest.mark.slow
def test_a_terminal_that_is_closed(client: Client, daemon: str, name: str, tmp_path: Path) -> None:
    """It sends SIGHUP, and takes no output any more; what came of an answer is added and marked."""
    with chatting(daemon, tmp_path, name, "--create") as chat:
        begin_an_answer(chat, name)
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, chat.shown)  # closes our end, which is the terminal
        os.close(nowhere)

        assert -signal.SIGHUP == chat.process.wait(PATIENCE)
    assert ["slow", "You said: "] == said(client, name)
    assert "interrupted" == client.history(name).events[-1]["kind"]


def test_an_interrupt_at_the_prompt(daemon: str, name: str, tmp_path: Path) -> None:
    """Ctrl-C drops the line that was begun, and nothing else."""
    with chatting(daemon, tmp_path, name, "--create") as chat:
        chat.until(f"{name}> ")
        chat.type("half a thought")
        chat.until("half a thought")
        chat.interrupt(f"{name}> ")
        chat.type("/quit\n")

        assert 0 == chat.process.wait(PATIENCE)


@pytest.mark.slow
def test_a_question_without_an_answer(client: Client, daemon: str, name: str, tmp_path: Path) -> None:
    """The reason is printed; the question can be asked again, or taken back."""
    with chatting(daemon, tmp_path, name, "--create") as chat:
        chat.until(f"{name}> ")
        chat.type("fail\n")
        assert "reel: no network" in chat.until("/undo takes your message back")
        chat.until(f"{name}> ")
        chat.type("/retry\n")
        assert "reel: no network" in chat.until("/undo takes your message back")
        chat.until(f"{name}> ")
        chat.type("/undo\n")
        chat.until("took back: fail")

        chat.until(f"{name}> ")
    assert [] == said(client, name)


@pytest.mark.slow
def test_two_exchanges_are_taken_back_one_after_the_other(
    client: Client, daemon: str, name: str, tmp_path: Path
) -> None:
    """/undo takes back one question with its answer, and then the one before; then it is reel undo."""
    client.add(name, "before", create=True)
    client.add(name, {"role": "assistant", "content": "yes"})
    with chatting(daemon, tmp_path, name) as chat:
        for word in ("one", "two"):
            chat.until(f"{name}> ")
            chat.type(f"{word}\n")
            chat.until("You said: ")
        left = []
        for expected in ("took back: two", "took back: one", "undid #"):
            chat.until(f"{name}> ")
            chat.type("/undo\n")
            chat.until(expected)
            left.append(len(said(client, name)))

    assert [4, 2] == left[:2]


@pytest.mark.slow
def test_a_new_chat_is_not_one_whose_name_begins_so(client: Client, daemon: str, name: str, tmp_path: Path) -> None:
    """With --create the name is a whole one."""
    client.add(f"{name}-longer", "somebody else's", create=True)
    with chatting(daemon, tmp_path, name, "--create") as chat:
        chat.until(f"{name}> ")
        chat.type("one\n")
        chat.until("You said: one")
        chat.until(f"{name}> ")

    assert ["one", "You said: one"] == said(client, name)
    assert ["somebody else's"] == said(client, f"{name}-longer")


@pytest.mark.slow
def test_what_others_say_in_a_chat(client: Client, daemon: str, name: str, tmp_path: Path) -> None:
    """Before a question, what others have added is shown."""
    with chatting(daemon, tmp_path, name, "--create") as chat:
        chat.until(f"{name}> ")
        chat.type("one\n")
        chat.until(f"{name}> ")
        client.add(name, "from the side\x1b[2J")
        chat.type("two\n")
        assert "from the side\\x1b[2J" in chat.until("You said: two")

    assert "from the side\x1b[2J" in said(client, name)


@pytest.mark.slow
def test_undo_after_others_in_a_chat(client: Client, daemon: str, name: str, tmp_path: Path) -> None:
    """The first /undo takes back nothing of others, and shows what they have done; only the next one does."""
    left = []
    with chatting(daemon, tmp_path, name, "--create") as chat:
        chat.until(f"{name}> ")
        chat.type("one\n")
        chat.until(f"{name}> ")
        client.add(name, "from the side")
        for expected in ("/undo again takes back the", "undid #4"):
            chat.type("/undo\n")
            chat.until(expected)
            chat.until(f"{name}> ")
            left.append(said(client, name)[-1])

    assert ["from the side", "You said: one"] == left


@pytest.mark.slow
def test_a_clone_in_a_chat(client: Client, daemon: str, name: str, tmp_path: Path) -> None:
    """/clone goes on in a copy; the original stays as it is. /system sets the prompt of the copy."""
    with chatting(daemon, tmp_path, name, "--create") as chat:
        chat.until(f"{name}> ")
        chat.type("one\n")
        chat.until(f"{name}> ")
        chat.type(f"/clone {name}-b\n")
        chat.until(f"{name}-b> ")
        chat.type("/system Be long.\n")
        chat.until("the system prompt is set")
        chat.until(f"{name}-b> ")
        chat.type("/system\n")
        chat.until("Be long.")
        chat.until(f"{name}-b> ")
        chat.type("two\n")
        chat.until("You said: two")
        chat.until(f"{name}-b> ")

    assert (2, 4, None) == (len(said(client, name)), len(said(client, f"{name}-b")), client.agent(name).system)


@pytest.mark.slow
def test_a_message_in_the_editor(
    client: Client, daemon: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """/edit asks what was written in the editor, and nothing if that is empty."""
    monkeypatch.setenv("VISUAL", f"""sh -c 'cp "$0" {tmp_path}/template; echo written > "$0"'""")
    with chatting(daemon, tmp_path, name, "--create") as chat:
        chat.until(f"{name}> ")
        chat.type("/edit\n")
        chat.until("You said: written")
        chat.until(f"{name}> ")

    assert f"You are writing to {name} as the user." in (tmp_path / "template").read_text()
    assert "written" == said(client, name)[0]


@pytest.mark.slow
def test_commands_of_a_chat(daemon: str, name: str, tmp_path: Path) -> None:
    """/help lists them, an unknown one is refused, and // begins a message with a slash."""
    with chatting(daemon, tmp_path, name, "--create") as chat:
        chat.until(f"{name}> ")
        chat.type("/help\n")
        assert "/clone" in chat.until("Ctrl-C")
        chat.until(f"{name}> ")
        chat.type("/halp\n")
        chat.until("no command /halp")
        chat.until(f"{name}> ")
        chat.type("//etc/passwd\n")
        chat.until("You said: /etc/passwd")


def test_a_chat_without_an_agent(client: Client, daemon: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One chooses a conversation, or a new one, which gets a name of its own."""
    monkeypatch.delenv("REEL_AGENT", raising=False)
    client.create()  # so that there is something to choose
    before = {row.name for row in client.iter_agents()}
    with chatting(daemon, tmp_path) as chat:
        chat.until("a new conversation")
        chat.type("\r")
        chat.until("0 messages")
        chat.until("> ")
        (new,) = {row.name for row in client.iter_agents()} - before

        assert f"{new}  0 messages  openai-chat" in chat.text


def test_a_chat_begins_where_the_conversation_is(client: Client, daemon: str, name: str, tmp_path: Path) -> None:
    """The last messages are shown, and the user's are in the history."""
    client.add(name, ["first", {"role": "assistant", "content": "second"}, "third"], create=True)
    with chatting(daemon, tmp_path, name) as chat:
        shown = chat.until(f"{name}> ")
        chat.type("\x10\x10")  # Ctrl-P: twice back

        assert "first" in chat.until("first")
    assert ["second", "third"] == [word for word in ("first", "second", "third") if word in shown]


def test_the_first_lines_of_a_chat_fit(client: Client, daemon: str, name: str, tmp_path: Path) -> None:
    """On a narrow terminal no word of them is broken: what helps is on a line of its own."""
    client.add(name, ["first", {"role": "assistant", "content": "second"}], create=True)
    with chatting(daemon, tmp_path, name) as chat:
        shown = chat.until(f"{name}> ")

    assert "Ctrl-D leaves, /help lists the commands" in shown.split("\r\n")


@pytest.mark.slow
def test_no_word_is_broken_at_the_edge(daemon: str, name: str, tmp_path: Path) -> None:
    """What is told at a prompt is folded at blanks, wide characters too; a command in a shell prints one line."""
    with chatting(daemon, tmp_path, name, "--create") as chat:
        chat.until(f"{name}> ")
        chat.type("/mode\n")
        told = "reel: no command /mode; /help lists them, and a message that\r\n      begins with / is written //\r\n"
        assert told in chat.until("is written //\r\n")
        chat.until(f"{name}> ")
        chat.type("/help\n")
        shown = chat.until("what has arrived is kept\r\n").split("\r\n")
        assert max(map(len, shown)) <= 60
        assert ["/retry   take the last answer back, if there is one, and ask", "         again"] == shown[2:4]
        chat.until(f"{name}> ")
        tapes = "テープ テープ テープ"
        chat.type(f"/attach {tapes} {tapes} {tapes}\n")
        assert f"reel: {tapes} {tapes} テープ\r\n      テープ テープ: No such file" in chat.until("No such file")


@pytest.mark.parametrize(
    ("argv", "expected"), [((), "chat needs a terminal; in a script, use: reel ask"), (("--json",), "needs a terminal")]
)
def test_a_chat_without_a_terminal(reel: Reel, talk: str, argv: tuple[str, ...], expected: str) -> None:
    """A script is told to use ask."""
    ran = reel("chat", talk, *argv, "--via", "cat", "--format", "gemini", stdin=b"hi")

    assert 2 == ran.status
    assert expected in ran.err


@pytest.mark.slow
def test_a_prompt_for_an_agent_that_exists(reel: Reel, daemon: str, talk: str, tmp_path: Path) -> None:
    """--system is for an agent that is created."""
    with chatting(daemon, tmp_path, talk, "--system", "x") as chat:
        chat.until(f"{talk} exists; change its prompt with /system")

        assert 2 == chat.process.wait(PATIENCE)
    assert "Be brief." == json.loads(reel("info", talk, "--json").out)["system"]
