"""OpenRouter: reasoning goes back as it came, in the form of whatever provider made it (rule D8)."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from reel.strict_json import Json
from reeld.formats.metadata import restore_keys
from reeld.formats.openai import PROVIDER
from reeld.formats.openai_chat.dialects.dialect import Dialect, Reasoning, text_of


def _add_reasoning(message: Json, thoughts: Sequence[Json], ids: Mapping[str, str]) -> Json:
    details = [_with_id(detail, ids) for thought in thoughts for detail in _details(thought)]
    if details:
        return {**message, "reasoning_details": details}
    return {**message, "reasoning": text_of(thoughts)} if thoughts else message


def _details(thought: Json) -> list[Any]:
    kept = restore_keys(thought.get("provider_metadata"), PROVIDER, ("reasoning_details",))
    details = kept.get("reasoning_details")
    return details if type(details) is list else []


def _with_id(detail: Any, ids: Mapping[str, str]) -> Any:
    """Return a detail unchanged, unless it names a call that is sent under another id."""
    sent = ids.get(detail["id"]) if type(detail) is dict and type(detail.get("id")) is str else None
    return detail if sent is None else {**detail, "id": sent}


DIALECT = Dialect(
    "openrouter",
    "OpenRouter",
    re.compile(r"openrouter/.+|.+/.+:(free|nitro|floor|online|thinking|extended|exacto)"),
    null_content=True,
    reasoning=Reasoning(_add_reasoning),
)
