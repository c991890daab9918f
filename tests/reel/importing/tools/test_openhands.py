"""Reading the conversations of OpenHands."""

import json
import shutil
from pathlib import Path
from typing import Any

from reel.importing.steps import Compacted, Kept
from reel.importing.tools.openhands.tool import TOOL
from tests.reel.importing.records import Read

_TIME = "2026-08-01T10:00:00.000000"


def event(kind: str, ident: str, **fields: Any) -> dict[str, Any]:
    """Return an event."""
    return {"id": ident, "timestamp": _TIME, "source": "agent", "kind": kind, **fields}


def said(role: str, text: str, ident: str, **more: Any) -> dict[str, Any]:
    """Return a message."""
    message = {"role": role, "content": [{"cache_prompt": False, "type": "text", "text": text}]}
    return event("MessageEvent", ident, llm_message=message, **more)


def call(ident: str, response: str, thought: str = "", **more: Any) -> dict[str, Any]:
    """Return a call, with what the model said before it."""
    asked = {"id": f"call-{ident}", "name": "terminal", "arguments": '{"command": "ls"}', "origin": "completion"}
    named = {"tool_name": "terminal", "tool_call_id": f"call-{ident}", "llm_response_id": response, "tool_call": asked}
    return event("ActionEvent", ident, thought=[{"type": "text", "text": thought}] if thought else [], **named, **more)


def result(ident: str, answered: str, *content: Any, **more: Any) -> dict[str, Any]:
    """Return the result of a call; a string is a text."""
    parts = [{"type": "text", "text": part} if isinstance(part, str) else part for part in content]
    observation = {"kind": "TerminalObservation", "content": parts, "is_error": False, "exit_code": 0}
    named = {"tool_name": "terminal", "tool_call_id": f"call-{answered}", "action_id": answered}
    return event("ObservationEvent", ident, observation={**observation, **more}, **named)


def save(root: Path, *events: dict[str, Any], **state: Any) -> Path:
    """Write a conversation; return what is known of it as a whole."""
    shutil.rmtree(root, ignore_errors=True)
    (root / "events").mkdir(parents=True)
    for number, found in enumerate(events):
        (root / f"events/event-{number:05}-{number:08x}.json").write_text(json.dumps(found))
    (root / "base_state.json").write_text(json.dumps(state))
    return root / "base_state.json"


def rich(path: Path) -> None:
    """Write a conversation whose second event has what a plain one has not."""
    thinking = [{"type": "thinking", "thinking": "Hm", "signature": "s"}]
    prompt = event("SystemPromptEvent", "p", system_prompt={"type": "text", "text": "You are a tool."})
    save(path.parent.parent, prompt, call("a", "r", "Look", thinking_blocks=thinking), result("b", "a", "o"))


def test_a_turn(tmp_path: Path) -> None:
    """The calls of one response are one answer; the state says where it was, who answered, and what was used."""
    prompt = event("SystemPromptEvent", "p", system_prompt={"type": "text", "text": "You are a tool."}, tools=[])
    counted = {"prompt_tokens": 9, "completion_tokens": 2, "cache_read_tokens": 7, "reasoning_tokens": 1}
    path = save(
        tmp_path / "c1",
        prompt,
        said("user", "List it", "u1"),
        call("a1", "r1", "Looking", reasoning_content="Hm"),
        call("a2", "r1", action={"kind": "TerminalAction"}),
        result("o1", "a1", "two"),
        result("o2", "a2", "three", is_error=True),
        said("assistant", "Two", "m1", llm_response_id="r2"),
        agent={"llm": {"model": "minimax"}},
        workspace={"working_dir": "/home/ada/deck"},
        stats={"usage_to_metrics": {"agent": {"accumulated_token_usage": counted}}},
    )
    found = Read(TOOL, path.parent)

    assert [
        ("system", "You are a tool."),
        ("user", "List it"),
        ("assistant", "Hm Looking tool_call tool_call"),
        ("tool", "tool_result"),
        ("tool", "tool_result"),
        ("assistant", "Two"),
    ] == found.texts
    assert ["a1", "a2"] == [part.ref for part in found.said[2].parts]
    assert (True, "three") == tuple(found.said[4].parts[0].blocks[0][key] for key in ("is_error", "content"))
    tags = {"cwd": "/home/ada/deck", "model": "minimax"}
    assert ("List it", tags) == (found.about.title, {key: found.about.tags[key] for key in tags})
    (usage,) = (step.data["usage"] for step in found.steps if isinstance(step, Kept))
    assert (9, 7) == (usage["prompt_tokens"], usage["prompt_tokens_details"]["cached_tokens"])
    assert (7, {}, {}) == (found.counts.mapped, found.counts.unknown, found.counts.left_out)


def test_calls_that_were_not_made(tmp_path: Path) -> None:
    """One that the person rejected, or that OpenHands could not make, has failed."""
    rejected = event("UserRejectObservation", "o1", tool_call_id="call-a1", rejection_reason="No")
    failed = event("AgentErrorEvent", "o2", tool_call_id="call-a2", error="unknown tool")
    found = Read(TOOL, save(tmp_path / "c1", call("a1", "r1"), rejected, call("a2", "r2"), failed).parent)
    results = [one.parts[0].blocks[0] for one in found.said if one.role == "tool"]

    assert [("No", True), ("unknown tool", True)] == [(block["content"], block["is_error"]) for block in results]


def test_a_condensation(tmp_path: Path) -> None:
    """Its summary takes the place of what is forgotten; what comes before it stays before it."""
    prompt = event("SystemPromptEvent", "p", system_prompt={"type": "text", "text": "You are a tool."})
    forgotten = event("Condensation", "k1", forgotten_event_ids=["a1", "u2"], summary="In short", summary_offset=2)
    silent = event("Condensation", "k2", forgotten_event_ids=["a2"])
    talk = [said("user", "One", "u1"), said("assistant", "1", "a1"), said("user", "Two", "u2")]
    found = Read(TOOL, save(tmp_path / "c1", prompt, *talk, said("assistant", "2", "a2"), forgotten, silent).parent)
    (compacted,) = (step for step in found.steps if isinstance(step, Compacted))

    assert ("In short", ("u1",), ("a2",)) == (
        compacted.summary.parts[0].blocks[0]["text"],
        compacted.before,
        compacted.kept,
    )
    assert ["k2"] == [step.ref for step in found.steps if isinstance(step, Kept)]


def test_events_that_say_nothing(tmp_path: Path) -> None:
    """Those of the program are ignored, errors are notes, and so is what is not known."""
    events = [
        said("user", "Hi", "u1"),
        event("ConversationStateUpdateEvent", "s1", key="stats", value={}),
        event("ConversationErrorEvent", "e1", code="x", detail="too long"),
        event("ActionEvent", "a1"),
        event("HologramEvent", "h1"),
        said("assistant", "", "m1"),
        said("user", "Hi", "u1"),
    ]
    found = Read(TOOL, save(tmp_path / "c1", *events).parent)

    assert {"state of the conversation": 1, "repeated": 1, "empty": 1} == found.counts.ignored
    assert {"ActionEvent without content": 1, "HologramEvent": 1} == found.counts.unknown
    assert ["too long", None, None] == [step.content for step in found.steps if isinstance(step, Kept)]


def test_an_event_that_is_not_known_within_an_answer(tmp_path: Path) -> None:
    """The actions of one response stay one message."""
    events = [said("user", "Hi", "u1"), call("a1", "r1"), event("HologramEvent", "h1"), call("a2", "r1")]

    assert ["u1", "a1 a2"] == [
        " ".join(part.ref for part in step.parts) for step in Read(TOOL, save(tmp_path / "c1", *events).parent).said
    ]


def test_what_the_model_thought(tmp_path: Path) -> None:
    """Signed thinking goes back to whoever signed it; a text beside it is the same; an item of Responses is kept."""
    signed = [{"type": "thinking", "thinking": "Hm", "signature": "s"}]
    item = {"id": "rs_1", "summary": [], "encrypted_content": "x"}
    first = call("a1", "r1", reasoning_content="Hm", thinking_blocks=signed)
    second = call("a2", "r2", thinking_blocks=[{"type": "thinking", "thinking": "So"}], responses_reasoning_item=item)
    found = Read(TOOL, save(tmp_path / "c1", first, second).parent)

    assert [["thinking", "tool_call"], ["thinking", "opaque", "tool_call"]] == [
        [block["type"] for part in one.parts for block in part.blocks] for one in found.said
    ]
    assert "s" == found.said[0].parts[0].blocks[0]["signature"]


def test_places(tmp_path: Path) -> None:
    """A conversation without events is left out; a picture is read; the environment says where conversations are."""
    picture = {"type": "image", "image_urls": ["https://example.com/a.png"]}
    save(tmp_path / "empty")
    save(tmp_path / "c1", result("o1", "a1", picture), said("user", "Hi", "u1"))
    (tmp_path / "c1/base_state.json").unlink()
    (source,) = TOOL.discover(tmp_path).sources
    steps = list(TOOL.open(source).steps())

    assert ("openhands/c1", 2) == (source.conversation, sum(type(step).__name__ == "Said" for step in steps))
    assert ["event-00001-00000001.json"] == [path.name for path in TOOL.beside(source)]
    for variables, place in (
        ({"HOME": "/h"}, "/h/.openhands/conversations"),
        ({"OPENHANDS_PERSISTENCE_DIR": "/p"}, "/p/conversations"),
        ({"OPENHANDS_CONVERSATIONS_DIR": "/c"}, "/c"),
    ):
        assert [Path(place)] == list(TOOL.places(variables))
