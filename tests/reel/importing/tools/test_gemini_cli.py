"""Reading the sessions of Gemini CLI."""

import json
import os
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.importing.steps import About, Kept, Said, Source
from reel.importing.tools.gemini_cli.tool import TOOL, Session
from tests.reel.importing.chats import MODEL, Lines, made_call, part, read, session_of
from tests.reel.importing.transcripts import check_step, outline

CONTEXT = "<session_context>\nToday is Friday."


def words(lines: Lines, directory: Path) -> list[str]:
    """Return what a session says and where it goes back, a word for each."""
    return outline(read(lines, directory))


def test_a_turn(tmp_path: Path) -> None:
    """An answer has its thoughts and calls; results are a message after it, and what it used is beside it."""
    thoughts = [{"subject": "Look", "description": "There may be files.", "timestamp": ""}]
    tokens = {"input": 10, "output": 5, "cached": 3, "thoughts": 2, "tool": 0, "total": 17}
    made = Lines().user("u1", [{"text": "Hi"}]).answer("a1", "So", thoughts=thoughts, tokens=tokens)
    made.answer("a1", "So", thoughts=thoughts, tokens=tokens, toolCalls=[made_call("c1", "x.py")])

    _, prompt, answer, usage, results, _ = read(made.record(**{"$set": {"lastUpdated": "now"}}), tmp_path)

    assert isinstance(prompt, Said)
    assert (1785578400000, [{"type": "text", "text": "Hi"}]) == (prompt.sent, prompt.parts[0].blocks)
    assert isinstance(answer, Said)
    assert {"provider": "gemini", "model": MODEL} == answer.metadata
    assert [
        (
            "a1",
            [
                {"type": "thinking", "text": "**Look** There may be files.", "provider": "gemini", "model": MODEL},
                {"type": "text", "text": "So"},
            ],
        ),
        ("a1/c1", [{"type": "tool_call", "id": "c1", "name": "ls", "arguments": '{"path":"."}'}]),
    ] == [(given.ref, given.blocks) for given in answer.parts]
    counts = {"promptTokenCount": 10, "candidatesTokenCount": 5, "cachedContentTokenCount": 3}
    assert isinstance(usage, Kept)
    assert {**counts, "thoughtsTokenCount": 2, "totalTokenCount": 17} == usage.data["usage"]
    assert isinstance(results, Said)
    kept = {"provider": "gemini", "response_json": '{"output":"x.py"}'}
    block = {"type": "tool_result", "tool_call_id": "c1", "content": "x.py", "is_error": False}
    assert (("result/c1", [{**block, "provider_metadata": kept}]),) == results.parts


@pytest.mark.parametrize("again", [False, True])
def test_an_id_behind_the_name_of_its_tool(again: bool, tmp_path: Path) -> None:
    """Gemini CLI writes the name of a tool before an id, and sends the id without it; refs stay as they are."""
    made = Lines().user("u1", "Hi").answer("a1", "", toolCalls=[made_call("ls__c1", "x")])
    if again:
        made.user("r1", [part("ls", "ls__c1", output="x")])

    answer, result = [step for step in read(made, tmp_path) if isinstance(step, Said)][1:]

    assert [("a1/ls__c1", "c1")] == [(given.ref, given.blocks[0]["id"]) for given in answer.parts]
    assert [("result/ls__c1", "c1")] == [(given.ref, given.blocks[0]["tool_call_id"]) for given in result.parts]


@pytest.mark.parametrize("suffix", [".json", ".jsonl"])
def test_messages_without_ids(tmp_path: Path, suffix: str) -> None:
    """A message without an id, as converters write them, is identified by its number: two may say the same."""
    made = Lines()
    for kind, text in [("user", "Hi"), ("gemini", "Yes"), ("user", "Hi"), ("gemini", "Yes"), ("info", "Bye")]:
        made.record(type=kind, content=text)
    made.record(type="hologram", content="x").record(neither="x")
    opened = session_of(made, tmp_path, suffix)

    said = outline(list(opened.steps()))

    messages = ["user:message-1", "assistant:message-2", "user:message-3", "assistant:message-4", "note:message-5"]
    assert messages == said[:5]
    assert {"hologram": 1, "neither": 1} == opened.counts.unknown
    assert 8 == opened.counts.read == opened.counts.mapped + 2


def test_a_list_of_messages_without_ids(tmp_path: Path) -> None:
    """A list that repeats such messages changes nothing, and what follows them in it is added."""
    first = Lines().record(type="user", content="Hi").record(type="gemini", content="Yes")
    repeated = [Lines().record(**record) for record in first.records]
    more = Lines().record(type="user", content="More")

    said = words(first.replaced(*repeated, more), tmp_path)

    assert ["user:message-1", "assistant:message-2", "user:message-3"] == said


def test_results_that_are_recorded_twice(tmp_path: Path) -> None:
    """Results are recorded with the call, and as a user's message; they are one message with the refs of the calls."""
    calls = [made_call("c1", "x"), made_call("c2", "y")]
    made = Lines().user("u1", "Hi").answer("a1", "", toolCalls=calls)
    before = words(made, tmp_path)
    made.user("r1", [part("ls", "c1", output="x"), part("ls", "c2", output="y")]).answer("a2", "Done")

    assert ["user:u1", "assistant:a1/c1+a1/c2", "tool:result/c1+result/c2"] == before
    assert [*before, "assistant:a2"] == words(made, tmp_path)


PICTURE = {
    "type": "media",
    "mime_type": "image/png",
    "data_base64": "AAAA",
    "provider_metadata": {"provider": "gemini"},
}


@pytest.mark.parametrize(
    ("given", "content", "failed"),
    [
        ([part("ls", "c1", error="no")], "no", True),
        ([part("ls", "c1", a=1, b=2)], '{"a":1,"b":2}', False),
        ("plain", "plain", False),
        (
            [part("ls", "c1", output="see"), {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}],
            [{"type": "text", "text": "see"}, PICTURE],
            False,
        ),
    ],
)
def test_results(tmp_path: Path, given: Any, content: Any, failed: bool) -> None:
    """A result is a text, an object, or parts; images after it belong to it."""
    steps = read(Lines().answer("a1", "", toolCalls=[made_call("c1", result=given)]), tmp_path)

    (block,) = [block for step in steps if isinstance(step, Said) and step.role == "tool" for block in step.parts[0][1]]
    assert ("c1", content, failed) == (block["tool_call_id"], block["content"], block["is_error"])


def test_parts(tmp_path: Path) -> None:
    """Content may be parts: thoughts and calls with signatures, images, files, and what has no other form."""
    content = [
        {"text": "Hm", "thought": True, "thoughtSignature": "s1"},
        {"functionCall": {"name": "ls", "args": {}}, "thoughtSignature": "s2"},
        {"executableCode": {"code": "1"}},
    ]
    made = Lines().user("u1", [{"text": "See"}, {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}])
    made.answer("a1", content, toolCalls=[made_call("c1")])

    _, prompt, answer, _ = read(made, tmp_path)

    assert isinstance(prompt, Said)
    assert prompt.parts[0].blocks[1] == PICTURE
    made_by = {"provider": "gemini", "model": MODEL}
    assert isinstance(answer, Said)
    assert [
        {"type": "thinking", "text": "Hm", **made_by, "signature": "s1"},
        {"type": "opaque", "provider": "gemini", "data_json": '{"executableCode":{"code":"1"}}', "model": MODEL},
        {
            "type": "tool_call",
            "id": "c1",
            "name": "ls",
            "arguments": "{}",
            "provider_metadata": {**made_by, "signature": "s2"},
        },
    ] == [block for part in answer.parts for block in part.blocks]


def test_steps_back(tmp_path: Path) -> None:
    """A rewind leaves the named message and all after it; with an unknown id it leaves everything."""
    made = Lines().user("u1", "Hi").answer("a1", "Hello").user("u2", "Wrong").answer("a2", "Why")
    made.record(**{"$rewindTo": "u2"}).user("u3", "Right").record(**{"$rewindTo": "nowhere"})

    assert [
        *("user:u1", "assistant:a1", "user:u2", "assistant:a2"),
        *("back:a1", "user:u3", "back:"),
    ] == words(made, tmp_path)


def test_compression(tmp_path: Path) -> None:
    """Messages that take the place of all before are added again after the summary."""
    made = Lines().user("u1", "Hi").answer("a1", "Hello").user("u2", "Keep").answer("a2", "Kept")
    made.replaced(Lines().user("s1", "Sum").answer("s2", "OK").user("u2", "Keep").answer("a2", "Kept"))

    again = words(made.user("u3", "More"), tmp_path)[4:]

    assert ["back:", "user:s1", "assistant:s2"] == again[:3]
    assert ["user:u2", "assistant:a2", "user:u3"] == [word.partition("@")[0] for word in again[3:]]
    assert [1, 1, 0] == [word.count("@") for word in again[3:]]


def test_the_same_list_again(tmp_path: Path) -> None:
    """A session that is resumed is written again, with other parts and ids: what it said is not said again."""
    made = Lines().user("x1", CONTEXT).user("u1", "Hi").answer("a1", "So <!-- x -->", toolCalls=[made_call("c1", "x")])
    made.user("r1", [part("ls", "c1", output="x")]).answer("a2", "Done")
    parts = [{"text": "Hm", "thought": True}, {"text": "So"}, {"functionCall": {"id": "c1", "name": "ls", "args": {}}}]
    again = Lines().user("x2", CONTEXT + " Or Saturday.").user("u1", [{"text": "Hi"}])
    again.answer("a1", parts, toolCalls=[made_call("c1", "x")]).user("a1_response", [part("ls", "c1", output="x")])
    made.replaced(again.answer("a2", [{"text": "Done"}])).user("u2", "Next")

    assert [*("user:x1", "user:u1", "assistant:a1+a1/c1", "tool:result/c1", "assistant:a2", "user:u2")] == words(
        made, tmp_path
    )


def test_calls_after_a_note(tmp_path: Path) -> None:
    """Calls that are recorded apart from their answer, because a note came between, are in it once a list says so."""
    made = Lines().user("u1", "Hi").answer("a1", "I look.").message("info", "n1", "Slow")
    made.answer("b1", "", toolCalls=[made_call("c1", "x")]).user("r1", [part("ls", "c1", output="x")])
    call = {"functionCall": {"id": "c1", "name": "ls", "args": {"path": "."}}}
    listed = Lines().user("u1", [{"text": "Hi"}]).answer("a1", [{"text": "I look."}, call])
    told = words(made.replaced(listed.user("r1", [part("ls", "c1", output="x")])).answer("a2", "Done"), tmp_path)

    assert ["user:u1", "assistant:a1", "note:n1", "assistant:b1/c1", "tool:result/c1"] == told[:5]
    assert ["back:u1", "assistant:a1+a1/c1"] == told[5:7]
    assert told[7].startswith("tool:result/c1@")
    assert ["assistant:a2"] == told[8:]


@pytest.mark.parametrize("is_listed", [False, True])
def test_an_answer_that_goes_on_after_a_note(tmp_path: Path, *, is_listed: bool) -> None:
    """A note is not in the conversation: the answer before it is still the last one."""
    made = Lines().user("u1", "Hi").answer("a1", "I look.").message("info", "n1", "Slow")
    if is_listed:
        made.replaced(Lines().user("u1", "Hi").answer("a1", "I look."))
    told = words(made.answer("a1", "I look.", toolCalls=[made_call("c1", "x")]), tmp_path)

    assert ["user:u1", "assistant:a1", "note:n1", "back:u1", "assistant:a1+a1/c1", "tool:result/c1"] == told


def test_results_of_parallel_calls_in_each(tmp_path: Path) -> None:
    """Once a session is resumed, each of some calls has the results of all: its own one counts."""
    results = [part("ls", "c1", output="x"), part("ls", "c2", output="y")]
    calls = [made_call(call_id, result=results) for call_id in ("c1", "c2")]
    steps = read(Lines().user("u1", "Hi").answer("a1", "", toolCalls=calls), tmp_path)

    (said,) = [step for step in steps if isinstance(step, Said) and step.role == "tool"]
    assert [("c1", "x"), ("c2", "y")] == [
        (block["tool_call_id"], block["content"]) for part in said.parts for block in part.blocks
    ]


def test_a_shorter_list_and_other_results(tmp_path: Path) -> None:
    """A list that ends earlier is a step back; a result that was replaced is said again after its call."""
    made = Lines().user("u1", "Hi").answer("a1", "", toolCalls=[made_call("c1", "long")]).user("u2", "No")
    first = Lines().user("u1", "Hi").answer("a1", "", toolCalls=[made_call("c1", "long")])
    other = Lines().user("u1", "Hi").answer("a1", "", toolCalls=[made_call("c1", "[masked]")])
    told = words(made.replaced(first).replaced(other), tmp_path)

    assert ["user:u1", "assistant:a1/c1", "tool:result/c1", "user:u2"] == told[:4]
    assert "back:a1/c1" == told[4]
    assert told[5].startswith("tool:result/c1@")
    assert 6 == len(told)


def test_notes(tmp_path: Path) -> None:
    """What was shown to the person is a note, and so is what is not known; media of a tool are the user's."""
    made = Lines().user("u1", "Hi").message("error", "e1", "Quota").message("hologram", "h1", "?").record(odd=1)
    made.record(**{"$set": {"odd": 2}})
    made.message("info", "i1", [{"inlineData": {"mimeType": "audio/mp3", "data": "AAAA"}}])
    reading = session_of(made, tmp_path)

    steps = list(reading.steps())

    assert [*("user:u1", "note:e1", "note:h1", "note:", "note:", "user:i1")] == [
        word.partition("record-")[0] for word in outline(steps)
    ]
    assert ["Quota", "?", None, None] == [step.content for step in steps if isinstance(step, Kept)]
    counts = reading.counts
    assert (7, 4, {"hologram": 1, "odd": 2}) == (counts.read, counts.mapped, dict(counts.unknown))


def test_title_and_tags(tmp_path: Path) -> None:
    """The title is the summary, else the first prompt as it was typed; the project and the model are tags."""
    made = Lines().user("x1", CONTEXT).user("u1", "Read @x\nlong", displayContent="Read @x").answer("a1", "Hello")

    prompted = [step for step in read(made, tmp_path) if isinstance(step, About)][-1]
    summed = [step for step in read(made.record(**{"$set": {"summary": "Reading"}}), tmp_path) if type(step) is About]

    assert ("Read @x", "Reading") == (prompted.title, summed[-1].title)
    assert {"tool": "gemini-cli", "source": "", "model": MODEL} == {**prompted.tags, "source": ""}


def test_a_session_without_a_prompt(tmp_path: Path) -> None:
    """What the tool says at the beginning is no conversation yet."""
    assert [] == words(Lines().user("x1", CONTEXT).replaced(Lines().user("x1", CONTEXT)), tmp_path)


def test_what_is_found(tmp_path: Path) -> None:
    """Sessions of all projects are found, with the directory of each; of one in several files, the newest is last."""
    home = tmp_path / ".gemini"
    hashed = sha256(b"/home/me/deck").hexdigest()
    (home / "tmp/deck").mkdir(parents=True)
    (home / "tmp/deck/.project_root").write_text("/home/me/deck\n")
    (home / "projects.json").write_text(json.dumps({"projects": {"/home/me/deck": "deck", "/home/me/tape": "tape"}}))
    names = [f"{hashed}/chats/session-1.json", "deck/chats/session-1.json", "deck/chats/session-1.jsonl"]
    for time, name in enumerate(names):
        os.utime(Lines("one").write(home / "tmp" / name), (9 - time, 9 - time))
    Lines("two", kind="subagent").write(home / "tmp/deck/chats/one/two.jsonl")
    Lines("three").write(home / "tmp/tape/chats/session-3.jsonl")
    Lines("four").write(home / "tmp/tape/chats/other.jsonl")
    (home / "tmp/tape/chats/session-5.jsonl").symlink_to(home / "projects.json")
    (home / "tmp/led").symlink_to(home / "tmp/deck")

    (place,) = TOOL.places({"GEMINI_CLI_HOME": str(tmp_path), "HOME": "/nowhere"})
    found = TOOL.discover(place)

    assert {
        "gemini-cli/one": ("/home/me/deck", None),
        "gemini-cli/one/two": ("/home/me/deck", "gemini-cli/one"),
        "gemini-cli/three": ("/home/me/tape", None),
    } == {source.conversation: (source.about["cwd"], source.about.get("parent")) for source in found.sources}
    assert [str(home / "tmp" / name) for name in (names[1], names[0], names[2])] == [
        source.path for source in found.sources if source.conversation == "gemini-cli/one"
    ]
    assert ["led", "session-5.jsonl"] == [Path(problem.path).name for problem in found.problems]
    assert TOOL.discover(home).sources == found.sources
    (hashed_one,) = TOOL.discover(home / "tmp" / names[0]).sources
    assert ("gemini-cli/one", "") == (hashed_one.conversation, hashed_one.about["cwd"])


def test_old_and_new_files_say_the_same(tmp_path: Path) -> None:
    """The messages of an object have the refs that they have after it was migrated to lines."""
    made = Lines(summary="Tapes").user("u1", "Hi").answer("a1", "So", toolCalls=[made_call("c1", "x")]).user("u2", "No")
    old, new = (session_of(made, tmp_path, suffix) for suffix in (".json", ".jsonl"))

    assert outline(list(old.steps())) == outline(list(new.steps()))
    assert old.counts.read == old.counts.mapped == 4


WHOLE = (
    Lines()
    .user("u1", "[Hi")
    .answer("a1", 'So "it"', toolCalls=[made_call("c1", "x")])
    .user("u2", "No")
    .answer("a2", "Yes")
)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".json", ".jsonl"])
@given(data=st.data())
def test_damaged_files(tmp_path_factory: pytest.TempPathFactory, suffix: str, data: st.DataObject) -> None:
    """If a file is cut, or a byte of it is another one, that is reported with its line and the rest is read."""
    path = WHOLE.write(tmp_path_factory.getbasetemp() / f"session-x{suffix}")
    text = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(text) - 1))
    if is_cut := data.draw(st.booleans()):
        del text[place:]
    else:
        text[place] = data.draw(st.integers(0, 255))
    path.write_bytes(text)
    reading = Session(Source(str(path), "gemini-cli/x", path.stat().st_size, 0))

    told, known = list(reading.steps()), {""}

    for step in told:
        known |= check_step(step, known)
    at = text[:place].count(b"\n") + 1
    assert all(
        str(problem).startswith(f"{path}:") and problem.line in (at, at - 1, at + 1)
        for problem in reading.counts.problems
    )
    counts = reading.counts
    assert counts.read == counts.mapped + counts.ignored.total() + counts.unknown.total()
    before = [word for record in WHOLE.records if (word := str(record["id"])) and f'"{word}"'.encode() in text[:place]]
    if is_cut or counts.problems:
        assert set(before[:-1]) <= {ref.partition("/")[0] for ref in known}


_JUNK: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.integers(-9, 9) | st.sampled_from(["", "x", "c1", CONTEXT]),
    lambda inside: (
        st.lists(inside, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["text", "functionCall", "functionResponse", "inlineData", "id", "name", "data", "thought"]
            ),
            inside,
            max_size=3,
        )
    ),
    max_leaves=6,
)
_MESSAGES = st.fixed_dictionaries(
    {"id": st.sampled_from(["a", "b", "c"]), "type": st.sampled_from(["user", "gemini", "info", "x"])},
    optional={"content": _JUNK, "toolCalls": st.lists(_JUNK), "thoughts": _JUNK, "tokens": _JUNK},
)
_RECORDS = _MESSAGES | st.one_of(
    st.builds(lambda to: {"$rewindTo": to}, st.sampled_from("abcx")),
    st.builds(lambda given: {"$set": {"messages": given}}, st.lists(_MESSAGES | _JUNK, max_size=4)),
    _JUNK.filter(lambda given: type(given) is dict),
)


@pytest.mark.slow
@given(st.lists(_RECORDS, max_size=8))
def test_any_records(records: list[dict[str, Any]]) -> None:
    """Whatever the records are, each is counted, and every step back is to a message that was said."""
    reading = Session(Source("/none.jsonl", "gemini-cli/x", 0, 0))
    steps = [step for number, found in enumerate(records) for step in reading.read_line(found, number)]
    known = {""}

    for step in [*steps, *reading.end()]:
        known |= check_step(step, known)

    counts = reading.counts
    assert counts.read == counts.mapped + counts.ignored.total() + counts.unknown.total() >= len(records)
