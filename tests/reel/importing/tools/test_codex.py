"""Reading the rollouts of Codex."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.importing.steps import About, Back, Compacted, Kept, Said, Step
from reel.importing.tools.codex.tool import TOOL
from tests.reel.importing.rollouts import THREAD, Lines, read, rollout_of, without_file
from tests.reel.importing.transcripts import check_step


def said(steps: list[Step]) -> list[tuple[str, list[str]]]:
    """Return the role of each message, and its texts, and the names of its calls and other blocks."""
    return [
        (
            step.role,
            [block.get("text") or block.get("name") or block["type"] for part in step.parts for block in part.blocks],
        )
        for step in steps
        if isinstance(step, Said)
    ]


def test_a_turn(tmp_path: Path) -> None:
    """Items that the assistant made in a row are one message; an output is a tool's; instructions are the prompt."""
    made = Lines(base_instructions={"text": "Be brief."}).line("turn_context", model="gpt-x", cwd="/elsewhere")
    made.said("developer", "Rules").said("user", "Hi").line(
        "response_item", type="reasoning", summary=[], encrypted_content="x"
    )
    made.said("assistant", "Look").call("c1").output("c1", "done").said("assistant", "Fine")

    steps = read(made, tmp_path)

    assert [
        ("system", ["Be brief."]),
        ("user", ["Rules"]),
        ("user", ["Hi"]),
        ("assistant", ["opaque", "Look", "shell"]),
        ("tool", ["tool_result"]),
        ("assistant", ["Fine"]),
    ] == said(steps)
    messages = [step for step in steps if isinstance(step, Said)]
    assert {"provider": "openai", "role": "developer"} == messages[1].metadata
    assert {"provider": "openai", "model": "gpt-x"} == messages[3].metadata
    assert "gpt-x" == messages[3].parts[0].blocks[0]["model"]


def test_title_and_tags(tmp_path: Path) -> None:
    """The title is the first prompt of a person; directory, branch, version and model are tags."""
    made = Lines(git={"branch": "main", "commit_hash": "abc"}).said(
        "user", "<environment_context>x</environment_context>"
    )
    made.said("user", "Add a\nrate limit").line("turn_context", model="gpt-x")

    about = [step for step in read(made, tmp_path) if isinstance(step, About)][-1]

    assert "Add a rate limit" == about.title
    assert {
        "source": "",
        "tool": "codex",
        "cwd": "/home/me/deck",
        "branch": "main",
        "commit": "abc",
        "version": "0.150.0",
        "model": "gpt-x",
    } == {**about.tags, "source": ""}


@pytest.mark.parametrize(
    ("output", "content", "failed"),
    [
        ("text", "text", False),
        ({"content": "no", "success": False}, "no", True),
        ([{"type": "input_text", "text": "part"}], "part", False),
        (
            [{"type": "input_image", "image_url": "data:image/png;base64,AAAA"}],
            [
                {
                    "type": "media",
                    "mime_type": "image/png",
                    "data_base64": "AAAA",
                    "provider_metadata": {"provider": "openai"},
                }
            ],
            False,
        ),
    ],
)
def test_outputs(tmp_path: Path, output: Any, content: Any, failed: bool) -> None:
    """An output is text or parts; old versions wrote whether it succeeded."""
    (result,) = [step for step in read(Lines().output("c1", output), tmp_path) if isinstance(step, Said)]

    (given,) = result.parts
    assert [{"type": "tool_result", "tool_call_id": "c1", "content": content, "is_error": failed}] == given.blocks


def test_custom_tools(tmp_path: Path) -> None:
    """A custom tool's input is a text: it is kept so that it goes back as it was."""
    made = Lines().line("response_item", type="custom_tool_call", name="exec", input="text(1)", call_id="c1")

    (step,) = [step for step in read(made, tmp_path) if isinstance(step, Said)]

    assert [
        {
            "type": "tool_call",
            "id": "c1",
            "name": "exec",
            "arguments": '{"input": "text(1)"}',
            "provider_metadata": {"provider": "openai", "type": "custom_tool_call"},
        }
    ] == step.parts[0].blocks


def test_events_that_repeat_items(tmp_path: Path) -> None:
    """What a person was shown is an item as well, and is read once."""
    made = Lines().said("user", "Hi").event("user_message", message="Hi").event("agent_message", message="Hello")
    rollout = rollout_of(made.said("assistant", "Hello").event("task_complete"), tmp_path)

    assert [("user", ["Hi"]), ("assistant", ["Hello"])] == said(list(rollout.steps()))
    assert {"shown to the person, and also an item": 2, "progress of a turn": 1} == rollout.counts.ignored


def test_events_without_items(tmp_path: Path) -> None:
    """If no answer is an item, the events are read."""
    made = Lines().event("item_completed", item={"type": "UserMessage", "content": [{"type": "text", "text": "Hi"}]})
    made.event("item_completed", item={"type": "AgentMessage", "content": [{"type": "Text", "text": "Hello"}]})

    assert [("user", ["Hi"]), ("assistant", ["Hello"])] == said(read(made, tmp_path))


def test_usage(tmp_path: Path) -> None:
    """What a request has used is read once, however often it is told."""
    made = Lines().said("user", "Hi").said("assistant", "Hello")
    for total in (5, 5, 9):
        info = {"last_token_usage": {"total_tokens": 4}, "total_token_usage": {"total_tokens": total}}
        made.event("token_count", info=info)

    usages = [step for step in read(made, tmp_path) if isinstance(step, Kept)]

    assert [{"total_tokens": 4}] * 2 == [usage.data["usage"] for usage in usages]
    assert 2 == len({usage.ref for usage in usages})


def test_rolled_back_turns(tmp_path: Path) -> None:
    """A turn that was rolled back is left: the conversation goes on after the message before its prompt."""
    made = Lines().said("user", "One").said("assistant", "1").said("user", "Two").said("assistant", "2")

    steps = read(made.event("thread_rolled_back", num_turns=1).said("user", "Three"), tmp_path)

    (back,) = [step for step in steps if isinstance(step, Back)]
    assert back.to == [step for step in steps if isinstance(step, Said)][1].parts[0].ref


def test_compaction_with_what_replaces(tmp_path: Path) -> None:
    """The items that a compaction lists take the place of all before."""
    made = Lines().said("user", "One").said("assistant", "1")
    items = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
        for text in ("One", "Sum")
    ]

    steps = read(made.line("compacted", message="Sum", replacement_history=items).said("assistant", "2"), tmp_path)

    (compacted,) = [step for step in steps if isinstance(step, Compacted)]
    assert [{"type": "text", "text": "One"}] == compacted.summary.parts[0].blocks
    assert [("user", ["Sum"]), ("assistant", ["2"])] == said(steps)[2:]


def test_compaction_with_a_summary(tmp_path: Path) -> None:
    """Old versions wrote the summary only: the prompts stay before it."""
    steps = read(Lines().said("user", "One").said("assistant", "1").line("compacted", message="Sum"), tmp_path)

    (compacted,) = [step for step in steps if isinstance(step, Compacted)]
    (prompt,) = [step.parts[0].ref for step in steps if isinstance(step, Said) and step.role == "user"]
    assert (compacted.summary.parts[0].blocks[0]["text"], compacted.before) == ("Sum", (prompt,))


def test_first_versions(tmp_path: Path) -> None:
    """The first versions wrote items without anything around them."""
    path = tmp_path / "rollout-x.jsonl"
    message = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]}
    path.write_text(
        "\n".join(map(json.dumps, [{"id": THREAD, "instructions": None}, {"record_type": "state"}, message]))
    )
    (source,) = TOOL.discover(path).sources

    assert f"codex/{THREAD}" == source.conversation
    assert [("user", ["Hi"])] == said(list(TOOL.open(source).steps()))


def test_unknown_records_are_kept(tmp_path: Path) -> None:
    """Unknown records, events and items of a thread are notes, and counted; what a tool did is a note as well."""
    made = Lines().said("user", "Hi").line("hologram", x=1).event("glow").event("item_completed", item={"type": "Odd"})
    rollout = rollout_of(made.event("item_completed", item={"type": "CommandExecution", "command": "ls"}), tmp_path)

    notes = [step.kind for step in rollout.steps() if isinstance(step, Kept)]

    assert ["note"] * 4 == notes
    assert {"hologram": 1, "event_msg/glow": 1, "item_completed/Odd": 1} == rollout.counts.unknown


@pytest.mark.parametrize("kind", ["CollabAgentToolCall", "SubAgentActivity", "DynamicToolCall", "ImageGeneration"])
def test_what_tools_and_agents_did(kind: str, tmp_path: Path) -> None:
    """What Codex says of a call beside the model's own items is a note, and nothing unknown."""
    item = {"type": kind, "id": "c1", "status": "completed", "receiver_thread_ids": ["t2"]}
    rollout = rollout_of(Lines().said("user", "Hi").event("item_completed", item=item), tmp_path)

    (note,) = [step for step in rollout.steps() if isinstance(step, Kept)]

    assert ("note", True) == (note.kind, kind in str(note.data))
    assert not rollout.counts.unknown


def test_discovery(tmp_path: Path) -> None:
    """Rollouts are found in all their places, also archived ones; a fork comes after the thread it began with."""
    Lines("fork", forked_from_id=THREAD).write(tmp_path / "sessions/2026/01/01/rollout-a-fork.jsonl")
    Lines().write(tmp_path / f"sessions/2026/01/02/rollout-b-{THREAD}.jsonl")
    Lines("old", forked_from_id="gone").write(tmp_path / "archived_sessions/rollout-c-old.jsonl")
    sub = {"subagent": {"thread_spawn": {"parent_thread_id": THREAD}}}
    Lines("sub", source=sub).write(tmp_path / "sessions/rollout-d-sub.jsonl")

    sources = TOOL.discover(tmp_path).sources

    assert [
        ("codex/sub", ""),
        (f"codex/{THREAD}", ""),
        ("codex/fork", f"codex/{THREAD}"),
        ("codex/old", ""),
    ] == [(source.conversation, source.fork_of) for source in sources]
    assert {"parent": f"codex/{THREAD}"} == sources[0].about


def test_place() -> None:
    """The rollouts are below the directory that the tool is told of, else below the home directory."""
    places = [[str(path) for path in TOOL.places(env)] for env in ({"HOME": "/h"}, {"CODEX_HOME": "/c"})]

    assert [["/h/.codex/sessions", "/h/.codex/archived_sessions"], ["/c/sessions", "/c/archived_sessions"]] == places


def test_compressed_without_the_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If what reads a compressed rollout is missing, the error says what to install."""
    for module in ("compression.zstd", "backports.zstd"):
        monkeypatch.setitem(sys.modules, module, None)
    path = tmp_path / f"rollout-x-{THREAD}.jsonl.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd")
    (source,) = TOOL.discover(tmp_path).sources

    assert f"codex/{THREAD}" == source.conversation
    with pytest.raises(OSError, match=r"pip install .*\[zstd\]"):
        list(TOOL.open(source).steps())


_KEYS = [
    "type",
    "text",
    "content",
    "role",
    "call_id",
    "output",
    "arguments",
    "image_url",
    "name",
    "summary",
    "item",
    "info",
]
_JUNK: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["", "x", "input_text", "input_image", "message"]),
    lambda inside: st.lists(inside, max_size=2) | st.dictionaries(st.sampled_from(_KEYS), inside, max_size=4),
    max_leaves=8,
)
_KINDS = ["session_meta", "turn_context", "response_item", "event_msg", "compacted", "world_state", "x", ""]
_ITEMS = ["message", "function_call", "function_call_output", "custom_tool_call", "shell_call", "shell_call_output"]
_ITEMS += ["reasoning", "token_count", "thread_rolled_back", "item_completed", "user_message", "glow"]


@pytest.mark.slow
@given(
    st.lists(
        st.fixed_dictionaries(
            {"type": st.sampled_from(_KINDS)},
            optional={
                "payload": st.fixed_dictionaries(
                    {"type": st.sampled_from(_ITEMS)},
                    optional={
                        **dict.fromkeys(_KEYS[2:], _JUNK),
                        "role": st.sampled_from(["user", "assistant", "developer", 1]),
                        "call_id": st.sampled_from(["c", "d"]),
                        "num_turns": st.integers(0, 3),
                        "replacement_history": st.lists(_JUNK, max_size=2),
                    },
                ),
            },
        ),
        max_size=12,
    )
)
def test_any_records(records: list[Any]) -> None:
    """Whatever the records are, all of them are counted, and every step back is to a message that was said."""
    rollout = without_file()
    known = {""}

    for number, record in enumerate(records, 1):
        for step in rollout.read_line(record, number):
            known |= check_step(step, known)
    for step in rollout.end():
        known |= check_step(step, known)

    counts = rollout.counts
    assert counts.read == len(records) == counts.mapped + counts.ignored.total() + counts.unknown.total()
