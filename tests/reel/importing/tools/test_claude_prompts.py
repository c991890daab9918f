"""The system prompts of Claude Code, which it writes again and again."""

from pathlib import Path
from typing import Any

import pytest

from reel.importing.steps import Said, Step
from tests.reel.importing.transcripts import Transcript, outline, read, session_of


def snapshot(made: Transcript, uuid: str, *texts: str, **fields: Any) -> Transcript:
    """Append what Claude Code writes of its system prompt."""
    return made.record(
        "attachment", uuid, attachment={"type": "prompt_snapshot", "systemPrompt": list(texts)}, **fields
    )


def prompts(steps: list[Step]) -> list[str]:
    """Return the system prompts."""
    said = [step for step in steps if isinstance(step, Said) and step.role == "system"]
    return ["/".join(block["text"] for block in prompt.parts[0].blocks) for prompt in said]


def test_a_prompt_that_is_written_again(tmp_path: Path) -> None:
    """It is the prompt that the conversation begins with, and each later copy of it is ignored."""
    made = snapshot(Transcript().user("u1", "Hi"), "p1", "You are brief.").answer("a1", "Yes", "m1")
    made = snapshot(made.user("u2", "Go on"), "p2", "You are brief.").answer("a2", "More", "m2")
    made.records[1]["attachment"]["tools"] = ["Bash"]
    session = session_of(made, tmp_path)
    steps = list(session.steps())

    assert ["system:p1", "user:u1", "system:p1", "assistant:a1", "user:u2", "assistant:a2"] == outline(steps)
    assert (6, 5, {"system prompt": 1}) == (session.counts.read, session.counts.mapped, session.counts.ignored)
    assert 1 == session.counts.left_out["attachment.tools"]


def test_the_last_one_before_the_first_answer(tmp_path: Path) -> None:
    """Of the two snapshots of a beginning the later one was sent; its parts are one prompt."""
    made = snapshot(snapshot(Transcript(), "p1", "You are", "br\ufffdef."), "p2", "You are", "brief.")
    made = snapshot(made.user("u1", "Hi").answer("a1", "Yes", "m1"), "p3", "You are", "brief.")

    assert ["You are/brief.", "You are/brief."] == prompts(read(made, tmp_path))
    assert ["system:p2", "system:p2"] == outline(read(made, tmp_path))[:2]


def test_a_prompt_that_changes(tmp_path: Path) -> None:
    """Another prompt counts from its place on; an answer that is being written is not divided by it."""
    made = snapshot(Transcript(), "p1", "You are brief.").user("u1", "Hi").answer("a1", "Yes", "m1")
    made = snapshot(made.user("u2", "Go on"), "p2", "You are long.").answer("a2", "More", "m2")
    made = snapshot(made, "p3", "You are odd.").answer("a3", "And more", "m2")

    assert ["user:u2", "system:p2", "assistant:a2+a3", "system:p3"] == outline(read(made, tmp_path))[4:]


@pytest.mark.parametrize(("text", "count"), [("You are brief.", 2), ("You are long.", 3)])
def test_a_prompt_after_a_compaction(tmp_path: Path, text: str, count: int) -> None:
    """A compaction keeps the prompt: it is not said again when it is written again."""
    made = snapshot(Transcript(), "p1", "You are brief.").user("u1", "Hi").answer("a1", "Yes", "m1")
    made = snapshot(made, "p2", text).user("u2", "More").answer("a2", "Yes", "m2")
    made.record("system", "b1", after=None, subtype="compact_boundary")
    made = snapshot(made.user("s1", "What was said.", isCompactSummary=True), "p3", text)

    assert count == len(prompts(read(made, tmp_path)))


def test_the_prompt_of_a_sub_agent(tmp_path: Path) -> None:
    """A prompt among the records of a sub-agent is not that of its session."""
    made = snapshot(Transcript(), "p1", "You are an agent.", isSidechain=True).user("u1", "Hi", after=None)

    assert [] == prompts(read(made, tmp_path))


@pytest.mark.parametrize("said", [None, [], [""], "", 7, [7]])
def test_a_snapshot_without_a_prompt(tmp_path: Path, said: Any) -> None:
    """It is ignored, as one is that says nothing new."""
    made = Transcript().record("attachment", "p1", attachment={"type": "prompt_snapshot", "systemPrompt": said})
    session = session_of(made.user("u1", "Hi"), tmp_path)

    assert [] == prompts(list(session.steps()))
    assert {"system prompt": 1} == session.counts.ignored


def test_a_prompt_that_comes_while_the_session_is_watched(tmp_path: Path) -> None:
    """A session that was read before its prompt was written has it where it comes."""
    made = Transcript().user("u1", "Hi")
    session = session_of(made, tmp_path)
    first = outline(list(session.steps()))
    snapshot(made, "p1", "You are brief.").answer("a1", "Yes", "m1").write(Path(session.source.path))

    assert ["user:u1"] == first
    assert ["system:p1", "assistant:a1"] == outline(list(session.steps()))
