"""An agent of Google's ADK whose session is in ``reeld``: it goes on where it was, and others see it.

``python examples/google_adk_agent.py NAME TEXT`` says something to it, once each run; ``reel show adk/deck/me/NAME``
shows what was said and called. Needs ``pip install '.[google-adk]'`` and ``GOOGLE_API_KEY``.
"""

import asyncio
import sys
from datetime import UTC, datetime

from google.adk.agents import LlmAgent
from google.adk.runners import Runner
from google.genai import types

from reel.integrations.google_adk import ReelSessionService

APP, USER = "deck", "me"


def what_time_is_it() -> str:
    """Return the time, in UTC."""
    return f"{datetime.now(UTC):%H:%M}"


async def main(name: str, said: str) -> None:
    """Say something to the agent, and print its answer."""
    instruction = "You are brief."
    agent = LlmAgent(name="deck", model="gemini-3-pro-preview", instruction=instruction, tools=[what_time_is_it])
    # The line to change; without it: SqliteSessionService("sessions.db").
    sessions = ReelSessionService(autostart=True)
    runner = Runner(app_name=APP, agent=agent, session_service=sessions)
    if await sessions.get_session(app_name=APP, user_id=USER, session_id=name) is None:
        await sessions.create_session(app_name=APP, user_id=USER, session_id=name)
    message = types.Content(role="user", parts=[types.Part(text=said)])
    async for event in runner.run_async(user_id=USER, session_id=name, new_message=message):
        if event.is_final_response() and event.content and event.content.parts:
            print(event.content.parts[0].text)
    await runner.close()


if __name__ == "__main__":
    if len(sys.argv) != 3:  # noqa: PLR2004 - the name and the text
        sys.exit(f"usage: {sys.argv[0]} NAME TEXT")
    asyncio.run(main(*sys.argv[1:]))
