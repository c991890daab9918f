"""The blocks of calls and of results."""

import json
from typing import Any


def call(name: str, arguments: Any) -> dict[str, Any]:
    """Return the block of a call; a text is its arguments as the model wrote them."""
    written = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"type": "tool_call", "id": "c1", "name": name, "arguments": written}


def result(content: Any = "", *, is_error: bool = False) -> dict[str, Any]:
    """Return the block of a result."""
    return {"type": "tool_result", "tool_call_id": "c1", "content": content, "is_error": is_error}
