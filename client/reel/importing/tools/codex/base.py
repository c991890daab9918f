"""What of other files comes before a rollout of Codex.

A rewind writes nothing into the file: the thread goes on in a second one, a *segment*, whose name ends with the ids of
both, ``<thread>_<segment>``. A fork has its own thread. Both name their history, ``history_base``: a thread or a
segment, the end of its part in bytes, and the first ordinal that does not belong to it. That one may have a history of
its own.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from reel.base.light_typing import NamedTuple
from reel.base.strict_json import Json, encode, parse
from reel.importing.sources.files import Line, lines_of
from reel.importing.values import map_in, text_in

# The endings of a rollout's name.
COMPRESSED = ".zst"
SUFFIXES = (".jsonl", ".jsonl" + COMPRESSED)
# The key of a source's data that holds its history.
HISTORY = "history"
# The length of an id, with which a rollout's name ends.
_ID_LENGTH = 36


def file_id(path: str) -> str:
    """Return the id by which others name the file of a rollout: that of its segment, else that of its thread."""
    thread, segment = ids_in_name(Path(path))
    return segment or thread


class Stretch(NamedTuple):
    """The beginning of a file that is a part of a history.

    Args:
        path: the file.
        end: where it ends, in bytes; 0 if that is unknown.
        ordinal: the first ordinal after it.
    """

    path: str
    end: int
    ordinal: int

    def lines(self, file: BinaryIO) -> Iterator[Line]:
        """Yield the lines of the stretch."""
        for line in lines_of(file):
            if self.end and line.end > self.end:
                return
            yield line

    def has(self, found: Json) -> bool:
        """Return whether a record belongs to the stretch, as far as its ordinal tells."""
        ordinal = found.get("ordinal")
        return type(ordinal) is not int or ordinal < self.ordinal or bool(self.end)


def ids_in_name(path: Path) -> tuple[str, str]:
    """Return the thread and the segment in a rollout's name; the segment is empty for the beginning of a thread."""
    stem = path.name.removesuffix(COMPRESSED).removesuffix(".jsonl")
    before, line, segment = stem.rpartition("_")
    return (before[-_ID_LENGTH:], segment) if line and len(segment) == _ID_LENGTH else (stem[-_ID_LENGTH:], "")


def history_of(meta: Json, files: Mapping[str, tuple[str, Json]]) -> tuple[list[Stretch], str]:
    """Return the history of a rollout, the oldest first, and the id of what is not there, which may be empty.

    Args:
        meta: the first record of the rollout.
        files: the files of threads and segments by their ids, each with its first record.
    """
    stretches: list[Stretch] = []
    seen: set[str] = set()
    while base := map_in(meta, "history_base"):
        name = text_in(base, "thread_id")
        if name not in files or name in seen:
            return [], name
        seen.add(name)
        path, meta = files[name]
        end, ordinal = base.get("end_byte_offset"), base.get("end_ordinal_exclusive")
        stretches.append(Stretch(path, end if type(end) is int else 0, ordinal if type(ordinal) is int else 0))
    return stretches[::-1], ""


def written(stretches: list[Stretch]) -> str:
    """Return a history as a text."""
    return encode([list(stretch) for stretch in stretches])


def read(text: str) -> list[Stretch]:
    """Return the history in a text."""
    return [Stretch(*stretch) for stretch in parse(text)]
