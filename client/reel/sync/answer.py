"""The blocking client's answer: its pieces are shown as a draft at once, and added at the end."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Protocol, TypeVar

from reel.base.errors import ReelError
from reel.machines.answer_state import AnswerState
from reel.machines.answer_view import AnswerView
from reel.replies import Added, Rendered
from reel.requests import Call
from reel.said.formats import Body

R = TypeVar("R")


class Caller(Protocol):
    """A function that sends a request and returns its reply."""

    def __call__(self, call: Call[R], /) -> R:
        """Send a request."""
        ...


class Answer(AnswerView):
    """An answer of a model; :meth:`reel.Client.answer` makes one."""

    def __init__(self, call: Caller, render: Call[Rendered]) -> None:
        super().__init__(AnswerState(render, call(render)))
        self._call = call

    def feed(self, piece: Body) -> str:
        """Take what the provider sent: text or bytes as received, or an event or a response of its SDK.

        Returns:
            the text that it adds, if it is a piece of a stream.

        Raises:
            InvalidParams: the piece is something else.
        """
        text, draft = self._state.take_piece(piece, time.monotonic())
        if draft is not None:
            try:
                self._call(draft)
            except ReelError:
                self._state.stop_drafts()
        return text

    def _finish(self) -> None:
        """Add the answer, and read the resulting message."""
        if (ingest := self._state.end()) is not None:
            added = self._add(ingest)
            self._state.take_messages(self._call(self._state.take_reply(added)).messages)

    def _add(self, ingest: Call[Added]) -> Added:
        """Add what was received; if what it answers is gone, keep it in the log.

        Raises:
            Conflict: that is so; ``data`` has the seq of the note that keeps it, as ``kept``.
        """
        try:
            return self._call(ingest)
        except ReelError as refused:
            if (keep := self._state.keep(refused)) is None:
                raise
            raise self._state.kept(refused, self._call(keep)) from None

    def _give_up(self, error: BaseException) -> None:
        """Add what was received before the program failed."""
        try:
            if (ingest := self._state.give_up()) is not None:
                self._state.take_reply(self._add(ingest))
                return
        except ReelError as refused:
            error.add_note(f"what had come of the answer was not added: {refused}")
        self._clear()

    def _clear(self) -> None:
        if (undraft := self._state.undraft()) is not None:
            with suppress(ReelError):  # the error that is being raised matters more
                self._call(undraft)


@contextmanager
def answering(call: Caller, render: Call[Rendered]) -> Iterator[Answer]:
    """Render a conversation, and add what the block feeds to the answer.

    Args:
        call: sends a request and returns its reply.
        render: the request that renders the conversation.
    """
    answer = Answer(call, render)
    try:
        yield answer
    except BaseException as error:
        answer._give_up(error)  # noqa: SLF001 - of this module
        raise
    try:
        answer._finish()  # noqa: SLF001 - of this module
    except BaseException:
        answer._clear()  # noqa: SLF001 - of this module
        raise
