"""The dialects of Chat Completions: a section for each server, and at the end their table.

To add one, write its :class:`Dialect` and name it in the table; its facts are D rules of docs/provider-rules.md.
"""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from hashlib import sha256
from typing import Any

from reel.base.strict_json import Json
from reel.providers.content import url_of
from reel.providers.metadata import restore_keys
from reel.providers.openai import PROVIDER
from reeld.formats.gemini.rules import is_signing
from reeld.formats.gemini.write import UNSIGNED
from reeld.formats.model import Piece
from reeld.formats.naming import made_elsewhere, reads, sent_id
from reeld.formats.openai_chat.dialect import PICTURES_ONLY, TEXT_ONLY, Dialect, Media, Reasoning, text_of


def _with_reasoning_content(message: Json, thoughts: Sequence[Json], _ids: Mapping[str, str]) -> Json:
    """Add the reasoning under the name that DeepSeek gave it, and others after DeepSeek (rules D7 and D19)."""
    return _with_text(message, "reasoning_content", thoughts)


def _with_text(message: Json, key: str, thoughts: Sequence[Json]) -> Json:
    text = text_of(thoughts)
    return {**message, key: text} if text else message


# OpenAI itself, and the servers of which nothing else is known.

OPENAI = Dialect("openai", "Chat Completions", is_openai=True, null_content=True, one_text=False)


# DeepSeek: reasoning of tool loops must come back, and content is text (rules D3 and D4).


def _for_deepseek(message: Json, thoughts: Sequence[Json], _ids: Mapping[str, str]) -> Json:
    """Add the reasoning; a message without any has an empty text, because the key is required (rule D3)."""
    return {**message, "reasoning_content": text_of(thoughts)}


DEEPSEEK = Dialect(
    "deepseek",
    "DeepSeek",
    re.compile(r"deepseek-(chat|reasoner|flash|pro|v4-.+|v4\.\d.*)"),
    media=TEXT_ONLY,
    reasoning=Reasoning(_for_deepseek, in_loops_only=True),
)
# Its models that read pictures (rule D4).
_SEEING = re.compile(r"deepseek-(flash|v4\.\d.*)")


# Kimi, of Moonshot AI: every call comes back with reasoning, ids are its own, no URLs (rules D5, D6 and D21).

# What stands for the reasoning of a call that has none: an empty text counts as missing (rule D5).
_NO_REASONING = " "
# The ids that the model makes are such as "functions.look:0".
_KIMI_ID = re.compile(r"[a-zA-Z0-9_.:-]{1,64}")


def _for_kimi(message: Json, thoughts: Sequence[Json], _ids: Mapping[str, str]) -> Json:
    text = text_of(thoughts) or (_NO_REASONING if "tool_calls" in message else "")
    return {**message, "reasoning_content": text} if text else message


def _kimi_id(given: str, used: Mapping[str, None], seq: int, index: int) -> str:
    """Return the id under which a call is sent; the model knows its own form of ids (rule D6)."""
    return given if _KIMI_ID.fullmatch(given) and given not in used else sent_id(given, used, seq, index)


KIMI = Dialect(
    "kimi",
    "Kimi",
    re.compile(r"(kimi|moonshot)-.+"),
    media=PICTURES_ONLY._replace(picture_urls=False),
    sent_id=_kimi_id,
    reasoning=Reasoning(_for_kimi),
)


# Qwen, of Alibaba Cloud: reasoning goes back inside a tool loop, or always if a request says so (rule D7).

QWEN = Dialect(
    "qwen",
    "Qwen",
    re.compile(r"(qwen[\d.]*|qwq|qvq)(-[a-z]+)*-(max|plus|turbo|flash|long)(-.+)?"),
    names=False,
    media=PICTURES_ONLY,
    reasoning=Reasoning(_with_reasoning_content, in_loops_only=True),
    reads_past=lambda extra: extra.get("preserve_thinking") is True,
)


# GLM, of Z.ai: reasoning goes back inside a tool loop, or always if the request keeps it (rule D22).


def _keeps_thinking(extra: Json) -> bool:
    thinking = extra.get("thinking")
    return type(thinking) is dict and thinking.get("clear_thinking") is False


GLM = Dialect(
    "glm",
    "GLM",
    re.compile(r"glm-.+"),
    names=False,
    media=PICTURES_ONLY,
    reasoning=Reasoning(_with_reasoning_content, in_loops_only=True),
    reads_past=_keeps_thinking,
)


# MiniMax: the reasoning of a tool loop goes back in the form in which it came (rule D23).


def _for_minimax(message: Json, thoughts: Sequence[Json], _ids: Mapping[str, str]) -> Json:
    """Add the reasoning as details, which is its form with ``reasoning_split``."""
    details = [detail for thought in thoughts for detail in _details(thought) or _plain_details(thought)]
    return {**message, "reasoning_details": details} if details else message


def _plain_details(thought: Json) -> list[Json]:
    return [{"type": "reasoning.text", "text": thought["text"]}] if thought["text"].strip() else []


MINIMAX = Dialect(
    "minimax",
    "MiniMax",
    re.compile(r"(?i:minimax)-.+"),
    names=False,
    media=PICTURES_ONLY,
    reasoning=Reasoning(_for_minimax, in_loops_only=True),
)


# MiMo, of Xiaomi: every call comes back with reasoning, and no content is null (rule D24).

MIMO = Dialect("mimo", "MiMo", re.compile(r"mimo-.+"), names=False, media=PICTURES_ONLY, reasoning=Reasoning(_for_kimi))


# Perplexity: one system message, and turns that alternate (rule D25).

PERPLEXITY = Dialect(
    "perplexity",
    "Perplexity",
    re.compile(r"sonar(-.+)?"),
    instructions_anywhere=False,
    names=False,
    media=PICTURES_ONLY,
    alternates=True,
    bridges=True,
)


# OpenRouter: reasoning goes back as it came, in the form of whatever provider made it (rule D8).


def _for_openrouter(message: Json, thoughts: Sequence[Json], ids: Mapping[str, str]) -> Json:
    details = [_with_id(detail, ids) for thought in thoughts for detail in _details(thought)]
    if details:
        return {**message, "reasoning_details": details}
    return _with_text(message, "reasoning", thoughts)


def _details(thought: Json) -> list[Any]:
    kept = restore_keys(thought.get("provider_metadata"), PROVIDER, ("reasoning_details",))
    details = kept.get("reasoning_details")
    return details if type(details) is list else []


def _with_id(detail: Any, ids: Mapping[str, str]) -> Any:
    """Return a detail unchanged, unless it names a call that is sent under another id."""
    sent = ids.get(detail["id"]) if type(detail) is dict and type(detail.get("id")) is str else None
    return detail if sent is None else {**detail, "id": sent}


OPENROUTER = Dialect(
    "openrouter",
    "OpenRouter",
    re.compile(r"openrouter/.+|.+/.+:(free|nitro|floor|online|thinking|extended|exacto)"),
    null_content=True,
    reasoning=Reasoning(_for_openrouter),
)


# The endpoint of Gemini's that is compatible with OpenAI: signatures are beside the calls (rules D9 and D10).


def _signature_of_call(dialect: str | None, piece: Piece, model: str | None, *, is_first: bool) -> Json:
    """Return the signature beside a call; the first call of a message needs one, if only a dummy (rule D9)."""
    own = _signature(dialect, piece.block.get("provider_metadata") or {}, piece.metadata, model)
    if own or not (is_first and is_signing(model)):
        return own
    return {"extra_content": {"google": {"thought_signature": UNSIGNED}}}


def _signature_of_text(dialect: str | None, metadata: Json, model: str | None) -> Json:
    """Return the signature beside a text (rule D9)."""
    return _signature(dialect, metadata, metadata, model)


def _signature(dialect: str | None, metadata: Json, of_message: Json, model: str | None) -> Json:
    """Return the signature that came with an answer, if it was this model's, and this server's (rule G13)."""
    if made_elsewhere(metadata, dialect) or not reads(model, of_message.get("model"), of_message):
        return {}
    kept = restore_keys(metadata, PROVIDER, ("extra_content",))
    match kept:
        case {"extra_content": {"google": {"thought_signature": str(signature)}}} if signature:
            return kept
    return {}


def _file_as_picture(block: Json) -> Json:
    """Return a file as the URL of a picture: the endpoint knows no other part for it (rule D10)."""
    return {"type": "image_url", "image_url": {"url": url_of(block)}}


def _at_gemini(name: str, server: str, models: str | None = None, signed_in: str | None = None) -> Dialect:
    """Return the dialect of Gemini behind one of its servers; neither reads what the other signed (rule G13)."""
    return Dialect(
        name,
        server,
        models if models is None else re.compile(models),
        instructions_anywhere=False,
        names=False,
        media=Media(hears=lambda _model: True, file_part=_file_as_picture),
        null_content=True,
        alternates=True,
        bridges=True,
        call_keys=partial(_signature_of_call, signed_in),
        message_keys=partial(_signature_of_text, signed_in),
        signed_in=signed_in,
    )


GEMINI = _at_gemini("gemini", "Gemini's compatible endpoint", r"(models/)?gemini-.+")
AI_STUDIO = _at_gemini("ai-studio", "AI Studio's compatible endpoint", signed_in="ai-studio")
VERTEX = _at_gemini("vertex", "Gemini at Vertex AI's compatible endpoint", signed_in="vertex")


# Mistral: short ids, an order of roles, reasoning among the parts of the content (rules D11, D12, D13 and D14).

_MISTRAL_FAMILY = "(mistral|mixtral|ministral|magistral|codestral|devstral|pixtral|voxtral)"
# Mistral's models, wherever they are served.
_MISTRAL_MODELS = re.compile(rf"(.*[/_-])?{_MISTRAL_FAMILY}[-\d].*", re.IGNORECASE)
_MISTRAL_ID = re.compile(r"[a-zA-Z0-9]{9}")


def _nine_characters(given: str, used: Mapping[str, None], seq: int, index: int) -> str:
    """Return an id of nine letters and digits for a call (rule D11).

    It is the given one if it is such an id and no earlier call has it; else a hash of it, and of its place if that is
    taken as well.

    Args:
        given: the id as it is stored.
        used: the ids that were sent before.
        seq: the seq of the call's message.
        index: the number of its block.
    """
    if _MISTRAL_ID.fullmatch(given) and given not in used:
        return given
    hashed = _nine_of_hash(given)
    attempt = 0
    while hashed in used:
        hashed = _nine_of_hash(f"{given} {seq} {index} {attempt}")
        attempt += 1
    return hashed


def _nine_of_hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:9]


def _for_mistral(message: Json, thoughts: Sequence[Json], _ids: Mapping[str, str]) -> Json:
    """Put the reasoning before the text, as parts of the content (rule D14)."""
    parts = [part for thought in thoughts for part in _thought_as_parts(thought)]
    if not parts:
        return message
    said = [{"type": "text", "text": message["content"]}] if message["content"] else []
    return {**message, "content": [*parts, *said]}


def _thought_as_parts(thought: Json) -> list[Json]:
    kept = restore_keys(thought.get("provider_metadata"), PROVIDER, ("thinking", "closed", "signature"))
    if not (thought["text"].strip() or kept):
        return []
    inside: Any = [{"type": "text", "text": thought["text"]}]
    return [{"type": "thinking", "thinking": inside, **kept}]


def _file_as_document(block: Json) -> Json:
    return {"type": "document_url", "document_url": url_of(block)}


MISTRAL = Dialect(
    "mistral",
    "Mistral",
    re.compile(rf"(open-)?{_MISTRAL_FAMILY}-.+"),
    instructions_anywhere=False,
    names=False,
    media=Media(hears=lambda _model: False, file_part=_file_as_document),
    bridges=True,
    sent_id=_nine_characters,
    reasoning=Reasoning(_for_mistral),
)


# xAI: every message has content, and reasoning goes back in Responses only (rule D15).

XAI = Dialect(
    "xai",
    "xAI",
    re.compile(r"grok-.+"),
    media=Media(pictures=("image/png", "image/jpeg"), files=False, hears=lambda _model: False),
)


# Servers that put a model's own chat template around any model (rules D16 and D17).


def _for_vllm(message: Json, thoughts: Sequence[Json], _ids: Mapping[str, str]) -> Json:
    """Add the reasoning under the name that vLLM gives it (rule D18)."""
    return _with_text(message, "reasoning", thoughts)


VLLM = Dialect(
    "vllm",
    "vLLM",
    instructions_anywhere=False,
    names=False,
    media=Media(files=False),
    alternates=True,
    reasoning=Reasoning(_for_vllm),
)

LLAMA_CPP = Dialect(
    "llama.cpp",
    "llama.cpp",
    instructions_anywhere=False,
    names=False,
    media=Media(files=False),
    alternates=True,
    reasoning=Reasoning(_with_reasoning_content),
)

LM_STUDIO = Dialect(
    "lm-studio",
    "LM Studio",
    instructions_anywhere=False,
    names=False,
    media=Media(("image/png", "image/jpeg"), picture_urls=False, files=False, hears=lambda _model: False),
    alternates=True,
)


def _around_model(dialect: Dialect, model: str | None) -> Dialect:
    """Return the dialect of such a server for one of its models: the template of Mistral's is as strict as its API."""
    if model is None or not _MISTRAL_MODELS.fullmatch(model):
        return dialect
    return dialect._replace(bridges=True, sent_id=_nine_characters)


# In the order in which the protocol and the command line list them.
_ALL = (
    *(OPENAI, DEEPSEEK, KIMI, QWEN, GLM, MINIMAX, MIMO, OPENROUTER, GEMINI, MISTRAL, XAI, PERPLEXITY),
    *(VLLM, LLAMA_CPP, LM_STUDIO, VERTEX, AI_STUDIO),
)
DIALECTS: dict[str, Dialect] = {found.name: found for found in _ALL}
_AROUND_ANY_MODEL = (VLLM, LLAMA_CPP, LM_STUDIO)


def dialect_for(name: str | None, model: str | None) -> Dialect:
    """Return the dialect of a name; without a name, the one that the model's name tells (rule D2).

    Args:
        name: a key of ``DIALECTS``.
        model: the model.
    """
    if name is None:
        dialect = next((found for found in _ALL if found.models and found.models.fullmatch(model or "")), OPENAI)
    else:
        dialect = DIALECTS[name]
    if dialect is DEEPSEEK and _SEEING.fullmatch(model or ""):
        return DEEPSEEK._replace(media=PICTURES_ONLY)
    return _around_model(dialect, model) if dialect in _AROUND_ANY_MODEL else dialect
