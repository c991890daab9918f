"""Qwen, of Alibaba Cloud: reasoning goes back inside a tool loop, or always if a request says so (rule D7)."""

import re
from collections.abc import Mapping, Sequence

from reel.strict_json import Json
from reeld.formats.openai_chat.dialects.dialect import PICTURES_ONLY, Dialect, Reasoning, text_of


def _add_reasoning(message: Json, thoughts: Sequence[Json], _ids: Mapping[str, str]) -> Json:
    return {**message, "reasoning_content": text_of(thoughts)} if thoughts else message


DIALECT = Dialect(
    "qwen",
    "Qwen",
    re.compile(r"(qwen[\d.]*|qwq|qvq)(-[a-z]+)*-(max|plus|turbo|flash|long)(-.+)?"),
    names=False,
    media=PICTURES_ONLY,
    reasoning=Reasoning(_add_reasoning, in_loops_only=True),
    history_setting="preserve_thinking",
)
