"""The state of a model's answer, without any I/O: the drafts while it streams, and the request that adds it at the end.

Theory of operation. The conversation is rendered, and the body is sent to the provider. Each piece of the response goes
to ``take_piece``, which returns the draft to send, if one is due. Finally ``end`` returns the request that adds what
was received, marked as interrupted if it is incomplete; ``give_up`` does so after a failure of the program. Its reply
goes to ``take_reply``, which returns the request for the message.
"""

from collections.abc import Iterable
from typing import cast

from reel import replies, requests
from reel.base.errors import Conflict, InvalidMessage, ReelError
from reel.machines import kept_answer
from reel.machines.drafted_response import DraftedResponse
from reel.reading.wording import cut, flat
from reel.requests import Call
from reel.said.formats import Format
from reel.said.messages import Message

# Columns of what is no answer that an error quotes.
_QUOTED = 80


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
        self.named: str = render.params["agent"]
        # The reply of the daemon when the answer was added, and the resulting message.
        self.added: replies.Added | None = None
        self.message: Message | None = None
        self._model = _model_of(render)

    def end(self) -> Call[replies.Added] | None:
        """Take the end of the response; return the request that adds it, or ``None`` if nothing was received.

        Raises:
            InvalidMessage: what was received is not a response.
        """
        response = self.incoming
        response.end()
        if not response.anything:
            return None
        if not response.usable:
            quoted = f"; it begins with: {cut(flat(response.beginning), _QUOTED)}" if response.beginning else ""
            raise InvalidMessage(f"no answer came: {response.problem}{quoted}")
        return self._ingest()

    def give_up(self) -> Call[replies.Added] | None:
        """End the response because the program failed; return the request that adds what was received, if anything."""
        response = self.incoming
        response.end()
        return self._ingest() if response.usable else None

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
        how = f"it is kept as #{note.first}; place it with: reel ingest {self.named} --kept {note.first}"
        return Conflict(f"{refused.message}; {how}", **{**refused.data, "kept": note.first})

    def _ingest(self) -> Call[replies.Added]:
        rendered = self.rendered
        # An older daemon does not know `if_stands`.
        return requests.ingest(
            self.agent,
            cast("Format", rendered.format),
            self.incoming.body(),
            model=self._model,
            names=rendered.names,
            interrupted=None if self.incoming.complete else True,
            prefix=rendered.prefix,
            if_stands=rendered.newest,
            if_seq=rendered.at if rendered.newest is None else None,
        )


def _model_of(render: Call[replies.Rendered]) -> str | None:
    """Return the model that a conversation was rendered for, if it was named outside the text of a body."""
    extra = render.params.get("extra")
    model = render.params.get("model") or (extra.get("model") if isinstance(extra, dict) else None)
    return model if isinstance(model, str) else None
