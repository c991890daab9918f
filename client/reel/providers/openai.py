"""What the readers of OpenAI's two APIs have in common."""

import json

PROVIDER = "openai"


def custom_tool_arguments(given: str) -> str:
    """Return the arguments in which :func:`custom_tool_input` finds the input of a custom tool."""
    return json.dumps({"input": given}, ensure_ascii=False)
