"""Files of other tools that are taken for messages of any program."""

from pathlib import Path

import pytest

from reel.importing import tool_named
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
