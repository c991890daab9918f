"""An agent's task: the only code that touches its conversation.

Mail is taken in order. The longest run of writes that waits is one unit: staged over the committed state,
committed, applied, answered. Looks are answered at once from the committed state. A ``Turn`` runs in the
task itself, and nothing else happens until it is over. Staging, applying and answering do not wait for
anything, so they happen wherever they come due: when mail arrives, or when the writer reports a commit.
"""

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable

import anyio

from reel.errors import Busy, Internal, ReelError, Storage
from reel.msgpack_codec import packer
from reeld.agents.event_bus import Hub, News
from reeld.agents.idempotency import key_row, repeated
from reeld.agents.mail import Look, Mail, Terms, Turn, Write
from reeld.core.commands import Reply, Stage
from reeld.core.conversation import Conversation
from reeld.core.events import Node
from reeld.core.state import State
from reeld.store.store import Store
from reeld.store.units import Part, Unit
from reeld.store.writing import DivergedError, Outcome

log = logging.getLogger(__name__)

MAILBOX = 8192
# Commands in one unit: a run that never ends should still be answered.
_RUN = 1024

# One for all agents: they all live on one thread.
_pack = packer()


def now() -> int:
    """Give the time in milliseconds since the epoch, UTC."""
    return time.time_ns() // 1_000_000


class Agent:
    """A live agent.

    Args:
        row: its number in the database.
        store: where its log is.
        hub: who hears of what happens to it.
        mailbox: how much may wait for it.
    """

    def __init__(self, row: int, store: Store, hub: Hub, mailbox: int = MAILBOX) -> None:
        self.row = row
        self.store = store
        self.hub = hub
        self.used = time.monotonic()
        self.failed = False
        self.mended = 0
        self.state: State | None = None
        self._room = mailbox
        self._mailbox: deque[Mail] = deque()
        # True while a unit is in flight, a turn runs, or the state is being loaded.
        self._occupied = True
        self._turn: Turn | None = None
        self._wake = anyio.Event()
        # How many of the next writes go one by one, because they failed together.
        self._singly = 0

    @property
    def idle(self) -> bool:
        """Whether nothing would be lost by forgetting this agent."""
        return not self._occupied and not self._mailbox

    @property
    def living(self) -> State:
        """The committed state, of an agent that has been loaded."""
        assert self.state is not None  # noqa: S101 - nobody has a turn before the load
        return self.state

    def post(self, mail: Mail) -> None:
        """Put mail into the mailbox; :meth:`advance` looks at it.

        Raises:
            Busy: the mailbox is full.
        """
        if len(self._mailbox) >= self._room:
            raise Busy("too much waits for this agent; ask again when some of it has been answered")
        self._mailbox.append(mail)

    def advance(self) -> None:
        """Go as far as it goes without waiting."""
        while self._mailbox and not self._occupied:
            mail = self._mailbox[0]
            if type(mail) is Write:
                self._begin_unit()
                continue
            self._mailbox.popleft()
            if type(mail) is Look:
                self._look(mail)
            elif type(mail) is Turn:
                self._take_turn(mail)

    def _look(self, mail: Look) -> None:
        try:
            outcome = mail.look(self.living)
        except ReelError as error:
            outcome = error
        except Exception as bug:
            self.crash(bug, [mail])
            return
        mail.answer(outcome)

    def _take_turn(self, turn: Turn) -> None:
        self._occupied = True
        self._turn = turn
        self._wake.set()

    def stage(self, terms: Terms) -> Stage:
        """Make a stage over the committed state.

        Raises:
            Conflict: the head is not what the command supposes.
        """
        stage = Stage(self.living, now(), _pack)
        stage.client = terms.client
        stage.require_head(terms.if_seq)
        return stage

    def _begin_unit(self) -> None:
        """Stage the run of writes that waits, and submit it."""
        run: list[tuple[Write, Reply]] = []
        try:
            self._stage_run(run)
        except Exception as bug:
            self.crash(bug, [write for write, _ in run])

    def _stage_run(self, run: list[tuple[Write, Reply]]) -> None:
        stage = Stage(self.living, now(), _pack)
        limit = 1 if self._singly else _RUN
        keys = []
        while self._mailbox and len(run) < limit and type(write := self._mailbox[0]) is Write:
            terms = write.terms
            try:
                stage.client = terms.client
                stage.require_head(terms.if_seq)
                reply = write.stage(stage)
            except ReelError as error:
                if run:
                    break  # why it is refused, or what it repeats, may be in this very unit: see what becomes of it
                self._mailbox.popleft()
                self._refuse(write, error)
                if self._occupied:
                    return
                continue
            self._mailbox.popleft()
            run.append((write, reply))
            if terms.keyed is not None:
                keys.append(key_row(terms.keyed, self.row, reply))
        if run:
            self._occupied = True
            part = Part(stage.profile, stage.drafts)
            self.store.submit(Unit([part], keys), lambda outcome: self._settle(run, part, outcome))

    def _refuse(self, write: Write, error: ReelError) -> None:
        """Answer with an error, unless the command has a key and was carried out before."""
        self._singly = max(0, self._singly - 1)
        if write.terms.keyed is None:
            write.answer(error)
        else:
            self._take_turn(Turn(lambda _: repeated(self.store, write.terms.keyed, error), write.answer))

    def _settle(self, run: list[tuple[Write, Reply]], part: Part, outcome: Outcome) -> None:
        """Apply and answer a unit that was committed, or see who is to blame that it was not."""
        self._occupied = False
        if isinstance(outcome, DivergedError):
            self.crash(outcome, [write for write, _ in run])
            return
        try:
            if not isinstance(outcome, ReelError):
                self.apply(part, outcome[0])
                self._singly = max(0, self._singly - len(run))
                for write, reply in run:
                    write.answer(reply)
            elif len(run) == 1:
                self._refuse(run[0][0], outcome)
            else:
                self._mailbox.extendleft(write for write, _ in reversed(run))
                self._singly = len(run)
        except Exception as bug:
            self.crash(bug, [write for write, _ in run])
            return
        self.advance()

    def apply(self, part: Part, first: int, past: Iterable[Node] | None = None) -> None:
        """Fold a committed part into the living state, and tell who follows."""
        state, hub = self.living, self.hub
        state.profile = part.profile
        conversation, followed = state.conversation, hub.followed(self.row)
        for event_id, draft in enumerate(part.drafts, first):
            kept = conversation.apply(event_id, draft, past)
            if followed:
                hub.publish(News(part.profile, event_id, draft, kept, conversation.extent))
        hub.newest = first + len(part.drafts) - 1

    def mend(self, conversation: Conversation) -> None:
        """Replace a living conversation that is not what the log says."""
        log.error("agent=%s differed from its log and was replaced", self.living.profile.name)
        self.living.conversation = conversation
        self.mended += 1
        self.hub.mended(self.living.profile)

    async def commit(
        self,
        stage: Stage,
        reply: Reply,
        terms: Terms,
        past: Iterable[Node] | None = None,
        *,
        changed: bool = False,
    ) -> Reply:
        """Commit and apply what a turn has staged; give the reply.

        Args:
            stage: the drafts.
            reply: the answer, remembered under the command's key.
            terms: the command's.
            past: the nodes of a state that is taken over.
            changed: more of the profile than its head changed.
        """
        part = Part(stage.profile, stage.drafts, changed=changed)
        keys = [] if terms.keyed is None else [key_row(terms.keyed, self.row, reply)]
        await write(self.store, Unit([part], keys), lambda firsts: self.apply(part, firsts[0], past))
        return reply

    async def run(self) -> None:
        """Load the state, then take turns until cancelled or crashed."""
        try:
            self.state = await self.store.load(self.row)
        except Exception:
            log.exception("agent=%d cannot be loaded", self.row)
            self.fail(Storage("the agent cannot be read from the database; the daemon's log says why"))
            return
        self._occupied = False
        self.advance()
        while not self.failed:
            await self._wake.wait()
            self._wake = anyio.Event()
            turn, self._turn = self._turn, None
            if turn is not None:
                await self._run(turn)

    async def _run(self, turn: Turn) -> None:
        try:
            outcome = await turn.run(self)
        except ReelError as error:
            outcome = error
        except Exception as bug:
            self.crash(bug, [turn])
            return
        self._occupied = False
        turn.answer(outcome)
        self.advance()

    def crash(self, bug: Exception, current: Iterable[Mail]) -> None:
        """Give up after a bug: the next use reads the log anew; ``current`` is what was being done."""
        log.error("agent=%d failed; its state is dropped and will be read from the log", self.row, exc_info=bug)
        if self.state is not None:
            self.hub.mended(self.state.profile)  # what is followed may have missed something
        self._mailbox.extendleft(reversed(list(current)))
        self.fail(Internal("the agent failed; its log is intact, and the daemon's log says what happened"))

    def fail(self, error: ReelError) -> None:
        """Answer everybody who waits with an error, and end."""
        self.failed = True
        self._occupied = True
        waiting, self._mailbox = self._mailbox, deque()
        for mail in waiting:
            mail.answer(error)
        self._wake.set()


async def write(store: Store, unit: Unit, committed: Callable[[list[int]], None]) -> None:
    """Commit a unit and wait for it.

    Cancelling the caller does not keep the unit from being written, so it is not possible.

    Args:
        store: where it is written.
        unit: what is written.
        committed: called with the id of the first event of each part, before anything that is committed later
            is heard of.

    Raises:
        ReelError: it was not written.
        DivergedError: nor was it, for the state that it was made for is not what the log says.
    """
    settled = anyio.Event()
    failures: list[Exception] = []

    def settle(outcome: Outcome) -> None:
        try:
            if isinstance(outcome, Exception):
                failures.append(outcome)
            else:
                committed(outcome)
        except Exception as bug:
            failures.append(bug)
        settled.set()

    store.submit(unit, settle)
    with anyio.CancelScope(shield=True):
        await settled.wait()
    for failure in failures:
        raise failure
