"""An agent of OpenAI's Agents SDK whose conversation is in ``reeld``: it goes on where it was, and others see it.

``python examples/openai_agents.py NAME TEXT`` says something to it, once each run; ``reel follow NAME`` in another
terminal shows what is said and called. Needs ``pip install '.[openai-agents]'`` and ``OPENAI_API_KEY``.
"""

import sys
from datetime import UTC, datetime

from agents import Agent, Runner, function_tool

from reel.integrations.openai_agents import ReelSession


def what_time_is_it() -> str:
    """Return the time, in UTC."""
    return f"{datetime.now(UTC):%H:%M}"


def main(name: str, said: str) -> None:
    """Say something to the agent, and print its answer."""
    agent = Agent(name="clock", instructions="You are brief.", tools=[function_tool(what_time_is_it)])
    # The line to change; without it: SQLiteSession(name, "sessions.db").
    session = ReelSession(name, autostart=True)
    print(Runner.run_sync(agent, said, session=session).final_output)


if __name__ == "__main__":
    if len(sys.argv) != 3:  # noqa: PLR2004 - the name and the text
        sys.exit(f"usage: {sys.argv[0]} NAME TEXT")
    main(*sys.argv[1:])
