"""Kimi, of Moonshot AI: every call comes back with reasoning, ids are its own, no URLs (rules D5, D6 and D21)."""

import re
from collections.abc import Mapping, Sequence

from reel.strict_json import Json
from reeld.formats.naming import sent_id
from reeld.formats.openai_chat.dialects.dialect import PICTURES_ONLY, Dialect, Reasoning, text_of

# What stands for the reasoning of a call that has none: an empty text counts as missing (rule D5).
_NONE = " "
# The ids that the model makes are such as "functions.look:0".
_ID = re.compile(r"[a-zA-Z0-9_.:-]{1,64}")


def _add_reasoning(message: Json, thoughts: Sequence[Json], _ids: Mapping[str, str]) -> Json:
    text = text_of(thoughts) or (_NONE if "tool_calls" in message else "")
    return {**message, "reasoning_content": text} if text else message


def _sent_id(given: str, used: Mapping[str, None], seq: int, index: int) -> str:
    """Return the id under which a call is sent; the model knows its own form of ids (rule D6)."""
    return given if _ID.fullmatch(given) and given not in used else sent_id(given, used, seq, index)


DIALECT = Dialect(
    "kimi",
    "Kimi",
    re.compile(r"(kimi|moonshot)-.+"),
    media=PICTURES_ONLY._replace(picture_urls=False),
    sent_id=_sent_id,
    reasoning=Reasoning(_add_reasoning),
)
