"""An agent of Strands Agents whose session is in ``reeld``: it goes on where it was, and others see it.

``python examples/strands_agent.py NAME TEXT`` says something to it, once each run; ``reel follow strands/NAME/default``
in another terminal shows what is said and called. Needs ``pip install '.[strands-agents]' openai`` and
``OPENAI_API_KEY``.
"""

import sys
from datetime import UTC, datetime

from strands import Agent, tool
from strands.models.openai import OpenAIModel

from reel.integrations.strands_agents import ReelSessionManager


def what_time_is_it() -> str:
    """Return the time, in UTC."""
    return f"{datetime.now(UTC):%H:%M}"


def main(name: str, said: str) -> None:
    """Say something to the agent, and print its answer."""
    # The line to change; without it: FileSessionManager(name).
    sessions = ReelSessionManager(name, autostart=True)
    model = OpenAIModel(model_id="gpt-5.2")
    agent = Agent(model, system_prompt="You are brief.", tools=[tool(what_time_is_it)], session_manager=sessions)
    agent.callback_handler = lambda **_: None  # else it prints what it hears
    print(agent(said))


if __name__ == "__main__":
    if len(sys.argv) != 3:  # noqa: PLR2004 - the name and the text
        sys.exit(f"usage: {sys.argv[0]} NAME TEXT")
    main(*sys.argv[1:])
