"""Reading the transcripts of Claude Code."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.importing.steps import About, Kept, Said
from reel.importing.tools.claude_code.tool import TOOL
from tests.reel.importing.transcripts import (
    SESSION,
    Transcript,
    call,
    check_step,
    outline,
    read,
    session_at,
    session_of,
    session_without_file,
)


def test_answer_of_several_records(tmp_path: Path) -> None:
    """The records of one answer become one message, with its thinking, its text and its calls in order."""
    thinking = {"type": "thinking", "thinking": "", "signature": "c2ln"}
    made = Transcript().user("u1", "Hi").answer("a1", thinking, "m1").answer("a2", "Hello", "m1")

    said = [
        step for step in read(made.answer("a3", call("c1", command="ls"), "m1"), tmp_path) if isinstance(step, Said)
    ]

    assert [
        {"type": "thinking", "text": "", "provider": "anthropic", "signature": "c2ln", "model": "claude-x"},
        {"type": "text", "text": "Hello"},
        {"type": "tool_call", "id": "c1", "name": "Bash", "arguments": '{"command":"ls"}'},
    ] == [part.blocks[0] for part in said[1].parts]
    assert {"provider": "anthropic", "model": "claude-x", "response_id": "m1"} == said[1].metadata
    assert (1785578400000, 1785578401000) == (said[0].sent, said[1].sent)


def test_usage_once_for_each_answer(tmp_path: Path) -> None:
    """What an answer used is written with each of its records: the largest state counts, once."""
    made = Transcript().user("u1", "Hi").answer("a1", "one", "m1").answer("a2", "two", "m1").user("u2", "Bye")

    usages = [step.data for step in read(made, tmp_path) if isinstance(step, Kept)]

    assert [
        {
            "provider": "anthropic",
            "model": "claude-x",
            "response_id": "m1",
            "usage": {"input_tokens": 3, "output_tokens": 2},
        }
    ] == usages


def test_parallel_calls_stay_together(tmp_path: Path) -> None:
    """Results that come between the calls of one answer follow it, and are no step back."""
    made = Transcript().user("u1", "Hi").answer("a1", call("c1"), "m1").result("r1", "c1")
    made.answer("a2", call("c2"), "m1", after="a1").result("r2", "c2").answer("a3", "Done", "m2", after="r1")

    assert ["user:u1", "assistant:a1+a2", "tool:r1", "tool:r2", "assistant:a3"] == outline(read(made, tmp_path))


def test_another_prompt_is_a_step_back(tmp_path: Path) -> None:
    """A second prompt after the same message goes back to that message."""
    made = Transcript().user("u1", "Hi").answer("a1", "Hello", "m1").user("u2", "Wrong").answer("a2", "Yes?", "m2")

    steps = outline(read(made.user("u3", "Right", after="a1").answer("a3", "Fine", "m3"), tmp_path))

    assert ["back:a1", "user:u3", "assistant:a3"] == steps[4:]


def test_another_answer_is_a_step_back(tmp_path: Path) -> None:
    """An answer that is given again takes the place of the first one."""
    made = Transcript().user("u1", "Hi").answer("a1", "Hel", "m1").answer("a2", "Hello", "m2", after="u1")

    assert ["user:u1", "assistant:a1", "back:u1", "assistant:a2"] == outline(read(made, tmp_path))


def test_back_to_a_branch_that_was_left(tmp_path: Path) -> None:
    """A record may follow one on a branch that was left; what comes then follows that branch."""
    made = Transcript().user("u1", "Hi").answer("a1", "A", "m1").user("u2", "B").user("u3", "C", after="a1")

    assert [
        *("user:u1", "assistant:a1", "user:u2", "back:a1", "user:u3", "back:u2", "assistant:a2", "user:u4")
    ] == outline(read(made.answer("a2", "D", "m2", after="u2").user("u4", "E"), tmp_path))


def test_records_beside_the_messages(tmp_path: Path) -> None:
    """A record that is not a message is passed over: what follows it follows the message before it."""
    made = Transcript().user("u1", "Hi").record("progress", "p1").record("system", "s1", subtype="turn_duration")
    made.answer("a1", "Hello", "m1").record("progress", "p2", after="u1").user("u2", "Bye", after="a1")
    session = session_of(made, tmp_path)

    assert ["user:u1", "assistant:a1", "user:u2"] == outline(list(session.steps()))
    assert {"progress of a tool": 2, "duration": 1} == session.counts.ignored


def test_record_after_an_unknown_one(tmp_path: Path) -> None:
    """A record that follows one that was never written follows the last message."""
    made = Transcript().user("u1", "Hi").answer("a1", "Hello", "m1", after="lost").user("u2", "Bye", after="lost too")

    assert ["user:u1", "assistant:a1", "user:u2"] == outline(read(made, tmp_path))


def test_new_beginning(tmp_path: Path) -> None:
    """A prompt that follows nothing begins the conversation again."""
    made = Transcript().user("u1", "Hi").answer("a1", "Hello", "m1").user("u2", "New", after=None)

    assert ["user:u1", "assistant:a1", "back:", "user:u2"] == outline(read(made, tmp_path))


@pytest.mark.parametrize("after", ["s1", "a2"])
def test_compaction(tmp_path: Path, after: str) -> None:
    """A summary takes the place of what was said before; what is preserved follows it, and then what comes next."""
    made = Transcript().user("u1", "Hi").answer("a1", "Hello", "m1").user("u2", "More").answer("a2", "Yes", "m2")
    preserved = {"preservedSegment": {"headUuid": "u2", "tailUuid": "a2", "anchorUuid": "s1"}}
    made.record("system", "b1", after=None, subtype="compact_boundary", compactMetadata=preserved)
    made.user("s1", "Summary", isCompactSummary=True).user("u3", "Go on", after=after)

    assert ["compacted:s1 u2 a2", "user:u3"] == outline(read(made, tmp_path))[4:]


def test_compaction_of_a_branch_that_was_left(tmp_path: Path) -> None:
    """What is preserved may be on a branch that was left, and that the conversation went back to."""
    made = Transcript().user("u1", "Hi").answer("a1", "Hello", "m1").user("u2", "More").answer("a2", "Yes", "m2")
    made.user("u3", "Else", after="a1").user("u4", "As before", after="a2")
    preserved = {"preservedSegment": {"headUuid": "u2", "tailUuid": "u4", "anchorUuid": "s1"}}
    made.record("system", "b1", after=None, subtype="compact_boundary", compactMetadata=preserved)
    made.user("s1", "Summary", isCompactSummary=True)

    assert "compacted:s1 u2 a2 u4" == outline(read(made, tmp_path))[-1]


def test_prompt_while_the_model_works(tmp_path: Path) -> None:
    """A prompt that was queued is a message of its own after the answer that it came into."""
    made = Transcript().user("u1", "Hi").answer("a1", call("c1"), "m1")
    made.record("attachment", "q1", attachment={"type": "queued_command", "prompt": "And this"})
    made.answer("a2", call("c2"), "m1", after="a1").result("r2", "c2").result("r1", "c1", after="a1")

    assert ["user:u1", "assistant:a1+a2", "user:q1", "tool:r2", "tool:r1"] == outline(read(made, tmp_path))


def test_errors_of_the_api_are_notes(tmp_path: Path) -> None:
    """What no model said is a note: a model must not be told that it said so."""
    made = Transcript().user("u1", "Hi").answer("a1", "API Error: 529", "m1", isApiErrorMessage=True)

    notes = [step for step in read(made.user("u2", "Again"), tmp_path) if isinstance(step, Kept)]

    assert [("note", "a1", "API Error: 529")] == [(note.kind, note.ref, note.content) for note in notes]


def test_results_and_a_prompt_in_one_record(tmp_path: Path) -> None:
    """Results and a text of one record become two messages; what follows the record follows both."""
    block = {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "x"}], "is_error": True}
    made = (
        Transcript()
        .user("u1", "Hi")
        .answer("a1", call("c1"), "m1")
        .user("u2", [block, {"type": "text", "text": "Stop"}])
    )
    said = [step for step in read(made, tmp_path) if isinstance(step, Said)]

    assert [("tool", "u2/1"), ("user", "u2")] == [(step.role, step.parts[0].ref) for step in said[2:]]
    assert [{"type": "tool_result", "tool_call_id": "c1", "content": "x", "is_error": True}] == said[2].parts[0].blocks


def test_sub_agents_in_the_file_of_the_session(tmp_path: Path) -> None:
    """A sub-agent that was written into the session's file is a conversation of its own."""
    made = Transcript().user("u1", "Hi").answer("a1", call("c1"), "m1")
    made.user("s1", "Look", after=None, isSidechain=True).answer("s2", "Seen", "m2", isSidechain=True)

    steps = read(made.result("r1", "c1", after="a1"), tmp_path)

    assert [
        *("user:u1", "part:/agent-s1", "user:s1", "assistant:a1", "tool:r1", "part:/agent-s1", "assistant:s2")
    ] == outline(steps)
    assert all(
        step.tags["parent"] == f"claude-code/{SESSION}" for step in steps if isinstance(step, About) and step.part
    )


def test_title_and_tags(tmp_path: Path) -> None:
    """The title is the one that a person gave; directory, branch, version and model are tags."""
    made = Transcript().user("u1", "Hi").answer("a1", "Hello", "m1").other(type="ai-title", aiTitle="Greeting")
    made.other(type="custom-title", customTitle="Hello\nthere").other(type="summary", summary="Other", leafUuid="x")

    about = [step for step in read(made, tmp_path) if isinstance(step, About)][-1]

    assert "Hello there" == about.title
    assert {
        "tool": "claude-code",
        "source": "",
        "cwd": "/home/me/deck",
        "branch": "main",
        "version": "2.1.200",
        "model": "claude-x",
    } == {**about.tags, "source": ""}


def test_unknown_records_are_kept(tmp_path: Path) -> None:
    """A record of an unknown type is a note, and counted; so is an unknown subtype."""
    made = Transcript().user("u1", "Hi").record("hologram", "h1", data=1).record("system", "s1", subtype="new")
    session = session_of(made.user("u2", "Bye"), tmp_path)

    steps = list(session.steps())

    assert ["user:u1", "note:h1", "note:s1", "user:u2"] == outline(steps)
    assert {"hologram": 1, "system/new": 1} == session.counts.unknown


def test_lines_that_cannot_be_read(tmp_path: Path) -> None:
    """A line that is not JSON is reported with its number; the others are read."""
    made = Transcript().user("u1", "Hi").user("u2", "Bye")
    lines = made.lines()
    session = session_at(tmp_path, f"{lines[0]}{{\n[]\n{lines[1]}{lines[0][:30]}")

    assert ["user:u1", "user:u2"] == outline(list(session.steps()))
    assert [
        (2, "not JSON"),
        (3, "not a JS"),
    ] == [(problem.line, problem.what[:8]) for problem in session.counts.problems]


def test_copies_of_a_record(tmp_path: Path) -> None:
    """A record that is in the file twice is read once; records without ids are told apart by their number."""
    made = Transcript().user("u1", "Hi").user("u1", "Hi", after=None)
    for _ in range(2):
        made.other(type="user", message={"role": "user", "content": "Same"})
    session = session_of(made, tmp_path)

    refs = [step.parts[0].ref for step in session.steps() if isinstance(step, Said)]

    assert len(set(refs)) == len(refs) == 3
    assert {"repeated": 1} == session.counts.ignored


def test_growing_file(tmp_path: Path) -> None:
    """What is written later is read from where reading ended, also in the middle of a line."""
    made = Transcript().user("u1", "Hi").answer("a1", "Hello", "m1").user("u2", "Bye")
    session = session_of(made, tmp_path)
    text = "".join(made.lines())
    middle = text.index("Hello")
    Path(session.source.path).write_text(text[:middle])
    first = outline(list(session.steps()))
    Path(session.source.path).write_text(text)

    assert [["user:u1"], ["assistant:a1", "user:u2"]] == [first, outline(list(session.steps()))]


def test_discovery(tmp_path: Path) -> None:
    """Sessions and sub-agents are found below the projects; links and other files are not read."""
    project = tmp_path / "projects" / "-home-me"
    made = Transcript().user("u1", "Hi").write(project / f"{SESSION}.jsonl")
    Transcript().user("s1", "Look").write(project / SESSION / "subagents" / "agent-7.jsonl")
    Transcript().user("s2", "Look").write(project / "agent-8.jsonl")
    (project / "journal.jsonl").write_text("{}\n")
    (project / "link.jsonl").symlink_to(made)
    (project / "away").symlink_to("/etc")

    found = TOOL.discover(tmp_path)

    assert [f"claude-code/{SESSION}{part}" for part in ("", "/agent-7", "/agent-8")] == [
        source.conversation for source in found.sources
    ]
    assert ["away", "link.jsonl"] == sorted(Path(problem.path).name for problem in found.problems)


def test_forks_are_found_by_their_beginning(tmp_path: Path) -> None:
    """A transcript that begins with the first record of another one is a fork of that."""
    Transcript("a").user("u1", "Hi").write(tmp_path / "a.jsonl")
    Transcript("b").user("u1", "Hi", sessionKind="bg").user("u2", "Fork").write(tmp_path / "b.jsonl")

    assert {
        "claude-code/a": "",
        "claude-code/b": "claude-code/a",
    } == {source.conversation: source.fork_of for source in TOOL.discover(tmp_path).sources}


def test_what_the_tool_says_of_a_sub_agent(tmp_path: Path) -> None:
    """The file beside a sub-agent's transcript says what called it, and what for."""
    path = Transcript().user("s1", "Look", isSidechain=True).write(tmp_path / "agent-7.jsonl")
    path.with_suffix(".meta.json").write_text(json.dumps({"agentType": "Explore", "toolUseId": "c1"}))
    (source,) = TOOL.discover(tmp_path).sources

    about = next(step for step in TOOL.open(source).steps() if isinstance(step, About))

    assert ("Explore", "c1") == (about.tags["agent_type"], about.tags["call"])


def test_place() -> None:
    """The transcripts are below the directory that the tool is told of, else below the home directory."""
    places = [
        [str(path) for path in TOOL.places(env)] for env in ({"HOME": "/h"}, {"HOME": "/h", "CLAUDE_CONFIG_DIR": "/c"})
    ]

    assert [["/h/.claude/projects"], ["/c/projects"]] == places


_KEYS = [
    "type",
    "text",
    "content",
    "id",
    "input",
    "source",
    "tool_use_id",
    "thinking",
    "data",
    "usage",
    "model",
    "subtype",
]
_JUNK: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
    lambda inside: st.lists(inside, max_size=2) | st.dictionaries(st.sampled_from(_KEYS), inside, max_size=4),
    max_leaves=8,
)


@pytest.mark.slow
@given(
    st.lists(
        st.fixed_dictionaries(
            {"type": st.sampled_from(["user", "assistant", "system", "attachment", "summary", "x"])},
            optional={
                **dict.fromkeys(("message", "attachment", "compactMetadata", "summary", "timestamp"), _JUNK),
                **dict.fromkeys(("uuid", "parentUuid"), st.sampled_from(["a", "b", "c", "d", "e", None, 1])),
                **dict.fromkeys(("isSidechain", "isCompactSummary", "isMeta"), st.booleans()),
            },
        ),
        max_size=12,
    )
)
def test_any_records(records: list[Any]) -> None:
    """Whatever the records are, all of them are counted, and every step back is to a message that was said."""
    session = session_without_file()
    said = {""}

    for number, record in enumerate(records):
        for step in session.read_line(session.prepare(record, number), number):
            said |= check_step(step, said)
    for step in session.end():
        said |= check_step(step, said)

    counts = session.counts
    assert counts.read == len(records) == counts.mapped + counts.ignored.total() + counts.unknown.total()
