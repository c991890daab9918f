"""Prunes living agents of what nothing reaches any more and is older than ``retention.history_days``.

A *round* goes through all agents, and begins once a day. A *pass*, once an hour, looks at a limited number of events
and leaves the rest of the round to the next one. An agent is looked at without being locked or started; only if there
is something to prune, it is pruned as by the command. The file is cleaned once, at the end of a pass.

An agent without an event since the end of the round before needs no look: all that it had was old then. Only another
erasure can make something of it unreachable, such as the purge of a clone; then the next round looks at all.
"""

import logging

import anyio

from reel.base.errors import NotFound, ReelError
from reel.base.light_typing import NamedTuple
from reel.reading.wording import count, size, utc_minute
from reeld.agents.clock import now
from reeld.agents.erasing import ContentHolders
from reeld.agents.idempotency import CommandOptions
from reeld.agents.notice import Notice, PassOptions
from reeld.agents.registry import Registry
from reeld.core.freeing import let_go
from reeld.core.stage import Reply
from reeld.store.retention import DAY, History, Retention, Subject, histories

log = logging.getLogger(__name__)

# Events that a pass looks at: some seconds of CPU. An agent counts as at least so many.
MOST_EVENTS = 200_000
_LEAST = 100


class _Round(NamedTuple):
    """A round, and how far it has come.

    Args:
        began: when, in milliseconds since the epoch.
        until: what was written before this time is pruned.
        since: only agents with an event of this time or later are looked at; ``None`` for all.
        erasures: how many erasures there had been besides those of the rounds; -1 if the next round looks at all.
        after: the row of the last agent that was looked at; ``None`` at the end.
    """

    began: int
    until: int
    since: int | None
    erasures: int
    after: int | None = 0


class Amount(NamedTuple):
    """What was pruned: of how many agents, how many events, and how many bytes of text."""

    agents: int = 0
    events: int = 0
    bytes: int = 0

    def plus(self, events: int, size: int) -> "Amount":
        """Return it with another agent."""
        return Amount(self.agents + 1, self.events + events, self.bytes + size) if events else self


class PruningOld:
    """Applies ``retention.history_days``.

    Args:
        rules: the rules of ``[retention]``.
    """

    def __init__(self, rules: Retention) -> None:
        self.rules = rules.of_histories
        # What was pruned since the daemon was started, and why something was not at the last pass.
        self.done = Amount()
        self.problem: str | None = None
        self._notice = Notice(Subject.HISTORIES, self.rules)
        # The round that goes on or is over.
        self._round: _Round | None = None

    @property
    def is_on(self) -> bool:
        """Whether anything is ever pruned."""
        return self.rules.days is not None

    @property
    def after(self) -> int | None:
        """The time before which nothing is pruned, because the rule is new; ``None`` if that is not known."""
        return self._notice.after

    async def run(self, registry: Registry, holders: ContentHolders, most: int = MOST_EVENTS) -> None:
        """Do a pass of the round; remember what fails.

        Args:
            registry: finds agents.
            holders: what holds content besides the log.
            most: how many events are looked at; an agent that was begun is done to its end.
        """
        before, problem = self.done, self.problem
        self.problem = None
        try:
            await self._pass(registry, holders, most)
        except ReelError as error:
            self._fail(error)
        self._tell(problem)
        if (events := self.done.events - before.events) > 0:
            log.info("retention: %s pruned, %s of text", count(events, "event"), size(self.done.bytes - before.bytes))

    async def prune(self, registry: Registry, holders: ContentHolders, asked: PassOptions) -> Reply:
        """Prune all agents at once; return the part of the reply to ``retention`` that says so.

        Raises:
            Storage: it cannot be written, or other daemons use the database. Some of them may be pruned.
        """
        if self.rules.days is None:
            return {}
        time = now()
        after, _ = await self._notice.look(registry.store, time, at_once=asked.at_once, dry_run=asked.dry_run)
        told: Reply = {"history_after": after} if time < after else {}
        done, each = Amount(), _Each(registry, holders, asked)
        if not told or asked.dry_run:
            round_ = _Round(time, self._until(time), None, 0)
            try:
                while round_.after is not None:
                    found, after_these = await self._next(registry, round_)
                    for history in found:
                        done = done.plus(*(await each.prune(history, round_.until)))
                    round_ = round_._replace(after=after_these)
            except _NotThisOneError as error:
                raise error.reason from error
            finally:
                if not asked.dry_run:
                    self.done = Amount(*map(sum, zip(self.done, done, strict=True)))
                await each.end()
        return {**told, "histories_count": done.agents, "pruned": done.events, "pruned_bytes": done.bytes}

    async def _pass(self, registry: Registry, holders: ContentHolders, most: int) -> None:
        time = now()
        if not await self._may_begin(registry, time):
            return
        if self._round is None or (self._round.after is None and time >= self._round.began + DAY):
            self._round = self._next_round(registry, time)
        each = _Each(registry, holders, PassOptions("retention"))
        try:
            while most > 0 and self._round.after is not None:
                found, after_these = await self._next(registry, self._round)
                for history in found:
                    if most <= 0:
                        return
                    most -= max(history.head, _LEAST)
                    await self._prune(each, history, self._round)
                    self._round = self._round._replace(after=history.row)
                self._round = self._round._replace(after=after_these)
        finally:
            await each.end()

    async def _may_begin(self, registry: Registry, time: int) -> bool:
        """Whether the rule applies; say so if it is new."""
        after, is_new = await self._notice.look(registry.store, time, at_once=False, dry_run=False)
        if is_new:
            log.warning(
                "retention.history_days is new, or reaches further than before; nothing is pruned before %s; see what"
                " will be with: reel purge --retention --dry-run; do it now with: reel purge --retention --now",
                utc_minute(after),
            )
        return time >= after

    def _until(self, time: int) -> int:
        return int(max(time - (self.rules.days or 0) * DAY, 0))  # a number of days may be huge

    def _next_round(self, registry: Registry, time: int) -> _Round:
        last, erasures = self._round, registry.store.eraser.applied - self.done.agents
        since = None if last is None or last.erasures != erasures else last.until
        return _Round(time, self._until(time), since, erasures)

    async def _next(self, registry: Registry, round_: _Round) -> tuple[list[History], int | None]:
        """Return the next agents of a round, and the row after them."""
        found: tuple[list[History], int | None] = await registry.store.read_long(
            histories, self.rules, round_.until, round_.since, round_.after or 0
        )
        return found

    async def _prune(self, each: "_Each", history: History, round_: _Round) -> None:
        """Prune an agent; one that cannot be read does not keep the others from it."""
        try:
            self.done = self.done.plus(*(await each.prune(history, round_.until)))
        except _NotThisOneError as error:
            self._fail(error.reason)
            self._round = (self._round or round_)._replace(erasures=-1)

    def _tell(self, before: str | None) -> None:
        """Log why something was not pruned, unless that was the reason before."""
        if self.problem is not None and self.problem != before:
            log.warning("%s", self.problem)

    def _fail(self, error: ReelError) -> None:
        self.problem = self.problem or f"what nothing reaches any more is not pruned: {error.message}"


class _NotThisOneError(Exception):
    """An agent could not be pruned, and others may be."""

    def __init__(self, reason: ReelError) -> None:
        super().__init__(reason)
        self.reason = reason


class _Each:
    """Prunes agents one after the other.

    Args:
        registry: finds agents.
        holders: what holds content besides the log.
        asked: whether it is only looked at, and for whom.
    """

    def __init__(self, registry: Registry, holders: ContentHolders, asked: PassOptions) -> None:
        self._registry = registry
        self._holders = holders
        self._asked = asked
        self._eraser = registry.store.eraser

    async def prune(self, history: History, until: int) -> tuple[int, int]:
        """Return how many events of an agent were pruned, and how many bytes of text.

        Raises:
            Storage: nothing can be erased.
            _NotThisOneError: this agent cannot be pruned.
        """
        from reeld.agents.pruning import PruneOptions, prune_log  # noqa: PLC0415 - few daemons prune by themselves
        from reeld.core.pruning import Pruning  # noqa: PLC0415 - as above
        from reeld.store.pruning import Point, Program, plan_prune  # noqa: PLC0415 - as above

        point = Point(until=until)
        planned = await self._eraser.plan(plan_prune(history.row, point, Pruning(utc_minute(now()))))
        events, text = len(planned.redactions.found), planned.size
        await anyio.to_thread.run_sync(let_go, planned.redactions.found)
        if not events or self._asked.dry_run:
            return events, text
        has_turn = False
        try:
            async with self._eraser.turn():
                has_turn = True
                options = CommandOptions(client=self._asked.client)
                for agent in await self._registry.start_all([history.row]):  # none if it was purged meanwhile
                    wanted = PruneOptions(point, Program(), dry_run=False)
                    told = await prune_log(self._registry, self._holders, options, agent, wanted)
                    return told["pruned"], told["bytes"]
        except NotFound:
            pass
        except ReelError as error:
            if not has_turn:
                raise
            raise _NotThisOneError(error) from error
        return 0, 0

    async def end(self) -> None:
        """Clean the file; if that is not reached, it is cleaned at the next idle moment."""
        with anyio.CancelScope(shield=True):
            await self._eraser.tidy()
