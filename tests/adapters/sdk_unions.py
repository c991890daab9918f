"""The types that the vendors' SDKs have for what is said: of messages, their contents, and the events of streams."""

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, Literal, get_args, get_origin

from tests.sdks.examples import keys, members

# The keys by which the members of a union are told apart.
_TAGS = ("type", "event_type")


def tagged(kind: Any) -> set[str]:
    """Return the types of a union's members; a member without one counts by its name."""
    return {name for member in members(kind) for name in _tags(member)}


def _tags(member: Any) -> Iterable[str]:
    if member.__name__.startswith("Unknown"):  # what the SDK makes of a type that it does not know
        return ()
    tag = next((key.of for key in keys(member) if key.name in _TAGS), None)
    literals = [found for found in members(tag) if get_origin(found) is Literal]
    return [name for literal in literals for name in get_args(literal)] or [member.__name__]


def _union(module: str, name: str) -> Callable[[], set[str]]:
    return lambda: tagged(getattr(import_module(module), name))


def _keys(module: str, name: str) -> Callable[[], set[str]]:
    return lambda: {key.name for key in keys(getattr(import_module(module), name))}


def service_model() -> Any:
    """Return botocore's description of Bedrock's API."""
    return import_module("botocore.loaders").Loader().load_service_model("bedrock-runtime", "service-2")


def _shape(name: str) -> Callable[[], set[str]]:
    def found() -> set[str]:
        shape = service_model()["shapes"][name]
        return set(shape.get("enum") or shape["members"])

    return found


_CONTENT_DELTA = "anthropic.types.beta.beta_raw_content_block_delta"
_CHAT, _RESPONSES, _GEMINI = "openai.types.chat", "openai.types.responses", "google.genai.interactions"
UNIONS: dict[str, Callable[[], set[str]]] = {
    "anthropic BetaContentBlock": _union("anthropic.types.beta", "BetaContentBlock"),
    "anthropic BetaContentBlockParam": _union("anthropic.types.beta", "BetaContentBlockParam"),
    "anthropic BetaRawMessageStreamEvent": _union("anthropic.types.beta", "BetaRawMessageStreamEvent"),
    "anthropic BetaRawContentBlockDelta": _union(_CONTENT_DELTA, "BetaRawContentBlockDelta"),
    "openai ResponseOutputItem": _union(_RESPONSES, "ResponseOutputItem"),
    "openai ResponseInputItemParam": _union(_RESPONSES, "ResponseInputItemParam"),
    "openai ResponseInputContentParam": _union(_RESPONSES, "ResponseInputContentParam"),
    "openai ResponseStreamEvent": _union(_RESPONSES, "ResponseStreamEvent"),
    "openai ChatCompletionContentPartParam": _union(_CHAT, "ChatCompletionContentPartParam"),
    "openai ChatCompletionMessageToolCallUnionParam": _union(_CHAT, "ChatCompletionMessageToolCallUnionParam"),
    "openai ChatCompletionMessage": _keys(_CHAT, "ChatCompletionMessage"),
    "google-genai Part": _keys("google.genai.types", "Part"),
    "google-genai Step": _union(_GEMINI, "Step"),
    "google-genai ContentParam": _union(_GEMINI, "ContentParam"),
    "google-genai InteractionSSEEvent": _union(_GEMINI, "InteractionSSEEvent"),
    "google-genai StepDeltaData": _union(_GEMINI, "StepDeltaData"),
    "botocore ContentBlock": _shape("ContentBlock"),
    "botocore ContentBlockStart": _shape("ContentBlockStart"),
    "botocore ContentBlockDelta": _shape("ContentBlockDelta"),
    "botocore ReasoningContentBlockDelta": _shape("ReasoningContentBlockDelta"),
    "botocore ToolResultContentBlock": _shape("ToolResultContentBlock"),
    "botocore SystemContentBlock": _shape("SystemContentBlock"),
    "botocore ConverseStreamOutput": _shape("ConverseStreamOutput"),
    "botocore ConversationRole": _shape("ConversationRole"),
    "mistralai ContentChunk": _union("mistralai.client.models.contentchunk", "ContentChunk"),
    "mistralai AssistantMessage": _keys("mistralai.client.models.assistantmessage", "AssistantMessage"),
    "ollama Message": _keys("ollama", "Message"),
    "langchain-core ContentBlock": _union("langchain_core.messages.content", "ContentBlock"),
}
