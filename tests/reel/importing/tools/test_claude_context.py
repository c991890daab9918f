"""What the model got of Claude Code itself: hooks, slash commands, and what is kept beside a summary."""

from pathlib import Path
from typing import Any

import pytest

from reel.importing.steps import About, Compacted, Kept, Said, Step
from tests.reel.importing.transcripts import Transcript, outline, read, session_of

_HOOK = {"type": "hook_success", "hookName": "SessionStart:startup", "hookEvent": "SessionStart"}


def _texts(steps: list[Step]) -> list[str]:
    return [part.blocks[0]["text"] for step in steps if isinstance(step, Said) for part in step.parts]


@pytest.mark.parametrize(
    ("attachment", "fields", "text"),
    [
        (_HOOK, {"rendered": [{"content": "As it was sent."}], "renderedRole": "system"}, "As it was sent."),
        (
            {**_HOOK, "content": "Use tabs."},
            {},
            "<system-reminder>\nSessionStart:startup hook success: Use tabs.\n</system-reminder>",
        ),
        (
            {"type": "hook_additional_context", "hookName": "UserPromptSubmit", "content": ["One.", "Two."]},
            {},
            "<system-reminder>\nUserPromptSubmit hook additional context: One.\nTwo.\n</system-reminder>",
        ),
        ({"type": "task_reminder"}, {"rendered": [{"content": [{"type": "text", "text": "Go on."}]}]}, "Go on."),
    ],
)
def test_what_a_hook_adds_is_said(
    tmp_path: Path, attachment: dict[str, Any], fields: dict[str, Any], text: str
) -> None:
    """What the model got of an attachment is a message, in its place."""
    made = Transcript().user("u1", "Hi").record("attachment", "h1", attachment=attachment, **fields)

    assert ["Hi", text, "Yes"] == _texts(read(made.answer("a1", "Yes", "m1"), tmp_path))


@pytest.mark.parametrize(
    "attachment", [{**_HOOK, "content": ""}, {**_HOOK, "hookEvent": "PostToolUse", "content": "ok"}, {"type": "hook_x"}]
)
def test_what_a_hook_does_not_add(tmp_path: Path, attachment: dict[str, Any]) -> None:
    """A hook that gave the model nothing is ignored."""
    session = session_of(Transcript().user("u1", "Hi").record("attachment", "h1", attachment=attachment), tmp_path)

    assert ["Hi"] == _texts(list(session.steps()))
    assert {"hook": 1} == session.counts.ignored


def test_what_a_hook_adds_after_a_step_back(tmp_path: Path) -> None:
    """What a hook adds after an earlier message goes back there, as the prompt that follows it does."""
    made = Transcript().user("u1", "Hi").answer("a1", "Yes", "m1").user("u2", "Wrong").answer("a2", "No", "m2")
    made.record("attachment", "h1", after="a1", attachment={**_HOOK, "content": "Resumed."}).user("u3", "Right")

    assert ["back:a1", "user:h1", "user:u3"] == outline(read(made, tmp_path))[4:]


def test_a_slash_command_is_said(tmp_path: Path) -> None:
    """The model gets a slash command, and what it printed, as messages of the user."""
    made = Transcript().user("u1", "Hi")
    made.record("system", "y1", subtype="local_command", content="<command-name>/cost</command-name>")

    assert ["user:u1", "user:y1"] == outline(read(made, tmp_path))


def test_no_response_requested(tmp_path: Path) -> None:
    """The answer that Claude Code puts in for the model is sent, and is no note."""
    message = {
        "role": "assistant",
        "model": "<synthetic>",
        "content": [{"type": "text", "text": "No response requested."}],
    }
    made = Transcript().user("u1", "Hi").record("assistant", "a1", message=message)

    assert ["user:u1", "assistant:a1"] == outline(read(made, tmp_path))


@pytest.mark.parametrize(
    ("anchor", "direction", "before", "kept"),
    [
        ("b1", "from", ("u1", "a1"), ()),
        ("b1", "", ("u1", "a1"), ()),
        ("", "from", ("u1", "a1"), ()),
        ("s1", "up_to", (), ("u1", "a1")),
        ("s1", "", (), ("u1", "a1")),
        ("", "", (), ("u1", "a1")),
    ],
)
def test_the_order_of_a_summary_and_what_is_kept(
    tmp_path: Path, anchor: str, direction: str, before: tuple[str, ...], kept: tuple[str, ...]
) -> None:
    """After "Summarize from here" the messages that were kept come before the summary, else after it."""
    made = Transcript().user("u1", "Hi").answer("a1", "Yes", "m1").user("u2", "Go").answer("a2", "Gone", "m2")
    details = {"preservedMessages": {"anchorUuid": anchor, "uuids": ["u1", "a1"]}}
    made.record("system", "b1", after=None, subtype="compact_boundary", compactMetadata=details)
    made.user("s1", "What was said.", isCompactSummary=True, summarizeMetadata={"direction": direction})

    steps = read(made.user("u3", "On"), tmp_path)

    assert [(before, kept)] == [(step.before, step.kept) for step in steps if isinstance(step, Compacted)]
    assert ["user:u3"] == outline(steps)[-1:]


def test_requests_and_states_are_not_kept(tmp_path: Path) -> None:
    """Whole requests, system prompts and states, which are written again and again, are ignored by a named rule."""
    made = Transcript().user("u1", "Hi").record("attachment", "p1", attachment={"type": "prompt_snapshot"})
    for kind in ("api-request", "api-request-shape", "api-request-blob", "atis-latch", "tools-used", "cost-state"):
        made.other(type=kind, sessionId="s")
    session = session_of(made.other(type="worktree-state"), tmp_path)

    assert [] == [step for step in session.steps() if isinstance(step, Kept)]
    rules = {"request": 3, "setting": 1, "list of tools": 1, "costs so far": 1, "worktree": 1, "system prompt": 1}
    assert ({}, rules) == (session.counts.unknown, session.counts.ignored)


def test_a_session_without_a_title(tmp_path: Path) -> None:
    """It is called by what its person said first, if Claude Code's own words come before that."""
    made = Transcript().record("attachment", "h1", attachment={**_HOOK, "content": "Use tabs."})
    made.user("u1", "Caveat: these were run by the user.", isMeta=True).user("u2", "Mend the deck").user("u3", "Now")

    titles = [step.title for step in read(made, tmp_path) if isinstance(step, About)]

    assert "Mend the deck" == titles[-1]


@pytest.mark.parametrize(("entrypoint", "run"), [("cli", None), ("sdk-py", "sdk-py"), ("claude-vscode", None)])
def test_a_session_of_a_program(tmp_path: Path, entrypoint: str, run: str | None) -> None:
    """A session that a program began has a tag that says so."""
    made = Transcript().user("u1", "Hi", entrypoint=entrypoint)

    assert run == [step.tags.get("run") for step in read(made, tmp_path) if isinstance(step, About)][-1]


def test_a_program_and_then_a_person(tmp_path: Path) -> None:
    """A session with which a person went on is a person's."""
    made = Transcript().user("u1", "Hi", entrypoint="sdk-cli").user("u2", "And now I", entrypoint="cli")

    assert "run" not in [step.tags for step in read(made, tmp_path) if isinstance(step, About)][-1]
