"""Reads the events of Copilot CLI that say something, each on its own."""

import re
from collections.abc import Iterator
from typing import Any

from reel.base.strict_json import Json, encode
from reel.importing.sources.blocks import anthropic_blocks, call_block, made_by, with_exit_status
from reel.importing.values import as_map, list_in, map_in, other_fields, text_in
from reel.providers.anthropic import PROVIDER as ANTHROPIC
from reel.providers.blocks import text as text_block
from reel.providers.blocks import tool_result
from reel.providers.metadata import opaque_block
from reel.providers.refusals import Refusals

NAME = "copilot-cli"
# What its shell writes behind the output of a command that has ended.
_ENDED = re.compile(r"(?:\A|\n)<exited with exit code (-?\d{1,10})>\Z")
_END = 64
# What an answer has of its provider's own beside the text of its reasoning.
_REASONING = ("reasoningOpaque", "encryptedContent", "reasoningId")
# Ids of the service, which say nothing of the conversation.
_IDS = frozenset(
    {
        *("messageId", "originatingMessageId", "interactionId", "turnId", "requestId", "serviceRequestId", "apiCallId"),
        *("clientRequestId", "providerCallId", "providerId", "parentAgentTaskId", "parentToolCallId", "rte", "phase"),
    }
)
# The events that describe the session.
STARTS = ("session.start", "session.resume")
_ENVELOPE = frozenset({"type", "id", "parentId", "timestamp", "data", "agentId", "ephemeral"})
_CONTEXT = frozenset(
    {"cwd", "gitRoot", "branch", "repository", "repositoryHost", "baseCommit", "headCommit", "hostType"}
)
_START = frozenset(
    {
        *("sessionId", "version", "producer", "copilotVersion", "startTime", "resumeTime", "selectedModel", "context"),
        *("eventCount", "contextTier", "alreadyInUse", "remoteSteerable", "reasoningEffort"),
    }
)
_SAYS = {
    "user.message": ("content", "transformedContent", "attachments"),
    "assistant.message": ("content", "toolRequests", "reasoningText", "reasoningBlocks", *_REASONING),
    "tool.execution_complete": ("result", "error"),
    "tool.user_requested": ("toolName", "arguments"),
}
# The fields of an event of which something is made, by its type.
_FIELDS = {
    "user.message": _IDS | {"content", "transformedContent", "attachments", "source", "delivery"},
    "assistant.message": _IDS
    | {"content", "toolRequests", "model", "reasoningText", "reasoningBlocks", "outputTokens", *_REASONING},
    "tool.execution_complete": _IDS | {"toolCallId", "success", "result", "error", "model", "isUserRequested"},
    "tool.user_requested": _IDS | {"toolCallId", "toolName", "arguments"},
    **dict.fromkeys(STARTS, _START),
    "system.message": _IDS | {"content", "role", "name"},
    # The whole usage is kept.
    "session.usage_record": frozenset({"usage"}),
}


def left_out_of(kind: str, found: Json) -> Iterator[str]:
    """Yield the fields of an event that what is made of it does not have."""
    data = map_in(found, "data")
    yield from other_fields(found, _ENVELOPE)
    yield from other_fields(data, _FIELDS[kind], f"{kind}.")
    if kind in STARTS:
        yield from other_fields(map_in(data, "context"), _CONTEXT, "context.")
    for call in list_in(data, "toolRequests"):
        if type(call) is dict:
            yield from other_fields(call, {"toolCallId", "name", "arguments", "type"}, "toolRequests.")
    yield from other_fields(map_in(data, "result"), {"content"}, "result.")
    yield from other_fields(map_in(data, "error"), {"message"}, "error.")
    yield from other_fields(map_in(data, "reasoningBlocks"), {"provider", "blocks"}, "reasoningBlocks.")


def says_nothing(kind: str, data: Json) -> bool:
    """Return whether an event lacks what it is for, as a damaged one does, or has it under a name that is not known."""
    if any(data.get(key) for key in _SAYS[kind]):
        return False
    return data.keys().isdisjoint(_SAYS[kind]) or not data.keys() <= _FIELDS[kind]


def prompt_blocks(data: Json) -> list[Json]:
    """Return the blocks of a prompt as the model gets it, with what the person attached."""
    text = text_in(data, "transformedContent") or text_in(data, "content")
    attached = [opaque_block(NAME, as_map(found)) for found in list_in(data, "attachments")]
    return [*([text_block(text)] if text or not attached else []), *attached]


def answer_blocks(data: Json, refusals: Refusals) -> list[Json]:
    """Return the blocks of an answer: reasoning, text and calls."""
    text = text_in(data, "content")
    calls = [_call(found) for found in list_in(data, "toolRequests")]
    return [*_reasoning(data, refusals), *([text_block(text)] if text else []), *calls]


def result_block(data: Json) -> Json:
    """Return the result of a call, as the model gets it."""
    result, error = data.get("result"), map_in(data, "error")
    text = text_in(result, "content") if type(result) is dict else result if type(result) is str else ""
    failed = data.get("success") is False
    block = tool_result(text_in(data, "toolCallId") or "call", text or text_in(error, "message"), failed=failed)
    ended = _ENDED.search(text[-_END:])
    return with_exit_status(block, NAME, ended and int(ended[1]))


def call_of(data: Json) -> Json:
    """Return the call of a tool that the person asked for."""
    return call_block(text_in(data, "toolCallId"), text_in(data, "toolName"), data.get("arguments"))


def usage_of(data: Json) -> Json:
    """Return the usage of a request in OpenAI's words: the cached tokens are a part of the input."""
    counts = {key: value for key, value in data.items() if key.endswith("Tokens") and type(value) is int}
    return {
        "input_tokens": counts.get("inputTokens", 0),
        "output_tokens": counts.get("outputTokens", 0),
        "input_tokens_details": {
            "cached_tokens": counts.get("cacheReadTokens", 0),
            "cache_write_tokens": counts.get("cacheWriteTokens", 0),
        },
        "output_tokens_details": {"reasoning_tokens": counts.get("reasoningTokens", 0)},
    }


def _reasoning(data: Json, refusals: Refusals) -> list[Json]:
    """Return the thinking of an answer: as its provider signed it, if that is known, else its text."""
    model, signed = text_in(data, "model"), map_in(data, "reasoningBlocks")
    if text_in(signed, "provider").startswith(ANTHROPIC):
        return anthropic_blocks(list_in(signed, "blocks"), refusals, model)
    if signed:
        return [opaque_block(NAME, signed, model or None)]
    text, kept = text_in(data, "reasoningText"), {key: data[key] for key in _REASONING if data.get(key)}
    if not text:
        return [opaque_block(NAME, kept, model or None)] if kept else []
    metadata = {"provider_metadata": {"provider": NAME, "reasoning_json": encode(kept)}} if kept else {}
    return [{"type": "thinking", "text": text, **made_by(NAME, model), **metadata}]


def _call(found: Any) -> Json:
    if type(found) is not dict:
        return opaque_block(NAME, as_map(found))
    return call_block(text_in(found, "toolCallId"), text_in(found, "name"), found.get("arguments"))
