"""What a program sees of a model's answer: facts about it, and no step of how it is made. No I/O."""

from typing import Any, cast

from reel import replies
from reel.base.strict_json import parse
from reel.machines.answer_state import AnswerState
from reel.reading.tokens import Tokens, tokens_in
from reel.said.messages import Message
from reel.said.tool_calls import ToolCall, calls_in

# Characters of the text that a repr shows.
_SHOWN = 40


class AnswerView:
    """An answer, from the request that asks for it to the message that it becomes.

    Args:
        state: what is known of it.
    """

    def __init__(self, state: AnswerState) -> None:
        self._state = state

    @property
    def agent(self) -> str:
        """The id of the agent that gets it."""
        return self._state.agent

    @property
    def rendered(self) -> replies.Rendered:
        """The request to the provider, and what was changed to make it."""
        return self._state.rendered

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
            return self._state.incoming.text
        return "".join(block["text"] for block in self.message["content"] if block["type"] == "text")

    @property
    def response(self) -> str:
        """The body of the response as received so far, to be saved if it cannot be added."""
        return self._state.incoming.body()

    @property
    def streamed(self) -> bool:
        """Whether the response is a stream, whose text is known as it arrives."""
        return self._state.incoming.is_stream

    @property
    def problem(self) -> str | None:
        """Why the response is not complete, in the provider's words if it sent any; ``None`` if it is complete."""
        return self._state.incoming.problem

    @property
    def added(self) -> replies.Added | None:
        """The reply of the daemon; ``None`` until the end of the block, and if nothing was added."""
        return self._state.added

    @property
    def message(self) -> Message | None:
        """The message that it has become, after the end of the block."""
        return self._state.message

    @property
    def interrupted(self) -> bool:
        """Whether an incomplete answer was added; ``problem`` has the reason."""
        return self.added is not None and not self._state.incoming.complete

    @property
    def late(self) -> int:
        """How many messages were added while it was written; the next request has them after it."""
        return 0 if self.added is None else self.added.late

    @property
    def usage(self) -> Tokens | None:
        """The tokens that were read and written, whichever provider counted them; ``None`` if none did."""
        return None if self.message is None else tokens_in(self.message["provider_metadata"])

    @property
    def calls(self) -> list[ToolCall]:
        """The tool calls to answer; none if the answer was interrupted, since their arguments may have broken off."""
        if self.added is None or self.message is None or self.interrupted:
            return []
        return calls_in([self.message], [call.id for call in self.added.open_calls])

    def __repr__(self) -> str:
        incoming = self._state.incoming
        if self.added is not None:
            state = f"added #{self.added.first}{', interrupted' if self.interrupted else ''}"
        elif incoming.anything:
            state = f"{len(incoming.text)} characters"
        else:
            state = "nothing came yet" if self.ready else f"not ready, needs {self.rendered.needs}"
        text = self.text if len(self.text) <= _SHOWN else f"{self.text[:_SHOWN]}…"
        return f"<Answer of {self._state.named} to #{self.rendered.at}: {state}{f', {text!r}' if text else ''}>"
