"""Finding the files of a tool, and reading their lines."""

import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reel.importing.sources.files import JsonLines, Line, files_below, lines_of, open_regular, parse_line
from reel.importing.steps import NOT_JSON, Counts, Kept, Problem, Source, Step


def test_a_file_that_is_removed_meanwhile(tmp_path: Path) -> None:
    """A file that is removed while its directory is read is left out, and the others are found."""
    for name in "abc":
        (tmp_path / f"{name}.jsonl").write_text("{}")
    problems: list[Problem] = []
    found = files_below(tmp_path, (".jsonl",), problems)
    first = next(found).path.name
    (tmp_path / "b.jsonl").unlink()

    assert ["a.jsonl", "c.jsonl"] == [first, *(entry.path.name for entry in found)]
    assert [] == problems


def test_a_pipe(tmp_path: Path) -> None:
    """A pipe is reported as what it is, with what to do."""
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    problems: list[Problem] = []

    assert [] == list(files_below(pipe, (".jsonl",), problems))
    assert [f"{pipe}: is neither a file nor a directory; write its content to a file first"] == [
        str(problem) for problem in problems
    ]


def read(data: bytes, limit: int = 10) -> list[tuple[int, int, bytes, bool]]:
    """Return the lines of a file, without what they have beyond a limit."""
    return [(line.number, line.end, line.data, line.complete) for line in lines_of(io.BytesIO(data), limit=limit)]


def test_lines() -> None:
    """Each has its number and where the next one begins; the last one may lack its end, as if it was being written."""
    assert [(1, 2, b"a\n", True), (2, 3, b"\n", True), (3, 4, b"b", False)] == read(b"a\n\nb")
    assert [] == read(b"")


def test_a_byte_order_mark() -> None:
    """It is left out, and counts for where the next line begins."""
    assert [(1, 5, b"a\n", True), (2, 6, b"b", False)] == read(b"\xef\xbb\xbfa\nb")


def test_a_line_that_is_too_long() -> None:
    """It is skipped as a whole; a line of the limit is read, and its line break does not count."""
    assert [(1, 11, b"x" * 10 + b"\n", True), (2, 13, b"a\n", True)] == read(b"x" * 10 + b"\na\n")
    assert [(1, 12, b"", True), (2, 14, b"a\n", True)] == read(b"x" * 11 + b"\na\n")
    assert [(1, 11, b"", False)] == read(b"x" * 11)


@pytest.mark.parametrize(("length", "is_kept"), [(11, False), (12, True), (40, True), (41, False)])
def test_what_is_kept_of_a_long_line(length: int, is_kept: bool) -> None:
    """A line that is not more than four times too long can be read without its largest parts."""
    data = b"x" * (length - 1) + b"\n"
    (line,) = lines_of(io.BytesIO(data), limit=10)

    assert (data if is_kept else b"") == line.long


class Words(JsonLines):
    """A file whose records say a word."""

    def read_line(self, found: Any, line: int) -> Iterator[Step]:
        """Yield the word as a record for the log."""
        self.counts.map()
        yield Kept("note", str(line), found.get("word"), {}, None, line)


def words(path: Path) -> tuple[Words, list[str | None]]:
    """Return a reading of a file, and the words in it."""
    reading = Words(Source(str(path), "tool/demo", path.stat().st_size, 0))
    return reading, [step.content for step in reading.steps() if isinstance(step, Kept)]


def test_a_file_that_grows(tmp_path: Path) -> None:
    """What was written since is read; half a line waits for its other half, a whole one for nothing."""
    path = tmp_path / "x"
    path.write_bytes(b'{"word": "one"}\n{"word": ')
    reading, first = words(path)
    path.write_bytes(b'{"word": "one"}\n{"word": "two"}\n{"word": "three"}')
    rest = [step.content for step in reading.steps() if isinstance(step, Kept)]

    assert (["one"], ["two", "three"]) == (first, rest)
    assert (3, []) == (reading.counts.read, reading.counts.problems)


def test_what_was_written_after_a_file_was_found(tmp_path: Path) -> None:
    """It is left for the next look: what the file is was told from less."""
    path = tmp_path / "x"
    path.write_bytes(b'{"word": "one"}\n{"wo')
    reading = Words(Source(str(path), "tool/demo", path.stat().st_size, 0))
    path.write_bytes(b'{"word": "one"}\n{"word": "two"}\n')

    assert ["one"] == [step.content for step in reading.steps() if isinstance(step, Kept)]


def test_lines_that_are_no_records(tmp_path: Path) -> None:
    """They are counted and reported, and those around them are read; empty ones are nothing."""
    path = tmp_path / "x"
    path.write_bytes(b'{"word": "one"}\n\nnonsense\n[1]\n   \n{"word": "two"}\n')
    reading, found = words(path)

    assert ["one", "two"] == found
    assert {"not JSON": 2} == reading.counts.unknown
    assert [3, 4] == [problem.line for problem in reading.counts.problems]


@pytest.mark.parametrize("what", ["link", "pipe", "directory", "missing"])
def test_what_is_no_file(tmp_path: Path, what: str) -> None:
    """A link is not followed, a pipe not waited for, and nothing is left open."""
    path = tmp_path / what
    if what == "link":
        (tmp_path / "file").touch()
        path.symlink_to(tmp_path / "file")
    elif what == "pipe":
        os.mkfifo(path)
    elif what == "directory":
        path.mkdir()

    with pytest.raises(OSError, match=what):
        open_regular(str(path))


def test_files_below_a_directory(tmp_path: Path) -> None:
    """Files with the suffix are found in the order of their names; a link in the directory is reported."""
    (tmp_path / "b").mkdir()
    for name in ("c.jsonl", "b/d.jsonl", "a.jsonl", "b/e.txt"):
        (tmp_path / name).write_text("{}")
    (tmp_path / "b/link.jsonl").symlink_to(tmp_path / "a.jsonl")
    problems: list[Problem] = []
    found = [entry.path.relative_to(tmp_path) for entry in files_below(tmp_path, (".jsonl",), problems)]

    assert ["a.jsonl", "c.jsonl", "b/d.jsonl"] == list(map(str, found))
    assert [f"{tmp_path}/b/link.jsonl: is a link, which is not followed"] == list(map(str, problems))


@pytest.mark.parametrize(
    "before", ["\0" * 9, '{"type": "user", "message": {"role": "us', "garbage ", "7 ", '{"a": "\\u00']
)
def test_what_is_before_a_record_on_its_line(before: str) -> None:
    """Damage costs only itself: the record after it on the same line is read, and the damage is reported."""
    counts = Counts()
    line = Line(7, 0, (before + '{"type": "user", "n": {"x": 1}}\n').encode(), 0, complete=True)

    assert [{"type": "user", "n": {"x": 1}}] == parse_line(line, Source("/x", "t/x", 0, 0), counts)
    assert (1, {NOT_JSON: 1}, 7) == (counts.read, counts.unknown, counts.problems[0].line)


@pytest.mark.parametrize("between", ['"', "", "\0\0", ' {"type": "us'])
def test_several_records_on_a_line(between: str) -> None:
    """All that are whole are read, whatever is between them."""
    counts = Counts()
    line = Line(1, 0, f'{{"a": {{"b": 1}}}}{between}{{"c": 2}}{between}{{"d": 3}}'.encode(), 0, complete=True)

    assert [{"a": {"b": 1}}, {"c": 2}, {"d": 3}] == parse_line(line, Source("/x", "t/x", 0, 0), counts)
    assert (1, {NOT_JSON: 1}, 1) == (counts.read, counts.unknown, len(counts.problems))


@pytest.mark.parametrize("data", ['{"a": {"b": 1}', '"a": {"b": 1}}', "\0\0", '{"a' * 9])
def test_half_a_record(data: str) -> None:
    """A part of a damaged record is no record."""
    counts = Counts()

    assert [] == parse_line(Line(1, 0, data.encode(), 0, complete=True), Source("/x", "t/x", 0, 0), counts)
    assert {NOT_JSON: 1} == counts.unknown
