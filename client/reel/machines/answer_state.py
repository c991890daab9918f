"""The state of a model's answer, without any I/O: the drafts while it streams, and the request that adds it at the end.

Theory of operation. The conversation is rendered, and the body is sent to the provider. Each piece of the response goes
to ``take_piece``, which returns the draft to send, if one is due. Finally ``end`` returns the request that adds what
was received, marked as interrupted if it is incomplete; ``give_up`` does so after a failure of the program. Its reply
goes to ``take_reply``, which returns the request for the message.
"""

from collections.abc import Iterable
from typing import Any, cast

from reel import replies, requests
from reel.base.errors import Conflict, InvalidMessage, ReelError
from reel.base.strict_json import parse
from reel.machines import kept_answer
from reel.machines.drafted_response import DraftedResponse
from reel.requests import Call
from reel.said.formats import Format
from reel.said.messages import Message
from reel.said.tool_calls import ToolCall, calls_in

# Characters of the text that a repr shows.
_SHOWN = 40


class AnswerState(DraftedResponse):
    """An answer, from the request that asks for it to the message that it becomes.

    Args:
        render: the request that rendered the conversation.
        rendered: its reply.
    """

    def __init__(self, render: Call[replies.Rendered], rendered: replies.Rendered) -> None:
        # By its id, because it may be renamed meanwhile.
        super().__init__(rendered.agent or render.params["agent"], cast("Format", rendered.format))
        self.rendered = rendered
        self._named: str = render.params["agent"]
        # The reply of the daemon when the answer was added, and the resulting message.
        self.added: replies.Added | None = None
        self.message: Message | None = None
        self._model = _model_of(render)

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
            return self.incoming.text
        return "".join(block["text"] for block in self.message["content"] if block["type"] == "text")

    @property
    def response(self) -> str:
        """The body of the response as received so far, to be saved if it cannot be added."""
        return self.incoming.body()

    @property
    def late(self) -> int:
        """How many messages were added while it was written; the next request has them after it."""
        return 0 if self.added is None else self.added.late

    @property
    def interrupted(self) -> bool:
        """Whether an incomplete answer was added; ``problem`` has the reason."""
        return self.added is not None and not self.incoming.complete

    @property
    def problem(self) -> str | None:
        """Why the response is not complete, in the provider's words if it sent any; ``None`` if it is complete."""
        return self.incoming.problem

    @property
    def calls(self) -> list[ToolCall]:
        """The tool calls to answer; none if the answer was interrupted, since their arguments may have broken off."""
        if self.added is None or self.message is None or self.interrupted:
            return []
        return calls_in([self.message], [call.id for call in self.added.open_calls])

    @property
    def streamed(self) -> bool:
        """Whether the response is a stream, whose text is known as it arrives."""
        return self.incoming.is_stream

    def end(self) -> Call[replies.Added] | None:
        """Take the end of the response; return the request that adds it, or ``None`` if nothing was received.

        Raises:
            InvalidMessage: what was received is not a response.
        """
        response = self.incoming
        response.end()
        if not response.anything:
            return None
        if not response.began and not response.complete:
            raise InvalidMessage(f"no answer came: {response.problem}")
        return self._ingest()

    def give_up(self) -> Call[replies.Added] | None:
        """End the response because the program failed; return the request that adds what was received, if anything."""
        response = self.incoming
        response.end()
        usable = response.complete or (response.is_stream and response.began)
        return self._ingest() if usable else None

    def take_reply(self, added: replies.Added) -> Call[replies.MessagesPage]:
        """Take the reply of the daemon; return the request for the message."""
        self.added = added
        return requests.messages(self.agent, since=added.first - 1, limit=1, at=added.head)

    def take_messages(self, messages: Iterable[Message]) -> None:
        """Take the message that the answer has become."""
        self.message = next(iter(messages), None)

    def keep(self, refused: ReelError) -> Call[replies.Added] | None:
        """Return the request that keeps a refused answer in the log; ``None`` if that would be refused as well."""
        return kept_answer.note(self._ingest()) if isinstance(refused, Conflict) else None

    def kept(self, refused: ReelError, note: replies.Added) -> Conflict:
        """Return the error for an answer that was refused and kept."""
        how = f"it is kept as #{note.first}; place it with: reel ingest {self._named} --kept {note.first}"
        return Conflict(f"{refused.message}; {how}", **{**refused.data, "kept": note.first})

    def _ingest(self) -> Call[replies.Added]:
        rendered = self.rendered
        # An older daemon knows neither `prefix`, whose hash of the body it does not give, nor `if_stands`.
        return requests.ingest(
            self.agent,
            cast("Format", rendered.format),
            self.incoming.body(),
            model=self._model,
            names=rendered.names,
            interrupted=None if self.incoming.complete else True,
            prefix=rendered.prefix if rendered.prefix.body else None,
            if_stands=rendered.newest,
            if_seq=rendered.at if rendered.newest is None else None,
        )

    def __repr__(self) -> str:
        if self.added is not None:
            state = f"added #{self.added.first}{', interrupted' if self.interrupted else ''}"
        elif self.incoming.anything:
            state = f"{len(self.incoming.text)} characters"
        else:
            state = "nothing came yet" if self.ready else f"not ready, needs {self.rendered.needs}"
        text = self.text if len(self.text) <= _SHOWN else f"{self.text[:_SHOWN]}…"
        return f"<Answer of {self._named} to #{self.rendered.at}: {state}{f', {text!r}' if text else ''}>"


def _model_of(render: Call[replies.Rendered]) -> str | None:
    """Return the model that a conversation was rendered for, if it was named outside the text of a body."""
    extra = render.params.get("extra")
    model = render.params.get("model") or (extra.get("model") if isinstance(extra, dict) else None)
    return model if isinstance(model, str) else None
