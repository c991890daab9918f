"""Rollouts of Codex that continue others: after a rewind, of a fork, and of a sub-agent."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from reel.importing.steps import About, Said, Source
from reel.importing.tools.codex.rollout import Rollout
from reel.importing.tools.codex.tool import TOOL
from reel.sync.client import Client
from tests.reel.importing.adding.test_growing import Import
from tests.reel.importing.rollouts import Lines

_A, _B = "aaaaaaaa-0000-4000-8000-000000000001", "bbbbbbbb-0000-4000-8000-000000000002"
_S, _T = "cccccccc-0000-4000-8000-000000000003", "dddddddd-0000-4000-8000-000000000004"


def _base(name: str, lines: Lines, count: int, ordinal: int, *, with_bytes: bool = True) -> dict[str, Any]:
    """Return what names the first records of a rollout as a history."""
    size = sum(len(json.dumps(record)) + 1 for record in lines.records[:count])
    return {"thread_id": name, "end_ordinal_exclusive": ordinal, "end_byte_offset": size if with_bytes else None}


def _numbered(lines: Lines, first: int = 0) -> Lines:
    for number, record in enumerate(lines.records, first):
        record["ordinal"] = number
    return lines


def _texts(source: Source) -> list[str]:
    return [
        part.blocks[0]["text"] for step in TOOL.open(source).steps() if isinstance(step, Said) for part in step.parts
    ]


def _origin() -> Lines:
    return _numbered(Lines(_A).said("user", "One").said("assistant", "1").said("user", "Wrong").said("assistant", "2"))


@pytest.mark.parametrize("with_bytes", [True, False])
def test_a_rewind(tmp_path: Path, *, with_bytes: bool) -> None:
    """The segment that a thread went on in begins with what came before the rewind, and is read after the thread."""
    origin = _origin()
    segment = Lines(_A, history_base=_base(_A, origin, 3, 3, with_bytes=with_bytes)).said("user", "Right")
    _numbered(segment, 3).write(tmp_path / f"sessions/rollout-2026-01-02T00-00-00-{_A}_{_S}.jsonl")
    origin.write(tmp_path / f"sessions/rollout-2026-01-01T00-00-00-{_A}.jsonl")

    first, second = TOOL.discover(tmp_path).sources

    assert (f"codex/{_A}", f"codex/{_A}") == (first.conversation, second.conversation)
    assert (["One", "1", "Wrong", "2"], ["One", "1", "Right"]) == (_texts(first), _texts(second))


def test_a_rewind_in_a_segment_and_a_fork_of_that(tmp_path: Path) -> None:
    """A history may have a history: all of it comes first, and the fork is one of the thread."""
    origin = _origin().write(tmp_path / f"sessions/rollout-1-{_A}.jsonl")
    one = _numbered(Lines(_A, history_base=_base(_A, _origin(), 3, 3)).said("user", "Two").said("user", "x"), 3)
    one.write(tmp_path / f"sessions/rollout-2-{_A}_{_S}.jsonl")
    two = _numbered(Lines(_A, history_base=_base(_S, one, 2, 5)).said("user", "Three"), 5)
    two.write(tmp_path / f"sessions/rollout-3-{_A}_{_T}.jsonl")
    fork = Lines(_B, forked_from_id=_A, history_base=_base(_T, two, 2, 7)).said("user", "Fork")
    fork.write(tmp_path / f"archived_sessions/rollout-0-{_B}.jsonl")

    sources = TOOL.discover(tmp_path).sources

    assert [str(origin), f"codex/{_A}"] == [sources[0].path, sources[-1].fork_of]
    assert ["One", "1", "Two", "Three"] == _texts(sources[2])
    assert ["One", "1", "Two", "Three", "Fork"] == _texts(sources[3])


def test_a_fork_that_is_being_written(tmp_path: Path) -> None:
    """A fork whose first record is not there yet when it is found waits for the next look, which sees its history."""
    origin = _origin()
    origin.write(tmp_path / f"rollout-1-{_A}.jsonl")
    path = tmp_path / f"rollout-2-{_B}.jsonl"
    path.touch()
    found = TOOL.discover(tmp_path).sources[-1]
    Lines(_B, forked_from_id=_A, history_base=_base(_A, origin, 3, 3)).said("user", "Fork").write(path)

    assert [] == list(TOOL.open(found).steps())
    assert ["One", "1", "Fork"] == _texts(TOOL.discover(tmp_path).sources[-1])


def test_what_is_counted(tmp_path: Path) -> None:
    """The records of a history are counted where they are, and the facts are those of the rollout itself."""
    origin = _origin()
    origin.records[0]["payload"]["base_instructions"] = {"text": "Be brief."}
    origin.write(tmp_path / f"rollout-1-{_A}.jsonl")
    fork = Lines(_B, forked_from_id=_A, history_base=_base(_A, origin, 3, 3)).said("user", "Fork")
    fork.records[0]["payload"]["cwd"] = "/worktree"
    fork.write(tmp_path / f"rollout-2-{_B}.jsonl")
    reading = TOOL.open(TOOL.discover(tmp_path).sources[1])

    steps = list(reading.steps())

    assert (2, 2) == (reading.counts.read, reading.counts.mapped)
    assert "/worktree" == next(step.tags["cwd"] for step in steps if isinstance(step, About))
    assert ["system", "user", "assistant", "user"] == [step.role for step in steps if isinstance(step, Said)]


@pytest.mark.parametrize("name", ["gone", _B])
def test_a_history_that_is_not_there(tmp_path: Path, name: str) -> None:
    """It is reported, also if it leads in a circle; what the rollout itself has is read."""
    Lines(_B, history_base=_base(name, _origin(), 3, 3)).said("user", "Fork").write(tmp_path / f"rollout-1-{_B}.jsonl")

    found = TOOL.discover(tmp_path)

    assert ["Fork"] == _texts(found.sources[0])
    assert [f"it continues {name}, whose file is not there"] == [problem.what for problem in found.problems]


def test_a_sub_agent_that_begins_with_a_copy_of_its_parent(tmp_path: Path) -> None:
    """It is a fork of the parent, told by the parent's description, which is the second record."""
    parent = Lines(_A).said("user", "The large task")
    spawned = {"subagent": {"thread_spawn": {"parent_thread_id": _A}}}
    child = Lines(_B, source=spawned)
    child.records += parent.records
    parent.write(tmp_path / f"rollout-2-{_A}.jsonl")
    child.said("user", "The small task").write(tmp_path / f"rollout-1-{_B}.jsonl")

    sources = TOOL.discover(tmp_path).sources

    assert [("codex/" + _A, ""), ("codex/" + _B, "codex/" + _A)] == [(one.conversation, one.fork_of) for one in sources]
    assert {"parent": f"codex/{_A}"} == sources[1].about


def test_names(tmp_path: Path) -> None:
    """A thread has the name that it was given last, from the list beside the rollouts; damaged lines say nothing."""
    index = [{"id": _A, "thread_name": "First"}, {"id": _A, "thread_name": "Renamed"}]
    (tmp_path / "session_index.jsonl").write_text("{\n" + "".join(json.dumps(line) + "\n" for line in index))
    Lines(_A).said("user", "One").write(tmp_path / f"sessions/rollout-1-{_A}.jsonl")
    Lines(_B).said("user", "Two").write(tmp_path / f"sessions/rollout-2-{_B}.jsonl")

    titles = [
        [step.title for step in TOOL.open(source).steps() if isinstance(step, About)][-1]
        for source in TOOL.discover(tmp_path / "sessions").sources
    ]

    assert ["Renamed", "Two"] == titles


@pytest.mark.parametrize(
    ("meta", "run"),
    [
        ({"source": "cli", "originator": "codex-tui"}, None),
        ({"source": "exec"}, "exec"),
        ({"source": "vscode", "originator": "codex_exec"}, "exec"),
        ({"source": {"subagent": "review"}}, "review"),
        ({"source": {"subagent": {"thread_spawn": {"parent_thread_id": _B}}}}, None),
    ],
)
def test_a_thread_of_a_program(tmp_path: Path, meta: dict[str, Any], run: str | None) -> None:
    """A thread that no person began has a tag that says what did."""
    Lines(_A, **meta).said("user", "One").write(tmp_path / f"rollout-1-{_A}.jsonl")
    (source,) = TOOL.discover(tmp_path).sources

    assert run == [step.tags.get("run") for step in TOOL.open(source).steps() if isinstance(step, About)][-1]


def test_copies_of_a_rollout(tmp_path: Path) -> None:
    """All are read, the largest one last; that one is the history of a fork."""
    origin = _origin()
    fork = _numbered(Lines(_B, forked_from_id=_A, history_base=_base(_A, origin, 3, 3)).said("user", "Other"), 3)
    whole = origin.write(tmp_path / "a" / f"rollout-2026-08-01T10-00-00-{_A}.jsonl")
    fork.write(tmp_path / "a" / f"rollout-2026-08-01T11-00-00-{_B}.jsonl")
    cut = tmp_path / "b" / whole.name
    cut.parent.mkdir()
    cut.write_bytes(whole.read_bytes()[:40])
    found = TOOL.discover(tmp_path)

    assert ([], [str(cut), str(whole)]) == (found.problems, [source.path for source in found.sources[:2]])
    assert ["One", "1", "Other"] == _texts(found.sources[2])


def _refs(source: Source) -> dict[str, list[str]]:
    """Return the refs of each text."""
    refs: dict[str, list[str]] = {}
    for step in TOOL.open(source).steps():
        for part in step.parts if isinstance(step, Said) else ():
            refs.setdefault(part.blocks[0]["text"], []).append(part.ref)
    return refs


def test_words_that_are_said_again_after_a_rewind(tmp_path: Path) -> None:
    """They are told from those of the branch that was left, and are the same wherever their file is read."""
    origin = _origin().write(tmp_path / f"sessions/rollout-1-{_A}.jsonl")
    again = Lines(_A, history_base=_base(_A, _origin(), 3, 3)).said("user", "Right").said("assistant", "2")
    _numbered(again, 3).write(tmp_path / f"sessions/rollout-2-{_A}_{_S}.jsonl")
    fork = Lines(_B, forked_from_id=_A, history_base=_base(_S, again, 3, 5)).said("user", "Fork").said("assistant", "2")
    _numbered(fork, 5).write(tmp_path / f"sessions/rollout-3-{_B}.jsonl")

    first, second, third = map(_refs, TOOL.discover(tmp_path).sources)

    assert str(origin) == TOOL.discover(tmp_path).sources[0].path
    assert first["One"] == second["One"] == third["One"]
    assert second["Right"] == third["Right"]
    assert second["2"] == third["2"][:1]
    assert 3 == len({*first["2"], *third["2"]})


def test_a_thread_that_an_older_version_has_imported(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it said after a rewind comes once more when its file grows, and the conversation is what the files say."""
    root = tmp_path / "root"
    watch, fresh = (Import(client, "codex", root, tmp_path / seen) for seen in ("watched", "fresh"))
    _origin().write(root / f"sessions/rollout-1-{_A}.jsonl")
    segment = Lines(_A, history_base=_base(_A, _origin(), 3, 3)).said("user", "Right").said("assistant", "3")
    path = _numbered(segment, 3).write(root / f"sessions/rollout-2-{_A}_{_S}.jsonl")
    with monkeypatch.context() as older:
        older.setattr(Rollout, "_said_ref", Rollout._ref)
        watch.look()
    before = watch.said("codex/")
    _numbered(segment.said("user", "Then").said("assistant", "2"), 3).write(path)
    os.utime(path, (path.stat().st_mtime + 10,) * 2)

    watch.look()

    after = watch.said("codex/")
    watch.purge("codex/")
    fresh.look()
    assert fresh.said("codex/") == after
    assert before != after
    fresh.purge("codex/")
