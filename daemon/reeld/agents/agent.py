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

An agent is live as long as its state is that of the log. If that ends (a bug, a purge, a loss, or another daemon has
written to the log), the registry drops it, and the next use reads the log again. Then :attr:`Agent.refusal` says why:
nothing is written over its state any more.
"""

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial

from reel.base.errors import Busy, Internal, NotFound, ReelError, Storage, no_memory
from reel.base.wakeup import Signal
from reeld.agents.event_bus import EventBus
from reeld.agents.jobs import Exclusive, Job, Read, Write, WriteTexts
from reeld.agents.live_state import MOST_HELD, Held, LiveState
from reeld.agents.phase import COMMITTING, IDLE, OVER, Phase
from reeld.agents.run import Run
from reeld.core.state import State
from reeld.store.commit_faults import CommitInDoubt, DivergedError, OvertakenError
from reeld.store.loss import Forgotten
from reeld.store.store import Store
from reeld.store.transactions import AgentWrite, Outcome

log = logging.getLogger(__name__)

# Jobs that may wait for one agent: as many as 32 connections with 256 requests in flight each.
MAILBOX = 8192
# The most commands in one transaction. Without a bound, a client that pipelines forever would never be answered.
_MAX_RUN = 1024


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
        self.last_used = time.monotonic()
        self.live = LiveState(row, store, bus, state, held or Held())
        self._phase = Phase.LOADING if state is None else IDLE
        # Why it is not live any more, which is what its jobs are answered; and whether it has failed.
        self.refusal: ReelError | None = None
        self.failed = False
        self._room = mailbox
        self._on_growth = on_growth
        self._on_read = on_read
        self._mailbox: deque[Job] = deque()
        # The exclusive job that the task is to run next.
        self._exclusive: Exclusive | None = None
        self._wake = Signal()
        # How many of the next writes are to be staged one by one, because they failed together.
        self._retry_singly = 0

    @property
    def idle(self) -> bool:
        """Whether nothing would be lost if the registry dropped this agent."""
        return self._phase is IDLE and not self._mailbox

    @property
    def committed(self) -> State:
        """The committed state of an agent that has been loaded."""
        return self.live.committed

    @property
    def has_room(self) -> bool:
        """Whether its mailbox takes one more job."""
        return len(self._mailbox) < self._room

    @property
    def waiting(self) -> int:
        """How many jobs wait in its mailbox."""
        return len(self._mailbox)

    def shrink(self) -> None:
        """Keep only the newest entries in memory, unless an exclusive job uses them."""
        if self._phase is not Phase.EXCLUSIVE:
            self.live.shrink()

    # --- the mailbox

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
        while self._mailbox and self._phase is IDLE:
            job = self._mailbox[0]
            if self.refusal is not None and not isinstance(job, Read):
                self._refuse_waiting(self.refusal)
            elif isinstance(job, (WriteTexts, Write)):
                self._begin_transaction()
            else:
                self._mailbox.popleft()
                if isinstance(job, Read):
                    self._read(job)
                else:
                    self._hand_to_task(job)
        if self._phase is OVER and self.refusal is not None:
            self._refuse_waiting(self.refusal)

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
        self.live.count()  # it may have put earlier entries into memory
        job.answer(outcome)

    def _hand_to_task(self, job: Exclusive) -> None:
        self._phase = Phase.EXCLUSIVE
        self._exclusive = job
        self._wake.set()

    # --- writes

    def _begin_transaction(self) -> None:
        """Stage the run of writes that waits, and submit it."""
        run = Run(self.live.committed)
        try:
            for write, error in run.fill(self._mailbox, 1 if self._retry_singly else _MAX_RUN):
                self._refuse(write, error)
            if run.staged:
                self._phase = COMMITTING
                transaction = run.transaction()
                self.store.writer.submit(transaction, partial(self._settle, run, transaction.parts[0]))
        except MemoryError as error:
            self._stage_less(run, error)
        except Exception as bug:
            self.crash(bug, run.writes)

    def _stage_less(self, run: Run, error: MemoryError) -> None:
        """Stage writes one by one for which there was not enough memory together; refuse one if there never is."""
        if self._phase is COMMITTING:
            self.crash(error, run.writes)
        elif run.staged:
            self._stage_singly(run)
        else:
            first = self._mailbox.popleft()
            assert isinstance(first, (WriteTexts, Write)), "only these are staged"  # noqa: S101 - see advance
            self._refuse(first, no_memory())

    def _stage_singly(self, run: Run) -> None:
        self._mailbox.extendleft(reversed([single for write in run.writes for single in write.singly()]))
        self._retry_singly = run.commands

    def _refuse(self, write: Write | WriteTexts, error: ReelError) -> None:
        self._retry_singly = max(0, self._retry_singly - write.commands)
        write.answer(error)

    def _settle(self, run: Run, part: AgentWrite, outcome: Outcome) -> None:
        """Apply and answer a transaction that was committed, or find out which command made it fail."""
        if self._phase is COMMITTING:
            self._phase = IDLE
        if isinstance(outcome, DivergedError):
            self.crash(outcome, run.writes)
            return
        rest = iter(run.staged)
        try:
            if not isinstance(outcome, ReelError):
                self.live.apply(part, outcome[0])
                self._limit()
                self._retry_singly = max(0, self._retry_singly - run.commands)
                for write, reply in rest:
                    write.answer(reply)
            elif isinstance(outcome, Internal | Forgotten | OvertakenError) or run.commands == 1:
                # An internal error leaves open whether they are written: staging them again could write them twice.
                # After a loss they could mean something else, and over another state they are staged by their callers.
                for write, _ in rest:
                    self._refuse(write, outcome)
            else:
                self._stage_singly(run)
        except Exception as bug:
            self.crash(bug, [write for write, _ in rest], outcome if isinstance(outcome, ReelError) else _written())
            return
        self.advance()

    def _limit(self) -> None:
        if self.live.has_grown():
            self.live.shrink(MOST_HELD)
            self._on_growth()

    # --- its task

    async def run(self) -> None:
        """Load the state, then run exclusive jobs until cancelled or not live any more."""
        if self._phase is Phase.LOADING:
            await self._load()
        while self.refusal is None or self._phase is Phase.EXCLUSIVE:
            await self._wake.wait()
            job, self._exclusive = self._exclusive, None
            if job is not None:
                await self._run_exclusive(job)

    async def _load(self) -> None:
        try:
            await self.live.load()
        except NotFound as error:
            self.end(error)
            return
        except Storage as error:
            self.store.reads.failed(f"agent={self.row} cannot be loaded: {error.message}")
            self._fail(error)
            return
        except Exception:
            log.exception("agent=%d cannot be loaded", self.row)
            self._fail(Storage("the agent cannot be read from the database; the daemon's log says why"))
            return
        if self._phase is OVER:
            return
        self.store.reads.succeeded()
        self._phase = IDLE
        self._on_growth()
        self._on_read(self)
        self.advance()

    async def _run_exclusive(self, job: Exclusive) -> None:
        try:
            outcome = await job.run(self)
        except ReelError as error:
            outcome = error
        except Exception as bug:
            self.crash(bug, [job])
            return
        if self._phase is not OVER:  # a lock on several agents may have crashed it meanwhile
            self._phase = IDLE
            self._limit()
        job.answer(outcome)
        self.advance()

    # --- its end

    def overtake(self) -> None:
        """Be live no more, because another daemon has written to the log.

        All jobs that wait begin again with a new agent. Only if the state is just being read from the log, the reads at
        the front of the mailbox are answered from it: they arrived before the news.
        """
        self.refusal = OvertakenError()
        if self._phase is not Phase.LOADING:
            self._refuse_waiting(self.refusal)
        self._wake.set()

    def lose(self) -> None:
        """Be live no more, because the log has lost events."""
        self._end(Forgotten())

    def crash(self, bug: Exception, in_progress: Iterable[Job], error: ReelError | None = None) -> None:
        """Give up after a bug; the next use reads the log again.

        Args:
            bug: the cause, for the log.
            in_progress: the jobs that were being done.
            error: what these are answered; ``None`` for the same as those that wait.
        """
        log.error("agent=%d failed; its state is dropped and will be read from the log", self.row, exc_info=bug)
        self.live.reset()
        if error is None:
            self._mailbox.extendleft(reversed(list(in_progress)))
        else:
            for job in in_progress:
                job.answer(error)
        self._fail(Internal("the agent failed; its log is intact, and the daemon's log says what happened"))

    def end(self, error: ReelError) -> None:
        """End permanently, because the agent was purged; answer every waiting job with an error."""
        self.live.reset()
        self._end(error)

    def _fail(self, error: ReelError) -> None:
        self.failed = True
        self._end(error)

    def _end(self, error: ReelError) -> None:
        self._phase, self.refusal = OVER, error
        self._retry_singly = 0
        self._refuse_waiting(error)
        self._wake.set()

    def _refuse_waiting(self, error: ReelError) -> None:
        """Answer every job in the mailbox with an error."""
        waiting, self._mailbox = self._mailbox, deque()
        for job in waiting:
            job.answer(error)


def _written() -> CommitInDoubt:
    """Return the answer to commands that are written, if a bug has lost their replies."""
    return CommitInDoubt("the command is written, but the agent failed before its reply; read the agent to see it")
