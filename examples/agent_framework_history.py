"""An agent of Microsoft's Agent Framework whose history is in ``reeld``: it goes on where it was, and others see it.

``python examples/agent_framework_history.py NAME TEXT`` says something to it, once each run; ``reel follow
agent-framework/NAME`` in another terminal shows what is said and called. Needs ``pip install '.[agent-framework]'
agent-framework-openai`` and ``OPENAI_API_KEY``.
"""

import asyncio
import sys
from datetime import UTC, datetime

from agent_framework import Agent
from agent_framework.openai import OpenAIChatClient

from reel.integrations.agent_framework import ReelHistoryProvider


def what_time_is_it() -> str:
    """Return the time, in UTC."""
    return f"{datetime.now(UTC):%H:%M}"


async def main(name: str, said: str) -> None:
    """Say something to the agent, and print its answer."""
    # The line to change; without it: FileHistoryProvider("sessions").
    history = ReelHistoryProvider(autostart=True)
    agent = Agent(
        OpenAIChatClient(model="gpt-5.6"),
        "You are brief.",
        tools=[what_time_is_it],
        context_providers=[history],
        default_options={"store": False},
    )
    print(await agent.run(said, session=agent.create_session(session_id=name)))


if __name__ == "__main__":
    if len(sys.argv) != 3:  # noqa: PLR2004 - the name and the text
        sys.exit(f"usage: {sys.argv[0]} NAME TEXT")
    asyncio.run(main(*sys.argv[1:]))
