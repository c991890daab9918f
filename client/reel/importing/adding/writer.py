"""Writes a conversation: makes its agent, collects what is added and sends it, and goes back in between.

The commands are sent without waiting for replies. Their seqs are known in advance, because a command is carried out
only if no other client has written.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from reel import requests
from reel.base.errors import (
    Conflict,
    Exists,
    InvalidMessage,
    InvalidParams,
    MethodNotFound,
    NotFound,
    NotRunning,
    ReelError,
    TooLarge,
)
from reel.base.strict_json import Json
from reel.importing.adding.described import Described, Describing
from reel.importing.adding.log import Log, ref_for
from reel.importing.adding.pipeline import Commands
from reel.importing.adding.stretch import Stretch, fitted, too_old
from reel.importing.adding.target import Target, read_log
from reel.importing.steps import Kept, Problem, Said, Source
from reel.requests import Call

R = TypeVar("R")

# The head of an agent that was just created.
_CREATED = 1


class Writer:
    """Writes a conversation, and keeps what its log has.

    Args:
        pipeline: the connection.
        source: the source of what is written.
        name: the conversation's name at its source.
        target: where it is written.
        careful: wait for each reply, so that only a refused message is left out, not those after it.
    """

    def __init__(self, pipeline: Commands, source: Source, name: str, target: Target, *, careful: bool) -> None:
        self._pipeline = pipeline
        self._source = source
        self._target = target
        self._careful = careful
        self.log = target.log
        self.describing = Describing(name, target.row)
        # The id of the agent, an empty text until it is made, and the name of one that was made here.
        self.agent = target.row.id if target.row else ""
        self.made = ""
        # How many messages were accepted.
        self.added = 0
        self.problems: list[Problem] = []
        self.failure: ReelError | None = None
        self._stretch: Stretch | None = None
        # Whether the agent is to be created before the first message is sent.
        self._is_new = False
        self._line = 0

    def count_earlier(self, other: "Writer") -> None:
        """Count what another one has written of the same source."""
        self.made = self.made or other.made
        self.added += other.added

    def make(self, at: int | None, sent: int | None) -> int | None:
        """Create the agent, or clone it if it must not be written to; return where the conversation is then.

        Args:
            at: the message after which the conversation goes on.
            sent: the time of the last message that is in it; a fork is no newer.
        """
        if self._target.origin:
            at = self._kept_at(at)
        if self._target.origin and at is not None:
            sent = sent if self._pipeline.knows("clone_sent") else None
            try:
                info = self._pipeline.call(requests.clone(self._target.origin, self._target.name, at, sent=sent))
            except (Exists, NotFound) as error:  # another client was faster: nothing is sent any more
                self.failure, self.agent = error, self._target.name
                return at
            self.log = read_log(self._pipeline, info.id)
            self.describing.clone(info, is_fork=self._target.is_fork)
            self.agent, self.made = info.id, info.name
        else:  # with the title and the tags that are known when something is sent
            self.agent = self.made = self._target.name
            self._is_new, self.log = True, Log()
            self.log.head = _CREATED
        return at

    def ask(self, call: Call[R]) -> R:
        """Send a request about the log, and return its reply.

        Raises:
            ReelError: something that was sent before was refused, so that the log is not what is known of it; it is
                :attr:`failure`.
        """
        try:
            reply: R = self._pipeline.call(call)
        except NotRunning:
            raise
        except ReelError:
            if self.failure is not None:
                raise self.failure from None
            raise
        if self.failure is not None:
            raise self.failure
        return reply

    def put(self, element: Json, ref: str, step: Said | Kept, at: int | None, *, is_prompt: bool) -> int | None:
        """Collect a message or a record, and return its future seq; ``None`` if it was refused.

        Args:
            element: the message or the record, as it is sent; it gets its id and its time.
            ref: its id at its source.
            step: where it comes from.
            at: the message that it follows, if it is one.
            is_prompt: whether a turn begins with it.
        """
        is_message = isinstance(step, Said)
        element["ref"] = ref = ref_for(ref)
        if step.sent is not None:
            element["sent"] = step.sent
        element, size = fitted(element)
        if self._stretch is not None and not self._stretch.has_room(size):
            self.flush()
        if is_message and at != self.log.tip:
            self._go_back(at)
        seq = self.log.head + 1
        command = self._open_stretch().add(element, size, is_prompt=is_prompt)
        if self._careful and not self._is_accepted(step.line):
            return None
        self.log.add(seq, command, ref, is_message=is_message)
        return seq

    def return_to(self, place: int) -> None:
        """Go back to a message, if it ends a command and can be brought back."""
        if self.log.state_with(place)[1] == place and self._kept_at(place) == place:
            self._restore(place)

    def flush(self) -> None:
        """Send what was collected."""
        stretch, self._stretch = self._stretch, None
        if self._is_new:
            self._create()
        if stretch is not None and self.failure is None:
            self._send(stretch)

    def describe(self) -> None:
        """Set the title and the tags."""
        if not self.agent or self.failure:
            return
        by_person = Described() if self._target.is_fork else self.log.described
        if (change := self.describing.change(self.agent, by_person)) is not None:
            self._pipeline.submit(change, self._took_description)

    def _is_accepted(self, line: int) -> bool:
        """Send a single message, and return whether it was accepted."""
        refused, head, self._line = len(self.problems), self._open_stretch().head, line
        self.flush()
        if len(self.problems) > refused:
            self.log = read_log(self._pipeline, self.agent)
            if self.log.head != head:
                self.failure = Conflict(f"{self._target.name} is at #{self.log.head}, not at #{head}")
            return False
        return self.failure is None

    def _open_stretch(self) -> Stretch:
        if self._stretch is None:
            self._stretch = Stretch(self.log.head)
        return self._stretch

    def _go_back(self, place: int | None) -> None:
        """Go to the place of the next message, which replaces what follows there."""
        following = self.log.after(place)
        if following is None and place is not None:
            place = self._kept_at(place)
            following = self.log.after(place)
        if following is None and place is not None and place != self.log.tip:
            self._restore(place)
            following = self.log.after(place)
        if following is not None:
            self.log.go_to(place, self._open_stretch().replace(following))

    def _kept_at(self, place: int | None) -> int | None:
        """Return a place, or the last one before it at which the conversation can be brought back: some was pruned."""
        if self.log.is_pruned:
            self.flush()
            while place is not None and not self._can_restore(place):
                place = self.log.before(place)
        return place

    def _can_restore(self, place: int) -> bool:
        seq, _ = self.log.state_with(place)
        try:
            self.ask(requests.messages(self.agent or self._target.origin, limit=1, at=seq))
        except InvalidParams:
            return False
        return True

    def _restore(self, place: int) -> None:
        """Go back to the end of the command that added a message."""
        seq, end = self.log.state_with(place)
        self.log.go_to(end, self._open_stretch().restore(seq))

    def _create(self) -> None:
        """Create the agent; what is sent to its name is refused if it is another one, whose head differs."""
        self._is_new = False
        create = self.describing.create(self._target.name, is_fork=self._target.is_fork)
        self._submit(create, self._took_agent)

    def _took_agent(self, reply: Any) -> None:
        if isinstance(reply, ReelError):
            self.failure, self.made = self.failure or reply, ""
        else:
            self.agent = reply.id

    def _send(self, stretch: Stretch) -> None:
        # The events are not kept until they are answered.
        call, sent, messages = stretch.call(self.agent), len(stretch), stretch.messages
        if self._careful:
            try:
                self._took(self._pipeline.call(call), sent, messages)
            except (InvalidMessage, TooLarge) as error:
                self._refuse(error)
            except NotRunning:
                raise
            except ReelError as error:
                self._took(error, sent, messages)
        else:
            self._submit(call, lambda reply: self._took(reply, sent, messages))

    def _submit(self, call: Call[Any], take: Callable[[Any], None]) -> None:
        try:
            self._pipeline.submit(call, take)
        except (InvalidParams, TooLarge) as error:
            self.failure = self.failure or error

    def _took(self, reply: Any, sent: int, messages: int) -> None:
        if isinstance(reply, ReelError):
            # The following commands are refused as well, because the head differs from the expected one.
            self.failure = self.failure or (too_old() if isinstance(reply, MethodNotFound) else reply)
        elif reply.first + sent - 1 != reply.head:
            self.failure = self.failure or Conflict(f"{self._target.name} got other seqs than expected")
        else:
            self.added += messages

    def _took_description(self, reply: Any) -> None:
        if isinstance(reply, ReelError):
            self.problems.append(Problem(self._source.path, 0, f"the conversation was not described: {reply.message}"))

    def _refuse(self, error: ReelError) -> None:
        self.problems.append(Problem(self._source.path, self._line, f"not imported: {error.message}"))
