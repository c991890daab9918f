"""An agent of the OpenHands SDK whose conversation is in ``reeld``: it goes on where it was, and others see it.

``python examples/openhands_agent.py ID TEXT`` says something to it, once each run, where ID is a UUID; ``reel follow
openhands/ID`` in another terminal shows what is said and called. Needs Python 3.12, ``pip install '.[openhands-sdk]'``
and ``OPENAI_API_KEY``.
"""

import os
import sys
from uuid import UUID

from openhands.sdk import LLM, Agent

from reel.integrations.openhands_sdk import ReelConversation


def main(conversation_id: UUID, said: str) -> None:
    """Say something to the agent, and print its answer."""
    llm = LLM(model="openai/gpt-4.1", api_key=os.environ["OPENAI_API_KEY"], base_url=os.environ.get("OPENAI_BASE_URL"))
    agent = Agent(llm=llm, tools=[])
    # The line to change; without it: Conversation(agent, workspace=".").
    talk = ReelConversation(agent, ".", conversation_id=conversation_id, autostart=True, visualizer=None)
    talk.send_message(said)
    talk.run()
    answers = [event.to_llm_message() for event in talk.state.view.events if event.source == "agent"]
    print("".join(part.text for part in answers[-1].content))
    talk.close()


if __name__ == "__main__":
    if len(sys.argv) != 3:  # noqa: PLR2004 - the id and the text
        sys.exit(f"usage: {sys.argv[0]} ID TEXT")
    main(UUID(sys.argv[1]), sys.argv[2])
