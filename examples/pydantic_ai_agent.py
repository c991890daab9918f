"""An agent of Pydantic AI whose conversation is in ``reeld``: it goes on where it was, and others see it.

``python examples/pydantic_ai_agent.py NAME TEXT`` says something to it, once each run; ``reel show pydantic-ai/NAME``
shows what was said and called. Needs ``pip install '.[pydantic-ai]' 'pydantic-ai-slim[openai]'``, and
``OPENAI_API_KEY``.
"""

import asyncio
import sys
from datetime import UTC, datetime

from pydantic_ai import Agent
from pydantic_ai.conversation import Conversation

from reel.integrations.pydantic_ai import ReelConversationStore


def what_time_is_it() -> str:
    """Return the time, in UTC."""
    return f"{datetime.now(UTC):%H:%M}"


async def main(name: str, said: str) -> None:
    """Say something to the agent, and print its answer as it arrives."""
    agent = Agent("openai:gpt-5.6", instructions="You are brief.", tools=[what_time_is_it])
    # The line to change; without it: InMemoryConversationStore().
    store = ReelConversationStore(autostart=True)
    conversation = await store.load(name) or Conversation(conversation_id=name)
    async with agent.run_stream(said, conversation=conversation) as result:
        async for piece in result.stream_text(delta=True):
            print(piece, end="", flush=True)
    await store.save(result)
    print()


if __name__ == "__main__":
    if len(sys.argv) != 3:  # noqa: PLR2004 - the name and the text
        sys.exit(f"usage: {sys.argv[0]} NAME TEXT")
    asyncio.run(main(*sys.argv[1:]))
