"""The state of a model's answer, without any I/O: the drafts while it streams, and the request that adds it at the end.

Theory of operation. The conversation is rendered, and the body is sent to the provider. Each piece of the response goes
to ``take_piece``, which returns the draft to send, if one is due. Finally ``end`` returns the request that adds what
was received, marked as interrupted if it is incomplete; ``give_up`` does so after a failure of the program. Its reply
goes to ``take_reply``, which returns the request for the message.
"""

from collections.abc import Iterable
from typing import Any, cast

from reel import replies, requests
from reel.errors import InvalidMessage, InvalidParams
from reel.formats import Body, Format
from reel.messages import Message
from reel.requests import Call
from reel.streams.response import IncomingResponse
from reel.strict_json import parse
from reel.tool_calls import ToolCall, calls_in
from reel.values import clean

# Seconds between two drafts, and the length of the tail that a draft has: nobody reads more.
_DRAFT_INTERVAL = 0.1
_DRAFT_LENGTH = 1 << 16
# Characters of the text that a repr shows.
_SHOWN = 40


class AnswerState:
    """An answer, from the request that asks for it to the message that it becomes.

    Args:
        render: the request that rendered the conversation.
        rendered: its reply.
    """

    def __init__(self, render: Call[replies.Rendered], rendered: replies.Rendered) -> None:
        self.agent: str = render.params["agent"]
        self.rendered = rendered
        # The reply of the daemon when the answer was added, and the resulting message.
        self.added: replies.Added | None = None
        self.message: Message | None = None
        self._model = _model_of(render)
        self._response = IncomingResponse(cast("Format", rendered.format))
        self._next_draft = 0.0
        self._drafted = False
        self._shows_drafts = True

    @property
    def body(self) -> str:
        """The body of the request to the provider, as JSON text."""
        return self.rendered.body

    @property
    def request(self) -> dict[str, Any]:
        """The body as a map, as an SDK takes it: ``create(**answer.request)``."""
        return cast("dict[str, Any]", parse(self.rendered.body))

    @property
    def ready(self) -> bool:
        """Whether there is anything to answer: the last message is a user's or a tool's."""
        return self.rendered.ready

    @property
    def text(self) -> str:
        """The text so far; in the end, the whole text of the message."""
        if self.message is None:
            return self._response.text
        return "".join(block["text"] for block in self.message["content"] if block["type"] == "text")

    @property
    def response(self) -> str:
        """The body of the response as received so far, to be saved if it cannot be added."""
        return self._response.body()

    @property
    def interrupted(self) -> bool:
        """Whether an incomplete answer was added; ``problem`` has the reason."""
        return self.added is not None and not self._response.complete

    @property
    def problem(self) -> str | None:
        """Why the response is not complete, in the provider's words if it sent any; ``None`` if it is complete."""
        return self._response.problem

    @property
    def calls(self) -> list[ToolCall]:
        """The tool calls to answer; none if the answer was interrupted, since their arguments may have broken off."""
        if self.added is None or self.message is None or self.interrupted:
            return []
        return calls_in([self.message], [call.id for call in self.added.open_calls])

    @property
    def streamed(self) -> bool:
        """Whether the response is a stream, whose text is known as it arrives."""
        return self._response.is_stream

    def take_piece(self, piece: Body, now: float) -> tuple[str, Call[None] | None]:
        """Take a piece of the response; return the text that it adds, and the draft to send, if one is due.

        Args:
            piece: text or bytes as they were received, or an event or a response of a provider's SDK.
            now: a monotonic clock, in seconds.

        Raises:
            InvalidParams: the piece is something else.
        """
        try:
            added = self._response.feed(piece)
        except ValueError as error:
            raise InvalidParams(f"piece: {error}", field="piece") from None
        if not added or not self._shows_drafts or now < self._next_draft:
            return added, None
        self._next_draft, self._drafted = now + _DRAFT_INTERVAL, True
        return added, requests.draft(self.agent, clean(self._response.text[-_DRAFT_LENGTH:])[0])

    def end(self) -> Call[replies.Added] | None:
        """Take the end of the response; return the request that adds it, or ``None`` if nothing was received.

        Raises:
            InvalidMessage: what was received is not a response.
        """
        response = self._response
        response.end()
        if not response.anything:
            return None
        if not response.began and not response.complete:
            raise InvalidMessage(f"no answer came: {response.problem}")
        return self._ingest()

    def give_up(self) -> Call[replies.Added] | None:
        """End the response because the program failed; return the request that adds what was received, if anything."""
        response = self._response
        response.end()
        usable = response.complete or (response.is_stream and response.began)
        return self._ingest() if usable else None

    def stop_drafts(self) -> None:
        """Send no more drafts, because one was refused or the daemon is gone. Only the answer matters."""
        self._shows_drafts = False

    def undraft(self) -> Call[None] | None:
        """Return the request that removes the draft, if there may be one."""
        return requests.draft(self.agent, "") if self._drafted else None

    def take_reply(self, added: replies.Added) -> Call[replies.MessagesPage]:
        """Take the reply of the daemon; return the request for the message."""
        self.added = added
        return requests.messages(self.agent, since=added.first - 1, limit=1, at=added.head)

    def take_messages(self, messages: Iterable[Message]) -> None:
        """Take the message that the answer has become."""
        self.message = next(iter(messages), None)

    def _ingest(self) -> Call[replies.Added]:
        rendered = self.rendered
        return requests.ingest(
            self.agent,
            cast("Format", rendered.format),
            self._response.body(),
            model=self._model,
            names=rendered.names,
            interrupted=None if self._response.complete else True,
            if_seq=rendered.at,
        )

    def __repr__(self) -> str:
        if self.added is not None:
            state = f"added #{self.added.first}{', interrupted' if self.interrupted else ''}"
        elif self._response.anything:
            state = f"{len(self._response.text)} characters"
        else:
            state = "nothing came yet" if self.ready else f"not ready, needs {self.rendered.needs}"
        text = self.text if len(self.text) <= _SHOWN else f"{self.text[:_SHOWN]}…"
        return f"<Answer of {self.agent} to #{self.rendered.at}: {state}{f', {text!r}' if text else ''}>"


def _model_of(render: Call[replies.Rendered]) -> str | None:
    """Return the model that a conversation was rendered for, if it was named outside the text of a body."""
    extra = render.params.get("extra")
    model = render.params.get("model") or (extra.get("model") if isinstance(extra, dict) else None)
    return model if isinstance(model, str) else None
