"""What a daemon knows of the others: their drafts, and how many follow each agent there.

Whoever may connect to the database may say anything, in the name of any number of daemons. So all of it together has
limits, and what exceeds them is ignored until others are gone.
"""

from collections.abc import Iterable

from reel.base.light_typing import NamedTuple
from reeld.serving.drafts import MAX_ALL

# Daemons; and of all of them together the drafts, and the agents with followers.
MOST_DAEMONS, MOST_DRAFTS, MOST_FOLLOWED = 1000, 10_000, 100_000


class DraftKey(NamedTuple):
    """The connection of a draft, by its number at its daemon, and the row of the agent."""

    connection: int
    row: int


class Neighbour:
    """The known state of another daemon; only :class:`States` changes its drafts and followers."""

    def __init__(self) -> None:
        self.heard = 0.0
        self.drafts: dict[DraftKey, str] = {}
        self.followers: dict[int, int] = {}

    @property
    def has_something(self) -> bool:
        """Whether it has any state that must be dropped when it is gone."""
        return bool(self.drafts or self.followers)


class States:
    """The known states of all other daemons."""

    def __init__(self) -> None:
        self._daemons: dict[int, Neighbour] = {}
        # Of all of them together: the drafts and their characters, and the agents with followers.
        self.drafts = self.characters = self.followed = 0

    def __len__(self) -> int:
        return len(self._daemons)

    @property
    def have_something(self) -> bool:
        """Whether any daemon has."""
        return bool(self.drafts or self.followed)

    @property
    def are_full(self) -> bool:
        """Whether there is no room for another draft."""
        return self.drafts >= MOST_DRAFTS or self.characters >= MAX_ALL

    def get(self, daemon: int) -> Neighbour | None:
        """Return the state of a daemon, if there is one."""
        return self._daemons.get(daemon)

    def meet(self, daemon: int, now: float) -> None:
        """Note that a daemon lives; a new one takes the place of one that has nothing, if there are too many."""
        if daemon not in self._daemons and len(self) >= MOST_DAEMONS:
            idle = next((each for each, neighbour in self._daemons.items() if not neighbour.has_something), None)
            if idle is None:
                return
            self.forget(idle)
        self._daemons.setdefault(daemon, Neighbour()).heard = now

    def silent(self, since: float) -> list[int]:
        """Return the daemons that have something, and were not heard since a moment."""
        return [daemon for daemon, each in self._daemons.items() if each.has_something and each.heard <= since]

    def forget(self, daemon: int) -> Iterable[DraftKey]:
        """Drop the state of a daemon, and return the keys of its drafts."""
        neighbour = self._daemons.pop(daemon, None)
        if neighbour is None:
            return ()
        self.drafts -= len(neighbour.drafts)
        self.characters -= sum(map(len, neighbour.drafts.values()))
        self.followed -= len(neighbour.followers)
        return neighbour.drafts

    def set_draft(self, neighbour: Neighbour, key: DraftKey, text: str) -> bool:
        """Set the text of a draft; return whether there was room for it."""
        before = neighbour.drafts.get(key)
        grows = len(text) - len(before or "")
        if (before is None and self.drafts >= MOST_DRAFTS) or (grows > 0 and self.characters + grows > MAX_ALL):
            return False
        self.drafts += before is None
        self.characters += grows
        neighbour.drafts[key] = text
        return True

    def end_draft(self, neighbour: Neighbour, key: DraftKey) -> None:
        """Drop a draft."""
        self.characters -= len(neighbour.drafts.pop(key))
        self.drafts -= 1

    def set_followers(self, neighbour: Neighbour, row: int, count: int) -> None:
        """Set how many follow an agent at a daemon."""
        had = neighbour.followers.pop(row, 0)
        self.followed -= bool(had)
        if count and (had or self.followed < MOST_FOLLOWED):
            neighbour.followers[row] = count
            self.followed += 1

    def followers(self, row: int) -> int:
        """Return how many follow an agent at all of them."""
        return sum(neighbour.followers.get(row, 0) for neighbour in self._daemons.values())
