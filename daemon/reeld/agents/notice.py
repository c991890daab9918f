"""The day's notice: settings that remove something for good remove nothing for a day after they were made."""

from collections.abc import Sequence

from reel.base.light_typing import NamedTuple
from reeld.store.retention import DAY, Noted, Retention, Subject, forget, note, noted
from reeld.store.store import Store


class PassOptions(NamedTuple):
    """How rules are applied: only say to what; without waiting for a day; and for whom."""

    client: str | None
    dry_run: bool = False
    at_once: bool = False


class Notice:
    """Tells since when rules apply, and makes the database remember it.

    Args:
        subject: what the rules remove.
        rules: the rules.
    """

    def __init__(self, subject: Subject, rules: Retention) -> None:
        self.rules = rules
        self._subject = subject
        # What the database was last made to remember.
        self._noted: Noted | None = None
        # The time before which nothing is removed, because the rules are new; ``None`` if there are none, or they were
        # not looked at yet.
        self.after: int | None = None

    async def look(self, store: Store, time: int, *, at_once: bool, dry_run: bool) -> tuple[int, bool]:
        """Return the time from which on the rules apply, and whether that is to be announced.

        Args:
            store: what remembers them; with ``dry_run`` it is only read.
            time: the time.
            at_once: whether they apply now in any case.
            dry_run: whether nothing is remembered.
        """
        before: Noted | None = await store.read(noted, self._subject)
        current, is_new = self._current(
            [each for each in (before, self._noted) if each is not None], time, at_once=at_once
        )
        if not dry_run:
            if current != before:
                await store.write(lambda connection: note(connection, self._subject, current))
            self._noted, self.after = current, current.since + DAY
        return current.since + DAY, is_new

    def _current(self, known: Sequence[Noted], time: int, *, at_once: bool) -> tuple[Noted, bool]:
        """Return since when the rules apply, and whether that is to be announced.

        On a server, another daemon may have made the database remember other rules, or none. That does not change how
        long these have applied here.
        """
        current = min(
            (each.replaced_by(self.rules, time) for each in known),
            key=lambda each: each.since,
            default=Noted(self.rules, time),
        )
        if at_once:
            return current._replace(since=min(current.since, time - DAY)), False
        return current, current.since not in {each.since for each in known}


async def forget_rules(store: Store, subject: Subject) -> None:
    """Forget the rules of the past: if they are made again, they are new.

    On a server they may be another daemon's, which applies them; that one remembers them itself.
    """
    if await store.read(noted, subject) is not None:
        await store.write(lambda connection: forget(connection, subject))
