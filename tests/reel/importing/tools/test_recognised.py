"""Files of other tools that are taken for messages of any program."""

import json
from pathlib import Path
from typing import Any

import pytest

from reel.importing import tool_named
from reel.importing.steps import Said
from reel.importing.tools.jsonl.tool import TOOL
from tests.reel.importing.samples import SAMPLES

# Where the files of a tool are that is known by their place.
_PLACES = {"cursor": "agent-transcripts/1"}
# What is no object on its first line, or tells nothing: lists of messages or conversations, and a part of one.
_NOTHING_TOLD = ("jsonl", "chatgpt", "claude-ai", "cline", "opencode-tree")
_OF_JSON = (".jsonl", ".json")


@pytest.mark.parametrize(
    "name", [name for name, sample in SAMPLES.items() if sample.file.endswith(_OF_JSON) and name not in _NOTHING_TOLD]
)
def test_a_file_of_another_tool(tmp_path: Path, name: str) -> None:
    """It is refused with the command that imports it, and that finds it."""
    sample, root = SAMPLES[name], tmp_path / _PLACES.get(name, "")
    root.mkdir(parents=True, exist_ok=True)
    sample.write(root, ["One", "Two"], "x1")
    (source,) = TOOL.discover(root / sample.file).sources

    with pytest.raises(OSError, match=f"reel import {sample.tool} {root / sample.file}"):
        list(TOOL.open(source).steps())
    assert 1 == len(tool_named(sample.tool).discover(root / sample.file).sources)


_HI = {"role": "user", "content": "Hi"}


@pytest.mark.parametrize(
    "record",
    [
        {"info": {"source": "web"}, "messages": [_HI]},
        {"id": "1", "timestamp": 1, "source": "web", "kind": "chat", **_HI},
        {"version": 1, "kind": "chat", "data": {}, **_HI},
        {"kind": 0, "v": 1, **_HI},
        {"type": "chat.message", "time": 1, **_HI},
        {"reel": 1, "agent": "a", **_HI},
    ],
)
def test_messages_with_such_fields(tmp_path: Path, record: dict[str, Any]) -> None:
    """A message of any program is read, although it has fields that records of other tools have too."""
    (tmp_path / "s.jsonl").write_text(json.dumps(record))
    (source,) = TOOL.discover(tmp_path).sources
    said = [step for step in TOOL.open(source).steps() if isinstance(step, Said)]

    assert ["user"] == [step.role for step in said]
    assert ["Hi"] == [block["text"] for step in said for part in step.parts for block in part.blocks]
