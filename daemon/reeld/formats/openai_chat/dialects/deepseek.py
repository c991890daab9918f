"""DeepSeek: reasoning of tool loops must come back, and content is text (rules D3 and D4)."""

import re
from collections.abc import Mapping, Sequence

from reel.strict_json import Json
from reeld.formats.openai_chat.dialects.dialect import TEXT_ONLY, Dialect, Reasoning, text_of


def _add_reasoning(message: Json, thoughts: Sequence[Json], _ids: Mapping[str, str]) -> Json:
    """Add the reasoning; a message without any has an empty text, because the key is required (rule D3)."""
    return {**message, "reasoning_content": text_of(thoughts)}


DIALECT = Dialect(
    "deepseek",
    "DeepSeek",
    re.compile(r"deepseek-(chat|reasoner|flash|pro|v4-.+)"),
    media=TEXT_ONLY,
    reasoning=Reasoning(_add_reasoning, in_loops_only=True),
)
