"""Tool calls that wait for a result, with their arguments."""

from collections.abc import Iterable
from typing import Any

from reel.base.errors import InvalidMessage
from reel.base.light_typing import NamedTuple
from reel.said.messages import Message, NewMessage, ToolOutput
from reel.said.new_messages import tool_result


class ToolCall(NamedTuple):
    """A tool call that waits for its result; ``arguments_json`` is what the model wrote."""

    id: str
    name: str
    arguments_json: str
    seq: int

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments as a map.

        Raises:
            InvalidMessage: the model did not write a JSON object.
        """
        from reel.base.strict_json import parse  # noqa: PLC0415 - a client that calls no tool needs no JSON parser

        try:
            arguments = parse(self.arguments_json.strip() or "{}")
            problem = None if isinstance(arguments, dict) else "not a JSON object"
        except (ValueError, RecursionError) as error:
            problem = str(error)
        if problem is not None:
            remedy = "answer the call with an error, so that the model can correct it"
            raise InvalidMessage(f"the arguments of {self.name} ({self.id}) are invalid: {problem}; {remedy}")
        return dict(arguments)

    def result(self, content: ToolOutput, is_error: bool = False) -> NewMessage:  # noqa: FBT001, FBT002 - as in tool_result
        """Return the message that answers this call; see :func:`reel.tool_result`."""
        return tool_result(self.id, content, is_error)


def calls_in(messages: Iterable[Message], ids: Iterable[str]) -> list[ToolCall]:
    """Return the calls with these ids in some messages, in order."""
    wanted = set(ids)
    return [
        ToolCall(block["id"], block["name"], block["arguments"], message["seq"])
        for message in messages
        for block in message["content"]
        if block["type"] == "tool_call" and block["id"] in wanted
    ]
