"""Entries of every type that transcripts of Claude Code have, made for tests."""

from typing import Any

from tests.reel.importing.transcripts import Transcript, call

_IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGVsbG8gdGFwZSBkZWNr" * 9}}
_PDF = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0xLjQK" * 9}}


def every_entry() -> list[Any]:
    """Return a transcript with an entry of each type, and with values that are hard to keep."""
    made = Transcript()
    _add_turn(made)
    _add_what_is_seldom(made)
    _add_what_follows_a_summary(made)
    return made.records


def _add_turn(made: Transcript) -> None:
    made.other(type="queue-operation", operation="enqueue", timestamp="2026-08-01T10:00:00.000Z", sessionId="s")
    made.other(
        type="file-history-snapshot", messageId="u1", snapshot={"trackedFileBackups": {}}, isSnapshotUpdate=False
    )
    made.user("u1", "What is in this file?", permissionMode="default", thinkingMetadata={"level": "high"}, todos=[])
    made.record("attachment", "t1", attachment={"type": "hook_success", "hookName": "Start", "content": ""})
    made.answer("a1", {"type": "thinking", "thinking": "A file, so I read it.", "signature": "c2lnbmVk"}, "m1")
    made.answer("a2", {"type": "redacted_thinking", "data": "c2VjcmV0IHRob3VnaHRz"}, "m1")
    made.answer("a3", "I read the file now.", "m1")
    made.answer("a4", call("c1", command="cat /home/me/deck/reel.txt"), "m1")
    made.answer("a5", call("c2", command="ls"), "m1")
    made.record("progress", "p1", data={"type": "bash_progress", "output": ""}, toolUseID="c1")
    made.result("u2", "c1", "The text of the whole file, line by line.", sourceToolAssistantUUID="a4")
    made.result("u3", "c2", [{"type": "text", "text": "a list of two files"}, _IMAGE])


def _add_what_is_seldom(made: Transcript) -> None:
    made.user("u4", [{"type": "tool_result", "tool_use_id": "c9", "content": "x" * 99, "is_error": True}, "and words"])
    made.user("u5", [{"type": "text", "text": "Here are a picture and a paper."}, _IMAGE, _PDF], isMeta=True)
    made.record("attachment", "t2", attachment={"type": "queued_command", "prompt": "And hurry up please."})
    made.answer("a6", {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "reel"}}, "m2")
    made.answer("a7", {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"url": "https://x"}]}, "m2")
    made.answer("a8", call("c3", deep={"a": [1, 1.0, None, True, {"b": "@3"}]}), "m2")
    made.record("system", "y1", subtype="turn_duration", durationMs=1234)
    made.record("system", "y2", subtype="api_error", content="Overloaded", level="error", retryAttempt=1)
    made.record("system", "y3", subtype="of_next_year", content="Something new.")
    synthetic = {"id": "e1", "role": "assistant", "model": "<synthetic>", "content": [{"type": "text", "text": "No."}]}
    made.record("assistant", "e1", message=synthetic, isApiErrorMessage=True)
    made.record(
        "assistant", "e2", message={"id": "m3", "role": "assistant", "content": [], "usage": {"input_tokens": 1}}
    )
    made.user("u6", "")
    made.user("u99", [{"type": "tool_result", "tool_use_id": "c" * 1025, "content": "Too long an id."}])
    made.user("u7", [])
    made.user("u8", [{"type": "of_next_year", "x": 1}, "a bare text", 7])
    made.answer("a9", {"type": "tool_use", "id": "c" * 2000, "name": "n" * 2000, "input": {}}, "m3")
    made.record("user", "u9", message={"role": "user"})
    made.record("assistant", "a10", message="no map")
    made.user("u" * 300, "An id of three hundred characters.")
    made.user("u10", "NUL \0, half a character \ud800, and @1 and @@2.", numbers=[2**70, -1, 0.1, 1e300])
    made.user("u11", "é 🎞 中文", deep=_deep(60))
    made.other(type="user", message={"role": "user", "content": "A prompt without an id."})


def _add_what_follows_a_summary(made: Transcript) -> None:
    made.record("system", "b1", after=None, subtype="compact_boundary", content="Conversation compacted")
    made.user("u12", "This is what was said before.", isCompactSummary=True, isVisibleInTranscriptOnly=True)
    made.answer("a11", "I go on.", "m4")
    made.user("u13", "And from before the paper?", after="u5")
    made.other(type="summary", summary="Reading a file", leafUuid="a11")
    made.other(type="ai-title", aiTitle="A file", sessionId="s")
    made.other(type="custom-title", customTitle="The file", sessionId="s")
    made.other(type="tag", tag="deck", sessionId="s")
    made.other(type="last-prompt", lastPrompt="And from before the paper?", leafUuid="u13")
    made.other(type="mode", mode="plan")
    made.other(type="mode", mode="plan")
    made.other(type="agent_metadata", agentType="reviewer", worktreePath=None)
    made.other(type="pr-link", prUrl="https://example.org/1")
    made.other(type="of_next_year", uuid="n1", deep=[{"x": 1.0, "y": None, "z": "@12j"}])
    made.other(type="x", n=1)
    made.other(no_type=True)


def _deep(levels: int) -> Any:
    value: Any = "the bottom of it"
    for _ in range(levels):
        value = [value]
    return value
