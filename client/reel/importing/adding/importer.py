"""Importing sources: reads each, adds its steps to its agents, and counts the results."""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import PurePath

from reel import requests
from reel.base.errors import Conflict, Exists, InvalidMessage, InvalidParams, NotFound, ReelError, TooLarge
from reel.base.light_typing import NamedTuple
from reel.importing.adding.accounting import KNOWN, STORED, Accounting
from reel.importing.adding.agents import SOURCE, Agents
from reel.importing.adding.conversation import Conversation
from reel.importing.adding.grouping import Grouping
from reel.importing.adding.log import is_of_prune
from reel.importing.adding.masking import Masking
from reel.importing.adding.pipeline import Pipeline
from reel.importing.adding.seen import Seen
from reel.importing.adding.stored import Stored
from reel.importing.adding.tombstones import Tombstones
from reel.importing.batches import batches
from reel.importing.steps import WITHOUT_MESSAGE, About, Counts, Problem, Source, Step, Tool

# The rule for the records of a file whose conversations were all killed or purged here.
LEFT_ALONE = "killed or purged here"
# The rule for the records of a file of which the daemon took nothing.
NOT_STORED = "not stored"
# The rule for records whose words, or some of them, stay redacted: what is stored is what the log says.
REDACTED = "redacted here"
# How many sources, and bytes of them, are read before waiting for all replies: the daemon works meanwhile, and what is
# known of each conversation stays in memory.
_TOGETHER = 256
_BYTES = 32 << 20
# How many agents the daemon is asked about in one request.
_IDS = 10_000


class Totals:
    """The results of importing a tool's sources."""

    def __init__(self) -> None:
        self.counts = Counts()
        # Conversations: new ones, grown ones, and unchanged ones.
        self.new = 0
        self.grown = 0
        self.unchanged = 0
        # Conversations of which a message that was imported before says something else now.
        self.changed = 0
        self.messages = 0
        self.known = 0
        self.bytes = 0
        self.sources = 0
        # The files that were read, because they are new or have changed.
        self.read: set[str] = set()
        # What is broken in the files that were not read again, because they are unchanged: one problem of each.
        self.still_broken: list[Problem] = []
        # Sources without a conversation.
        self.empty = 0
        # Sources that could not be read to their end, or of which the daemon has refused something.
        self.incomplete = 0
        # New agents beside conversations changed here, and conversations killed here.
        self.beside: list[tuple[str, str]] = []
        self.killed: list[str] = []
        # Conversations that were purged here, and stay away; or that are back.
        self.purged: list[str] = []
        self.restored: list[str] = []
        # Conversations of which words were redacted here, as far as that was noticed.
        self.redacted: set[str] = set()
        # How many different keys and passwords were in what was read, by their kinds; and whether they were masked.
        self.secrets = Counter[str]()
        self.is_masked = False
        self.interrupted = False


class _Read(NamedTuple):
    """A source that has been read, with its commands sent.

    Args:
        source: the source.
        counts: its records.
        conversations: its conversations, without those that were killed here.
        killed: whether there were such.
        readable: whether all of it could be read.
    """

    source: Source
    counts: Counts
    conversations: list[Conversation]
    killed: bool
    readable: bool


class Importer:
    """Imports sources into the daemon.

    Args:
        pipeline: the connection.
        seen: the sources imported before.
        stones: the conversations that were purged here; without it, all are imported.
        restore: whether such a conversation is imported nevertheless.
        masking: what becomes of keys and passwords.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        seen: Seen,
        stones: Tombstones | None = None,
        *,
        restore: bool = False,
        masking: Masking | None = None,
    ) -> None:
        self._pipeline = pipeline
        self._seen = seen
        self._stones = stones
        self._restore = restore
        self._masking = masking or Masking()
        self._commands = Grouping(pipeline)
        self._agents = Agents(self._commands)
        self._sent: list[_Read] = []
        # The agents that were made, that went on, and that the sources say nothing new of: several may be of one.
        self._new: set[str] = set()
        self._grown: set[str] = set()
        self._unchanged: set[str] = set()
        self.totals = Totals()

    def look(self) -> None:
        """List the existing agents, and note which that were imported before have been purged."""
        self._agents.look()
        if self._stones is not None and self._pipeline.knows("purged"):
            self._note_purges(self._stones)

    def _note_purges(self, stones: Tombstones) -> None:
        """Note whose agents the daemon has purged, at the command of any client or by itself."""
        found = self._seen.gone(self._agents.heads)
        gone = {uid: name for uid, name in found.items() if not stones.has(name) and not self._agents.agent_of(name)}
        purged = [
            uid for first in range(0, len(gone), _IDS) for uid in self._pipeline.purged([*gone][first : first + _IDS])
        ]
        if purged:
            with suppress(OSError):  # then they are known in this import only
                stones.add(gone[uid] for uid in purged)

    def note_redactions(self, tool: Tool) -> None:
        """Note in which conversations of a tool somebody has redacted something since their import."""
        found = self._seen.written_to(tool.name, self._agents.heads, self._agents.older)
        for page in self._pipeline.pages(requests.histories([*found], kinds=["redacted"])) if found else ():
            self.totals.redacted.update(found[event["agent"]] for event in page.events if not is_of_prune(event))

    def run(self, tool: Tool, sources: Iterable[Source]) -> Iterator[Totals]:
        """Import sources; yield the totals whenever some are done.

        Raises:
            NotRunning: the daemon went away.
        """
        for source in sources:
            if (unchanged := self._seen.agents(source, self._agents.heads)) is not None:
                self.totals.sources += 1
                self.totals.bytes += source.size
                self.totals.empty += not unchanged
                self._unchanged.update(unchanged)
                self._add_up()
                if (problem := self._seen.broken(source)) is not None:
                    self.totals.still_broken.append(problem)
            elif self._seen.is_postponed(source):
                self.totals.sources += 1
                self.totals.bytes += source.size
            else:
                self._sent.append(self._read(tool, source))
            if len(self._sent) >= _TOGETHER or sum(read.source.size for read in self._sent) >= _BYTES:
                self.settle(tool)
            yield self.totals
        self.settle(tool)
        yield self.totals

    def settle(self, tool: Tool) -> None:
        """Wait for the outstanding replies, and count them."""
        self._commands.drain()
        sent, self._sent = self._sent, []
        for read in sent:
            failures = [conversation.writer.failure for conversation in read.conversations]
            for conversation in read.conversations:
                if conversation.writer.failure is not None and not conversation.writer.made:
                    self._agents.made.pop(conversation.name, None)  # if it was to be made here, it is not there
            if any(isinstance(failure, InvalidMessage | InvalidParams | TooLarge) for failure in failures):
                again = self._read(tool, read.source, careful=True)
                earlier = {conversation.name: conversation for conversation in read.conversations}
                for conversation in again.conversations:
                    if (one := earlier.get(conversation.name)) is not None:
                        conversation.count_earlier(one)
                again.counts.count_earlier(read.counts)
                self._count(again)
            else:
                self._count(read)

    def _read(self, tool: Tool, source: Source, *, careful: bool = False) -> _Read:
        conversations: dict[str, Conversation] = {}
        reading = tool.open(source)
        current: Conversation | None = None
        skipped: set[str] = set()
        readable, accounting = True, Accounting()
        try:
            for batch in batches(reading):
                for step in self._masking.steps(batch):
                    if isinstance(step, About):
                        current = self._conversation(tool, conversations, skipped, source, step, careful=careful)
                    accounting.take(reading.counts, step, LEFT_ALONE if current is None else _outcome(current, step))
        except OSError as error:
            # Rights or a missing module, perhaps: the next import may be able to read it.
            readable = False
            reading.counts.problem(Problem(source.path, 0, error.strerror or str(error)))
        except NotFound as error:  # somebody has purged it meanwhile, or the daemon did not take what it is a fork of
            readable = False
            accounting.break_off(reading.counts)
            reading.counts.problem(Problem(source.path, 0, _why(error)))
        except ReelError:  # of the daemon
            raise
        except Exception as error:  # a fault of a reader keeps no other file from being imported
            readable = False
            accounting.break_off(reading.counts)
            reading.counts.problem(Problem(source.path, 0, fault(error)))
        accounting.end(reading.counts)
        for conversation in conversations.values():
            conversation.finish()
            self._agents.touched.add(conversation.writer.agent)
            if conversation.writer.made:
                self._agents.made[conversation.name] = conversation.writer.agent
        if careful:
            self._commands.drain()
        return _Read(source, reading.counts, list(conversations.values()), bool(skipped), readable)

    def _conversation(
        self,
        tool: Tool,
        conversations: dict[str, Conversation],
        skipped: set[str],
        source: Source,
        about: About,
        *,
        careful: bool,
    ) -> Conversation | None:
        name = source.conversation + about.part
        if tool.by_position:
            name = self._agents.name_of_file(name, about.tags[SOURCE])
        if name in skipped:
            return None
        if name not in conversations:
            if self._stays_away(name):
                skipped.add(name)
                return None
            fork_of = source.conversation + about.fork_of if about.fork_of else "" if about.part else source.fork_of
            stored = Stored() if tool.by_position else None
            target = self._agents.target(name, self._parent(fork_of, conversations), stored)
            if target is None:
                skipped.add(name)
                self.totals.killed.append(name)
                return None
            conversations[name] = Conversation(self._commands, source, name, target, careful=careful)
        return conversations[name]

    def _stays_away(self, name: str) -> bool:
        """Return whether a conversation was purged here and is not to come back; note either."""
        if self._agents.agent_of(name) or self._stones is None or not self._stones.has(name):
            return False
        noted = self.totals.restored if self._restore else self.totals.purged
        if name not in noted:
            noted.append(name)
        return not self._restore

    def _parent(self, name: str, conversations: dict[str, Conversation]) -> str:
        """Return the agent of a conversation's origin, or an empty string if it is not a fork."""
        if (read := conversations.get(name)) is not None:
            read.writer.flush()
            if read.writer.agent:
                return read.writer.agent
        return self._agents.agent_of(name)

    def _count(self, read: _Read) -> None:
        totals, agents = self.totals, dict[str, tuple[int, str]]()
        totals.sources += 1
        totals.bytes += read.source.size
        is_whole = read.readable and all(conversation.writer.failure is None for conversation in read.conversations)
        totals.incomplete += not is_whole
        complete = is_whole and not read.killed and not read.counts.unfinished
        refused = [problem for conversation in read.conversations for problem in conversation.writer.problems]
        broken, more = [*read.counts.problems, *refused], read.counts.more_problems
        for conversation in read.conversations:
            totals.messages += conversation.writer.added
            totals.known += conversation.known
            totals.changed += bool(conversation.changed)
            if conversation.changed:
                read.counts.problem(_was_changed(conversation, read.source))
            for problem in conversation.writer.problems:
                read.counts.problem(problem)
            if conversation.writer.failure is not None:
                read.counts.problem(Problem(read.source.path, 0, _why(conversation.writer.failure)))
            if conversation.writer.agent:
                agents[conversation.writer.agent] = conversation.log.head, conversation.name
            if conversation.log.was_redacted_here:
                totals.redacted.add(conversation.name)
            self._count_conversation(conversation)
        if not agents:
            totals.empty += not read.killed
            read.counts.disuse(WITHOUT_MESSAGE if not read.killed else LEFT_ALONE)
        elif _is_refused(read.conversations):
            read.counts.disuse(NOT_STORED)
        totals.counts.add(read.counts)
        totals.read.add(read.source.path)
        if complete:
            self._agents.heads |= {agent: head for agent, (head, _) in agents.items()}
            self._seen.add(read.source, agents, broken, more)
        else:
            self._seen.postpone(read.source)

    def _count_conversation(self, conversation: Conversation) -> None:
        agent = conversation.writer.agent
        if conversation.writer.made:
            self._new.add(agent)
            if conversation.writer.made != conversation.name:
                self.totals.beside.append((conversation.name, conversation.writer.made))
        elif agent and conversation.writer.failure is None:
            if conversation.writer.added:
                self._grown.add(agent)
            elif not conversation.changed:
                self._unchanged.add(agent)
        self._add_up()

    def _add_up(self) -> None:
        self.totals.new = len(self._new)
        self.totals.grown = len(self._grown - self._new)
        self.totals.unchanged = len(self._unchanged - self._grown - self._new)


def _outcome(conversation: Conversation, step: Step) -> str:
    """Add a step to a conversation, and return what became of it."""
    known, redacted = conversation.known, conversation.redactions.count
    conversation.take(step)
    if conversation.redactions.count > redacted:
        return REDACTED
    return KNOWN if conversation.known > known else STORED


def _is_refused(conversations: list[Conversation]) -> bool:
    """Return whether something was refused, and no message was taken."""
    writers = [conversation.writer for conversation in conversations]
    return any(writer.failure is not None for writer in writers) and not any(writer.added for writer in writers)


def _was_changed(conversation: Conversation, source: Source) -> Problem:
    several = len(conversation.changed) - 1
    others = f", and {several:,} more," if several else ""
    what = f"changed{others} since it was imported; {conversation.writer.made or conversation.name} keeps what it said"
    return Problem(source.path, conversation.changed[0], what)


def fault(error: Exception) -> str:
    """Return what to say of an error that no reader should raise: its kind, and where it was raised."""
    from traceback import FrameSummary, extract_tb  # noqa: PLC0415 - hardly any import needs it

    *_, place = extract_tb(error.__traceback__) or [FrameSummary("?", 0, "?")]
    where = f"{PurePath(place.filename).name}:{place.lineno}"
    return f"this is a fault of reel, please report it: {type(error).__name__}: {error} ({where})"


def _why(error: ReelError) -> str:
    if isinstance(error, Conflict | Exists):  # another import did it
        return "the conversation was changed while it was imported; import it again"
    if isinstance(error, NotFound):
        return "not imported: the conversation that it goes on from is not there; import it again"
    return f"not imported: {error.message}"
