"""Records of Claude Code that were written before the ones that they follow."""

from pathlib import Path

import pytest

from tests.reel.importing.transcripts import Transcript, call, outline, read, session_of


def test_a_result_before_its_call(tmp_path: Path) -> None:
    """A result that was written before its call follows the call, and nothing goes back."""
    made = Transcript().user("u1", "Hi").result("r1", "c1", after="a2")
    made.answer("a1", "I look", "m1", after="u1").answer("a2", call("c1"), "m1").answer("a3", "Done", "m2", after="r1")

    assert ["user:u1", "assistant:a1+a2", "tool:r1", "assistant:a3"] == outline(read(made, tmp_path))


def test_a_record_that_says_nothing_before_its_predecessor(tmp_path: Path) -> None:
    """A record that only connects others waits for its predecessor as well."""
    made = Transcript().user("u1", "Hi").record("progress", "p1", after="p0").record("progress", "p0", after="u1")

    assert ["user:u1", "assistant:a1"] == outline(read(made.answer("a1", "Yes", "m1", after="p1"), tmp_path))


@pytest.mark.parametrize("others", [0, 1, 40])
def test_a_predecessor_that_never_comes(tmp_path: Path, others: int) -> None:
    """A record whose predecessor is in no file keeps its place among the others, however many follow."""
    made = Transcript().user("u1", "Hi").user("u2", "Still there?", after="gone")
    for number in range(others):
        made.answer(f"a{number}", "Yes", f"m{number}")

    words = outline(read(made, tmp_path))

    assert ["user:u1", "user:u2", *(f"assistant:a{number}" for number in range(others))] == words


def test_records_that_follow_each_other(tmp_path: Path) -> None:
    """Two records, each of which names the other, and one that names itself, are read once each."""
    made = Transcript().user("u1", "Hi", after="u2").user("u2", "Hi", after="u1").user("u3", "Hi", after="u3")

    assert {"user:u1", "user:u2", "user:u3"} <= set(outline(read(made, tmp_path)))


def test_a_copy_of_a_record_that_waits(tmp_path: Path) -> None:
    """A record that is repeated while it waits counts once."""
    made = Transcript().user("u1", "Hi").user("u2", "More", after="a1").user("u2", "More", after="a1")

    assert ["user:u1", "assistant:a1", "user:u2"] == outline(read(made.answer("a1", "Yes", "m1", after="u1"), tmp_path))


def test_a_damaged_record_that_is_repeated(tmp_path: Path) -> None:
    """A block that is refused counts once, however often its record was written, at once or much later."""
    made = Transcript().user("u1", [{"type": "text"}]).user("u1", [{"type": "text"}])
    for number in range(100):
        made.answer(f"a{number}", "Yes", f"m{number}")
    session = session_of(made.user("u1", [{"type": "text"}]), tmp_path)

    list(session.steps())

    assert {"text": 1} == session.counts.refused
    assert {"repeated": 2} == session.counts.ignored


def test_records_of_two_types_with_the_same_id(tmp_path: Path) -> None:
    """The first one is read as it is; the other one, a message, is no part of the conversation, and counts as none."""
    made = Transcript().user("u1", "Hi").record("mystery", "x1", text="?").user("x1", [{"type": "text"}], after="u1")
    session = session_of(made, tmp_path)

    assert ["user:u1", "note:x1"] == outline(list(session.steps()))
    assert {"repeated": 1} == session.counts.ignored
    assert {"mystery": 1} == session.counts.unknown
