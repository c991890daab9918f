"""The patches of ``apply_patch``: a list of files, each with its hunks.

Their form: ``*** Begin Patch``, then the files, then ``*** End Patch``. A file is ``*** Add File: PATH`` with lines
that begin with ``+``, ``*** Delete File: PATH``, or ``*** Update File: PATH``, perhaps ``*** Move to: PATH``, and
hunks. A hunk begins with ``@@``, which may be missing before the first one, and has the lines before (``-``), after
(``+``) and around (a space).
"""

import re
from collections.abc import Iterator, Sequence

from reel.touches.touch import Touch

BEGIN, END = "*** Begin Patch", "*** End Patch"
_HEADER = re.compile(r"\*\*\* (Add File|Update File|Delete File|Move to): (.+)")
_END_OF_FILE = "*** End of File"


def patched(text: str) -> list[Touch]:
    """Return what a patch writes; empty if the text is not a patch."""
    _, begins, inside = text.partition(BEGIN)
    if not begins:
        return []
    lines = inside.partition(f"\n{END}")[0].split("\n")[1:]
    headers = [(number, match) for number, line in enumerate(lines) if (match := _HEADER.fullmatch(line))]
    ends = [number for number, _ in headers[1:]] + [len(lines)]
    found: list[Touch] = []
    updated = ""
    for (number, header), end in zip(headers, ends, strict=True):
        what, path = header[1], header[2].strip()
        body = lines[number + 1 : end]
        if what == "Add File":
            found.append(added(path, body))
        elif what == "Delete File":
            found.append(removed(path))
        elif what == "Update File":
            updated = path
            found += hunks(path, body)
        elif updated:
            found += [removed(updated), *hunks(path, body)]
    return found


def added(path: str, lines: Sequence[str]) -> Touch:
    """Return the touch of a new file, from the lines of a patch."""
    return Touch("wrote", path, after=_text(line[1:] for line in lines if line.startswith("+")), whole=True)


def removed(path: str) -> Touch:
    """Return the touch of a file that was removed."""
    return Touch("wrote", path, whole=True)


def hunks(path: str, lines: Sequence[str]) -> Iterator[Touch]:
    """Yield the touches of the hunks of a file."""
    hunk: list[str] = []
    for line in [*lines, "@@"]:
        if line.startswith("@@"):
            if any(each[:1] in ("+", "-") for each in hunk):
                yield _hunk(path, hunk)
            hunk = []
        elif line != _END_OF_FILE:
            hunk.append(line)


def _hunk(path: str, lines: Sequence[str]) -> Touch:
    # An empty line around a change may have lost its space.
    before = _text(line[1:] for line in lines if line[:1] in ("-", " ", ""))
    after = _text(line[1:] for line in lines if line[:1] in ("+", " ", ""))
    return Touch("wrote", path, before, after)


def _text(lines: Iterator[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
