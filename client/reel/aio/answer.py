"""The async client's answer: its pieces are shown as a draft at once, and added at the end."""

from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager, suppress
from typing import Protocol, TypeVar

import anyio

from reel.base.errors import ReelError
from reel.machines.answer_state import AnswerState
from reel.machines.answer_view import AnswerView
from reel.replies import Added, Rendered
from reel.requests import Call
from reel.said.formats import Body

R = TypeVar("R")

# How long adding the answer may take if the program is being cancelled, in seconds.
_LAST_CALL = 5.0


class Caller(Protocol):
    """A function that sends a request and returns its reply."""

    def __call__(self, call: Call[R], /) -> Awaitable[R]:
        """Send a request."""
        ...


class Answer(AnswerView):
    """An answer of a model; :meth:`reel.aio.Client.answer` makes one."""

    def __init__(self, call: Caller, render: Call[Rendered], rendered: Rendered) -> None:
        super().__init__(AnswerState(render, rendered))
        self._call = call

    async def feed(self, piece: Body) -> str:
        """Take what the provider sent: text or bytes as received, or an event or a response of its SDK.

        Returns:
            the text that it adds, if it is a piece of a stream.

        Raises:
            InvalidParams: the piece is something else.
        """
        text, draft = self._state.take_piece(piece, anyio.current_time())
        if draft is not None:
            try:
                await self._call(draft)
            except ReelError:
                self._state.stop_drafts()
        return text

    async def _finish(self) -> None:
        """Add the answer, and read the resulting message."""
        if (ingest := self._state.end()) is not None:
            added = await self._add(ingest)
            self._state.take_messages((await self._call(self._state.take_reply(added))).messages)

    async def _add(self, ingest: Call[Added]) -> Added:
        """Add what was received; if what it answers is gone, keep it in the log.

        Raises:
            Conflict: that is so; ``data`` has the seq of the note that keeps it, as ``kept``.
        """
        try:
            return await self._call(ingest)
        except ReelError as refused:
            if (keep := self._state.keep(refused)) is None:
                raise
            raise self._state.kept(refused, await self._call(keep)) from None

    async def _give_up(self, error: BaseException) -> None:
        """Add what was received before the program failed or was cancelled."""
        with anyio.move_on_after(_LAST_CALL, shield=True):
            try:
                if (ingest := self._state.give_up()) is not None:
                    self._state.take_reply(await self._add(ingest))
                    return
            except ReelError as refused:
                error.add_note(f"what had come of the answer was not added: {refused}")
            await self._clear()

    async def _clear(self) -> None:
        if (undraft := self._state.undraft()) is not None:
            with anyio.move_on_after(_LAST_CALL, shield=True), suppress(ReelError):  # the error matters more
                await self._call(undraft)


@asynccontextmanager
async def answering(call: Caller, render: Call[Rendered]) -> AsyncIterator[Answer]:
    """Render a conversation, and add what the block feeds to the answer.

    Args:
        call: sends a request and returns its reply.
        render: the request that renders the conversation.
    """
    answer = Answer(call, render, await call(render))
    try:
        yield answer
    except BaseException as error:
        await answer._give_up(error)  # noqa: SLF001 - of this module
        raise
    try:
        # Shielded: no whole answer is lost if the program is cancelled just now. The calls give up by themselves.
        with anyio.CancelScope(shield=True):
            await answer._finish()  # noqa: SLF001 - of this module
    except BaseException:
        await answer._clear()  # noqa: SLF001 - of this module
        raise
