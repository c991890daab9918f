"""``reel import``."""

import json
import os
import sys
from fcntl import LOCK_EX, LOCK_UN, flock
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reel.importing.sources.files import MAX_LINE
from reel.sync.client import Client
from tests.forkserver import ForkedDaemon
from tests.patience import PATIENCE
from tests.reel.cli.conftest import Reel, texts
from tests.reel.cli.running import started, talking
from tests.reel.importing.exported import Tree, write
from tests.reel.importing.rollouts import Lines
from tests.reel.importing.transcripts import Transcript, call


@pytest.fixture
def session(name: str) -> str:
    """The id of a session that no other test uses."""
    return name.lower()[-40:].strip("-")


@pytest.fixture
def agent(session: str) -> str:
    """The agent that the session becomes."""
    return f"claude-code/{session}"


@pytest.fixture(autouse=True)
def _home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A home directory without histories."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.delenv("CODEX_HOME", raising=False)
    monkeypatch.setenv("PWD", str(tmp_path))


def three_turns(session: str) -> Transcript:
    """Return a session in which the second prompt was taken back."""
    made = (
        Transcript(session).user("u1", "Hi").answer("a1", "Hello", "m1").user("u2", "Wrong").answer("a2", "Why", "m2")
    )
    return made.user("u3", "Right", after="a1").answer("a3", "Fine", "m3")


def save(made: Transcript, tmp_path: Path) -> str:
    """Write a transcript where the tool would, and return the path."""
    return str(made.write(tmp_path / ".claude/projects/-home-me" / f"{made.session}.jsonl"))


def test_a_file_that_cannot_be_read(reel: Reel, session: str, tmp_path: Path) -> None:
    """What can be read is imported; the status tells a program that it is not all, at each import until it is."""
    whole, damaged = tmp_path / "conversations.json", tmp_path / "export.zip"
    write(whole, Tree(session).said("u", "user", "Hi").exported())
    damaged.write_bytes(b"PK\3\4")

    for options in (["--dry-run"], [], []):
        ran = reel("import", "chatgpt", str(whole), str(damaged), *options)
        assert (1, True) == (ran.status, "the archive cannot be read" in ran.err)
    assert ["Hi"] == texts(reel, f"chatgpt/{session}")
    assert 0 == reel("import", "chatgpt", str(whole)).status


@pytest.mark.parametrize(("nice", "expected"), [(0, 5), (7, 7)])
def test_others_come_first(
    reel: Reel, session: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nice: int, expected: int
) -> None:
    """An import has a low priority, or the lower one that somebody has given it; a dry run holds up nobody."""
    given: list[tuple[int, int, int]] = []
    monkeypatch.setattr(os, "getpriority", lambda *_: nice)
    monkeypatch.setattr(os, "setpriority", lambda *values: given.append(values))
    path = save(three_turns(session), tmp_path)
    reel("import", "claude-code", path, "--dry-run")
    assert [] == given
    reel("import", "claude-code", path)

    assert [(os.PRIO_PROCESS, 0, expected)] == given


def forget(tmp_path: Path) -> None:
    """Remove what says which files have been imported."""
    (tmp_path / "reel/imported.json").unlink(missing_ok=True)


def test_what_is_found_is_imported(reel: Reel, client: Client, session: str, agent: str, tmp_path: Path) -> None:
    """All that is found is listed and imported, with title, tags and the messages that are current."""
    save(three_turns(session).other(type="ai-title", aiTitle="Greeting"), tmp_path)

    ran = reel("import", "--yes")

    assert (0, "") == (ran.status, ran.err)
    assert ran.out.splitlines()[0].startswith("claude-code  1  ")
    assert [
        "Claude Code: 1 conversation imported; 6 messages",
        "  7 records: 7 used",
    ] == ran.out.splitlines()[1:]
    info = client.agent(agent)
    assert ("Greeting", "/home/me/deck", "main") == (info.title, info.tags["cwd"], info.tags["branch"])
    assert ["Hi", "Hello", "Right", "Fine"] == texts(reel, agent)


def test_a_session_of_several_files_is_one_conversation(reel: Reel, session: str, tmp_path: Path) -> None:
    """It is counted so before it is imported, and in what is said of the reading afterwards."""
    save(three_turns(session), tmp_path)
    three_turns(session).write(tmp_path / ".claude/projects/-home-you" / f"{session}.jsonl")

    ran = reel("import", "--yes")

    assert ran.out.splitlines()[0].startswith("claude-code  1  ")
    assert ", 1 conversation" in reel("status").out


def test_what_was_imported_is_found_at_once(
    reel: Reel, client: Client, session: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An import ends when a search finds what it brought in."""
    monkeypatch.setattr("reel.cli.commands.shared.search_index.PATIENCE", PATIENCE)  # this machine may be busy

    reel("import", "claude-code", save(Transcript(session).user("u1", f"only {session}"), tmp_path))

    assert 1 == len(client.search(f'"only {session}"').hits)


def test_what_was_taken_back_is_in_the_log(
    reel: Reel, client: Client, session: str, agent: str, tmp_path: Path
) -> None:
    """A branch that was left at the source can be restored."""
    reel("import", "claude-code", save(three_turns(session), tmp_path))
    (left,) = [event["seq"] for event in client.iter_history(agent) if event["content"] == "Why"]

    reel("restore", agent, str(left))

    assert ["Hi", "Hello", "Wrong", "Why"] == texts(reel, agent)


def test_times_are_those_of_the_source(reel: Reel, client: Client, session: str, agent: str, tmp_path: Path) -> None:
    """A message has the time when it was said."""
    reel("import", "claude-code", save(three_turns(session), tmp_path))

    assert [1785578400000, 1785578401000] == [message["sent"] for message in client.messages(agent).messages[:2]]


def test_import_again(reel: Reel, client: Client, session: str, agent: str, tmp_path: Path) -> None:
    """What is imported twice is there once, whether or not it is known that the file was imported."""
    save(three_turns(session), tmp_path)
    reel("import", "--yes")
    head = client.agent(agent).head

    again = [reel("import", "--yes").out.splitlines()[1:]]
    forget(tmp_path)
    again.append(reel("import", "--yes").out.splitlines()[1:2])

    assert [["Claude Code: nothing new in 1 conversation"]] * 2 == again
    assert client.agent(agent).head == head


def test_tokens_of_an_answer_that_grew(reel: Reel, client: Client, session: str, agent: str, tmp_path: Path) -> None:
    """An answer that was imported while it arrived has the tokens of its last state; an older copy changes nothing."""
    made = Transcript(session).user("u1", "Hi").answer("a1", "One", "m1").answer("a2", "Two", "m1")
    lines = made.answer("a3", "Three", "m1").user("u2", "Bye").answer("a4", "Bye", "m2").lines()
    path = Path(save(made, tmp_path))
    seen = []
    for end in (2, 3, 4, 6, 6, 2):
        path.write_text("".join(lines[:end]))
        forget(tmp_path)
        reel("import", "claude-code", str(path))
        (row,) = reel("usage", agent, "--json").documents
        seen.append((row["responses"], row["in"], row["out"]))

    assert [(1, 3, 1), (1, 3, 2), (1, 3, 3), (2, 6, 8), (2, 6, 8), (2, 6, 8)] == seen
    assert 4 == sum(event["kind"] == "usage" for event in client.iter_history(agent))


@pytest.mark.slow
def test_grown_files(reel: Reel, session: str, tmp_path: Path) -> None:
    """A file that is imported at any line, and again when it is complete, is as if it had been imported once."""
    made = Transcript("x").user("u1", "Hi").answer("a1", call("c1"), "m1").answer("a2", call("c2"), "m1")
    made.result("r2", "c2", "Two").result("r1", "c1", "One", after="a1").answer("a3", "Done", "m2").user("u2", "More")
    made.record("system", "b1", after=None, subtype="compact_boundary").user("s1", "Sum", isCompactSummary=True)
    lines = made.answer("a4", "Right", "m3").user("u4", "Again", after="s1").answer("a5", "Good", "m4").lines()
    path = tmp_path / "x"
    ends = []
    for cut in range(len(lines) + 1):
        file = path / f"{session}-{cut}.jsonl"
        path.mkdir(exist_ok=True)
        file.write_text("".join(lines[:cut]))
        reel("import", "claude-code", str(file))
        file.write_text("".join(lines))
        reel("import", "claude-code", str(file))
        ends.append(reel("show", f"claude-code/{session}-{cut}", "--json").documents)

    blocks = [[(m["role"], _plain(block)) for m in end for block in m["content"]] for end in ends]
    assert [blocks[0]] * len(blocks) == blocks
    assert 3 == len(blocks[0])


def _plain(block: dict[str, Any]) -> str:
    return json.dumps({key: value for key, value in block.items() if key != "provider_metadata"})


def test_compaction(reel: Reel, client: Client, session: str, agent: str, tmp_path: Path) -> None:
    """The summary is current, with what is preserved after it; what it stands for is in the log, and in a list."""
    made = (
        Transcript(session).user("u1", "Hi").answer("a1", "Hello", "m1").user("u2", "Keep").answer("a2", "Kept", "m2")
    )
    segment = {"preservedSegment": {"headUuid": "u2", "tailUuid": "a2"}}
    made.record("system", "b1", after=None, subtype="compact_boundary", compactMetadata=segment)
    made.user("s1", "Summary", isCompactSummary=True).user("u3", "Go on", after="a2")
    save(made, tmp_path)
    reel("import", "--yes")
    head = client.agent(agent).head
    forget(tmp_path)
    reel("import", "--yes")

    assert ["Summary", "Keep", "Kept", "Go on"] == texts(reel, agent)
    assert "Hello" in [event["content"] for event in client.iter_history(agent)]
    assert ["Hi"] == [row.first_words for row in client.agents(prefix=agent, details=True).agents]
    assert client.agent(agent).head == head


def test_forks_are_clones(reel: Reel, client: Client, session: str, agent: str, tmp_path: Path) -> None:
    """A fork that the tool made is a clone: its beginning is not stored twice."""
    save(three_turns(session), tmp_path)
    fork = Transcript(f"{session}-fork").user("u1", "Hi", sessionKind="bg").answer("a1", "Hello", "m1")
    save(fork.user("f1", "Fork").answer("f2", "Branch", "m9"), tmp_path)

    reel("import", "--yes")

    info = client.agent(f"{agent}-fork")
    assert ["Hi", "Hello", "Fork", "Branch"] == texts(reel, f"{agent}-fork")
    assert info.source is not None
    assert info.source.agent == client.agent(agent).id
    assert ["Fork"] == [event["content"] for event in client.iter_history(f"{agent}-fork") if event["kind"] == "user"]


def test_conversation_that_was_changed_here(reel: Reel, session: str, agent: str, tmp_path: Path) -> None:
    """A conversation that somebody went on with here is not written to: a clone takes what is new, again and again."""
    made = three_turns(session)
    save(made, tmp_path)
    reel("import", "--yes")
    reel("add", agent, "Mine")
    save(made.user("u4", "Theirs"), tmp_path)

    ran = reel("import", "--yes")
    save(made.answer("a4", "More", "m4"), tmp_path)
    reel("import", "--yes")

    assert f"  {agent} was changed here; what is new is in {agent}@2" in ran.out.splitlines()
    assert ["Right", "Fine", "Mine"] == texts(reel, agent)[2:]
    assert ["Right", "Fine", "Theirs", "More"] == texts(reel, f"{agent}@2")[2:]


def test_renamed_and_described_here(reel: Reel, client: Client, session: str, agent: str, tmp_path: Path) -> None:
    """A conversation is found by its tag if it was renamed; a title and a tag of one's own stay."""
    made = three_turns(session)
    save(made, tmp_path)
    reel("import", "--yes")
    reel("rename", agent, f"{session}-mine")
    reel("title", f"{session}-mine", "Mine")
    reel("tag", f"{session}-mine", "topic=tapes")
    save(made.user("u4", "More").other(type="ai-title", aiTitle="Theirs"), tmp_path)

    reel("import", "--yes")

    info = client.agent(f"{session}-mine")
    assert ("Mine", "tapes") == (info.title, info.tags["topic"])
    assert "More" == texts(reel, f"{session}-mine")[-1]


def test_killed_here(reel: Reel, session: str, agent: str, tmp_path: Path) -> None:
    """A conversation that was killed here is left alone, and the output says so."""
    made = three_turns(session)
    save(made, tmp_path)
    reel("import", "--yes")
    reel("kill", agent)
    save(made.user("u4", "More"), tmp_path)

    assert f"  {agent} was killed here, and was left alone" in reel("import", "--yes").out.splitlines()


def test_purged_here(reel: Reel, session: str, agent: str, tmp_path: Path) -> None:
    """A conversation that was purged stays away until it is asked for, and the purge says which file still has it."""
    path = save(three_turns(session), tmp_path)
    reel("import", "--yes")

    assert f"{path} still has it; reel import leaves it out" in reel("purge", agent, "--yes").err
    line = f"  {agent} was purged here, and stays away; bring it back with: reel import --restore-purged"
    assert [line] == [found for found in reel("import", "--yes").out.splitlines() if "purged" in found]
    assert [agent] == reel("import", "--yes", "--json").documents[0]["purged"]
    assert 4 == reel("show", agent).status
    assert "purged" not in reel("import", "--yes", "--restore-purged").out
    assert 0 == reel("show", agent).status
    reel("kill", agent)
    assert "purged" not in reel("import", "--yes").out


def test_killed_and_revived_here(reel: Reel, session: str, agent: str, tmp_path: Path) -> None:
    """A conversation that was killed is not taken for none, and gets what is new once it was revived."""
    made = three_turns(session)
    path = save(made, tmp_path)
    reel("import", "claude-code", path)
    reel("kill", agent)
    save(made.user("u4", "More"), tmp_path)

    ran = [reel("import", "claude-code", path) for _ in range(2)]
    reel("revive", agent)
    reel("import", "claude-code", path)

    assert [(0, "")] * 2 == [(one.status, one.err) for one in ran]
    assert "More" == texts(reel, agent)[-1]


def test_a_message_that_the_daemon_refuses(reel: Reel, session: str, tmp_path: Path) -> None:
    """A line as long as a line may be makes a request that is too long: it is named, and all others are imported."""
    path = tmp_path / f"{session}.jsonl"
    lines = [json.dumps({"role": role, "content": text}) for role, text in (("user", "Hi"), ("assistant", "Yes?"))]
    longest = json.dumps({"role": "user", "content": ""})
    longest = longest.replace('""', f'"{"x" * (MAX_LINE - len(longest))}"')
    path.write_text("\n".join([*lines, longest, *lines]) + "\n")

    ran, again = reel("import", "jsonl", str(path)), reel("import", "jsonl", str(path))

    assert ran.err.startswith(f"reel: {path}:3: not imported: ")
    assert (0, 1) == (ran.status, len(ran.err.splitlines()))
    assert "JSONL: 1 conversation imported; 4 messages" == ran.out.splitlines()[0]
    assert ["Hi", "Yes?", "Hi", "Yes?"] == texts(reel, f"jsonl/{session}")
    assert "JSONL: nothing new in 1 conversation\n" == again.out


def test_another_tool_before(reel: Reel, session: str, tmp_path: Path) -> None:
    """A file in which one tool found nothing is read for another one."""
    path = tmp_path / f"{session}.jsonl"
    path.write_text('{"role": "user", "content": "Hi"}\n')

    ran = [reel("import", tool, str(path)).status for tool in ("claude-code", "jsonl", "claude-code")]

    assert [1, 0, 1] == ran
    assert ["Hi"] == texts(reel, f"jsonl/{session}")


def test_a_file_whose_earlier_lines_were_edited(reel: Reel, session: str, tmp_path: Path) -> None:
    """A line that says something else than when it was imported is reported; what follows it is imported."""
    lines = [json.dumps({"role": role, "content": text}) for role, text in (("user", "Hi"), ("assistant", "Yes?"))]
    path = tmp_path / f"{session}.jsonl"
    outcomes = []
    edited = [lines[0].replace("Hi", "Bye"), lines[1]]
    for written in (lines, edited, [*edited, lines[0]]):
        path.write_text("".join(f"{line}\n" for line in written))
        ran = reel("import", "jsonl", str(path))
        outcomes.append((ran.out.splitlines()[0].partition(": ")[2], ran.err))

    problem = f"reel: {path}:1: changed since it was imported; jsonl/{session} keeps what it said\n"
    assert [
        ("1 conversation imported; 2 messages", ""),
        ("1 changed, not imported; 0 messages", problem),
        ("1 went on, 1 changed, not imported; 1 message", problem),
    ] == outcomes
    assert ["Hi", "Yes?", "Hi"] == texts(reel, f"jsonl/{session}")


def test_a_file_that_is_read_again_says_the_same(reel: Reel, session: str, tmp_path: Path) -> None:
    """Whatever a line has, nothing is reported if it is read again and was not edited."""
    odd = "x\x00y \ud800 \u0301 1e999 \n"
    calls = [{"id": "c1", "type": "function", "function": {"name": "ls", "arguments": '{"a": 1e400}'}}]
    lines: list[dict[str, Any]] = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": odd},
        {"role": "assistant", "content": None, "tool_calls": calls, "reasoning": "Hm."},
        {"role": "tool", "tool_call_id": "c1", "content": odd},
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]},
        {"type": "function_call", "call_id": "c2", "name": "ls", "arguments": "not JSON"},
        {"type": "function_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "x"}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c3", "name": "ls", "input": {"a": [1, "b"]}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c3", "content": [], "is_error": True}]},
        {"role": "model", "parts": [{"text": "Fine"}, {"functionCall": {"name": "ls", "args": {"n": 1.0}}}]},
    ]
    path = tmp_path / f"{session}.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    reel("import", "jsonl", str(path))
    forget(tmp_path)

    assert (0, "JSONL: nothing new in 1 conversation\n", "") == reel("import", "jsonl", str(path))


@pytest.mark.parametrize("is_killed", [False, True])
def test_a_redaction_of_an_answer_that_grew(
    reel: Reel, daemon: str, session: str, agent: str, tmp_path: Path, is_killed: bool
) -> None:
    """Its first parts go with it; another conversation of the same session is named, by its id if its name is free."""
    made = Transcript(session).user("u1", "Hi").answer("a1", "It is hunter2.", "m1").answer("a2", call("c1"), "m1")
    made.user("u2", "Thanks").answer("b1", "So it is hunter2.", "m2").answer("b2", call("c2"), "m2")
    with Client(daemon) as client:
        for lines in (2, 5, 6):
            path = tmp_path / ".claude/projects/-home-me" / f"{session}.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(made.lines()[:lines]))
            reel("import", "--yes")
            if lines == 5:
                client.add(agent, "Bye")
        where: dict[tuple[str, bool], list[int]] = {}
        for name in (agent, f"{agent}@2"):
            live = {record["seq"] for record in client.iter_conversation(name)}
            for event in client.iter_history(name, inherited=True):
                if "hunter2" in json.dumps(event):
                    where.setdefault((name, event["seq"] in live), []).append(event["seq"])
        (first, second), (half,) = where[agent, True], where[agent, False]
        beside = f"{agent}@2"
        if is_killed:
            other = client.agent(beside)
            client.kill(beside)
            client.create(beside, tags=other.tags)
            beside = other.id

        one = reel("redact", agent, "--seq", str(first), "--yes")
        two = reel("redact", agent, "--seq", str(second), "--yes")
        left = where[f"{agent}@2", True][-1]
        reel("redact", beside, "--seq", str(left), "--yes")

        assert f"other versions that imports have added go as well: #{half}\n" in one.out
        assert "" == one.err
        command = f"reel redact {beside} --seq {left}"
        assert f"{agent}@2, of the same origin, has it as well: #{left}; remove it there with: {command}\n" in two.err
        events = [*client.iter_history(agent), *client.iter_history(beside, inherited=True)]
        assert "hunter2" not in json.dumps(events)


@pytest.mark.parametrize("how", [("--text", "hunter2"), ("--match", "hunter[0-9]")])
def test_a_text_that_is_redacted_where_a_conversation_was_before(
    reel: Reel, daemon: str, session: str, agent: str, tmp_path: Path, how: tuple[str, str]
) -> None:
    """Who has gone on beside it is named if it has said the text again, and what both have is gone in both."""
    made = Transcript(session).user("u1", "It is hunter2.")
    path = tmp_path / ".claude/projects/-home-me" / f"{session}.jsonl"
    path.parent.mkdir(parents=True)
    with Client(daemon) as client:
        path.write_text("".join(made.lines()))
        reel("import", "--yes")
        client.add(agent, "Bye")
        path.write_text("".join(made.answer("a1", 'So it is "hunter2".', "m1").lines()))
        reel("import", "--yes")
        (left,) = [event["seq"] for event in client.iter_history(f"{agent}@2") if "hunter2" in json.dumps(event)]
        one = reel("redact", agent, *how, "--yes")
        two = reel("redact", f"{agent}@2", *how, "--yes")
        events = [*client.iter_history(agent), *client.iter_history(f"{agent}@2", inherited=True)]

    command = f"reel redact {agent}@2 --text WORDS"
    assert f"{agent}@2, of the same origin, has it as well: #{left}; remove it there with: {command}\n" in one.err
    assert "of the same origin" not in two.err
    assert "hunter2" not in json.dumps(events)


def test_what_was_redacted_is_no_edit(reel: Reel, session: str, tmp_path: Path) -> None:
    """A message that was redacted here differs from its file, and nothing is said about it."""
    path = tmp_path / f"{session}.jsonl"
    path.write_text('{"role": "user", "content": "my secret"}\n')
    reel("import", "jsonl", str(path))
    reel("redact", f"jsonl/{session}", "--text", "secret", "--yes")
    path.write_text('{"role": "user", "content": "my secret"}\n\n')
    ran = reel("import", "jsonl", str(path))

    assert (0, "") == (ran.status, ran.err)
    assert "nothing new in 1 conversation" in ran.out
    assert "secret" not in "".join(texts(reel, f"jsonl/{session}"))


def test_a_file_that_becomes_readable(
    reel: Reel, session: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that could not be read is read by the next import, although it did not change meanwhile."""
    path = Lines(session).said("user", "Hi").write(tmp_path / f"rollout-x-{session}.jsonl.zst")
    monkeypatch.setitem(sys.modules, "compression.zstd", None)
    monkeypatch.setitem(sys.modules, "backports.zstd", None)
    before = reel("import", "codex", str(path))
    monkeypatch.setitem(sys.modules, "backports.zstd", SimpleNamespace(ZstdFile=lambda file: file))
    after = reel("import", "codex", str(path))

    assert "pip install" in before.err
    assert (1, 0, "") == (before.status, after.status, after.err)
    assert ["Hi"] == texts(reel, f"codex/{session}")


def test_files_of_the_same_name(reel: Reel, client: Client, session: str, tmp_path: Path) -> None:
    """Files of the same name are conversations of their own, one by one and together; a moved file is the same one."""
    paths = [tmp_path / f"{number}/x/{session}.jsonl" for number in range(3)]
    for path in paths:
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({"role": "user", "content": f"Hi from {path.parent.parent.name}"}) + "\n")

    outcomes = [reel("import", "jsonl", str(path)).out.splitlines()[0] for path in [*paths[:2], tmp_path]]
    forget(tmp_path)
    paths[0].rename(tmp_path / f"{session}.jsonl")
    outcomes.append(reel("import", "jsonl", str(tmp_path)).out.splitlines()[0])

    assert [
        "JSONL: 1 conversation imported; 1 message",
        "JSONL: 1 conversation imported; 1 message",
        "JSONL: 1 conversation imported, 2 unchanged; 1 message",
        "JSONL: nothing new in 3 conversations",
    ] == outcomes
    names = [row.name for row in client.iter_agents(prefix=f"jsonl/{session}")]
    assert {f"Hi from {number}" for number in range(3)} == {texts(reel, name)[0] for name in names}
    assert f"jsonl/{session}" in names


def test_a_name_of_any_bytes(reel: Reel, session: str, tmp_path: Path) -> None:
    """A file whose name is not UTF-8 is imported, and so are the others."""
    for name in (b"\xff", b"z"):
        path = os.fsencode(tmp_path / session) + name + b".jsonl"
        Path(os.fsdecode(path)).write_text('{"role": "user", "content": "Hi"}\n')

    ran = reel("import", "jsonl", str(tmp_path))

    assert (0, "") == (ran.status, ran.err)
    assert ran.out.startswith("JSONL: 2 conversations imported; 2 messages")


def test_a_call_that_no_message_can_hold(reel: Reel, session: str, agent: str, tmp_path: Path) -> None:
    """A block that the daemon would refuse is kept whole, and the report counts it; the others are imported."""
    made = Transcript(session).user("u1", "Hi").answer("a1", {**call("c1"), "name": "x" * 2000}, "m1").user("u2", "Bye")
    save(made, tmp_path)

    ran = reel("import", "--yes")

    assert ["  3 records: 3 used", "  1 damaged part in them, kept whole (tool_call 1)"] == ran.out.splitlines()[-2:]
    kinds = [message["content"][0]["type"] for message in reel("show", agent, "--json").documents]
    assert ["text", "opaque", "text"] == kinds


def test_broken_lines(reel: Reel, session: str, agent: str, tmp_path: Path) -> None:
    """A line that is not JSON is reported; the others are imported."""
    path = save(three_turns(session), tmp_path)
    Path(path).write_text(Path(path).read_text().replace('{"parentUuid": "u1"', "{nonsense", 1))

    ran = reel("import", "--yes")

    assert ran.err.startswith(f"reel: {path}:2: not JSON: ")
    assert "Right" in texts(reel, agent)


def test_lines_that_are_still_broken(reel: Reel, session: str, tmp_path: Path) -> None:
    """Each import says in one line what is broken in a file that it does not read again, until that is mended."""
    path = tmp_path / f"{session}.jsonl"
    said = '{"role": "user", "content": "Hi"}\n'
    path.write_text(f"{said}{{nonsense\n{said}nor this\n")
    command = ["import", "jsonl", str(path)]

    first, *later = (reel(*command).err.splitlines() for _ in range(3))
    listed = reel(*command, "--json").documents[0]["problems"]
    path.write_text(said * 4)
    mended = [reel(*command).err for _ in range(2)]

    why = f"reel: {path}:2: not JSON: "
    assert [True, f"reel: {path}:4: not JSON: "] == [first[0].startswith(why), first[1][: len(why)]]
    assert [[f"{first[0]}, and 1 more problem in it"]] * 2 == later
    assert [f"{first[0]}, and 1 more problem in it"] == [f"reel: {problem}" for problem in listed]
    assert ["", ""] == mended


def test_dry_run(reel: Reel, session: str, agent: str, tmp_path: Path) -> None:
    """A dry run says what is there, whether it was imported or not, and imports nothing."""
    save(three_turns(session), tmp_path)

    ran = reel("import", "--dry-run")
    missing = reel("show", agent).status
    reel("import", "--yes")

    assert "Claude Code: 1 conversation found; 6 messages" in ran.out
    assert 4 == missing
    assert ran.out == reel("import", "--dry-run").out


def test_files_with_several_conversations(reel: Reel, session: str, tmp_path: Path) -> None:
    """Conversations are counted, not files: before they are read, by a dry run, and if nothing is new."""
    trees = [Tree(f"{session}-{number}").said("u", "user", "Hi").exported() for number in range(3)]
    path = str(write(tmp_path / "conversations.json", *trees))
    run = "# aider chat started at 2026-01-0{}\n\n#### Hi\n\nHello\n"
    (tmp_path / ".aider.chat.history.md").write_text("".join(map(run.format, ("1 10:00:00", "2 10:00:00"))))
    (tmp_path / "empty.jsonl").write_text('{"type":"mode"}\n')

    found = [reel("import", "chatgpt", path, *options).out.splitlines()[0] for options in (["--dry-run"], [], [])]
    listed = reel("import", "--dry-run").out.split()
    empty = [reel("import", "claude-code", str(tmp_path / "empty.jsonl")) for _ in range(2)]

    assert [
        "ChatGPT: 3 conversations found; 3 messages",
        "ChatGPT: 3 conversations imported; 3 messages",
        "ChatGPT: nothing new in 3 conversations",
    ] == found
    assert ["aider", "2"] == listed[:2]
    assert [(1, "Claude Code: nothing new\n")] * 2 == [(ran.status, ran.out) for ran in empty]


def test_fields_that_are_no_history(reel: Reel, tmp_path: Path) -> None:
    """What stands beside the messages of a request is counted by its name, unless it has no value."""
    said = {"messages": [{"role": "user", "content": "Hi"}], "model": "m", "id": "a", "stop": None}
    lines = [{**said, "temperature": 1, "tools": [{"type": "function"}]}, {**said, "id": "b", "temperature": 0}]
    (tmp_path / "s.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))

    ran = reel("import", "jsonl", str(tmp_path / "s.jsonl"), "--dry-run")

    assert ["  3 fields of them left out (temperature 2, tools 1)"] == ran.out.splitlines()[2:]


def test_nothing_is_said_of_what_is_in_nothing_new(reel: Reel, tmp_path: Path) -> None:
    """What is in records that are all known was said when they were imported."""
    (tmp_path / "s.jsonl").write_text('{"messages": [{"role": "user", "content": "Hi"}], "id": "a", "stop": 1}\n')
    command = ["import", "jsonl", str(tmp_path / "s.jsonl")]

    first = reel(*command).out
    (tmp_path / "reel/imported.json").unlink()
    again = reel(*command).out

    assert "  1 field of them left out (stop 1)\n" in first
    assert "JSONL: nothing new in 1 conversation\n" == again


def test_a_narrow_terminal(daemon: str, tmp_path: Path) -> None:
    """What became of the records is broken between words."""
    fields = {f"a_rather_long_name_{number}": 1 for number in range(4)}
    said = {"messages": [{"role": "user", "content": "Hi"}], "id": "a", **fields}
    (tmp_path / "s.jsonl").write_text(json.dumps(said) + "\n")

    with started(daemon, "import", "jsonl", str(tmp_path / "s.jsonl"), "--dry-run", terminal=True) as command:
        shown = command.until("_3 1)")

    assert [
        "  4 fields of them left out (a_rather_long_name_0 1,",
        "    a_rather_long_name_1 1, a_rather_long_name_2 1,",
        "    a_rather_long_name_3 1)",
    ] == shown.splitlines()[2:]


def test_what_became_of_records(reel: Reel, session: str, tmp_path: Path) -> None:
    """A person reads words instead of the names of rules, and the number of the only kind once."""
    made = Lines(session).said("user", "Hi").event("user_message", message="Hi")
    once = reel("import", "codex", str(made.write(tmp_path / f"rollout-a-{session}.jsonl")), "--dry-run")
    both = made.event("task_complete").write(tmp_path / f"rollout-b-{session}.jsonl")
    ran = reel("import", "codex", str(both), "--dry-run")

    assert "  3 records: 2 used, 1 ignored (repeats of other records)" == once.out.splitlines()[-1]
    assert "2 ignored (progress of a turn 1, repeats of other records 1)" in ran.out


def test_for_programs(reel: Reel, session: str, agent: str, tmp_path: Path) -> None:
    """With --json there is a document for each tool: what became of the conversations, and of the records."""
    save(three_turns(session).record("progress", "p1").record("hologram", "h1"), tmp_path)

    (found,) = reel("import", "--yes", "--json").documents

    assert (1, 6) == (found["new"], found["messages"])
    assert {
        "read": 8,
        "mapped": 6,
        "known": 0,
        "ignored": {"progress of a tool": 1},
        "unknown": {"hologram": 1},
        "refused": {},
        "left_out": {},
    } == found["records"]
    assert agent in reel("list", "--format", "names").out.splitlines()


def test_nobody_to_ask(reel: Reel, session: str, agent: str, tmp_path: Path) -> None:
    """Without a terminal and without --yes nothing is imported."""
    save(three_turns(session), tmp_path)

    ran = reel("import")

    assert (1, "reel: system: " in ran.err) == (ran.status, False)
    assert "nothing was imported; import all of it with: reel import --yes" in ran.err
    assert 4 == reel("show", agent).status


def test_nothing_is_found(reel: Reel, tmp_path: Path) -> None:
    """It is an error if there is no history, or none in the files that were named."""
    (tmp_path / "empty.jsonl").write_text('{"type":"mode"}\n')

    assert "no history of a tool was found" in reel("import", "--yes").err
    assert "no conversation of Claude Code in 1 file" in reel("import", "claude-code", str(tmp_path)).err
    assert 1 == reel("import", "claude-code").status
    assert "does not exist" in reel("import", "claude-code", "/nowhere").err
    assert "is not one of claude-code, codex" in reel("import", "claud").err
    assert "is a path; name its tool first: reel import TOOL /" in reel("import", str(tmp_path)).err


def test_a_place_that_cannot_be_read(
    reel: Reel, session: str, agent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the files of one tool cannot be looked at, the output says so, and those of the others are imported."""
    save(three_turns(session), tmp_path)
    monkeypatch.setenv("CODEX_HOME", place := f"/{'x' * 300}")

    ran = reel("import", "--yes")

    assert 0 == ran.status
    assert f"reel: {place}/sessions: File name too long\n" in ran.err
    assert "Fine" == texts(reel, agent)[-1]


def test_codex(reel: Reel, client: Client, session: str, tmp_path: Path) -> None:
    """Rollouts are imported: a fork is a clone, and a turn that was rolled back can be restored."""
    made = Lines(session, base_instructions={"text": "Be brief."}).said("user", "One").said("assistant", "1")
    fork = Lines(f"{session}-fork", forked_from_id=session, base_instructions={"text": "Be brief."})
    fork.records += made.records
    fork.said("user", "Fork").write(tmp_path / f".codex/sessions/2026/08/02/rollout-y-{session}-fork.jsonl")
    made.said("user", "Two").said("assistant", "2").event("thread_rolled_back", num_turns=1).said("user", "Three")
    made.write(tmp_path / f".codex/sessions/2026/08/01/rollout-x-{session}.jsonl")

    ran = reel("import", "codex")

    assert (0, "Codex: 2 conversations imported; 7 messages") == (ran.status, ran.out.splitlines()[0])
    assert ["One", "1", "Three"] == texts(reel, f"codex/{session}")
    assert ["One", "1", "Fork"] == texts(reel, f"codex/{session}-fork")
    info = client.agent(f"codex/{session}-fork")
    assert ("Be brief.", True) == (info.system, info.source is not None)
    assert ["Fork"] == [event["content"] for event in client.iter_history(info.id) if event["kind"] == "user"]


def test_compaction_of_codex(reel: Reel, session: str, tmp_path: Path) -> None:
    """The prompts stay before the summary, and the system prompt before them."""
    made = Lines(session, instructions="Be brief.").said("user", "One").said("assistant", "1")
    made.line("compacted", message="Sum").said("user", "Two").write(tmp_path / "rollout-x.jsonl")

    reel("import", "codex", str(tmp_path))

    assert ["One", "Sum", "Two"] == texts(reel, f"codex/{session}")
    assert "Be brief." in reel("show", f"codex/{session}", "--records").out


def test_two_imports_at_once(
    reel: Reel, client: Client, session: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second one waits for the first, and finds nothing new; so does one that watches, at each look."""
    save(three_turns(session), tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    reel("import", "claude-code")
    (lock,) = (tmp_path / "reel").glob("importing-*.lock")
    for options in ([], ["--watch"]):
        with lock.open() as file:
            flock(file, LOCK_EX)
            with started(client.path, "import", "claude-code", *options, terminal=True) as command:
                command.until("imports as well; this one goes on after it")
                flock(file, LOCK_UN)
                command.until("nothing new in 1 conversation")


@pytest.mark.slow
def test_asked_at_a_terminal(reel: Reel, client: Client, session: str, agent: str, tmp_path: Path) -> None:
    """At a terminal it asks, and imports if the answer is yes."""
    save(three_turns(session), tmp_path)
    with talking(client.path, "import", HOME=str(tmp_path), XDG_CONFIG_HOME=str(tmp_path)) as command:
        command.until("Import 1 conversation? [Y/n] ")
        command.type("n\r")
        assert 1 == command.process.wait()
    assert 4 == reel("show", agent).status

    with talking(client.path, "import", HOME=str(tmp_path), XDG_CONFIG_HOME=str(tmp_path)) as command:
        command.until("Import 1 conversation? [Y/n] ")
        command.type("\r")
        command.until("[MARK/mask/keep] ")
        command.type("\r")
        command.until("1 conversation imported; 6 messages")


@pytest.mark.slow
@pytest.mark.usefixtures("reel")
def test_watch(client: Client, session: str, agent: str, tmp_path: Path) -> None:
    """With --watch, what the tool writes is imported until Ctrl-C."""
    made = three_turns(session)
    save(made, tmp_path)
    with talking(client.path, "import", "--yes", "--watch", HOME=str(tmp_path)) as command:
        assert "Codex" not in command.until("waiting for what the tools write")
        save(made.user("u4", "Later"), tmp_path)
        command.until("1 went on; 1 message")
        command.stop()

    assert 5 == client.agent(agent).messages


def test_watching_while_the_daemon_is_restarted(session: str, agent: str, tmp_path: Path, directory: Path) -> None:
    """With --watch, a restart of the daemon is waited for, and what was written meanwhile is imported."""
    made = three_turns(session)
    save(made, tmp_path)
    daemon = ForkedDaemon(directory).start()
    with talking(
        daemon.socket, "import", "--yes", "--watch", HOME=str(tmp_path), XDG_STATE_HOME=str(tmp_path)
    ) as command:
        command.until("waiting for what the tools write")
        daemon.end()
        command.until("waiting for it to come back")
        save(made.user("u4", "Later"), tmp_path)
        daemon.start()
        command.until("the daemon is back")
        command.until("1 went on; 1 message")
        command.stop()
        with daemon.client() as client:
            messages = client.agent(agent).messages
    daemon.close()

    assert 5 == messages


def test_ids_of_any_length(reel: Reel, client: Client, session: str, agent: str, tmp_path: Path) -> None:
    """A message has its id at the source as its ref; one that is too long is a hash, and the message is added once."""
    save(Transcript(session).user("u1", "Hi").answer("x" * 300, "Hello", "m1").user("ü", "Bye"), tmp_path)
    reel("import", "--yes")
    forget(tmp_path)
    reel("import", "--yes")

    refs = [message["ref"] for message in client.messages(agent).messages]
    assert ["u1", "hash-", "hash-"] == [ref[:5] for ref in refs]
    assert {} == client.messages(agent).messages[0]["provider_metadata"]


def test_a_tool_that_was_never_used(reel: Reel, tmp_path: Path) -> None:
    """An import from all tools does not fail because one of them has no conversation yet."""
    (tmp_path / ".claude" / "projects").mkdir(parents=True)
    (tmp_path / ".claude" / "projects" / "empty.jsonl").write_text('{"type":"mode"}\n')

    ran = reel("import", "--yes")

    assert (0, ["Claude Code: nothing new"], "") == (ran.status, ran.out.splitlines()[-1:], ran.err)


@pytest.mark.parametrize(
    ("typed", "meant"), [("cluade", "claude-code"), ("codx", "codex"), ("gemini", "gemini-cli"), ("zzz", None)]
)
def test_a_slip_in_the_name_of_a_tool(reel: Reel, typed: str, meant: str | None) -> None:
    """The tool that was probably meant is said, also if only the beginning of its name was typed."""
    ran = reel("import", typed)

    assert 2 == ran.status
    assert (f"(did you mean {meant}?)" in ran.err) == (meant is not None)
