"""Finding the sources of a tool among other files."""

from pathlib import Path

from reel.importing.sources.discovery import one_of_each, record_files
from reel.importing.steps import Problem, Source


def found(root: Path, pattern: str, problems: list[Problem]) -> list[str]:
    """Return the names of the files that have a record with an ``id``."""
    return [entry.path.name for entry, _ in record_files(root, pattern, lambda record: "id" in record, problems)]


def test_files_with_records_of_a_kind(tmp_path: Path) -> None:
    """A file is found if a record of the kind is among its first ones, or if all of these are damaged."""
    files = {"one": '{"id": 1}', "late": '{}\n{}\n{"id": 1}', "damaged": '{"id"', "other": '{"x": 1}', "empty": ""}
    for name, text in files.items():
        (tmp_path / f"{name}.jsonl").write_text(text)

    assert ["damaged.jsonl", "late.jsonl", "one.jsonl"] == found(tmp_path, "*.jsonl", [])
    assert ["other.jsonl"] == found(tmp_path / "other.jsonl", "*.jsonl", [])


def test_files_of_one_name(tmp_path: Path) -> None:
    """A pattern without a star is the whole name, but the user may name a file that has another one."""
    for name in ("log.jsonl", "old-log.jsonl"):
        (tmp_path / name).write_text('{"id": 1}')

    assert ["log.jsonl"] == found(tmp_path, "log.jsonl", [])
    assert ["old-log.jsonl"] == found(tmp_path / "old-log.jsonl", "log.jsonl", [])


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    """A file that cannot be read is reported, and the others are found."""
    for name in "abc":
        (tmp_path / f"{name}.jsonl").write_text('{"id": 1}')
    problems: list[Problem] = []
    files = record_files(tmp_path, "*.jsonl", lambda record: "id" in record, problems)
    first = next(files)[0].path.name
    (tmp_path / "b.jsonl").unlink()
    (tmp_path / "b.jsonl").symlink_to(tmp_path / "a.jsonl")

    assert ["a.jsonl", "c.jsonl"] == [first, *(entry.path.name for entry, _ in files)]
    assert [str(tmp_path / "b.jsonl")] == [problem.path for problem in problems]


def test_one_source_of_each_conversation() -> None:
    """Of several sources of a conversation the first one of the highest rank stays, in the place of the first."""
    sources = [Source(path, name, size, 0) for path, name, size in [("1", "a", 1), ("2", "b", 9), ("3", "a", 2)]]
    sources.append(Source("4", "a", 2, 0))

    assert ["3", "2"] == [source.path for source in one_of_each(sources, lambda source: source.size)]
