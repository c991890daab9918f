"""Why an answer is not all that the model would have said: the provider's reason, in our words."""

from __future__ import annotations

from reel.base.light_typing import TYPE_CHECKING
from reel.reading.wording import cut, flat

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

_LIMIT = "it reached the limit of tokens"
_CONTEXT = "the model's context is full"
_FILTER = "the provider's filter stopped it"
_REFUSAL = "the model refused"
_UNREADABLE = "the model wrote a call that cannot be read"
_EMPTY = "it is empty"
# What is said of a stream that ended without a reason, and what the daemon stores of it.
_NO_REASON, _WITHOUT_REASON = "it broke off", "the answer broke off"
# The key of an answer for how many messages were added while it was written (docs/protocol.md, "if_stands").
_LATE = "late"
# The key of an answer for why it broke off (docs/protocol.md, "ingest"), and how much of that is told.
BROKE_OFF = "broke_off"
_TOLD = 60
# By the provider's reason in lower case. What is not here ended an answer as it should, or is not known.
_REASONS = {
    **dict.fromkeys(("max_tokens", "length", "max_output_tokens"), _LIMIT),
    **dict.fromkeys(("model_context_window_exceeded", "context_length_exceeded", "model_length"), _CONTEXT),
    **dict.fromkeys(("content_filter", "content_filtered", "guardrail_intervened", "safety", "recitation"), _FILTER),
    **dict.fromkeys(("blocklist", "prohibited_content", "spii", "image_safety", "language", "sensitive"), _FILTER),
    **dict.fromkeys(("image_prohibited_content", "image_recitation", "error_content"), _FILTER),
    **dict.fromkeys(("refusal", "refused"), _REFUSAL),
    **dict.fromkeys(("malformed_function_call", "malformed_model_output", "malformed_tool_use"), _UNREADABLE),
    **dict.fromkeys(("unexpected_tool_call", "too_many_tool_calls"), _UNREADABLE),
}


def broke_off(problem: str | None) -> str:
    """Return that an answer broke off, and why if anybody said so.

    Args:
        problem: why it is not complete, as :class:`~reel.streams.response.IncomingResponse` tells it.
    """
    return _WITHOUT_REASON if problem in (None, _NO_REASON) else f"{_WITHOUT_REASON}: {problem}"


def why_cut(message: Mapping[str, Any]) -> str | None:
    """Return why an answer was cut, refused or empty; ``None`` if it is whole."""
    return reason_of(message) or (None if _says_anything(message["content"]) else _EMPTY)


def remarks_on(message: Mapping[str, Any]) -> list[str]:
    """Return what a reader of an answer has to know: that it is not whole, or came behind what it does not answer."""
    if message["role"] != "assistant":
        return []
    metadata = message.get("provider_metadata") or {}
    why, late = _end_of(metadata) or reason_of(message), metadata.get(_LATE)
    remarks = [] if why is None else [f"not whole: {why}"]
    if type(late) is int and late > 0:
        remarks.append("does not answer " + ("the message above it" if late == 1 else f"the {late} messages above it"))
    return remarks


def _end_of(metadata: Mapping[str, Any]) -> str | None:
    """Return that an answer broke off, and why if somebody said so; ``None`` if it did not."""
    why = metadata.get(BROKE_OFF)
    if not isinstance(why, str):
        return None
    return _NO_REASON if why in ("", _WITHOUT_REASON) else cut(f"{_NO_REASON}: {flat(why)}", _TOLD)


def reason_of(message: Mapping[str, Any]) -> str | None:
    """Return why the provider cut a message; ``None`` if it did not, or did not say so."""
    reason = (message.get("provider_metadata") or {}).get("finish_reason")
    if isinstance(reason, str) and (why := _REASONS.get(reason.lower())) is not None:
        return why
    if any(_is_refusal(block) for block in message["content"]):
        return _REFUSAL
    return None


def _is_refusal(block: Mapping[str, Any]) -> bool:
    return block["type"] == "text" and bool((block.get("provider_metadata") or {}).get("refusal"))


def _says_anything(content: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether anything but thinking is in an answer."""
    others = (block for block in content if not block["type"].endswith("thinking"))
    return any(block["type"] != "text" or block["text"].strip() for block in others)
