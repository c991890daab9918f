"""Reads files beside a source, in which a tool describes a session as a whole."""

from pathlib import Path

from reel.base.strict_json import Json
from reel.importing.sources.files import MAX_LINE, open_regular
from reel.importing.steps import Counts, Problem
from reel.importing.values import parse_record


def companion(path: Path, counts: Counts) -> Json:
    """Return the object in a file beside a source; empty if there is no file, or it is damaged, which is reported."""
    try:
        with open_regular(str(path)) as file:
            data = file.read(MAX_LINE + 1)
        if len(data) > MAX_LINE:
            what = f"has more than {MAX_LINE:,} bytes"
        elif (found := parse_record(data)) is not None:
            return found
        else:
            what = "not a JSON object"
    except FileNotFoundError:
        return {}
    except OSError as error:
        what = error.strerror or str(error)
    except (ValueError, RecursionError) as error:
        what = f"not JSON: {error}"
    counts.problem(Problem(str(path), 0, what))
    return {}


def newest(modified: int, path: Path) -> int:
    """Return when a source or the file beside it was written last, in nanoseconds since the epoch."""
    try:
        return max(modified, path.lstat().st_mtime_ns)
    except OSError:
        return modified


def beginning(path: Path, size: int) -> str:
    """Return the first bytes of a file as a text; empty if it cannot be read."""
    try:
        with open_regular(str(path)) as file:
            return file.read(size).decode("utf-8", "replace")
    except OSError:
        return ""
