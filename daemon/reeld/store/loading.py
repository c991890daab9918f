"""Loading agents: when several are loaded at the same time, each reads only what the one before it did not.

For example, two hundred clones of one conversation that are killed together share nearly all entries.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from reel.base.light_typing import NamedTuple
from reel.wire.msgpack_codec import packer
from reeld.core.commands import gone
from reeld.core.conversation import Conversation
from reeld.core.milestones import Milestone
from reeld.core.reading import Reader
from reeld.core.state import Profile
from reeld.store import queries, states
from reeld.store.connection import Connection
from reeld.store.states import Skip, SqlLog


class Loaded(NamedTuple):
    """An agent's current state, the milestones that the log does not have, and the events that cannot be read."""

    profile: Profile
    conversation: Conversation
    made: list[Milestone]
    skipped: list[Skip]


class _Latest(NamedTuple):
    """The state that was read last, which must not be changed, and how many erasures were finished before that.

    All of its events could be read: of others, each who has them says so.
    """

    erasures: int
    conversation: Conversation


class Loading:
    """Loads agents.

    Args:
        erasures: returns how many erasures are finished. A state that was read before one finished is not used after
            it; nor need it be after a loss, because no id is ever given again.
    """

    def __init__(self, erasures: Callable[[], int]) -> None:
        self._erasures = erasures
        self._waiting = 0
        self._latest: _Latest | None = None

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Count a caller that waits for :meth:`load`; without any, nothing is kept."""
        self._waiting += 1
        try:
            yield
        finally:
            self._waiting -= 1
            if not self._waiting:
                self._latest = None

    def load(self, connection: Connection, row: int) -> Loaded:
        """Load an agent through a reading connection, in that connection's thread.

        Raises:
            NotFound: there is no such agent any more.
        """
        erasures = self._erasures()
        profile, last = queries.with_newest_event(connection, row)
        if not profile.name:  # purged since somebody has found it
            raise gone()
        tip, skipped = (None, []) if last is None else states.sound_tip_after(row, last, packer())
        latest, log = self._latest, SqlLog(connection, packer())
        near = latest.conversation if latest is not None and latest.erasures == erasures else None
        conversation, made = Reader(log).state(tip, near)
        if self._waiting > 1 and not log.skipped:
            self._latest = _Latest(erasures, conversation.copy())
        return Loaded(profile, conversation, made, skipped + log.skipped)
