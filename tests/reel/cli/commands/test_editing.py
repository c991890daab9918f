"""``reel files``, ``reel how`` and ``file:`` in a search."""

import json
from pathlib import Path
from typing import Any

import pytest

from reel.sync.client import Client
from tests.reel.cli.conftest import Reel


def called(call: str, name: str, **arguments: Any) -> dict[str, Any]:
    """Return a message with a call."""
    block = {"type": "tool_call", "id": call, "name": name, "arguments": json.dumps(arguments)}
    return {"role": "assistant", "content": [block]}


def answered(call: str, content: str = "done", *, is_error: bool = False) -> dict[str, Any]:
    """Return a message with a result."""
    block = {"type": "tool_result", "tool_call_id": call, "content": content, "is_error": is_error}
    return {"role": "tool", "content": [block]}


@pytest.fixture
def worked(client: Client, name: str, tmp_path: Path) -> str:
    """A conversation in which somebody mended what failed, and what it ran."""
    command = f"make {name}"
    messages: list[Any] = [
        called("c1", "Bash", command=f"cd /p && {command} 2>&1"),
        answered("c1", "Exit code 2\nno such file", is_error=True),
        called("c2", "Read", file_path="/p/missing"),
        answered("c2", "File does not exist.", is_error=True),
        called("c3", "Write", file_path=f"/p/{name}.py", content="x = 1\n"),
        answered("c3"),
        called("c4", "Bash", command=command),
        answered("c4", "fine"),
    ]
    client.create(name, tags={"cwd": str(tmp_path)})
    client.add(name, messages)
    return command


def test_files(reel: Reel, name: str, worked: str) -> None:
    """What a conversation did is listed, the newest last; of what failed only commands are, with their exit status."""
    lines = reel("files", name).out.splitlines()

    assert [
        f"ran    cd /p && {worked} 2>&1  exit status 2",
        f"wrote  /p/{name}.py",
        f"ran    {worked}",
    ] == [line.partition("  ")[2].rpartition("  ")[0] for line in lines]
    assert ["#2", "#6", "#8"] == [line.split()[0] for line in lines]
    assert 1 == len(reel("files", name, "--limit", "1").out.splitlines())
    assert [worked] == [edit["command"] for edit in reel("files", name, "--limit", "1", "--json").documents]


def test_files_for_programs(reel: Reel, client: Client, name: str, worked: str) -> None:
    """With --json an edit has its texts, and says whether its message is in the conversation."""
    client.clear(name)
    (edit,) = reel("files", name, "--deed", "wrote", "--file", f"{name}.py", "--json").documents

    assert worked
    assert ("x = 1\n", True, False) == (edit["after"], edit["whole"], edit["live"])
    assert reel("files", name, "--deed", "wrote").out.endswith("  not in the conversation\n")
    assert [] == reel("files", name, "--file", "other.py", "--json").documents


def test_how(reel: Reel, name: str, worked: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The forms of a command are shown with their exit statuses, and with what followed a failure."""
    monkeypatch.chdir(tmp_path)
    lines = reel("how", "make", name).out.splitlines()

    assert worked == lines[0]
    assert lines[1].endswith(f"in {name} #8; exit status 0 (1), 2 (1)")
    assert [
        f"    after exit status 2 in {name} #2:",
        f"      wrote  /p/{name}.py",
        f"      ran    {worked}",
    ] == lines[2:]


def test_how_for_programs(reel: Reel, worked: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With --json each form is a document; another project has none, unless all are looked through."""
    elsewhere = tmp_path / "below"
    elsewhere.mkdir()
    monkeypatch.chdir(tmp_path)
    (form,) = reel("how", worked, "--json").documents

    assert (worked, 2, 8, 2) == (form["command"], form["times"], form["last"]["seq"], form["failed"]["seq"])
    assert [{"status": 0, "times": 1}, {"status": 2, "times": 1}] == form["statuses"]
    assert ["wrote", "ran"] == [step["deed"] for step in form["followed"]]
    monkeypatch.chdir(elsewhere)
    assert 1 == reel("how", worked, "--json").status
    assert [2] == [each["times"] for each in reel("how", "--everywhere", worked, "--json").documents]


def test_how_of_nothing(reel: Reel) -> None:
    """Words that are none, or too many, are wrong usage."""
    assert 2 == reel("how", " ").status
    assert 2 == reel("how", "x" * 300).status


def test_search_where_a_file_was_touched(reel: Reel, client: Client, name: str, worked: str) -> None:
    """``file:`` finds what was said in conversations that touched a file."""
    client.add(name, f"about xx{name}")
    client.add(f"{name}-2", f"about xx{name}", create=True)

    assert worked
    assert [name] == [hit["name"] for hit in reel("search", f"xx{name} file:{name}.py", "--json").documents]
    assert 1 == reel("search", f"xx{name} file:other.py", "--json").status
