"""Why a commit failed: what it raises, and how that is told."""

import sqlite3
from collections.abc import Callable
from typing import Any

from reel.base.errors import Exists, Internal, ReelError, Storage

# The exceptions with which a transaction may fail. The last two mean a value that cannot be bound; anything else is a
# bug.
FAULTS = (sqlite3.Error, UnicodeError, OverflowError, MemoryError)


class KeyTakenError(ReelError):
    """A command with this key was applied before; never sent to a client, which gets the first reply instead."""


class CommitInDoubt(Internal):
    """It is unknown whether a commit was written; sent to clients like any other internal error."""


class DivergedError(Exception):
    """The log has an event that the live state does not have, although nobody else writes to it: a bug."""


class OvertakenError(ReelError):
    """Another daemon has written to an agent since a command was staged.

    It is never sent to a client: the call begins again.
    """

    def __init__(self, message: str = "another daemon has written to the agent meanwhile", **data: Any) -> None:
        super().__init__(message, **data)


class InDoubtError(sqlite3.OperationalError):
    """A commit was written, but neither synced nor overwritten: after a crash it may or may not exist."""


# What the violation of a constraint means, by its first column: SQLite names the columns, and the constraints on a
# server are named after these.
_VIOLATIONS: dict[str, Callable[[str], ReelError | DivergedError]] = {
    "keys.key": KeyTakenError,
    "erasures.key": KeyTakenError,
    "agents.name": lambda _: Exists("a live agent has this name; choose another, or continue with that agent"),
    "events.agent": DivergedError,
}


def explain(error: Exception) -> ReelError | DivergedError:
    """Return the error to raise for a failed commit."""
    text = str(error) or ("there is not enough memory" if isinstance(error, MemoryError) else type(error).__name__)
    if isinstance(error, InDoubtError):
        return CommitInDoubt(
            f"commit state unknown: {text}; check when the database works again, or retry with the same key"
        )
    if isinstance(error, sqlite3.IntegrityError):
        for constraint, violation in _VIOLATIONS.items():
            if constraint in text:
                return violation(text)
    return Storage(f"nothing was written: {text}")
