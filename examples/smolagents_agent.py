"""An agent of smolagents whose steps are in ``reeld``: it goes on where it was, and others see it.

``python examples/smolagents_agent.py NAME TEXT`` says something to it, once each run; ``reel follow NAME`` in another
terminal shows each step. Needs ``pip install . 'smolagents[openai]'`` and ``OPENAI_API_KEY``.
"""

import json
import os
import sys
from typing import Any

from smolagents import ActionStep, LogLevel, OpenAIModel, TaskStep, ToolCallingAgent
from smolagents.monitoring import Timing

import reel


def step_of(role: str, text: str) -> Any:
    """Return a step of the agent's memory with what was said."""
    return TaskStep(text) if role == "user" else ActionStep(0, Timing(0.0, 0.0), model_output=text)


def messages_of(step: ActionStep) -> list[Any]:
    """Return the messages of a step: its calls with their results, or the final answer."""
    if step.is_final_answer:
        return [reel.text("assistant", str(step.action_output))]
    calls = [(call.id, call.name, json.dumps(call.arguments)) for call in step.tool_calls or ()]
    results = [reel.tool_result(call_id, step.observations or str(step.error)) for call_id, _, _ in calls]
    return [*(reel.tool_call(*call) for call in calls), *results]


def main(name: str, said: str) -> None:
    """Say something to the agent, and print its answer."""
    model = OpenAIModel("gpt-4.1", api_base=os.environ.get("OPENAI_BASE_URL"))
    with reel.Client(autostart=True) as client:
        client.add(name, [reel.text("user", said)], create=True)
        *before, _ = client.iter_messages(name)
        texts = [
            (each["role"], block["text"]) for each in before for block in each["content"] if block["type"] == "text"
        ]

        def store(step: ActionStep, **_: Any) -> None:
            client.add(name, messages_of(step))

        agent = ToolCallingAgent([], model, step_callbacks=[store], verbosity_level=LogLevel.OFF)
        agent.memory.steps = [step_of(*each) for each in texts]
        print(agent.run(said, reset=False))


if __name__ == "__main__":
    if len(sys.argv) != 3:  # noqa: PLR2004 - the name and the text
        sys.exit(f"usage: {sys.argv[0]} NAME TEXT")
    main(*sys.argv[1:])
