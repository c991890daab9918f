"""An agent's task: the only code that touches its conversation.

Everything reaches an agent through its mailbox, in order. There are three kinds of jobs (:mod:`reeld.agents.jobs`):

- A ``Write`` moves the tip forward or not at all; ``WriteTexts`` combines many of them in one job. The longest run of
  queued writes becomes one transaction: staged over the committed state, committed, applied, answered. If the
  transaction fails, the agent stages its commands again one by one, so that only the one at fault fails.
- A ``Read`` looks at the committed state and is answered at once. It ends a run of writes, so it sees them.
- An ``Exclusive`` job awaits something (a read of the log, another agent). It runs in the agent's own task, and nothing
  else happens to the agent until it ends.

Staging, applying and answering never await. They run synchronously when a job arrives, or in the callback by which the
writer reports a commit. So a plain ``add`` never wakes the agent's task. That makes it cheap: a wake-up costs as much
as all other work in this module.
"""

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from enum import Enum, auto
from functools import partial
from typing import Any, TypeAlias

import anyio

from reel.errors import Busy, Internal, NotFound, ReelError, Storage, no_memory
from reel.wakeup import Signal
from reeld.agents.event_bus import CommittedEvent, EventBus
from reeld.agents.foreign import completes
from reeld.agents.idempotency import key_row
from reeld.agents.jobs import Exclusive, Job, Read, Write, WriteTexts
from reeld.agents.packing import loop_packer
from reeld.core.commands import add_texts
from reeld.core.conversation import Conversation, Takeover
from reeld.core.events import Event
from reeld.core.reading import LEAST_READ
from reeld.core.stage import Reply, Stage, used_at
from reeld.core.state import State
from reeld.store.elsewhere import ForeignEvent
from reeld.store.loss import Forgotten
from reeld.store.store import Store
from reeld.store.transactions import AgentWrite, CommitInDoubt, DivergedError, Key, Outcome, Transaction, one_write

log = logging.getLogger(__name__)

# Jobs that may wait for one agent: as many as 32 connections with 256 requests in flight each.
MAILBOX = 8192
# The most commands in one transaction. Without a bound, a client that pipelines forever would never be answered.
_MAX_RUN = 1024
# The most entries of a conversation that stay in memory, however small they are: to cut off, drop or compare so many
# takes the event loop up to 15 ms. One command may put more there until it is done.
MOST_HELD = 50_000
# The most events of other daemons that are remembered while the state is read.
_MAX_NEWS = 1024

# The writes of one transaction, and the reply of each: a list of replies for texts.
_Run: TypeAlias = list[tuple[Write | WriteTexts, Any]]


class Phase(Enum):
    """What an agent is doing; it takes the next job only when it is ``IDLE``."""

    LOADING = auto()
    IDLE = auto()
    # The writer has a transaction.
    COMMITTING = auto()
    # An exclusive job is running.
    EXCLUSIVE = auto()
    # Final: the registry drops a failed agent, and the next use starts a new one.
    FAILED = auto()
    PURGED = auto()


# A member that is looked up in its class takes ten times as long, and these are looked at with every command.
_IDLE, _COMMITTING = Phase.IDLE, Phase.COMMITTING


def now() -> int:
    """Return the time in milliseconds since the epoch, UTC."""
    return time.time_ns() // 1_000_000


class Held:
    """About how many bytes the conversations of all live agents take in memory."""

    def __init__(self) -> None:
        self.bytes = 0


class Agent:
    """A live agent.

    Args:
        row: its number in the database.
        store: holds its log.
        bus: tells subscribers what happens to it.
        mailbox: how many jobs may wait for it.
        on_growth: called occasionally while its conversation grows.
        on_read: called with the agent after its log was read.
        state: its state, if it is known. Default: it is read from the log.
        held: what all agents take, this one included until it leaves.
    """

    def __init__(
        self,
        row: int,
        store: Store,
        bus: EventBus,
        mailbox: int = MAILBOX,
        on_growth: Callable[[], None] = lambda: None,
        on_read: "Callable[[Agent], None]" = lambda _: None,
        state: State | None = None,
        held: Held | None = None,
    ) -> None:
        self.row = row
        self.store = store
        self.bus = bus
        self.last_used = time.monotonic()
        self.repairs = 0
        self.state = state
        self._phase = Phase.LOADING if state is None else Phase.IDLE
        # Whether it has given up, and answers every job with an error.
        self.failed = False
        self._room = mailbox
        self._on_growth = on_growth
        self._on_read = on_read
        # What all agents take, and the part of it that is this one's.
        self._held = held or Held()
        self._counted = 0
        # Whether its conversation has grown in an exclusive job, during which nothing is dropped from memory.
        self._has_grown = False
        self._mailbox: deque[Job] = deque()
        # The exclusive job that the task is to run next.
        self._exclusive: Exclusive | None = None
        self._wake = Signal()
        # How many of the next writes are to be staged one by one, because they failed together.
        self._retry_singly = 0
        # Whether another daemon has written to its log since the state was read.
        self.is_behind = False
        # What other daemons wrote while the state was being read.
        self._news: list[ForeignEvent] = []

    @property
    def idle(self) -> bool:
        """Whether nothing would be lost if the registry dropped this agent."""
        return self._phase is Phase.IDLE and not self._mailbox

    @property
    def purged(self) -> bool:
        """Whether it was purged."""
        return self._phase is Phase.PURGED

    @property
    def committed(self) -> State:
        """The committed state of an agent that has been loaded."""
        assert self.state is not None  # noqa: S101 - no job runs before the load
        return self.state

    @property
    def has_room(self) -> bool:
        """Whether its mailbox takes one more job."""
        return len(self._mailbox) < self._room

    @property
    def waiting(self) -> int:
        """How many jobs wait in its mailbox."""
        return len(self._mailbox)

    @property
    def size(self) -> int:
        """About how many bytes of its conversation are in memory."""
        return 0 if self.state is None else self.state.conversation.size

    def shrink(self) -> None:
        """Keep only the newest entries in memory, unless an exclusive job uses them."""
        if self.state is not None and self._phase is not Phase.EXCLUSIVE:
            self.state.conversation.trim(LEAST_READ)
            self._count()

    def _count(self) -> None:
        """Take note of how much of the conversation is in memory by now."""
        size = self.committed.conversation.size
        self._held.bytes += size - self._counted
        self._counted = size

    def leave(self) -> None:
        """Count no more, because nobody finds it any more."""
        self._held.bytes -= self._counted
        self._held, self._counted = Held(), 0

    def post(self, job: Job) -> None:
        """Put a job into the mailbox; :meth:`advance` takes it from there.

        Raises:
            Busy: the mailbox is full.
        """
        if len(self._mailbox) >= self._room:
            raise Busy(f"{self._room} commands wait for this agent; retry when some of them have been answered")
        self._mailbox.append(job)

    def advance(self) -> None:
        """Do as many jobs as possible without awaiting anything."""
        while self._mailbox and self._phase is _IDLE:
            if self.is_behind:
                self._catch_up()
                return
            job = self._mailbox[0]
            if isinstance(job, (WriteTexts, Write)):
                self._begin_transaction()
                continue
            self._mailbox.popleft()
            if isinstance(job, Read):
                self._read(job)
            else:
                self._hand_to_task(job)

    def _read(self, job: Read) -> None:
        try:
            outcome = job.look(self.committed)
        except ReelError as error:
            outcome = error
        except MemoryError:
            outcome = no_memory()
        except Exception as bug:
            self.crash(bug, [job])
            return
        self._count()  # it may have put earlier entries into memory
        job.answer(outcome)

    def _hand_to_task(self, job: Exclusive) -> None:
        self._phase = Phase.EXCLUSIVE
        self._exclusive = job
        self._wake.set()

    def _begin_transaction(self) -> None:
        """Stage the run of writes that waits, and submit it."""
        run: _Run = []
        try:
            self._stage_run(run)
        except MemoryError as error:
            self._stage_less(run, error)
        except Exception as bug:
            self.crash(bug, [write for write, _ in run])

    def _stage_less(self, run: _Run, error: MemoryError) -> None:
        """Stage writes one by one for which there was not enough memory together; refuse one if there never is."""
        if self._phase is _COMMITTING:
            self.crash(error, [write for write, _ in run])
        elif run:
            self._stage_singly(run)
        else:
            first = self._mailbox.popleft()
            assert isinstance(first, (WriteTexts, Write)), "only these are staged"  # noqa: S101 - see advance
            self._refuse(first, no_memory())

    def _stage_singly(self, run: _Run) -> None:
        singles = [single for write, _ in run for single in write.singly()]
        self._mailbox.extendleft(reversed(singles))
        self._retry_singly = len(singles)

    def _stage_run(self, run: _Run) -> None:
        stage = Stage(self.committed, now(), loop_packer.pack)
        limit = 1 if self._retry_singly else _MAX_RUN
        keys: list[Key] = []
        mailbox = self._mailbox
        staged = 0
        while mailbox and staged < limit:
            write = mailbox[0]
            if not isinstance(write, (WriteTexts, Write)):
                break
            try:
                if isinstance(write, WriteTexts):
                    run.append((write, self._stage_texts(stage, write, keys)))
                    staged += len(write.texts)
                else:
                    run.append((write, self._stage_write(stage, write, keys)))
                    staged += 1
            except ReelError as error:
                if run:
                    # The cause may be in this very run: a head that it moves, or a key that it repeats. Commit what
                    # there is, and stage this command again.
                    break
                mailbox.popleft()
                if self.store.is_shared:
                    self._refuse_if_current(write, error)
                    return
                self._refuse(write, error)
                continue
            mailbox.popleft()
        if run:
            self._phase = _COMMITTING
            transaction = one_write(stage.profile, stage.events, keys)
            self.store.writer.submit(transaction, partial(self._settle, run, transaction.parts[0]))

    def _refuse_if_current(self, write: Write | WriteTexts, error: ReelError) -> None:
        """Refuse a write if no other daemon has written to the log since the state was read; else stage it again."""

        def settle(outcome: Outcome) -> None:
            self._phase = Phase.IDLE
            if isinstance(outcome, DivergedError):
                self._stage_again(outcome, [write], head)
                return
            self._refuse(write, outcome if isinstance(outcome, ReelError) else error)
            self.advance()

        head = self.committed.profile.head
        self._phase = Phase.COMMITTING
        self.store.submit(Transaction([], [], reads=frozenset([self.row])), settle)

    def _stage_texts(self, stage: Stage, write: WriteTexts, keys: list[Key]) -> Sequence[Reply | bytes]:
        stage.client = write.client
        command = stage.head
        replies = add_texts(stage, write.texts)
        write.on_staged(self.row)
        if any(write.keys):
            for key, reply in zip(write.keys, replies, strict=True):
                command += 1
                if key is not None:
                    keys.append(key_row(key, self.row, reply, command))
        return replies

    def _stage_write(self, stage: Stage, write: Write, keys: list[Key]) -> Reply | bytes:
        options = write.options
        stage.client = options.client
        if options.if_seq is not None:
            stage.require_head(options.if_seq)
        command = stage.head + 1
        reply = write.stage(stage)
        if options.key is not None:
            keys.append(key_row(options.key, self.row, reply, command))
        return reply

    def _refuse(self, write: Write | WriteTexts, error: ReelError) -> None:
        self._retry_singly = max(0, self._retry_singly - write.commands)
        write.answer(error)

    def _settle(self, run: _Run, part: AgentWrite, outcome: Outcome) -> None:
        """Apply and answer a transaction that was committed, or find out which command made it fail."""
        self._phase = _IDLE
        if isinstance(outcome, DivergedError):
            self._stage_again(outcome, [write for write, _ in run], part.profile.head - len(part.events))
            return
        rest = iter(run)
        try:
            if not isinstance(outcome, ReelError):
                self.apply(part, outcome[0])
                if self._retry_singly:
                    self._retry_singly = max(0, self._retry_singly - sum(write.commands for write, _ in run))
                for write, reply in rest:
                    write.answer(reply)
            elif isinstance(outcome, Internal | Forgotten) or (len(run) == 1 and run[0][0].commands == 1):
                # An internal error leaves open whether they are written: staging them again could write them twice.
                # After a loss they could mean something else.
                if isinstance(outcome, CommitInDoubt) and self.store.is_shared:
                    self.fall_behind()
                for write, _ in rest:
                    self._refuse(write, outcome)
            else:
                self._stage_singly(run)
        except Exception as bug:
            self.crash(bug, [write for write, _ in rest], outcome if isinstance(outcome, ReelError) else _written())
            return
        self.advance()

    def _stage_again(self, error: DivergedError, writes: list[Job], head: int) -> None:
        """Stage writes again that were staged over an outdated head."""
        if self.committed.profile.head > head:  # it has followed meanwhile
            self._mailbox.extendleft(reversed(writes))
            self.advance()
        else:
            self._diverged(error, writes)

    def can_follow(self, news: Sequence[ForeignEvent]) -> bool:
        """Return whether the state can be brought up to date by folding these events of other daemons into it."""
        is_current = self.state is not None and not self.is_behind
        if not is_current or self._phase not in (Phase.IDLE, Phase.COMMITTING):
            return False
        return completes(self.committed, news)

    def follow(self, event_id: int, event: Event) -> None:
        """Fold an event that another daemon wrote into the state, and publish it."""
        state = self.committed
        state.profile = state.profile._replace(head=event.seq, updated=used_at(event, state))
        kept = state.conversation.apply(event_id, event)
        self._count()
        if self.bus.has_subscribers(self.row):
            self.last_used = time.monotonic()
            self.bus.publish(CommittedEvent(state.profile, event_id, event, kept, state.conversation.extent))
        if state.conversation.has_new_milestones:
            self._take_milestones(state.conversation)

    def fall_behind(self, news: Sequence[ForeignEvent] = (), *, at_once: bool = False) -> None:
        """Read the state again before the next job, because another daemon has written to the log.

        Args:
            news: what was written, if known; if the state is being read right now, folding this in may suffice.
            at_once: whether to read it even if no job is waiting.
        """
        if self._phase is Phase.LOADING and news and len(self._news) < _MAX_NEWS:
            self._news += news
            return
        self.is_behind = True
        self.store.writer.behind.setdefault(self.row, DivergedError)  # an exclusive job may go on over the old state
        if at_once:
            self._catch_up()

    def lose(self, *, at_once: bool) -> None:
        """Refuse what waits, and read the state again before the next job: the log has lost events.

        Args:
            at_once: whether to read it even if no job is waiting.
        """
        self._retry_singly, self._news = 0, []
        waiting, self._mailbox = self._mailbox, deque()
        for job in waiting:
            job.answer(Forgotten())
        self.is_behind = True
        self.store.writer.behind[self.row] = Forgotten
        if at_once:
            self._catch_up()

    def _catch_up(self) -> None:
        """Schedule reading the state again, unless an exclusive job uses it."""
        if self._phase is Phase.IDLE:
            self._phase = Phase.LOADING
            self._wake.set()

    def _diverged(self, error: DivergedError, jobs: list[Job]) -> None:
        """Repeat jobs over what the log says now, if other daemons may write to it."""
        if not self.store.is_shared:
            self.crash(error, jobs)
            return
        self._mailbox.extendleft(reversed(jobs))
        self.fall_behind()
        self.advance()

    def apply(self, part: AgentWrite, first: int, past: Takeover | None = None) -> None:
        """Fold committed events into the state, and publish them.

        Args:
            part: the events.
            first: the id of the first one.
            past: the state that one of them takes over, if it is not in memory.
        """
        state, bus = self.committed, self.bus
        state.profile = part.profile
        conversation = state.conversation
        if past is None and not bus.has_subscribers(self.row):
            conversation.follow(first, part.events)
        else:
            for event_id, event in enumerate(part.events, first):
                kept = conversation.apply(event_id, event, past)
                bus.publish(CommittedEvent(part.profile, event_id, event, kept, conversation.extent))
        self._count()
        bus.newest = first + len(part.events) - 1
        if conversation.has_new_milestones:
            self._take_milestones(conversation)

    def _take_milestones(self, conversation: Conversation) -> None:
        """Hand new milestones to the writer."""
        self.store.writer.note(conversation.take_new_milestones())
        self._has_grown = True
        if self._phase is not Phase.EXCLUSIVE:
            self._limit()

    def _limit(self) -> None:
        if self._has_grown:
            self._has_grown = False
            self.committed.conversation.trim(MOST_HELD)
            self._count()
            self._on_growth()

    def repair_from_log(self, conversation: Conversation) -> None:
        """Replace a live conversation that differs from the log."""
        log.error("agent=%s differed from its log and was replaced", self.committed.profile.name)
        self.committed.conversation = conversation
        self._count()
        self.repairs += 1
        self.bus.reset(self.committed.profile)

    async def run(self) -> None:
        """Load the state, then run exclusive jobs until cancelled or failed."""
        while not self.failed:
            if self._phase is Phase.LOADING:
                await self._load()
            await self._wake.wait()
            job, self._exclusive = self._exclusive, None
            if job is not None:
                await self._run_exclusive(job)

    async def _load(self) -> None:
        # Reset before the log is read: the state may be out of date again afterwards.
        self.is_behind, self._news = False, []
        self.store.writer.behind.pop(self.row, None)
        try:
            self.state = await self.store.load(self.row)
            self._count()
            self._on_growth()
        except NotFound as error:
            self.end(error)
            return
        except Exception:
            log.exception("agent=%d cannot be loaded", self.row)
            self._fail(Storage("the agent cannot be read from the database; the daemon's log says why"))
            return
        self._phase = Phase.IDLE
        self._follow_news()
        self._on_read(self)
        self.advance()

    def _follow_news(self) -> None:
        """Fold in what other daemons wrote while the state was read; subscribers read it from the log."""
        news, self._news = [each for each in self._news if each.event.seq > self.committed.profile.head], []
        if news and self.can_follow(news):
            for each in news:
                self.follow(each.event_id, each.event)
        elif news:
            self.is_behind = True

    async def _run_exclusive(self, job: Exclusive) -> None:
        try:
            outcome = await job.run(self)
        except ReelError as error:
            outcome = error
        except DivergedError as error:
            self._phase = Phase.IDLE
            self._diverged(error, [job])
            return
        except Exception as bug:
            self.crash(bug, [job])
            return
        if not self.failed:  # a lock on several agents may have crashed it meanwhile
            self._phase = Phase.IDLE
            self._limit()
        job.answer(outcome)
        self.advance()

    def crash(self, bug: Exception, in_progress: Iterable[Job], error: ReelError | None = None) -> None:
        """Give up after a bug; the next use reads the log again.

        Args:
            bug: the cause, for the log.
            in_progress: the jobs that were being done.
            error: what these are answered; ``None`` for the same as those that wait.
        """
        log.error("agent=%d failed; its state is dropped and will be read from the log", self.row, exc_info=bug)
        if self.state is not None:
            self.bus.reset(self.state.profile)  # subscribers may have missed something
        if error is None:
            self._mailbox.extendleft(reversed(list(in_progress)))
        else:
            for job in in_progress:
                job.answer(error)
        self._fail(Internal("the agent failed; its log is intact, and the daemon's log says what happened"))

    def end(self, error: ReelError) -> None:
        """End permanently, because the agent was purged; answer every waiting job with an error."""
        if self.state is not None:
            self.bus.reset(self.state.profile)
        self._fail(error, Phase.PURGED)

    async def reload(self) -> None:
        """Read the state again after a redaction, whose command holds the agent's lock."""
        self.state = await self.store.load(self.row)
        self._count()
        self.bus.reset(self.state.profile)

    def _fail(self, error: ReelError, phase: Phase = Phase.FAILED) -> None:
        """Answer every waiting job with an error, and end."""
        self._phase, self.failed = phase, True
        waiting, self._mailbox = self._mailbox, deque()
        for job in waiting:
            job.answer(error)
        self._wake.set()


def _written() -> CommitInDoubt:
    """Return the answer to commands that are written, if a bug has lost their replies."""
    return CommitInDoubt("the command is written, but the agent failed before its reply; read the agent to see it")


async def write(store: Store, transaction: Transaction, on_commit: Callable[[list[int]], None]) -> None:
    """Commit a transaction and wait for it.

    The wait is shielded: the transaction is written whether its caller is cancelled or not, so the caller must
    learn of it.

    Args:
        store: where it is written.
        transaction: the transaction.
        on_commit: called with the id of the first event of each part, before any later commit is published.

    Raises:
        ReelError: it was not written.
        DivergedError: it was not written, because it was staged over a state that differs from the log.
    """
    settled = anyio.Event()
    failures: list[Exception] = []

    def settle(outcome: Outcome) -> None:
        try:
            if isinstance(outcome, Exception):
                failures.append(outcome)
            else:
                on_commit(outcome)
        except Exception as bug:
            failures.append(bug)
        settled.set()

    store.submit(transaction, settle)
    with anyio.CancelScope(shield=True):
        await settled.wait()
    for failure in failures:
        raise failure
