"""Mistral: short ids, an order of roles, reasoning among the parts of the content (rules D11, D12, D13 and D14)."""

import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from reel.strict_json import Json
from reeld.formats.content import url_of
from reeld.formats.metadata import restore_keys
from reeld.formats.openai import PROVIDER
from reeld.formats.openai_chat.dialects.dialect import Dialect, Media, Reasoning

_FAMILY = "(mistral|mixtral|ministral|magistral|codestral|devstral|pixtral|voxtral)"
# Mistral's models, wherever they are served.
MODELS = re.compile(rf"(.*[/_-])?{_FAMILY}[-\d].*", re.IGNORECASE)
_ID = re.compile(r"[a-zA-Z0-9]{9}")


def nine_characters(given: str, used: Mapping[str, None], seq: int, index: int) -> str:
    """Return an id of nine letters and digits for a call (rule D11).

    It is the given one if it is such an id and no earlier call has it; else a hash of it, and of its place if that is
    taken as well.

    Args:
        given: the id as it is stored.
        used: the ids that were sent before.
        seq: the seq of the call's message.
        index: the number of its block.
    """
    if _ID.fullmatch(given) and given not in used:
        return given
    hashed = _hash(given)
    attempt = 0
    while hashed in used:
        hashed = _hash(f"{given} {seq} {index} {attempt}")
        attempt += 1
    return hashed


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:9]


def _add_reasoning(message: Json, thoughts: Sequence[Json], _ids: Mapping[str, str]) -> Json:
    """Put the reasoning before the text, as parts of the content (rule D14)."""
    if not thoughts:
        return message
    said = [{"type": "text", "text": message["content"]}] if message["content"] else []
    return {**message, "content": [*map(_chunk, thoughts), *said]}


def _chunk(thought: Json) -> Json:
    kept = restore_keys(thought.get("provider_metadata"), PROVIDER, ("thinking", "closed", "signature"))
    inside: Any = [{"type": "text", "text": thought["text"]}]
    return {"type": "thinking", "thinking": inside, **kept}


def _file_part(block: Json) -> Json:
    return {"type": "document_url", "document_url": url_of(block)}


DIALECT = Dialect(
    "mistral",
    "Mistral",
    re.compile(rf"(open-)?{_FAMILY}-.+"),
    instructions_anywhere=False,
    names=False,
    media=Media(hears=lambda _model: False, file_part=_file_part),
    bridges=True,
    sent_id=nine_characters,
    reasoning=Reasoning(_add_reasoning),
)
