"""Every command, against a real daemon."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from reel.cli.table import COMMANDS
from reeld.store.database import SQLITE

from .conftest import Reel


@pytest.fixture
def talk(reel: Reel, name: str) -> str:
    """An agent with a prompt, a question and an answer: seqs 1 to 4."""
    reel("new", name, "--system", "Be brief.")
    reel("add", name, "What is a tape deck?")
    reel("add", name, "--role", "assistant", "A machine.")
    return name


def texts(reel: Reel, agent: str, *options: str) -> list[str]:
    """What the messages of an agent say."""
    return [message["content"][0]["text"] for message in reel("show", agent, "--json", *options).documents]


def test_new_prints_the_name(reel: Reel, name: str) -> None:
    """The name is all there is on stdout, so that a script can keep it."""
    assert reel("new", name, "--title", "Tapes", "--tag", "a=b", "--tag", "c=d") == (0, f"{name}\n", "")

    info = reel("info", name, "--json").documents[0]
    assert (info["title"], info["tags"], info["system"]) == ("Tapes", {"a": "b", "c": "d"}, None)


def test_new_without_a_name_makes_one(reel: Reel) -> None:
    """A short name is made and can be used."""
    made = reel("new").out.strip()

    assert reel("add", made, "hi").status == 0


def test_new_refuses_a_name_that_is_taken(reel: Reel, talk: str) -> None:
    """A living agent keeps its name."""
    refused = reel("new", talk)

    assert (refused.status, refused.out) == (1, "")
    assert refused.err.startswith(f"reel: exists: agent {talk} is there already; ")


def test_add_says_where_it_is(reel: Reel, talk: str) -> None:
    """The seq is what one restores, clones and reads from."""
    assert reel("add", talk, "And who makes them?") == (0, f"{talk}: added 5\n", "")

    assert texts(reel, talk) == ["What is a tape deck?", "A machine.", "And who makes them?"]


@pytest.mark.parametrize(
    ("argv", "stdin", "expected"),
    [
        pytest.param(["-"], b"one\ntwo\n", "one\ntwo", id="a dash"),
        pytest.param([], b"piped", "piped", id="left out"),
        pytest.param([], b"two ends\n\n", "two ends\n", id="one line end goes"),
        pytest.param([], b"dos\r\n", "dos", id="a DOS line end goes"),
        pytest.param([], b"\xff\n", "\ufffd", id="no UTF-8"),
        pytest.param(["--", "--role"], None, "--role", id="looks like an option"),
        pytest.param([""], None, "", id="empty"),
    ],
)
def test_add_takes_a_text(reel: Reel, name: str, argv: list[str], stdin: bytes | None, expected: str) -> None:
    """The text comes from the arguments or from stdin."""
    ran = reel("add", "--create", name, *argv, stdin=stdin)

    assert ran.status == 0
    assert texts(reel, name) == [expected]


def test_add_does_not_wait_for_what_was_forgotten(reel: Reel, talk: str) -> None:
    """Nothing on stdin is a mistake, and so is a text in the agent's place."""
    assert reel("add", talk, stdin=b"").err.startswith(f"reel: usage: nothing came from stdin for the agent '{talk}'; ")
    assert reel("add", "two words").err.startswith("reel: usage: no text for the agent 'two words'; ")


def test_add_makes_the_agent_where_it_may(reel: Reel, name: str) -> None:
    """A missing agent is an error that says how to make one."""
    expected = f"reel: not_found: no agent {name}; make it with: reel new {name}, or add with --create\n"

    assert reel("add", name, "hi") == (4, "", expected)
    assert reel("add", name, "hi", "--create") == (0, f"{name}: added 2\n", "")


def test_calls_and_results(reel: Reel, talk: str) -> None:
    """Parallel calls, their results and a failure are told apart."""
    reel("add", talk, "--tool-call", "c1", "search", '{"q":1}', "--tool-call", "c2", "read", "{}")
    reel("add", talk, "--tool-result", "c1", "found it")
    reel("add", talk, "--tool-result", "c2", "-", "--error", stdin=b"no such file\n")

    shown = reel("show", talk, "--last", "3").out.splitlines()
    assert [line for line in shown if "#" not in line] == [
        "  call search  c1",
        '    {"q":1}',
        "  call read  c2",
        "    {}",
        "",
        "  result of search  c1",
        "    found it",
        "",
        "  error of read  c2",
        "    no such file",
    ]


def test_result_without_a_call_is_added_and_noted(reel: Reel, talk: str) -> None:
    """A late result is not lost, but one is told."""
    added = reel("add", talk, "--tool-result", "c9", "late")

    assert added.status == 0
    assert added.err == "reel: note: the result of 5 is for c9, a call that is not open\n"


def test_replaced_characters_are_noted(reel: Reel, talk: str) -> None:
    """What no text can have is replaced, and one is told."""
    assert (
        reel("add", talk, "-", stdin=b"a\x00b").err == "reel: note: characters that no text can have were replaced: 1\n"
    )


def test_file_is_added_as_one(reel: Reel, name: str, tmp_path: Path) -> None:
    """Messages, records and strings are one command, which one undo takes back."""
    file = tmp_path / "messages.jsonl"
    file.write_text('"one"\n\n{"role": "assistant", "content": "two"}\n{"kind": "user", "content": "three"}\n')

    assert reel("add", name, "--create", "--file", str(file)).out == f"{name}: added 2-4\n"
    assert texts(reel, name) == ["one", "two", "three"]
    reel("undo", name)
    assert texts(reel, name) == []


def test_file_error_names_the_line(reel: Reel, talk: str, tmp_path: Path) -> None:
    """Nothing is written, and the line that is wrong is named as an editor counts."""
    file = tmp_path / "messages.jsonl"
    file.write_text('"one"\n\n{"role": "robot", "content": "two"}\n')

    refused = reel("add", talk, "--file", str(file))

    assert refused.status == 1
    assert refused.err.startswith(f"reel: invalid_message: {file} line 3: messages[1].role: ")
    assert len(texts(reel, talk)) == 2


@pytest.mark.parametrize("options", [[], ["--records"]])
def test_conversation_can_be_piped_into_another(reel: Reel, talk: str, options: list[str]) -> None:
    """What show prints as JSON is what add takes; with --records the prompt goes along."""
    copied = reel("show", talk, "--json", *options).out.encode()
    reel("add", f"{talk}-copy", "--create", "--file", "-", stdin=copied)

    assert texts(reel, talk) == texts(reel, f"{talk}-copy")
    assert reel("info", f"{talk}-copy", "--json").documents[0]["system"] == ("Be brief." if options else None)


def test_show_is_plain_when_piped(reel: Reel, talk: str) -> None:
    """Roles, seqs and texts, without colours and without broken lines."""
    lines = reel("show", talk).out.splitlines()

    assert [line.split("  2")[0] for line in lines] == [
        "system",
        "  Be brief.",
        "",
        "user  #3",
        "  What is a tape deck?",
        "",
        "assistant  #4",
        "  A machine.",
    ]


@pytest.mark.parametrize(
    ("options", "expected"),
    [(["--last", "1"], ["A machine."]), (["--at", "3"], ["What is a tape deck?"]), (["--at", "0"], [])],
)
def test_show_a_part(reel: Reel, talk: str, options: list[str], expected: list[str]) -> None:
    """The newest messages, or those that there were."""
    assert expected == texts(reel, talk, *options)


def test_show_records(reel: Reel, talk: str) -> None:
    """Records are shown as they are stored, the prompt among them."""
    assert [r["kind"] for r in reel("show", talk, "--records", "--json").documents] == ["system", "user", "assistant"]
    assert reel("show", talk, "--records").out.startswith("system  #2")


def test_show_goes_on_past_a_page(reel: Reel, name: str) -> None:
    """However many messages there are, all are shown."""
    lines = "\n".join(f'"{n}"' for n in range(2500)).encode()
    reel("add", name, "--create", "--file", "-", stdin=lines)

    assert [str(n) for n in range(2500)] == texts(reel, name)
    assert [str(n) for n in range(300, 2500)] == texts(reel, name, "--last", "2200")


def test_log_has_everything(reel: Reel, talk: str) -> None:
    """What was cleared is still in the log."""
    reel("clear", talk)

    kinds = ["created", "system", "user", "assistant", "clear", "system"]
    assert kinds == [event["kind"] for event in reel("log", talk, "--json").documents]
    assert kinds == [line.split()[2] for line in reel("log", talk).out.splitlines()]


def test_log_can_be_narrowed(reel: Reel, talk: str) -> None:
    """By position and by kind."""
    assert [event["seq"] for event in reel("log", talk, "--since", "2", "--json").documents] == [3, 4]
    picked = reel("log", talk, "--kind", "user", "--kind", "system", "--json").documents
    assert [event["seq"] for event in picked] == [2, 3]


def test_log_of_a_clone_can_begin_before_it(reel: Reel, talk: str) -> None:
    """The source's past stands in front."""
    reel("clone", talk, f"{talk}-2")

    assert [e["kind"] for e in reel("log", f"{talk}-2", "--json").documents] == ["clone"]
    inherited = reel("log", f"{talk}-2", "--inherited", "--json").documents
    assert [e["kind"] for e in inherited] == ["created", "system", "user", "assistant", "clone"]


def test_list(reel: Reel, talk: str) -> None:
    """The living by default, all where one wants, clones under their sources."""
    reel("clone", talk, f"{talk}-2", "--at", "3")
    reel("clone", talk, f"{talk}-3")
    reel("kill", f"{talk}-3")

    def names(*options: str) -> list[str]:
        return [line.split("  ")[0].strip() for line in reel("list", "--prefix", talk, *options).out.splitlines()]

    assert [talk, f"{talk}-2"] == names()
    assert [talk, f"├─ {talk}-2", f"└─ {talk}-3"] == names("--tree", "--all")
    rows = reel("list", "--prefix", talk, "--json").documents
    assert [(row["name"], row.get("source", {}).get("at")) for row in rows] == [(talk, None), (f"{talk}-2", 3)]


def test_info(reel: Reel, talk: str) -> None:
    """What there is to know, and nothing of what there is not."""
    reel("mark", talk, "draft")
    rows = dict(line.split(maxsplit=1) for line in reel("info", talk).out.splitlines())

    assert (rows["name"], rows["messages"], rows["prompt"]) == (talk, "2 (3 records)", "Be brief.")
    assert (rows["marks"], rows["state"]) == ("draft #5", "alive")
    assert "tags" not in rows


def test_clear_and_restore(reel: Reel, talk: str) -> None:
    """What was cleared can be brought back by its seq."""
    assert reel("clear", talk) == (0, f"{talk}: cleared\n", "")
    assert texts(reel, talk) == []
    assert reel("restore", talk, "4") == (0, f"{talk}: as it was at 4\n", "")
    assert len(texts(reel, talk)) == 2


def test_mark_and_rewind(reel: Reel, talk: str) -> None:
    """A rewind goes to the label, or to the newest mark that something was said after."""
    assert reel("mark", talk, "draft").out == f"{talk}: mark draft at 5\n"
    reel("add", talk, "dropped")
    assert reel("rewind", talk, "draft").out == f"{talk}: back at mark 5, 1 record dropped\n"
    reel("add", talk, "dropped")
    assert reel("rewind", talk).out == f"{talk}: back at mark 5, 1 record dropped\n"
    assert len(texts(reel, talk)) == 2


def test_rewind_to_nowhere(reel: Reel, talk: str) -> None:
    """The error lists the labels that there are."""
    reel("mark", talk, "draft")
    refused = reel("rewind", talk, "darft")

    assert refused.status == 1
    assert refused.err.startswith("reel: no_such_mark: no living mark has the label darft")
    assert "draft" in refused.err


def test_undo_and_redo(reel: Reel, talk: str) -> None:
    """Back and forth, until there is nothing left."""
    assert reel("undo", talk).out == f"{talk}: took back command 4\n"
    assert len(texts(reel, talk)) == 1
    assert reel("redo", talk).out == f"{talk}: brought back command 4\n"
    assert len(texts(reel, talk)) == 2
    refused = reel("redo", talk)
    assert refused.status == 1
    assert refused.err.startswith("reel: nothing_to_undo: ")
    assert refused.err.endswith(f"see what happened with: reel log {talk}\n")


def test_clone(reel: Reel, talk: str) -> None:
    """A clone goes its own way; one into another replaces what that one had."""
    assert reel("clone", talk, f"{talk}-2", "--at", "3") == (0, f"{talk}-2\n", "")
    assert texts(reel, f"{talk}-2") == ["What is a tape deck?"]
    assert reel("clone", talk, "--into", f"{talk}-2") == (0, f"{talk}-2\n", "")
    assert len(texts(reel, f"{talk}-2")) == 2
    assert reel("clone", talk, "name", "--into", f"{talk}-2").status == 2


def test_kill_and_revive(reel: Reel, talk: str) -> None:
    """The dead can be read and revived, not added to."""
    assert reel("kill", talk, "--reason", "done").out == f"{talk}: killed\n"
    assert reel("kill", talk).out == f"{talk}: was dead already\n"
    refused = reel("add", talk, "hi")
    assert refused.status == 1
    assert refused.err.endswith(f"; bring it back with: reel revive {talk}\n")
    assert len(texts(reel, talk)) == 2
    assert reel("revive", talk).out == f"{talk}: lives\n"
    assert reel("revive", talk).out == f"{talk}: lives already\n"


def test_kill_cascade_names_the_clones(reel: Reel, talk: str) -> None:
    """Who died too is said by id, by which it can be revived."""
    reel("clone", talk, f"{talk}-2")
    clone = reel("info", f"{talk}-2", "--json").documents[0]["id"]

    assert reel("kill", talk, "--cascade").out == f"{talk}: killed, with {clone}\n"
    assert reel("revive", clone).out == f"{talk}-2: lives\n"


def test_rename(reel: Reel, talk: str) -> None:
    """The new name is found, the old one is free."""
    assert reel("rename", talk, f"new-{talk}").out == f"{talk}: is called new-{talk} now\n"
    assert reel("show", talk).status == 4
    assert len(texts(reel, f"new-{talk}")) == 2


def test_title(reel: Reel, talk: str) -> None:
    """A title is set, and an empty one takes it away."""
    assert reel("title", talk, "Of tapes").out == f"{talk}: Of tapes\n"
    assert reel("info", talk, "--json").documents[0]["title"] == "Of tapes"
    assert reel("title", talk, "").out == f"{talk}: no title\n"
    assert reel("info", talk, "--json").documents[0]["title"] is None
    assert reel("title", talk).status == 2


def test_tag(reel: Reel, talk: str) -> None:
    """Tags are changed one by one."""
    assert reel("tag", talk, "a=1", "b=2").out == f"{talk}: a=1 b=2\n"
    assert reel("tag", talk, "a-", "b=3").out == f"{talk}: b=3\n"
    assert reel("tag", talk, "b-").out == f"{talk}: no tags\n"
    assert reel("tag", talk, "b=1", "--if-seq", "1").status == 5


def test_too_many_lines(reel: Reel, talk: str) -> None:
    """What is too much for one command is refused with the command line that adds it in parts."""
    refused = reel("add", talk, "--file", "-", stdin=b'"x"\n' * 70_000)

    assert (refused.status, refused.out) == (1, "")
    assert refused.err == (
        "reel: too_large: 70,000 messages are more than one command can add (65,536, and 16 MiB); "
        f"add them in parts with: split -l 5000 '--filter=reel add {talk} --file -' -\n"
    )
    assert reel("add", talk, "--file", "-", stdin=b'"' + b"x" * (17 << 20) + b'"').err.endswith("; send it in parts\n")


def test_replay(reel: Reel, talk: str) -> None:
    """The log and the running state say the same."""
    assert reel("replay", talk).out == f"{talk}: 2 messages at 4; the running state is the same\n"
    assert reel("replay", talk, "--at", "3", "--strict").out == f"{talk}: 1 messages at 3\n"
    document = reel("replay", talk, "--json").documents[0]
    assert (document["matched"], document["skipped"], len(document["messages"])) == (True, [], 2)


def test_replay_is_whole(reel: Reel, name: str) -> None:
    """A replay of many pages is one document; for people one page says enough."""
    lines = b'"x"\n' * 10_001
    reel("add", name, "--create", "--file", "-", stdin=lines)

    assert len(reel("replay", name, "--json").documents[0]["messages"]) == 10_001
    assert reel("replay", name).out == f"{name}: more than 10000 messages at 10002; the running state is the same\n"


def test_default_agent(reel: Reel, talk: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With $REEL_AGENT the agent may be left out, and another one can still be named."""
    reel("clone", talk, f"{talk}-2")
    monkeypatch.setenv("REEL_AGENT", talk)
    reel("add", "to the default")
    reel("mark", "here")
    reel("tag", "a=b")
    reel("add", f"{talk}-2", "to the other")
    reel("add", "-a", f"{talk}-2", "and again")

    assert texts(reel, talk)[2:] == ["to the default"]
    assert texts(reel, f"{talk}-2")[2:] == ["to the other", "and again"]
    info = reel("info", "--json").documents[0]
    assert (info["name"], info["marks"], info["tags"]) == (talk, [{"label": "here", "seq": 6}], {"a": "b"})


def test_conflict_has_its_own_status(reel: Reel, talk: str) -> None:
    """A script can tell that somebody was faster."""
    refused = reel("add", talk, "hi", "--if-seq", "3")

    assert refused.status == 5
    assert refused.err.startswith(f"reel: conflict: agent {talk} is at 4, not at 3")


_CHANGES: dict[str, tuple[str, ...]] = {
    "add": ("hi",),
    "edit": (),
    "clear": (),
    "clone": ("{}-2",),
    "mark": ("label",),
    "rewind": (),
    "restore": ("3",),
    "undo": (),
    "redo": (),
    "kill": (),
    "revive": (),
    "rename": ("{}-new",),
    "title": ("Of tapes",),
    "tag": ("a=b",),
    "ingest": ("--format", "openai-chat"),
    "load": ("--format", "openai-chat"),
}
_BODIES = {
    "ingest": b'{"choices": [{"message": {"role": "assistant", "content": "Hi"}}]}',
    "load": b'{"messages": [{"role": "user", "content": "Hi"}]}',
}


@pytest.mark.parametrize("command", _CHANGES)
def test_changes_answer_in_the_words_of_the_protocol(
    reel: Reel, talk: str, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With --json there is one document on stdout, and nothing on stderr."""
    monkeypatch.setenv("VISUAL", "sh -c 'echo hi > \"$0\"'")
    for prepared in (
        ["mark", talk],
        ["add", talk, "more"],
        ["undo", talk],
        *([["kill", talk]] * (command == "revive")),
    ):
        reel(*prepared)
    if command == "rewind":
        reel("redo", talk)

    ran = reel(command, talk, *(word.format(talk) for word in _CHANGES[command]), "--json", stdin=_BODIES.get(command))

    assert (ran.status, ran.err) == (0, "")
    assert {"command", "head", "time"} <= ran.documents[0].keys()


def test_every_change_is_tried_above() -> None:
    """A new command that writes needs a row in the table of this test."""
    assert {command.name for command in COMMANDS if command.writes} == {*_CHANGES, "new"}


def test_status_and_socket(reel: Reel, daemon: str) -> None:
    """The daemon is described to people and to programs."""
    assert reel("socket").out == f"{daemon}\n"
    document = reel("status", "--json").documents[0]
    assert (document["running"], document["socket"], document["server"]["name"]) == (True, daemon, "reeld")
    assert {f"socket         {daemon}", f"SQLite         {SQLITE}"} <= set(reel("status").out.splitlines())


def test_socket_option_goes_before_the_variable(reel: Reel, daemon: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The option may stand before or after the command."""
    monkeypatch.setenv("REEL_SOCKET", "/none.sock")

    assert reel("list").status == 3
    assert reel("--socket", daemon, "list").status == 0
    assert reel("list", "--socket", daemon).status == 0


class _Interrupted(io.BytesIO):
    """A stdin whose reader presses Ctrl-C."""

    def read(self, _size: int | None = -1, /) -> bytes:
        raise KeyboardInterrupt


def test_interrupt_is_quiet(reel: Reel, talk: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C ends the command as a shell expects, without a word."""
    stdin: Any = io.TextIOWrapper(_Interrupted())
    monkeypatch.setattr("sys.stdin", stdin)

    assert reel("add", talk, "-") == (130, "", "")


def test_text_cannot_drive_the_terminal(reel: Reel, name: str) -> None:
    """Neither show nor log nor list nor JSON lets a control character through."""
    evil = "\x1b[2J\x9b\x07\u202e"
    reel("new", name, "--title", evil, "--system", evil, "--tag", f"t={evil}")
    reel("add", name, evil)
    reel("mark", name, evil)

    for argv in (
        ["show", name],
        ["show", name, "--json"],
        ["log", name],
        ["list"],
        ["info", name],
        ["info", name, "--json"],
    ):
        out = reel(*argv).out
        assert "[2J" in out
        assert not set(evil) & set(out) - set("[2J")


def test_json_is_what_went_in(reel: Reel, talk: str) -> None:
    """Escapes of JSON are undone by who reads it."""
    text = "\x1b é 日 \u202e 😀\u2028 end"
    reel("add", talk, text)

    assert text == json.loads(reel("show", talk, "--json").out.split("\n")[-2])["content"][0]["text"]
