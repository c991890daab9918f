"""Which sources were imported completely, and are not read again."""

import os
import stat
from pathlib import Path

import pytest

from reel.importing.adding.seen import Seen
from reel.importing.steps import Problem, Source

SOURCE = Source("/x/history", "tool/demo", 10, 20)
HEADS = {"a1": 5, "a2": 7}
AGENTS = {"a1": (5, "tool/demo"), "a2": (7, "tool/demo/part")}


@pytest.fixture
def path(tmp_path: Path) -> str:
    """The file, in a directory that is not there yet."""
    return str(tmp_path / "state/imported.json")


def saved(path: str) -> Seen:
    """Return what a later import knows of a source that was imported into two agents."""
    seen = Seen(path)
    seen.add(SOURCE, AGENTS)
    seen.save()
    return Seen(path)


def test_a_source_that_was_imported(path: str) -> None:
    """It is not read again while its agents have all of it; they may have more."""
    assert ["a1", "a2"] == saved(path).agents(SOURCE, HEADS)
    assert ["a1", "a2"] == saved(path).agents(SOURCE, {**HEADS, "a1": 6, "a3": 1})


@pytest.mark.parametrize(
    "source",
    [
        SOURCE._replace(size=11),
        SOURCE._replace(modified=21),
        SOURCE._replace(about={"name": "Renamed"}),
        SOURCE._replace(path="/y/history"),
        SOURCE._replace(key="2"),
        SOURCE._replace(conversation="other/demo"),
    ],
)
def test_a_source_that_changed(path: str, source: Source) -> None:
    """Another size, time, file, conversation or tool is read."""
    assert saved(path).agents(source, HEADS) is None


def test_what_is_broken_in_a_source(path: str) -> None:
    """The first of its problems is known as long as it is the same source, and how many more there are."""
    problems = [Problem("/x/history", 3, "not JSON"), Problem("/x/history", 5, "not JSON")]
    seen = Seen(path)
    seen.add(SOURCE, AGENTS, problems, 2)
    seen.save()
    later = Seen(path)
    found = later.broken(SOURCE)
    later.add(SOURCE, AGENTS)

    assert "/x/history:3: not JSON, and 3 more problems in it" == str(found)
    assert ["a1", "a2"] == Seen(path).agents(SOURCE, HEADS)
    assert later.broken(SOURCE) is None


@pytest.mark.parametrize("heads", [{}, {"a1": 5}, {"a1": 4, "a2": 7}])
def test_agents_that_lost_something(path: str, heads: dict[str, int]) -> None:
    """If an agent is gone or is shorter, as after an older backup was restored, its source is read again."""
    assert saved(path).agents(SOURCE, heads) is None


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"version": 1, "sources": {}}', '{"version": 2, "sources": []}', "\xff"]
)
def test_a_damaged_file(path: str, text: str) -> None:
    """Everything is read again, and the next import has a whole file."""
    Path(path).parent.mkdir()
    Path(path).write_bytes(text.encode("latin-1"))

    assert Seen(path).agents(SOURCE, HEADS) is None
    assert ["a1", "a2"] == saved(path).agents(SOURCE, HEADS)


def test_who_may_read_it(path: str) -> None:
    """It says what somebody talks about with which tools, and is for the owner alone."""
    saved(path)

    assert (0o600, 0o700) == tuple(stat.S_IMODE(os.stat(each).st_mode) for each in (path, Path(path).parent))
    assert [Path(path).name] == os.listdir(Path(path).parent)


def test_a_place_where_nothing_can_be_written(tmp_path: Path) -> None:
    """The import goes on; the next one reads everything again."""
    (tmp_path / "file").write_text("")

    assert saved(str(tmp_path / "file/imported.json")).agents(SOURCE, HEADS) is None


def test_an_import_without_news(path: str) -> None:
    """It leaves the file alone, and the next one with news writes it."""
    seen = saved(path)
    os.remove(path)

    seen.save()
    assert not os.path.exists(path)
    seen.add(SOURCE, AGENTS)
    seen.save()
    assert os.path.exists(path)


def test_a_source_that_was_not_imported_completely(path: str) -> None:
    """It is not read again at once, unless it changes; once it was imported, nothing is postponed."""
    seen = Seen(path)
    seen.postpone(SOURCE)
    assert seen.is_postponed(SOURCE)
    assert not seen.is_postponed(SOURCE._replace(size=11))
    assert not seen.is_postponed(SOURCE._replace(conversation="tool/other"))
    assert not Seen(path).is_postponed(SOURCE)

    seen.add(SOURCE, AGENTS)
    assert not seen.is_postponed(SOURCE)


def test_agents_that_are_gone(path: str) -> None:
    """They may have been purged: what they were is known, to leave it out."""
    assert {"a2": "tool/demo/part"} == saved(path).gone({"a1": 9, "a3": 1})
    assert {} == saved(path).gone(HEADS)
