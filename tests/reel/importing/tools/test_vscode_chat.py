"""Reading the sessions of VS Code's chat."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from reel.importing.steps import Compacted, Kept
from reel.importing.tools.vscode_chat.tool import TOOL
from tests.reel.importing.records import Read

_PLACE = "workspaceStorage/0a/chatSessions"
_TIME = 1_780_000_000_000


def request(ident: str, text: str, *response: Any, **more: Any) -> dict[str, Any]:
    """Return a request; a string in the answer is a text that is shown."""
    parts = [{"value": part, "supportHtml": False} if isinstance(part, str) else part for part in response]
    message = {"text": text, "parts": [{"kind": "text", "text": text}]}
    about = {"timestamp": _TIME, "modelId": "copilot/claude-sonnet-4.5", "result": {}}
    return {
        "requestId": ident,
        "message": message,
        "variableData": {"variables": []},
        "response": parts,
        **about,
        **more,
    }


def rounds(*given: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    """Return the result of a request, with the rounds in which the model answered."""
    return {"timings": {}, "metadata": {"toolCallRounds": list(given), **metadata}}


def call(ident: str) -> dict[str, Any]:
    """Return a call."""
    return {"id": ident, "name": "read_file", "arguments": '{"path": "a"}'}


def save(path: Path, *requests: Any, **session: Any) -> Path:
    """Write a session as an object, last written long ago."""
    return write(
        path, json.dumps({"version": 3, "requests": list(requests), "responderUsername": "Copilot", **session})
    )


def write(path: Path, content: str) -> Path:
    """Write a file that nobody has written to for a long time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    os.utime(path, (_TIME // 1000, _TIME // 1000))
    return path


def log(path: Path, *changes: dict[str, Any]) -> Path:
    """Write a session as a log of changes."""
    begin = {"kind": 0, "v": {"version": 3, "responderUsername": "Copilot", "requests": []}}
    return write(path, "".join(json.dumps(change) + "\n" for change in (begin, *changes)))


def rich(path: Path) -> None:
    """Write a session with what a plain one has not."""
    one = {"id": "a", "response": "ho", "toolCalls": [call("c")], "thinking": {"id": "t", "text": "Hm"}, "summary": "s"}
    results = {"c": {"content": [{"$mid": 21, "value": "o"}]}}
    save(path, request("r", "hi", result=rounds(one, toolCallResults=results, promptTokens=9)))


def test_a_turn(tmp_path: Path) -> None:
    """The rounds of the model are answers, with the results as it got them; a prompt has what was typed beside it."""
    tree = {
        "node": {"type": 1, "children": [{"type": 2, "text": "one"}, {"type": 2, "text": "x", "lineBreakBefore": True}]}
    }
    results = {"c1": {"content": [{"$mid": 21, "value": "two"}]}, "c2": {"content": [{"$mid": 23, "value": tree}]}}
    first = {"id": "a1", "response": "Looking", "toolCalls": [call("c1"), call("c2")], "thinking": {"text": "Hm"}}
    result = rounds(
        first,
        {"id": "a2", "response": "Two", "toolCalls": []},
        toolCallResults=results,
        renderedUserMessage=[{"type": 1, "text": "<context/>List it"}, {"type": 3}],
        promptTokens=9,
        outputTokens=2,
    )
    shown = ("Looking", {"kind": "toolInvocationSerialized", "toolCallId": "c1"}, {"kind": "undoStop"}, "Two")
    path = save(tmp_path / _PLACE / "s1.json", request("r1", "List it", *shown, result=result))
    write(tmp_path / "workspaceStorage/0a/workspace.json", json.dumps({"folder": "file:///home/ada/my%20deck"}))
    found = Read(TOOL, path.parent)

    assert [
        ("user", "<context/>List it"),
        ("assistant", "Hm Looking tool_call tool_call"),
        ("tool", "tool_result"),
        ("tool", "tool_result"),
        ("assistant", "Two"),
    ] == found.texts
    assert ["two", "one\nx"] == [one.parts[0].blocks[0]["content"] for one in found.said[2:4]]
    assert "List it" == found.said[0].metadata["display"]
    tags = {"cwd": "/home/ada/my deck", "model": "copilot/claude-sonnet-4.5"}
    assert ("List it", tags) == (found.about.title, {key: found.about.tags[key] for key in tags})
    (usage,) = (step.data["usage"] for step in found.steps if isinstance(step, Kept))
    assert {"prompt_tokens": 9, "completion_tokens": 2} == usage
    assert {"shown, and in the rounds of the model as well": 3, "progress of a turn": 1} == found.counts.ignored
    assert (3, {}, {}) == (found.counts.mapped, found.counts.unknown, found.counts.left_out)


def test_an_answer_without_rounds(tmp_path: Path) -> None:
    """It is what was shown: the texts as one, with the names of files in them, and all else whole in its place."""
    reference = {"kind": "inlineReference", "inlineReference": {"path": "/home/ada/a.py", "scheme": "file"}}
    edit = {"kind": "textEditGroup", "edits": [[{"text": "x"}]]}
    thinking, empty = {"kind": "thinking", "value": "Hm"}, {"kind": "thinking", "value": []}
    older = {"kind": "markdownContent", "content": {"value": "!"}}
    parts = (thinking, empty, "See ", reference, older, edit)
    found = Read(TOOL, save(tmp_path / _PLACE / "s1.json", request("r1", "Hi", *parts)))

    assert ("assistant", "Hm See `a.py`! opaque") == found.texts[1]
    assert {"progress of a turn": 1} == found.counts.ignored


def test_how_an_answer_ended(tmp_path: Path) -> None:
    """An error and a cancellation are notes, and so are fields that are not known."""
    failed = request("r1", "Hi", result={"errorDetails": {"message": "no network"}}, zz=1)
    found = Read(
        TOOL, save(tmp_path / _PLACE / "s1.json", failed, request("r2", "Ho", isCanceled=True), {"requestId": "x"})
    )

    assert ["no network", None, "canceled", None] == [step.content for step in found.steps if isinstance(step, Kept)]
    assert {"request without a message": 1} == found.counts.unknown


def test_a_summary(tmp_path: Path) -> None:
    """It takes the place of the conversation up to its round."""
    result = rounds({"id": "a1", "response": "1", "summary": "In short"}, {"id": "a2", "response": "2"})
    found = Read(TOOL, save(tmp_path / _PLACE / "s1.json", request("r1", "Hi", result=result)))
    kinds = [type(step).__name__ for step in found.steps if not isinstance(step, Kept)]

    assert ["About", "Said", "Said", "Compacted", "Said"] == kinds
    (compacted,) = (step for step in found.steps if isinstance(step, Compacted))
    assert "In short" == compacted.summary.parts[0].blocks[0]["text"]


def test_an_answer_that_is_being_written(tmp_path: Path) -> None:
    """It is left for the next time with its prompt, of which only the end says what the model got."""
    asked = {**request("r2", "Hi", "Ho"), "result": None}
    path = save(tmp_path / _PLACE / "s1.json", request("r1", "One"), asked)
    before = Read(TOOL, path)
    os.utime(path)
    now = Read(TOOL, path)

    assert [("user", "One"), ("user", "Hi"), ("assistant", "Ho")] == before.texts
    assert ([("user", "One")], True) == (now.texts, now.counts.unfinished)
    assert {"answer that is being written": 2} == now.counts.ignored


def test_a_log_of_changes(tmp_path: Path) -> None:
    """The session is what all changes make of it; one that cannot be made is reported."""
    path = log(
        tmp_path / _PLACE / "s1.jsonl",
        {"kind": 2, "k": ["requests"], "v": [request("r1", "One"), request("r2", "Two"), request("r3", "No")]},
        {"kind": 2, "k": ["requests"], "i": 2},
        {"kind": 1, "k": ["requests", 0, "response"], "v": [{"value": "1"}]},
        {"kind": 2, "k": ["requests", 0, "response"], "v": [{"value": "!"}]},
        {"kind": 1, "k": ["customTitle"], "v": "Numbers"},
        {"kind": 1, "k": ["requests", 2], "v": request("r4", "Four")},
        {"kind": 3, "k": ["requests", 1, "modelId"]},
        {"kind": 2, "k": ["more", "things"], "v": []},
        {"kind": 1, "k": ["requests", 9], "v": 1},
        {"kind": 1, "k": ["customTitle", "x"], "v": 1},
        {"kind": 2, "k": ["customTitle"], "v": []},
        {"kind": 1, "k": []},
    )
    with path.open("a") as file:
        file.write('{"kind": 1, "k": ["customTit')
    found = Read(TOOL, tmp_path)

    assert [("user", "One"), ("assistant", "1!"), ("user", "Two"), ("user", "Four")] == found.texts
    assert ("Numbers", 5) == (found.about.title, len(found.counts.problems))


@pytest.mark.parametrize(
    "content", ["[]", '{"requests": {}}', "", '{"version": 3, "requests": [{"requestId": "r1", "message"']
)
def test_a_damaged_session(tmp_path: Path, content: str) -> None:
    """It is reported."""
    found = Read(TOOL, write(tmp_path / _PLACE / "s1.json", content))

    assert ([], 1) == (found.texts, len(found.counts.problems))


def test_places(tmp_path: Path) -> None:
    """Sessions are in each workspace, and beside them; the newer of two forms counts; exports tell themselves."""
    user = tmp_path / ".config/Code/User"
    save(user / _PLACE / "s1.json", request("r1", "Old"))
    newer = log(user / _PLACE / "s1.jsonl", {"kind": 2, "k": ["requests"], "v": [request("r1", "New")]})
    os.utime(newer)
    save(user / "globalStorage/emptyWindowChatSessions/s2.json", request("r1", "Hi"))
    save(tmp_path / "exports/chat.json", request("r1", "Hi"))
    write(tmp_path / "exports/other.json", "{}")
    write(tmp_path / "exports/other.jsonl", "{}\n")
    places = list(TOOL.places({"HOME": str(tmp_path)}))

    assert [user / _PLACE, user / "globalStorage/emptyWindowChatSessions"] == places
    assert [["s1.jsonl"], ["s2.json"], ["chat.json"]] == [
        [Path(source.path).name for source in TOOL.discover(place).sources] for place in (*places, tmp_path / "exports")
    ]


def test_pictures_and_odd_results(tmp_path: Path) -> None:
    """A picture, and a result of another kind, are kept whole; a request that is there twice counts once."""
    picture = {"kind": "image", "name": "a.png", "value": {"0": 137}}
    results = {"c1": {"content": [{"$mid": 22, "value": {"data": "x"}}], "hasError": True}}
    asked = request("r1", "Hi", variableData={"variables": [picture]})
    answer = rounds({"id": "a1", "response": "", "toolCalls": [call("c1")]}, toolCallResults=results)
    found = Read(TOOL, save(tmp_path / _PLACE / "s1.json", {**asked, "result": answer}, {**asked, "result": answer}))

    assert [("user", "Hi opaque"), ("assistant", "tool_call"), ("tool", "tool_result")] == found.texts
    assert True is found.said[2].parts[0].blocks[0]["is_error"]
    assert {"repeated": 1} == found.counts.ignored
