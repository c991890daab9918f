"""How a call ended, as far as its result says it: each tool has its own words for an exit status and for a failure."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from reel.base.light_typing import NamedTuple
from reel.base.strict_json import parse
from reel.touches.exit_status import EXIT_STATUS
from reel.touches.touch import Deed

# How many characters at the beginning and at the end may be a tool's own words: the rest is what a command printed.
_BEGINNING, _END = 512, 256
_STATUS_FIRST = re.compile(r"Exit code:? (-?\d{1,5})\b")
_STATUS_IN_HEADER = re.compile(r"^Process exited with code (-?\d{1,5})$", re.MULTILINE)
_STATUS_LAST = re.compile(r"(?:^Exit Code: (-?\d{1,5})$|^Command exited with code (-?\d{1,5})\s*\Z)", re.MULTILINE)
# Words after which the status is not known: the command goes on, or was ended. They begin with a set: `re` finds it ten
# times as fast as alternatives.
_RUNS_ON = re.compile(
    r"[CP{](?:(?<=C)ommand (?:running in background|was manually backgrounded)"
    r'|(?<=^P)rocess running with session ID|(?<=\A\{)"llmContent")',
    re.MULTILINE,
)
_NO_STATUS = re.compile(r"^Exit Code: \(none\)$", re.MULTILINE)
# What is said of a call that was never carried out.
_DENIED = re.compile(
    r"(?:Permission to use|The user (?:doesn't want|rejected)|User rejected|Claude requested permission"
    r"|Script failed\nWall time [^\n]*\nOutput:"
    r"|<tool_use_error>|This command requires approval|This Bash command contains|exec command rejected"
    r"|\[Operation Cancelled\]|[^\n]{1,500} was blocked\. For security)"
)
# What tools that mark no failure say about one. The text of a file may begin like that, but no report of a change.
_REFUSED = re.compile(
    r"\W*(?:error\b|fail|apply_patch verification failed|patch rejected|invalid|rejected|aborted|unsupported"
    r"|execution error|exec_command failed|exec command rejected|command timed out|permission denied|could not|cannot"
    r"|script (?:failed|terminated|running)\b|unable|no changes?\b|no such file|<tool_use_error>)",
    re.IGNORECASE,
)


class Outcome(NamedTuple):
    """Whether a call was not carried out, whether it failed, whether a change was refused, and the exit status."""

    denied: bool = False
    failed: bool = False
    refused: bool = False
    status: int | None = None

    def did(self, deed: Deed) -> bool:
        """Return whether a call that ended so did what it meant."""
        return not {"read": self.failed, "wrote": self.refused, "ran": self.denied}[deed]


def outcome_of(result: Mapping[str, Any] | None, *, marks_failures: bool) -> Outcome:
    """Return how a call ended.

    Args:
        result: the block of its result; ``None`` if there is none yet.
        marks_failures: whether the tool marks each command that failed, so that another one has the status 0.
    """
    if result is None:
        return Outcome()
    failed = bool(result.get("is_error"))
    text = text_of(result.get("content"))
    status = (result.get("provider_metadata") or {}).get(EXIT_STATUS)
    if type(status) is not int:
        status = _status(text, failed=failed)
    if status is None and not failed and marks_failures and not _is_open(text):
        status = 0
    is_refused = failed or bool(status) or bool(_REFUSED.match(text))
    return Outcome(status is None and bool(_DENIED.match(text)), failed, is_refused, status)


def _is_open(text: str) -> bool:
    """Return whether a result says that the status is not known."""
    return bool(_RUNS_ON.search(text[:_BEGINNING]) or _NO_STATUS.search(text[-_END:]))


def text_of(content: Any) -> str:
    """Return the texts of a result's content."""
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        return ""
    return "\n".join(block["text"] for block in content if isinstance(block, Mapping) and block.get("type") == "text")


def _status(text: str, *, failed: bool) -> int | None:
    first = _STATUS_FIRST.match(text)
    # A command that succeeded may print such a line itself; a header has the time as well.
    if first and (failed or text[first.end() :].startswith("\nWall time")):
        return int(first[1])
    header = text[:_BEGINNING].partition("\nOutput:")
    if header[1] and (found := _STATUS_IN_HEADER.search(header[0])):
        return int(found[1])
    if text.startswith('{"') and (status := _in_json(text)) is not None:
        return status
    if failed or text.startswith(("Command: ", "Output: ", "<untrusted_context>")):
        last = next(reversed(list(_STATUS_LAST.finditer(text[-_END:]))), None)
        return None if last is None else int(last[1] or last[2])
    return None


def _in_json(text: str) -> int | None:
    try:
        value = parse(text)
    except (ValueError, RecursionError):
        return None
    metadata = value.get("metadata") if isinstance(value, dict) and "output" in value else None
    status = metadata.get("exit_code") if isinstance(metadata, dict) else None
    return status if type(status) is int else None
