"""An agent of AutoGen whose context is in ``reeld``: it goes on where it was, and others see it.

``python examples/autogen_agent.py NAME TEXT`` says something to it, once each run; ``reel show NAME`` shows what was
said and called. Needs ``pip install . autogen-agentchat 'autogen-ext[openai]'`` and ``OPENAI_API_KEY``.
"""

import asyncio
import sys
from datetime import UTC, datetime
from typing import Any

from autogen_agentchat.agents import AssistantAgent
from autogen_core import FunctionCall
from autogen_core.model_context import UnboundedChatCompletionContext
from autogen_core.models import AssistantMessage, FunctionExecutionResult, FunctionExecutionResultMessage, UserMessage
from autogen_ext.models.openai import OpenAIChatCompletionClient

import reel


class ReelContext(UnboundedChatCompletionContext):  # type: ignore[misc]  # its types are not read
    """The context of an agent: the messages of a conversation."""

    def __init__(self, client: reel.Client, name: str) -> None:
        super().__init__()
        self.client, self.name = client, name

    async def add_message(self, message: Any) -> None:
        """Add what somebody said, called or was answered."""
        self.client.add(self.name, [_ours(message)], create=True)

    async def get_messages(self) -> list[Any]:
        """Return what the model is to read, with what others have said."""
        return [_theirs(message) for message in self.client.iter_messages(self.name)]


def _ours(message: Any) -> Any:
    said = message.content
    if isinstance(message, FunctionExecutionResultMessage):
        results = [reel.tool_result(each.call_id, each.content, bool(each.is_error)) for each in said]
        return {"role": "tool", "content": [result["content"][0] for result in results]}
    if isinstance(said, str):
        return reel.text("assistant" if isinstance(message, AssistantMessage) else "user", said)
    calls = [reel.tool_call(call.id, call.name, call.arguments) for call in said]
    return {"role": "assistant", "content": [call["content"][0] for call in calls]}


def _theirs(message: Any) -> Any:
    blocks = message["content"]
    calls = [
        FunctionCall(id=block["id"], name=block["name"], arguments=block["arguments"])
        for block in blocks
        if block["type"] == "tool_call"
    ]
    results = [
        FunctionExecutionResult(call_id=block["tool_call_id"], content=str(block["content"]), name="tool")
        for block in blocks
        if block["type"] == "tool_result"
    ]
    if results:
        return FunctionExecutionResultMessage(content=results)
    text = "".join(block["text"] for block in blocks if block["type"] == "text")
    if message["role"] == "assistant":
        return AssistantMessage(content=calls or text, source="deck")
    return UserMessage(content=text, source="user")


def what_time_is_it() -> str:
    """Return the time, in UTC."""
    return f"{datetime.now(UTC):%H:%M}"


async def main(name: str, said: str) -> None:
    """Say something to the agent, and print its answer."""
    model = OpenAIChatCompletionClient(model="gpt-4.1")
    with reel.Client(autostart=True) as client:
        context = ReelContext(client, name)
        agent = AssistantAgent("deck", model, tools=[what_time_is_it], model_context=context, reflect_on_tool_use=True)
        result = await agent.run(task=said)
    print(result.messages[-1].content)
    await model.close()


if __name__ == "__main__":
    if len(sys.argv) != 3:  # noqa: PLR2004 - the name and the text
        sys.exit(f"usage: {sys.argv[0]} NAME TEXT")
    asyncio.run(main(*sys.argv[1:]))
