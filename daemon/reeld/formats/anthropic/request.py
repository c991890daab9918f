"""A whole request to Anthropic's API, read into the messages of a conversation."""

from itertools import groupby
from typing import Any

from reeld.formats import native
from reeld.formats.anthropic.blocks import PROVIDER
from reeld.formats.anthropic.content import blocks_of
from reeld.formats.prompting import prompt_of
from reeld.formats.reading import Json, Loaded, left_to_extra, list_at, map_at, refused


def load(body: Json, model: str | None = None) -> Loaded:
    """Read a request body.

    A system message in mid-history becomes a user message that says so in ``provider_metadata.role``.

    Args:
        body: the whole object, with its ``messages``.
        model: who said what the assistant says, where the body does not say.

    Raises:
        InvalidMessage: something in it is no message; ``data.field`` is the place.
    """
    if "messages" not in body:
        raise refused("messages", "is missing; this is no request to Anthropic")
    messages = list_at(body["messages"], "messages")
    if not messages:
        raise refused("messages", "is empty; there is nothing to load")
    made_by = body.get("model") or model
    loaded = [
        message
        for index, found in enumerate(messages)
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
    """Read one message: of the user's, results become messages of the tool's."""
    role = found.get("role")
    if role not in ("user", "assistant", "system"):
        raise refused(f"{where}.role", f"{role!r} is no role of Anthropic's")
    maker = made_by if role == "assistant" else None
    blocks = blocks_of(found.get("content", ""), f"{where}.content", maker) or [{"type": "text", "text": ""}]
    if role == "user":
        runs = groupby(blocks, key=lambda block: "tool" if block["type"] == "tool_result" else "user")
        return [{"role": who, "content": list(run)} for who, run in runs]
    if role == "assistant":
        return [{"role": role, "content": blocks}]
    return [{"role": "user", "content": blocks, **native.keep(PROVIDER, found, ("content",))}]
