"""Reading the transcripts of Cursor."""

from pathlib import Path
from typing import Any

import pytest

from reel.importing.steps import Kept
from reel.importing.tools.cursor import TOOL
from tests.reel.importing.records import Read, Records

_PLACE = "projects/home-ada-deck/agent-transcripts"
_ENDED = {"type": "turn_ended", "status": "success"}


def line(role: str, *content: Any) -> dict[str, Any]:
    """Return a record; a string is a text."""
    blocks = [{"type": "text", "text": part} if isinstance(part, str) else part for part in content]
    return {"role": role, "message": {"content": blocks}}


def call(name: str) -> dict[str, Any]:
    """Return a call, which has no id."""
    return {"type": "tool_use", "name": name, "input": {"command": "ls"}}


def read(tmp_path: Path, *records: dict[str, Any]) -> Read:
    """Return what is read of a transcript."""
    return Read(TOOL, Records(*records).write(tmp_path / _PLACE / "c1/c1.jsonl"))


def test_a_turn(tmp_path: Path) -> None:
    """A call gets a result, because the transcript has none; the prompt has its time, and the answer that of it."""
    prompt = "<timestamp>Thursday, Sep 10, 2026, 7:41 AM (UTC+3)</timestamp>\n<user_query>\nList it\n</user_query>"
    found = read(
        tmp_path, line("user", prompt), line("assistant", "Yes", call("Shell"), call("Read")), line("assistant", "Two")
    )

    assert [
        ("user", prompt),
        ("assistant", "Yes tool_call tool_call"),
        ("tool", "tool_result tool_result"),
        ("assistant", "Two"),
    ] == found.texts
    calls = [block["id"] for block in found.said[1].parts[0].blocks[1:]]
    assert calls == [block["tool_call_id"] for block in found.said[2].parts[0].blocks]
    assert {1_789_015_260_000} == {said.sent for said in found.said}
    assert ("List it", "home-ada-deck") == (found.about.title, found.about.tags["project"])
    assert (3, {}, {}) == (found.counts.mapped, found.counts.ignored, found.counts.left_out)


def test_the_end_of_a_turn(tmp_path: Path) -> None:
    """It is ignored if all went well, and else a note; calls before it get their results."""
    failed = {"type": "turn_ended", "status": "error", "error": "User aborted request"}
    found = read(tmp_path, line("user", "Hi"), line("assistant", call("Shell")), _ENDED, failed, {"type": "hologram"})

    assert ["user", "assistant", "tool"] == [said.role for said in found.said]
    assert ["User aborted request", None] == [step.content for step in found.steps if isinstance(step, Kept)]
    assert ({"end of a turn": 1}, {"hologram": 1}) == (found.counts.ignored, found.counts.unknown)


def test_a_result_that_is_there(tmp_path: Path) -> None:
    """It belongs to the call that it names, else to the first one without a result."""
    results = [{"type": "tool_result", "tool_use_id": "t1", "content": "a"}, {"type": "tool_result", "content": "b"}]
    found = read(tmp_path, line("assistant", call("Shell"), {**call("Read"), "id": "t1"}), line("user", *results))
    first, second = (block["id"] for block in found.said[0].parts[0].blocks)

    assert ("tool", [second, first]) == (
        found.said[1].role,
        [block["tool_call_id"] for block in found.said[1].parts[0].blocks],
    )


def test_a_sub_agent(tmp_path: Path) -> None:
    """Its transcript is a conversation of its own, which names the other one; other files are left out."""
    for name in ("c1/c1.jsonl", "c1/subagents/s1.jsonl"):
        Records(line("user", "Hi")).write(tmp_path / _PLACE / name)
    Records({"type": "other"}).write(tmp_path / _PLACE / "c1/other.jsonl")
    sources = TOOL.discover(tmp_path / "projects").sources

    assert ["cursor/c1", "cursor/c1/s1"] == [source.conversation for source in sources]
    assert ["", "cursor/c1"] == [source.about.get("parent", "") for source in sources]
    assert [tmp_path / ".cursor/projects"] == list(TOOL.places({"HOME": str(tmp_path)}))


@pytest.mark.parametrize("zone", ["(UTC+5:30)", "(UTC-4)", "(UTC)", "(UTC+99)", "(CEST)"])
def test_a_time(tmp_path: Path, zone: str) -> None:
    """A zone may have minutes; without a time, the message has that of the file."""
    seen = read(tmp_path, line("user", f"<timestamp>Sunday, Sep 20, 2026, 12:31 AM {zone}</timestamp>\nHi"))
    hours = {"(UTC+5:30)": 5.5, "(UTC-4)": -4.0, "(UTC)": 0.0}.get(zone)

    expected = seen.source.modified // 1_000_000 if hours is None else int(1_789_864_260_000 - hours * 3_600_000)
    assert [expected] == [said.sent for said in seen.said]
