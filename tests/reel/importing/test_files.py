"""Finding the files of a tool."""

import os
from pathlib import Path

from reel.importing.sources.files import files_below
from reel.importing.steps import Problem


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
