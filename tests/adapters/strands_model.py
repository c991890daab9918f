"""A model for Strands Agents that answers what it is told to, and remembers what it was sent."""

import copy
import json
from collections.abc import AsyncIterator
from typing import Any

from strands.models import Model

Json = dict[str, Any]


class FakeModel(Model):  # type: ignore[misc]  # the framework's types are not read
    """A model.

    Args:
        answers: the content of each answer; ``None`` is what a guardrail redacts.
    """

    def __init__(self, *answers: list[Json] | None) -> None:
        self.answers = [*answers]
        # The messages of each request.
        self.sent: list[list[Json]] = []

    def get_config(self) -> Json:
        """Return no settings."""
        return {}

    def update_config(self, **_config: Any) -> None:
        """Change nothing."""

    async def structured_output(self, *_args: Any, **_more: Any) -> AsyncIterator[Json]:
        """Return nothing: the tests ask for none."""
        yield {}

    async def stream(self, messages: Any, *_args: Any, **_more: Any) -> AsyncIterator[Json]:
        """Return the next answer, in pieces."""
        self.sent.append(copy.deepcopy(messages))
        content = self.answers.pop(0)
        yield {"messageStart": {"role": "assistant"}}
        if content is None:
            yield {"redactContent": {"redactUserContentMessage": "[removed]"}}
        said: list[Json] = content if content is not None else [{"text": "I cannot say."}]
        for block in said:
            call = block.get("toolUse")
            start = {} if call is None else {"toolUse": {"name": call["name"], "toolUseId": call["toolUseId"]}}
            delta = block if call is None else {"toolUse": {"input": json.dumps(call["input"])}}
            yield {"contentBlockStart": {"start": start}}
            yield {"contentBlockDelta": {"delta": delta}}
            yield {"contentBlockStop": {}}
        calls = any("toolUse" in block for block in said)
        reason = "tool_use" if calls else "end_turn" if content is not None else "guardrail_intervened"
        yield {"messageStop": {"stopReason": reason}}
