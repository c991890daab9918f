"""What a start does about an unfinished erasure in a file."""

import logging
import sqlite3
from functools import partial

from reel.base.light_typing import NamedTuple
from reeld.core.events import Pack
from reeld.store import erasures
from reeld.store.plans import carry_out
from reeld.store.wal import try_checkpoint

log = logging.getLogger(__name__)


class Recovered(NamedTuple):
    """What a start found of an unfinished erasure.

    Args:
        was_decided: whether there was one to complete.
        problem: why it could not be applied, as a sentence.
    """

    was_decided: bool
    problem: str | None = None


def recover(connection: sqlite3.Connection, pack: Pack) -> Recovered:
    """Apply a decided erasure, if that is possible; the daemon starts in any case, and serves.

    After each slice the WAL is copied, so that the next one overwrites it.
    """
    try:
        was_decided = carry_out(erasures.recovery(pack), connection, partial(try_checkpoint, connection))
    except sqlite3.Error as error:
        problem = f"{erasures.INCOMPLETE}: {error}"
        log.error("%s; it is tried again later", problem)  # noqa: TRY400 - it says all
        return Recovered(was_decided=True, problem=problem)
    return Recovered(was_decided)
