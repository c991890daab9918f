"""Reading the tasks of Cline, Roo Code and Kilo Code."""

import json
from pathlib import Path
from typing import Any

from reel.importing.steps import Compacted, Kept
from reel.importing.tools.cline import TOOL
from tests.reel.importing.records import Read
from tests.reel.importing.transcripts import outline

_CWD = "<environment_details>\n# Current Working Directory (/home/deck) Files\na.py\n</environment_details>"


def said(role: str, *content: Any, **fields: Any) -> dict[str, Any]:
    """Return a message; a string is a text."""
    blocks = [{"type": "text", "text": part} if isinstance(part, str) else part for part in content]
    return {"role": role, "content": blocks, "ts": 1785578400000, **fields}


def save(task: Path, *messages: Any, shown: Any = None) -> Path:
    """Write a task, with what was shown to the person if there is any."""
    task.mkdir(parents=True, exist_ok=True)
    (task / "api_conversation_history.json").write_text(json.dumps(messages))
    if shown is not None:
        (task / "ui_messages.json").write_text(json.dumps(shown))
    return task


def read(directory: Path, *messages: Any, shown: Any = None) -> Read:
    """Return what is read of a task."""
    return Read(TOOL, save(directory / "tasks/t", *messages, shown=shown))


def test_a_task(tmp_path: Path) -> None:
    """Messages are Anthropic's; the task is the title, and the directory is among what Cline tells the model."""
    call = {"type": "tool_use", "id": "c", "name": "read_file", "input": {"path": "x"}}
    counts = {"tokens": {"prompt": 9, "completion": 4, "cached": 2}}
    answer = said("assistant", "So", call, modelInfo={"modelId": "m", "providerId": "p"}, metrics=counts)

    found = read(
        tmp_path,
        said("user", "<task>\nFix the deck\n</task>", _CWD),
        answer,
        said("user", {"type": "tool_result", "tool_use_id": "c", "content": "seen"}, "Go on"),
    )

    assert ["user", "assistant", "tool", "user"] == [role for role, _ in found.texts]
    assert ("assistant", "So tool_call") == found.texts[1]
    assert {"provider": "anthropic", "model": "m"} == found.said[1].metadata
    (usage,) = [step for step in found.steps if isinstance(step, Kept)]
    assert ({"input": 9, "output": 4, "cacheRead": 2}, "m") == (usage.data["usage"], usage.data["model"])
    assert ("/home/deck", "m") == (found.about.tags["cwd"], found.about.tags["model"])
    assert "Fix the deck" == found.steps[0].title  # type: ignore[union-attr]  # the description
    assert ("cline/t", 1785578400000, 3) == (found.source.conversation, found.said[0].sent, found.counts.mapped)


def test_usage_of_requests(tmp_path: Path) -> None:
    """What was shown of the requests counts more than the answers do, and in their place."""
    request = json.dumps(
        {"request": "x", "tokensIn": 5, "tokensOut": 3, "cacheReads": 2, "cacheWrites": 1, "cost": 0.1}
    )
    shown = [
        {"type": "say", "say": "api_req_started", "text": request, "ts": 7, "modelInfo": {"modelId": "m"}},
        *({"type": "say", "say": "api_req_started", "text": text, "ts": 8} for text in ("{", "[]", '{"request": "x"}')),
        {"type": "say", "say": "text", "text": "Hi"},
        5,
    ]

    found = read(tmp_path, said("user", "Hi"), said("assistant", "Ho", metrics={"tokens": {"prompt": 1}}), shown=shown)

    usage = [step for step in found.steps if isinstance(step, Kept)]
    assert [("request-7", {"input": 5, "output": 3, "cacheRead": 2, "cacheWrite": 1})] == [
        (step.ref, step.data["usage"]) for step in usage
    ]


def test_a_condensed_task(tmp_path: Path) -> None:
    """A summary of Roo Code's takes the place of what was before it."""
    found = read(
        tmp_path, said("user", "Hi"), said("user", "Short", isSummary=True, condenseId="k"), said("user", "So")
    )

    assert 1 == sum(isinstance(step, Compacted) for step in found.steps)
    assert ["user", "user"] == [role for role, _ in found.texts]


def test_a_task_that_went_back(tmp_path: Path) -> None:
    """A message at the place of another one is another message."""
    first = outline(read(tmp_path, said("user", "Hi"), said("user", "One")).steps)

    second = outline(read(tmp_path, said("user", "Hi"), said("user", "Two")).steps)

    assert first[0] == second[0]
    assert first[1] != second[1]


def test_damage(tmp_path: Path) -> None:
    """Of a damaged file, the intact messages are read; what is no message is a note."""
    task = save(tmp_path / "tasks/t", said("user", "one"), said("user", "two"), said("user", "three"))
    path = task / "api_conversation_history.json"
    path.write_text(path.read_text().replace('"text": "two"', '"text: "two"'))
    (task / "ui_messages.json").write_text("{")

    found = Read(TOOL, task)

    assert ["one", "three"] == [text for _, text in found.texts]
    assert [str(path), str(task / "ui_messages.json")] == [problem.path for problem in found.counts.problems]
    other = read(tmp_path / "x", {"role": "ghost", "content": "Boo"}, {"role": "user"}, 5)
    assert {"role ghost": 1, "user without content": 1, "role missing": 1} == other.counts.unknown


def test_places(tmp_path: Path) -> None:
    """Tasks are in the storage of each editor and extension; one that is in two is read from the longer file."""
    roo = tmp_path / ".config/VSCodium/User/globalStorage/rooveterinaryinc.roo-cline/tasks"
    save(roo / "1", said("user", "Hi"))
    save(tmp_path / ".cline/data/tasks/1", said("user", "Hi there, all of you"))

    assert [roo, tmp_path / ".cline/data/tasks"] == [*TOOL.places({"HOME": str(tmp_path)})]
    assert "rooveterinaryinc.roo-cline" == Read(TOOL, roo).source.about["extension"]
    assert [str(tmp_path / ".cline/data/tasks/1/api_conversation_history.json")] == [
        source.path for source in TOOL.discover(tmp_path).sources
    ]
