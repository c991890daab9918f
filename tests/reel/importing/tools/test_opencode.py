"""Reading the sessions of opencode: the tree of files, and both forms of the database."""

import json
import sqlite3
import time
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.importing.steps import About, Back, Compacted, Counts, Kept, Said, Step
from reel.importing.tools.opencode.messages import Messages
from reel.importing.tools.opencode.tool import TOOL
from reel.touches.exit_status import EXIT_STATUS
from reel.touches.reading import touches
from tests.reel.importing.transcripts import check_step, outline

_DONE = {"created": 1_760_000_000_000, "completed": 1_760_000_000_009}
_TOKENS = {"input": 3, "output": 2, "reasoning": 0, "cache": {"read": 1, "write": 0}}
_MADE = {"role": "assistant", "modelID": "claude-x", "providerID": "anthropic", "time": _DONE, "tokens": _TOKENS}


def prompt(text: str, **fields: Any) -> Any:
    """Return a prompt of version 1, with its part."""
    return {"role": "user", "time": _DONE, **fields}, [{"type": "text", "text": text}]


def turn() -> list[Any]:
    """Return a prompt and an answer with reasoning and a call, of version 1."""
    signed = {"anthropic": {"signature": "sig"}}
    state = {"status": "completed", "input": {"command": "ls"}, "output": "deck.md"}
    parts = [
        {"type": "step-start"},
        {"type": "reasoning", "text": "Hm", "metadata": signed},
        {"type": "tool", "callID": "c1", "tool": "bash", "state": state},
        {"type": "step-start"},
        {"type": "text", "text": "One file."},
        {"type": "step-finish"},
    ]
    return [prompt("List"), (_MADE, parts)]


def tree(root: Path, messages: list[Any], **session: Any) -> Path:
    """Write a session as files."""

    def write(path: Path, value: Any) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value))

    write(root / "storage/session/p/ses_1.json", {"title": "Files", "directory": "/deck", **session})
    for number, (message, parts) in enumerate(messages):
        write(root / f"storage/message/ses_1/msg_{number}.json", message)
        for place, part in enumerate(parts):
            write(root / f"storage/part/msg_{number}/prt_{number}{place}.json", part)
    return root


def first(root: Path, messages: list[Any]) -> Path:
    """Write a session as a database of version 1."""
    with closing(sqlite3.connect(root / "opencode.db")) as database, database:
        database.executescript(
            "CREATE TABLE session (id, parent_id, title, directory, revert, time_updated);"
            "CREATE TABLE message (id, session_id, time_created, time_updated, data);"
            "CREATE TABLE part (id, message_id, session_id, time_updated, data);"
            "INSERT INTO session VALUES ('ses_1', NULL, 'Files', '/deck', NULL, 7)"
        )
        for number, (message, parts) in enumerate(messages):
            row = (f"msg_{number}", "ses_1", number, 7, json.dumps(message))
            database.execute("INSERT INTO message VALUES (?, ?, ?, ?, ?)", row)
            for place, part in enumerate(parts):
                below = (f"prt_{number}{place}", f"msg_{number}", "ses_1", 7, json.dumps(part))
                database.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?)", below)
    return root


def exported(root: Path, messages: list[Any], **session: Any) -> Path:
    """Write a session as `opencode export` does."""
    info = {"id": "ses_1", "title": "Files", "directory": "/deck", **session}
    whole = []
    for number, (message, parts) in enumerate(messages):
        below = [{"id": f"prt_{number}{place}", **part} for place, part in enumerate(parts)]
        whole.append({"info": {"id": f"msg_{number}", "sessionID": info["id"], **message}, "parts": below})
    (root / "session.json").write_text(json.dumps({"info": info, "messages": whole}))
    return root


def second(root: Path, *sessions: tuple[str, str | None, list[Any]]) -> Path:
    """Write sessions as a database of version 2: the id, what it is a fork of, and the messages."""
    with closing(sqlite3.connect(root / "opencode.db")) as database, database:
        database.executescript(
            "CREATE TABLE session_v2 (id, parent_id, fork_session_id, fork_boundary, title, directory, time_updated);"
            "CREATE TABLE session_message (id, session_id, type, seq, time_created, time_updated, data);"
        )
        for name, origin, messages in sessions:
            row: tuple[Any, ...] = (name, None, origin, 1 if origin else None, "Files", "/deck", 7)
            database.execute("INSERT INTO session_v2 VALUES (?, ?, ?, ?, ?, ?, ?)", row)
            for number, message in enumerate(messages):
                row = (f"{name}-{number}", name, message["type"], number, 5, 7, json.dumps(message))
                database.execute("INSERT INTO session_message VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    return root


def read(root: Path) -> list[Step]:
    """Return the steps of the only session."""
    (source,) = TOOL.discover(root).sources
    return list(TOOL.open(source).steps())


def said(steps: list[Step]) -> list[tuple[str, list[str]]]:
    """Return the role of each message, and its texts, or the types of its other blocks."""
    return [
        (step.role, [block.get("text") or block["type"] for part in step.parts for block in part.blocks])
        for step in steps
        if isinstance(step, Said)
    ]


@pytest.mark.parametrize("write", [tree, first, exported])
def test_a_turn(tmp_path: Path, write: Any) -> None:
    """The files, the first database and an export say the same: results come after the step that called for them."""
    steps = read(write(tmp_path, turn()))

    assert [
        ("user", ["List"]),
        ("assistant", ["Hm", "tool_call"]),
        ("tool", ["tool_result"]),
        ("assistant", ["One file."]),
    ] == said(steps)
    answer = [step for step in steps if isinstance(step, Said)][1]
    assert ("sig", "claude-x") == (answer.parts[0].blocks[0]["signature"], answer.metadata["model"])
    assert [_TOKENS] == [step.data["usage"] for step in steps if isinstance(step, Kept)]
    about = [step for step in steps if isinstance(step, About)][-1]
    assert ("Files", "/deck", "claude-x") == (about.title, about.tags["cwd"], about.tags["model"])


def test_second_form(tmp_path: Path) -> None:
    """Of version 2 the messages have their contents themselves; a compaction takes the place of what is before."""
    failed = {"type": "tool", "id": "c", "name": "read", "state": {"status": "error", "error": {"message": "No"}}}
    content = [{"type": "text", "text": "Hello"}, failed]
    answer = {"type": "assistant", "model": {"id": "m", "providerID": "openai"}, "content": content, "time": _DONE}
    shell = {"type": "shell", "callID": "s", "command": "ls", "output": "deck.md"}
    messages = [{"type": "user", "text": "Hi"}, answer, shell, {"type": "compaction", "summary": "Sum", "recent": ""}]
    steps = read(second(tmp_path, ("ses_1", None, [*messages, {"type": "user", "text": "On"}])))

    roles = ["user", "assistant", "tool", "assistant", "tool", "user"]
    assert [role for role, _ in said(steps)] == roles
    (compacted,) = [step for step in steps if isinstance(step, Compacted)]
    assert [{"type": "text", "text": "Sum"}] == compacted.summary.parts[0].blocks


def test_the_second_form_as_it_is_now(tmp_path: Path) -> None:
    """What a provider wants back is without its name, a shell's output has more fields, and skills are prompts."""
    thoughts = [{"signature": "sig"}, {"reasoningEncryptedContent": "e", "itemId": "rs"}, {"thoughtSignature": "x"}]
    parts = [
        {"type": "reasoning", "text": "Hm", key: state}
        for key, state in zip(("state", "native", "native"), thoughts, strict=True)
    ]
    content = [{"type": "text", "text": "deck.md"}, {"type": "text", "text": ""}]
    state = {"status": "completed", "input": {}, "content": content[:1], "metadata": {"exit": 1}}
    tool = {"type": "tool", "id": "c", "name": "bash", "executed": False, "native": {"itemId": "fc"}, "state": state}
    waiting = {"type": "tool", "id": "d", "name": "bash", "state": {"status": "streaming", "input": '{"comm'}}
    shell = {
        "type": "shell",
        "shellID": "s",
        "command": "ls",
        "status": "exited",
        "exit": 2,
        "output": {"output": "No"},
    }
    picture = {"data": "aGk=", "mime": "image/png", "name": "a.png", "source": {"type": "inline"}}
    others = [
        {"uri": uri, "mime": "image/png"} for uri in ("data:image/png;base64,aGk=", "https://x/a.png", "file:///a")
    ]
    model = {"id": "m", "providerID": "claude"}
    answer = {"type": "assistant", "model": model, "content": [*parts, *content[1:], tool, waiting], "time": _DONE}
    messages = [
        {"type": "user", "text": "Hi", "files": [picture, *others]},
        {"type": "location-switched", "location": {}},
        {"type": "skill", "skill": "s", "name": "S", "text": "Be nice."},
        answer,
        shell,
    ]
    (source,) = TOOL.discover(second(tmp_path, ("ses_1", None, messages))).sources
    reading = TOOL.open(source)
    found = [step for step in reading.steps() if isinstance(step, Said)]

    assert {"skill", "name", "tool.executed"} == reading.counts.left_out.keys()
    assert ["user", "user", "assistant", "tool", "assistant", "tool"] == [step.role for step in found]
    pictures = found[0].parts[0].blocks[1:]
    assert ("aGk=", "a.png") == (pictures[0]["data_base64"], pictures[0]["name"])
    assert ("aGk=", "https://x/a.png", "opaque") == (
        pictures[1]["data_base64"],
        pictures[2]["url"],
        pictures[3]["type"],
    )
    signed, encrypted, other, call, begun = [part.blocks[0] for part in found[2].parts]
    assert ("sig", "e") == (signed["signature"], json.loads(encrypted["data_json"])["encrypted_content"])
    assert thoughts[2] == json.loads(other["provider_metadata"]["metadata_json"])
    assert ({"openai": {"itemId": "fc"}}, "d") == (json.loads(call["provider_metadata"]["metadata_json"]), begun["id"])
    assert [("No", 2), ([content[0]], 1)] == [_told(found[place].parts[0].blocks[0]) for place in (5, 3)]


def _told(result: Any) -> tuple[Any, int]:
    """Return what a result says, and the exit status beside it."""
    return result["content"], result["provider_metadata"][EXIT_STATUS]


@pytest.mark.parametrize(("status", "then"), [("running", []), ("failed", ["note"]), ("completed", ["compacted"])])
def test_a_compaction_of_the_second_form(tmp_path: Path, status: str, then: list[str]) -> None:
    """It counts once it is completed; one that failed is noted."""
    told = {"error": {"type": "unknown"}} if status == "failed" else {"summary": "Sum", "recent": ""}
    messages = [{"type": "user", "text": "Hi"}, {"type": "compaction", "status": status, "reason": "auto", **told}]

    words = outline(read(second(tmp_path, ("ses_1", None, messages))))
    assert then == [word.partition(":")[0] for word in words[1:]]


def test_a_shell_that_runs(tmp_path: Path) -> None:
    """It waits for its output, and what was said meanwhile with it; after a while it is there without."""
    shell = {"type": "shell", "shellID": "s", "command": "make", "status": "running"}
    messages = [{"type": "user", "text": "Hi"}, shell, {"type": "user", "text": "Ho"}]
    (source,) = TOOL.discover(second(tmp_path, ("ses_1", None, messages))).sources
    now, left = TOOL.open(source._replace(modified=time.time_ns())), TOOL.open(source)

    assert ([("user", ["Hi"])], True) == (said([*now.steps()]), now.counts.unfinished)
    assert ["user", "assistant", "user"] == [role for role, _ in said([*left.steps()])]


@pytest.mark.parametrize("ended", [{"completed": 9}, {}])
def test_the_last_answer_of_the_second_form(tmp_path: Path, ended: Any) -> None:
    """It has no parts besides, and waits only if it has not ended."""
    answer = {"type": "assistant", "content": [{"type": "text", "text": "Hello"}], "time": {"created": 5, **ended}}
    (source,) = TOOL.discover(second(tmp_path, ("ses_1", None, [{"type": "user", "text": "Hi"}, answer]))).sources
    reading = TOOL.open(source._replace(modified=time.time_ns()))

    assert ["user", "assistant"][: 1 + bool(ended)] == [role for role, _ in said([*reading.steps()])]
    assert bool(ended) != reading.counts.unfinished


def test_fork(tmp_path: Path) -> None:
    """A fork has the messages up to its boundary under the ids that they have in the other session."""
    shared = [{"type": "user", "text": "Hi"}, {"type": "user", "text": "Ho"}]
    other = {"type": "user", "text": "Else"}
    second(tmp_path, ("a", "b", [*shared, other]), ("b", None, [*shared, other]))
    sources = TOOL.discover(tmp_path).sources

    assert [
        ("opencode/b", ""),
        ("opencode/a", "opencode/b"),
    ] == [(source.conversation, source.fork_of) for source in sources]
    refs = [step.parts[0].ref for step in TOOL.open(sources[1]).steps() if isinstance(step, Said)]
    assert ["b-0", "b-1", "a-2"] == refs


def test_new_tables_without_rows(tmp_path: Path) -> None:
    """Tables of version 2 that are empty do not hide those of version 1."""
    second(tmp_path)

    assert len(read(first(tmp_path, turn()))) > 1


def test_revert_and_compaction(tmp_path: Path) -> None:
    """A compaction counts if a summary follows; what was taken back is left with a step back."""
    messages = [prompt("One"), ({"role": "user", "time": _DONE}, [{"type": "compaction", "auto": True}])]
    messages += [({**_MADE, "summary": True}, [{"type": "text", "text": "Sum"}]), prompt("Two")]

    steps = read(tree(tmp_path, messages, revert={"messageID": "msg_3"}))

    assert 1 == len([step for step in steps if isinstance(step, Compacted)])
    assert ["prt_20"] == [step.to for step in steps if isinstance(step, Back)]


def test_answer_that_is_being_written(tmp_path: Path) -> None:
    """The last answer is left for the next time if it is not finished."""
    unfinished = ({**_MADE, "time": {"created": 5}}, [{"type": "text", "text": "Hel"}])

    assert [("user", ["Hi"])] == said(read(tree(tmp_path, [prompt("Hi"), unfinished])))


def test_a_prompt_while_an_answer_is_being_written(tmp_path: Path) -> None:
    """It waits for the answer as well; if nobody has written for a while, it follows what there is of it."""
    begun = ({**_MADE, "time": {"created": 5}}, [{"type": "text", "text": "Hel"}])
    tree(tmp_path, [prompt("Hi"), begun, prompt("Ho")])
    (source,) = TOOL.discover(tmp_path).sources
    now, left = TOOL.open(source), TOOL.open(source._replace(modified=1))

    assert ([("user", ["Hi"])], True) == (said(list(now.steps())), now.counts.unfinished)
    refs = [step.parts[0].ref for step in left.steps() if isinstance(step, Said)]
    assert ["prt_00", "prt_10~", "prt_20"] == refs


def test_an_answer_that_is_written_again(tmp_path: Path) -> None:
    """An answer that has ended, but whose step has not, is left for the next import: its other parts are to come."""
    parts = [{"type": "step-start"}, {"type": "text", "text": "I look."}, {"type": "step-finish"}]
    ended = {**_MADE, "finish": "stop"}
    aborted = {**ended, "error": {"name": "MessageAbortedError"}}

    assert [("user", ["Hi"])] == said(read(tree(tmp_path / "a", [prompt("Hi"), (ended, parts[:2])])))
    assert [("user", ["Hi"])] == said(read(tree(tmp_path / "b", [prompt("Hi"), (ended, [])])))
    for number, message in enumerate([(ended, parts), (aborted, parts[:2]), (ended, parts[1:2])]):
        assert ("assistant", ["I look."]) == said(read(tree(tmp_path / str(number), [prompt("Hi"), message])))[1]


def test_an_answer_that_was_left(tmp_path: Path) -> None:
    """What an answer did before its program was killed is read, once nobody has written to it for an hour."""
    state = {"status": "completed", "input": {}, "output": "deck.md"}
    part = {"type": "tool", "callID": "c1", "tool": "bash", "state": state}
    tree(tmp_path, [prompt("List"), ({**_MADE, "time": {"created": 5}}, [part])])
    (source,) = TOOL.discover(tmp_path).sources
    now, left = TOOL.open(source), TOOL.open(source._replace(modified=1))

    assert ([("user", ["List"])], True) == (said(list(now.steps())), now.counts.unfinished)
    words = [("user", ["List"]), ("assistant", ["tool_call"]), ("tool", ["tool_result"])]
    assert (words, False) == (said(list(left.steps())), left.counts.unfinished)


@pytest.mark.parametrize(
    ("metadata", "status"), [({"exit": 2, "truncated": False}, 2), ({"exit": 0}, 0), ({"exit": None}, None), ({}, None)]
)
def test_exit_status(tmp_path: Path, metadata: Any, status: int | None) -> None:
    """A command's exit status is beside its output, and so beside its result; nothing is there if it was ended."""
    state = {"status": "completed", "input": {"command": "x", "description": "X"}, "output": "o", "metadata": metadata}
    messages = [
        prompt("Go"),
        ({**_MADE, "finish": "stop"}, [{"type": "tool", "callID": "c1", "tool": "bash", "state": state}]),
    ]
    _, answer, results = [step for step in read(tree(tmp_path, messages)) if isinstance(step, Said)]

    (ran,) = touches(answer.parts[0].blocks[0], results.parts[0].blocks[0])
    assert ("o", status) == (results.parts[0].blocks[0]["content"], ran.status)


def test_a_compaction_without_its_summary(tmp_path: Path) -> None:
    """Its prompt is no message as long as the summary may come; it is one if something else follows."""
    compaction = ({"role": "user", "time": _DONE}, [{"type": "compaction", "auto": False}])

    assert [("user", ["One"])] == said(read(tree(tmp_path / "a", [prompt("One"), compaction])))
    messages = [prompt("One"), compaction, prompt("Two")]
    assert ["user"] * 3 == [role for role, _ in said(read(tree(tmp_path / "b", messages)))]


def _compacted(tail: str, **summary: Any) -> list[Any]:
    """Return a conversation that was summed up, and goes on."""
    compaction = ({"role": "user", "time": _DONE}, [{"type": "compaction", "auto": False, "tail_start_id": tail}])
    answer = ({**_MADE, "summary": True, **summary}, [{"type": "text", "text": "Sum"}])
    return [prompt("One"), prompt("Two"), prompt("Three"), compaction, answer, prompt("Four")]


@pytest.mark.parametrize(
    ("tail", "kept"), [("msg_1", ["again: prt_10 prt_20"]), ("msg_3", []), ("msg_9", []), ("", [])]
)
def test_what_is_kept_beside_a_summary(tmp_path: Path, tail: str, kept: list[str]) -> None:
    """The last messages before a compaction, from the one that it names on, follow its summary once more."""
    messages = _compacted(tail)

    before = ["user:prt_00", "user:prt_10", "user:prt_20"]
    assert [*before, "compacted:prt_30", "assistant:prt_40", *kept, "user:prt_50"] == outline(
        read(tree(tmp_path, messages))
    )


def test_a_compaction_that_was_taken_back(tmp_path: Path) -> None:
    """It is left with a step back to where the messages are that it has kept."""
    steps = read(tree(tmp_path, _compacted("msg_1"), revert={"messageID": "msg_2"}))

    assert ["compacted:prt_30", "assistant:prt_40", "user:prt_50", "back:prt_10"] == outline(steps)[3:]


@pytest.mark.parametrize(
    ("left", "then"),
    [({"time": {"created": 5}}, []), ({"error": {"name": "APIError"}}, ["note:msg_4/error/note", "back:prt_30"])],
)
def test_a_summary_that_was_left(tmp_path: Path, left: Any, then: list[str]) -> None:
    """One that did not end, or failed, is no summary."""
    messages = [*_compacted("", **left), (_MADE, [{"type": "text", "text": "Yes"}])]

    steps = outline(read(tree(tmp_path, messages)))
    assert ["user:prt_30", "assistant:prt_40", *then, "user:prt_50", "assistant:prt_60"] == steps[3:]


def test_a_summary_that_may_go_on(tmp_path: Path) -> None:
    """It waits until it has ended, or another answer follows, however long that takes, and so does what follows it."""
    (source,) = TOOL.discover(tree(tmp_path, _compacted("", time={"created": 5}))).sources
    reading = TOOL.open(source._replace(modified=1))

    assert (["user:prt_00", "user:prt_10", "user:prt_20"], True) == (
        outline(list(reading.steps())),
        reading.counts.unfinished,
    )


@pytest.mark.parametrize(
    ("name", "kinds", "is_dropped"),
    [
        ("MessageAbortedError", ["reasoning"], True),
        ("MessageAbortedError", ["reasoning", "text"], False),
        ("APIError", ["text"], True),
        ("APIError", [], False),
    ],
)
def test_an_answer_that_is_not_sent_again(tmp_path: Path, name: str, kinds: list[str], *, is_dropped: bool) -> None:
    """One that failed, or was ended before it said something, is left with a step back; what failed is noted."""
    parts = [{"type": "step-start"}, *({"type": kind, "text": "So"} for kind in kinds)]
    failed = ({**_MADE, "error": {"name": name}}, parts)
    steps = read(tree(tmp_path, [prompt("One"), failed, prompt("Two")]))

    backs = ["prt_00"] if is_dropped else []
    assert backs == [step.to for step in steps if isinstance(step, Back)]
    assert len(backs) == len([word for word in outline(steps) if word == "back:prt_00"])
    assert ["note"] == [step.kind for step in steps if isinstance(step, Kept) and step.kind == "note"]


def test_what_is_being_taken_back(tmp_path: Path) -> None:
    """Its messages are deleted one after the other, the first one first: those that are left are taken back as well."""
    tree(tmp_path, [prompt("One"), *turn(), prompt("Two")], revert={"messageID": "msg_1"})
    (tmp_path / "storage/message/ses_1/msg_1.json").unlink()

    assert ["prt_00"] == [step.to for step in read(tmp_path) if isinstance(step, Back)]


def test_parts_without_words(tmp_path: Path) -> None:
    """Nothing is made of a part whose words were to come when its program was killed; a signed thought is one."""
    empty = [{"type": "text", "text": ""}, {"type": "reasoning", "text": ""}]
    signed = {"type": "reasoning", "text": "", "metadata": {"anthropic": {"redactedData": "x"}}}
    steps = read(tree(tmp_path, [prompt(""), prompt("One"), ({**_MADE, "finish": "stop"}, empty), (_MADE, [signed])]))

    assert [("user", ["One"]), ("assistant", ["redacted_thinking"])] == said(steps)


def test_a_call_that_was_ended(tmp_path: Path) -> None:
    """Its result is what it had told by then, if it had."""
    told = [{"interrupted": True, "output": "Half"}, {"interrupted": True}, {"output": "Half"}]
    state = {"status": "error", "input": {}, "error": "Aborted"}
    parts = [
        {"type": "tool", "callID": f"c{number}", "tool": "bash", "state": {**state, "metadata": metadata}}
        for number, metadata in enumerate(told)
    ]
    *_, results = [step for step in read(tree(tmp_path, [prompt("Go"), (_MADE, parts)])) if isinstance(step, Said)]

    blocks = [part.blocks[0] for part in results.parts]
    assert [("Half", False), ("Aborted", True), ("Aborted", True)] == [
        (block["content"], block["is_error"]) for block in blocks
    ]


@pytest.mark.parametrize(
    "change",
    ["UPDATE session SET title = 'Decks'", "UPDATE message SET time_updated = 8", "UPDATE message SET data = '{}'"],
)
def test_what_is_a_change(tmp_path: Path, change: str) -> None:
    """A new title is one, for which opencode sets no time, and so is a message whose parts stay."""
    (before,) = TOOL.discover(first(tmp_path, turn())).sources
    with closing(sqlite3.connect(tmp_path / "opencode.db")) as database, database:
        database.execute(change)

    assert [before] != TOOL.discover(tmp_path).sources


@pytest.mark.parametrize(
    ("given", "title"),
    [
        ("Files", "Files"),
        ("New session - 2026-11-28T00:18:11.172Z", "List"),
        ("Child session - 2026-11-28T00:18:11.172Z", "List"),
    ],
)
def test_title(tmp_path: Path, given: str, title: str) -> None:
    """Until a session has a title of its own, it has the first words of its person."""
    messages = [prompt("<system-reminder>Be nice.</system-reminder>"), *turn()]

    assert title == [step.title for step in read(tree(tmp_path, messages, title=given)) if isinstance(step, About)][-1]


@pytest.mark.parametrize(
    ("provider", "metadata", "block"),
    [
        (
            "anthropic",
            {"anthropic": {"redactedData": "x"}},
            {"type": "redacted_thinking", "data": "x", "provider": "anthropic"},
        ),
        ("anthropic", {}, {"type": "thinking", "text": "Hm", "provider": "anthropic"}),
        ("moonshotai", {}, {"type": "thinking", "text": "Hm", "provider": "openai"}),
        ("", {}, {"type": "thinking", "text": "Hm", "provider": "opencode"}),
    ],
)
def test_reasoning(provider: str, metadata: Any, block: Any) -> None:
    """Reasoning goes back to its provider in the provider's form, which is that of Chat Completions for most."""
    part = {"type": "reasoning", "text": "Hm", "providerMetadata": metadata}
    (step,) = Messages(Counts()).read({"role": "assistant", "providerID": provider}, "m", [("p", part)])

    assert isinstance(step, Said)
    assert [block] == step.parts[0].blocks


def test_encrypted_reasoning() -> None:
    """Reasoning that OpenAI has encrypted is an item of its API."""
    given = {"openai": {"itemId": "rs", "reasoningEncryptedContent": "e"}}
    part = {"type": "reasoning", "text": "", "metadata": given}
    (step,) = Messages(Counts()).read({"role": "assistant"}, "m", [("p", part)])

    assert isinstance(step, Said)
    item = json.loads(step.parts[0].blocks[0]["data_json"])
    assert {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "e"} == item


def test_links_and_foreign_databases(tmp_path: Path) -> None:
    """A link is not followed, and a database of something else is not taken for an empty history."""
    (tmp_path / "storage/session/p").mkdir(parents=True)
    (tmp_path / "storage/session/p/x.json").symlink_to("/etc/passwd")
    sqlite3.connect(tmp_path / "opencode.db").close()

    found = TOOL.discover(tmp_path)

    assert [] == found.sources
    assert [
        (False, True),
        (True, False),
    ] == [("link" in problem.what, "no tables" in problem.what) for problem in found.problems]


def test_an_export(tmp_path: Path) -> None:
    """It is one conversation with the session in the database: it has the same name, and its messages the same ids."""
    (of_database,) = TOOL.discover(first(tmp_path, turn())).sources
    (_, export) = TOOL.discover(exported(tmp_path, turn(), parentID="ses_0")).sources
    steps = list(TOOL.open(export).steps())
    (about, *_) = [step for step in steps if isinstance(step, About)]

    names = [of_database.conversation, export.conversation + about.part, about.tags["parent"]]
    assert ["opencode/ses_1", "opencode/ses_1", "opencode/ses_0"] == names

    def refs(steps: Iterable[Step]) -> list[str]:
        return [part.ref for step in steps if isinstance(step, Said) for part in step.parts]

    assert refs(TOOL.open(of_database).steps()) == refs(steps)


def test_which_files_are_exports(tmp_path: Path) -> None:
    """Of the JSON files in a directory those that may be one; a file that is named is one, or is reported."""
    exported(tmp_path, turn())
    (tmp_path / "auth.json").write_text('{"anthropic": {"type": "api", "key": "k"}}')
    (tmp_path / "sessions.json").mkdir()
    found = TOOL.discover(tmp_path)

    assert (["session.json"], []) == ([Path(source.path).name for source in found.sources], found.problems)
    (source,) = TOOL.discover(tmp_path / "auth.json").sources
    reading = TOOL.open(source)
    assert [] == said(list(reading.steps()))
    assert "is no export of opencode" in reading.counts.problems[0].what


@pytest.mark.parametrize("write", [tree, first, exported])
def test_a_message_of_an_unknown_role(tmp_path: Path, write: Any) -> None:
    """It is a note with all that it says: its parts as well."""
    later = ({"role": "critic", "time": _DONE}, [{"type": "text", "text": "No."}])

    (note,) = [
        step for step in read(write(tmp_path, [*turn(), later])) if isinstance(step, Kept) and step.kind == "note"
    ]
    assert "No." == json.loads(note.data["opencode"])["parts"][0]["text"]


def test_place() -> None:
    """The history is below the directory for data, or below the home directory."""
    places = [[str(path) for path in TOOL.places(env)] for env in ({"HOME": "/h"}, {"XDG_DATA_HOME": "/x"})]

    assert [["/h/.local/share/opencode"], ["/x/opencode"]] == places


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    """Return a directory to write to, and a database of version 1."""
    root = tmp_path_factory.mktemp("damaged")
    data = (first(root, turn()) / "opencode.db").read_bytes()
    return root, data


@given(cut=st.integers(0, 1 << 16), flips=st.lists(st.tuples(st.integers(0, 1 << 16), st.integers(1, 255)), max_size=9))
def test_damaged_database(originals: tuple[Path, bytes], cut: int, flips: list[tuple[int, int]]) -> None:
    """Of a database that is cut and has wrong bytes, an error or what is left of it is read."""
    root, whole = originals
    data = bytearray(whole[: cut % (2 * len(whole))])
    for place, bits in flips:
        if data:
            data[place % len(data)] ^= bits
    (root / "opencode.db").write_bytes(data)
    found = TOOL.discover(root)

    assert found.sources or found.problems or bytes(data) != whole
    for source in found.sources:
        opened, known = TOOL.open(source), {""}
        try:
            for step in opened.steps():
                known |= check_step(step, known)
        except OSError as error:
            assert "database" in str(error)  # noqa: PT017 - both are right
        counts = opened.counts
        assert counts.read == counts.mapped + counts.ignored.total() + counts.unknown.total()


_KEYS = ["text", "state", "callID", "tool", "url", "mime", "metadata", "files", "content", "summary", "error", "input"]
_JUNK: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.sampled_from(["", "x", "text", "tool", "completed", "data:a;base64,QQ"]),
    lambda inside: (
        st.lists(inside, max_size=2)
        | st.dictionaries(st.sampled_from([*_KEYS, "type", "status", "anthropic", "signature"]), inside, max_size=4)
    ),
    max_leaves=8,
)
_PARTS = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "file", "tool", "reasoning", "compaction", "patch", "step-start", "odd"])},
    optional=dict.fromkeys(_KEYS, _JUNK),
)
_TYPES = ["user", "assistant", "system", "synthetic", "shell", "compaction", "idle", "odd", ""]


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(
            st.fixed_dictionaries(
                {"id": st.sampled_from(["a", "b"])},
                optional={
                    **dict.fromkeys(_KEYS, _JUNK),
                    "type": st.sampled_from(_TYPES),
                    "role": st.sampled_from(["user", "assistant", "x"]),
                    "content": st.lists(_PARTS | _JUNK, max_size=2),
                },
            ),
            st.lists(_PARTS, max_size=3),
        ),
        max_size=8,
    )
)
def test_any_messages(messages: list[Any]) -> None:
    """Whatever the records are, what becomes of them can be added, and every step back is to what was said."""
    counts, known = Counts(), {""}
    reader = Messages(counts, "b")
    steps = [
        step
        for number, (message, parts) in enumerate(messages)
        for step in reader.read(message, f"m{number}", [(f"p{number}.{at}", part) for at, part in enumerate(parts)])
    ]
    for step in [*steps, *reader.end()]:
        known |= check_step(step, known)

    assert counts.read == counts.mapped + counts.ignored.total() + counts.unknown.total()
    assert counts.read >= len(messages)
