"""A whole request to Anthropic's API, read into the messages of a conversation."""

from typing import Any

from reeld.formats import metadata as native
from reeld.formats.anthropic.blocks import PROVIDER
from reeld.formats.anthropic.content import blocks_of
from reeld.formats.fields import Json, Loaded, history_at, left_to_extra, map_at, role_at
from reeld.formats.model import ABOVE, speakers
from reeld.formats.prompt import prompt_of

_API = "Anthropic's"


def load(body: Json, model: str | None = None) -> Loaded:
    """Read a request body.

    A system message in mid-history becomes a user message that says so in ``provider_metadata.role``.

    Args:
        body: the whole object, with its ``messages``.
        model: who said what the assistant says, where the body does not say.

    Raises:
        InvalidMessage: something in it is no message; ``data.field`` is the place.
    """
    made_by = body.get("model") or model
    loaded = [
        message
        for index, found in enumerate(history_at(body.get("messages"), "messages", _API))
        for message in _messages(map_at(found, f"messages[{index}]"), f"messages[{index}]", made_by)
    ]
    return Loaded([*_prompt(body.get("system")), *loaded], left_to_extra(body, ("messages", "system", "model")))


def _prompt(system: Any) -> list[Json]:
    if not system:
        return []
    content = blocks_of(system, "system", None)
    metadata = {"provider": PROVIDER, "role": "system"}
    return prompt_of(PROVIDER, [{"role": "user", "content": content, "provider_metadata": metadata}])


def _messages(found: Json, where: str, made_by: str | None) -> list[Json]:
    """Read one message: one for everybody who speaks in it."""
    role = role_at(found.get("role"), f"{where}.role", _API)
    assistant = role == "assistant"
    blocks = blocks_of(found.get("content"), f"{where}.content", made_by if assistant else None)
    said = speakers(blocks, "assistant" if assistant else "user")
    kept = native.keep(PROVIDER, found, ("content",)) if role in ABOVE else {}
    return [{"role": who, "content": content, **kept} for who, content in said]
