"""The content that LangChain's messages can hold, and their names of providers."""

from collections.abc import Mapping

from reel.base.strict_json import Json
from reel.providers.metadata import opaque_object
from reeld.formats import naming
from reeld.formats.format import Position

PROVIDER = "langchain"
# LangChain's names of the providers whose blocks are understood here (rule L4); the first name is sent.
_MODEL_PROVIDERS = {
    "anthropic": "anthropic",
    "google_genai": "gemini",
    "google_vertexai": "gemini",
    "google": "gemini",
    "openai": "openai",
    "azure_openai": "openai",
    "deepseek": "openai",
    "xai": "openai",
    "mistralai": "openai",
    "openrouter": "openai",
    "ollama": "ollama",
}
# The key of a system message that had OpenAI's role developer.
OPENAI_ROLE = "__openai_role__"
# The key of the signatures of calls beside a message of Google's integration, by the ids of the calls.
CALL_SIGNATURES = "__gemini_function_call_thought_signatures__"
# The types of content that have a form of their own in every conversation, so that no opaque block may be one.
NEUTRAL_TYPES = frozenset(
    {
        *("text", "thinking", "redacted_thinking", "tool_use", "tool_call", "function_call", "non_standard"),
        *("image", "image_url", "audio", "video", "file", "document", "text-plain"),
    }
)


def provider_of(model_provider: object) -> str | None:
    """Return the provider that LangChain means; an unknown one keeps its name."""
    if type(model_provider) is not str or not model_provider:
        return None
    return _MODEL_PROVIDERS.get(model_provider, model_provider)


def model_provider_of(provider: str) -> str:
    """Return LangChain's name of a provider."""
    names = {known: name for name, known in reversed(_MODEL_PROVIDERS.items())}
    return names.get(provider, provider)


def why_unsendable(block: Json, _position: Position, _model: str | None) -> str | None:
    """Return why a block cannot be in a message: hardly anything cannot."""
    match block["type"]:
        case "opaque" if opaque_object(block) is None:
            return "an opaque block that is not an object"
        case "thinking" if not block["text"].strip() and not block.get("signature"):
            return "an empty thought"
        case "redacted_thinking" if block.get("provider") != "anthropic":
            return "redacted thinking, which only Anthropic has"
    return None


def is_native(block: Json) -> bool:
    """Whether an opaque block is content in the form of its provider's integration, and unambiguous."""
    kind, provider = (opaque_object(block) or {}).get("type"), block.get("provider")
    if provider not in ("anthropic", "openai", PROVIDER) or type(kind) is not str:
        return False
    return kind not in NEUTRAL_TYPES or (kind, provider) == ("non_standard", PROVIDER)


def sent_id(given: str, used: Mapping[str, None], seq: int, index: int) -> str:
    """Return the id of a call: its own, unless an earlier call has it; nothing restricts its characters."""
    return given if given and given not in used else naming.sent_id(given, used, seq, index)
