"""Which conversation a transcript of Claude Code belongs to, and which one it is a copy of."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from reel.importing.steps import About
from reel.importing.tools.claude_code.tool import TOOL
from tests.reel.importing.transcripts import Transcript, outline, read

_A, _B = "aaaaaaaa-0000-4000-8000-000000000001", "bbbbbbbb-0000-4000-8000-000000000002"


def _begin(session: str) -> Transcript:
    return Transcript(session).user("u1", "Hi").answer("a1", "Yes", "m1")


def _resumed() -> tuple[Transcript, Transcript]:
    """Return a session, and one that began with a copy of it, which kept the old id."""
    copy = _begin(_A)
    copy.session = _B
    return _begin(_A), copy.user("u2", "On")


def _branched() -> tuple[Transcript, Transcript]:
    """Return a session, and a branch of it, whose copied records name it."""
    branch = _begin(_B)
    for record in branch.records:
        record["forkedFrom"] = {"sessionId": _A, "messageUuid": record["uuid"]}
    return _begin(_A).user("u9", "Later"), branch.user("u2", "On")


def _forked() -> tuple[Transcript, Transcript]:
    """Return a session, and a fork of it, whose file has what is later before the first message."""
    fork = _begin(_B)
    fork.records.insert(0, {"type": "queue-operation", "timestamp": "2026-08-02T10:00:00.000Z", "sessionId": _B})
    return _begin(_A).user("u9", "Later"), fork.user("u2", "On")


def _forked_with_prompts() -> tuple[Transcript, Transcript]:
    """Return a session, and a fork of it, whose prompts have the id of the one that forked."""
    origin = Transcript(_A).user("u1", "Hi", promptId="p1").answer("a1", "Yes", "m1").user("u9", "On", promptId="p9")
    fork = Transcript(_B).user("u1", "Hi", promptId="p2").answer("a1", "Yes", "m1").user("u2", "On", promptId="p2")
    return origin, fork


def _of_old_versions() -> tuple[Transcript, Transcript]:
    """Return a session that did not go on, and a fork of it that says nothing of that."""
    return _begin(_A), _begin(_B).user("u2", "On")


@pytest.mark.parametrize("made", [_resumed, _branched, _forked, _forked_with_prompts, _of_old_versions])
@pytest.mark.parametrize("times", [(1, 1), (1, 2), (2, 1)])
def test_the_copy_is_the_fork(
    tmp_path: Path, made: Callable[[], tuple[Transcript, Transcript]], times: tuple[int, int]
) -> None:
    """The records tell which of two is a copy, whenever their files were written."""
    for name, transcript, time in zip((_A, _B), made(), times, strict=True):
        os.utime(transcript.write(tmp_path / f"{name}.jsonl"), (time, time))

    assert [(f"claude-code/{_A}", ""), (f"claude-code/{_B}", f"claude-code/{_A}")] == [
        (source.conversation, source.fork_of) for source in TOOL.discover(tmp_path).sources
    ]


def test_files_that_were_renamed(tmp_path: Path) -> None:
    """Files of one name are told apart by the sessions in them; one without any has the name of its file."""
    for session in (_A, _B):
        Transcript(session).user(f"u-{session}", "Hi").write(tmp_path / session[:1] / "transcript.jsonl")
    (tmp_path / "empty.jsonl").write_text("{}\n")

    names = {source.conversation for source in TOOL.discover(tmp_path).sources}

    assert {f"claude-code/{_A}", f"claude-code/{_B}", "claude-code/empty"} == names


def test_a_session_in_two_directories(tmp_path: Path) -> None:
    """The file with the beginning comes first, whenever it was written, and neither is a fork."""
    late = Transcript(_A).user("u1", "Hi").answer("a1", "Yes", "m1").user("u2", "On").answer("a2", "Yes", "m2")
    early = Transcript(_A).user("u1", "Hi").answer("a1", "Yes", "m1")
    late.records = late.records[2:]
    first = early.write(tmp_path / "z" / f"{_A}.jsonl")
    second = late.write(tmp_path / "a" / f"{_A}.jsonl")
    os.utime(second, (1, 1))

    assert [(str(first), ""), (str(second), "")] == [
        (source.path, source.fork_of) for source in TOOL.discover(tmp_path).sources
    ]


def test_a_transcript_that_begins_in_the_middle(tmp_path: Path) -> None:
    """Its first message follows one that is not in it; a later one without a predecessor does not."""
    made = Transcript().user("u2", "On", after="a1").answer("a2", "Yes", "m2").user("u3", "More", after="gone")

    assert ["middle:a1", "user:u2", "assistant:a2", "user:u3"] == outline(read(made, tmp_path))


@pytest.mark.parametrize(
    ("after", "to"), [("a1", "middle:a1"), ("t1", "middle:a1"), ("t0", "back:"), ("a0", "back:a3"), ("gone", "")]
)
def test_a_rewind_to_the_middle_of_another_file(tmp_path: Path, after: str, to: str) -> None:
    """It leads to the message that its predecessor is or follows there; what is in no file counts where it is."""
    first = Transcript(_A).record("progress", "t0").user("u1", "Hi").answer("a1", "Yes", "m1").record("progress", "t1")
    second = Transcript(_A).user("u2", "On", after="t1").answer("a2", "Yes", "m2")
    third = (
        Transcript(_A)
        .user("u3", "More", after="a2")
        .answer("a3", "Yes", "m3")
        .user("u4", "No")
        .answer("a4", "So", "m4")
    )
    third.user("u5", "Or else", after="a3" if after == "a0" else after)
    for number, made in enumerate((first, second, third)):
        made.records = [{**record, "timestamp": f"2026-08-01T1{number}:00:00.000Z"} for record in made.records]
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / f"{_A}.jsonl").write_text("not JSON\n" * (number == 1) + "".join(made.lines()))
    *_, source = TOOL.discover(tmp_path).sources

    steps = [*TOOL.open(source).steps()]
    words = ["middle:a2", "user:u3", "assistant:a3", "user:u4", "assistant:a4", *[to] * bool(to), "user:u5"]
    assert words == outline(steps)
    assert not any("files" in step.tags for step in steps if isinstance(step, About))
    (tmp_path / "0" / f"{_A}.jsonl").unlink()
    assert (words if to == "back:a3" else [word for word in words if word != to]) == outline(
        [*TOOL.open(source).steps()]
    )


@pytest.mark.parametrize("before", ["a1", "t1"])
def test_a_rewind_to_the_end_of_another_file(tmp_path: Path, before: str) -> None:
    """A session that went on in another directory, and there back to where it had come, goes back to that."""
    made = Transcript().record("progress", "t1", after="a1").user("u2", "On")
    made.answer("a2", "Yes", "m2").user("u3", "Or else", after=before)

    assert ["middle:a1", "user:u2", "assistant:a2", "middle:a1", "user:u3"] == outline(read(made, tmp_path))
