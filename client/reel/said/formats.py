"""The names of the providers' formats and dialects, and conversions of bodies."""

import binascii
from collections.abc import Mapping
from typing import Any, Literal, Protocol, TypeAlias, get_args

Format: TypeAlias = Literal[
    "openai-chat",
    "openai-responses",
    "anthropic",
    "gemini",
    "gemini-interactions",
    "ollama",
    "bedrock-converse",
    "ai-sdk",
    "langchain",
]
# All formats, in the order in which they are shown.
FORMATS: tuple[Format, ...] = get_args(Format)
# The formats in which conversations are only exchanged, and those in which a provider answers.
EXCHANGE_FORMATS: tuple[Format, ...] = ("ai-sdk",)
ANSWERING_FORMATS = tuple(name for name in FORMATS if name not in EXCHANGE_FORMATS)
Dialect: TypeAlias = Literal[
    "openai",
    "deepseek",
    "kimi",
    "qwen",
    "glm",
    "minimax",
    "mimo",
    "openrouter",
    "gemini",
    "mistral",
    "xai",
    "perplexity",
    "vllm",
    "llama.cpp",
    "lm-studio",
    "vertex",
    "ai-studio",
    "bedrock-invoke",
    "foundry",
]
# The dialects of all formats, in the order in which they are shown; the daemon knows which format has which.
DIALECTS: tuple[Dialect, ...] = get_args(Dialect)


class Model(Protocol):
    """An object of a provider's SDK: a Pydantic model."""

    def model_dump_json(self, *, by_alias: bool) -> str:
        """Return it as JSON text."""
        ...


# A body, or an event of a stream, in any of the forms in which a program has one.
Body: TypeAlias = str | bytes | Mapping[str, Any] | Model


# JSON has no such numbers. Some providers write these words in an answer, and `parse_answer` reads them as texts.
_NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def json_map(body: Mapping[str, Any], *, is_answer: bool = False) -> dict[str, Any]:
    """Return a map for JSON: bytes become base64, as in the JSON of every provider.

    Args:
        body: the map.
        is_answer: whether a provider made it: no answer is refused for a number, so NaN and infinities become texts.

    Raises:
        ValueError: it is nested too deep.
    """
    not_finite = _NOT_FINITE if is_answer else {}
    try:
        return {key: _json_value(value, not_finite) for key, value in body.items()}
    except RecursionError as error:
        raise ValueError(f"it is nested too deep ({error})") from None


def _json_value(value: Any, not_finite: Mapping[str, str]) -> Any:
    if isinstance(value, bytes | bytearray):
        return binascii.b2a_base64(value, newline=False).decode()
    if isinstance(value, float):
        return not_finite.get(str(value), value)
    if isinstance(value, Mapping):
        return {key: _json_value(inside, not_finite) for key, inside in value.items()}
    return [_json_value(inside, not_finite) for inside in value] if isinstance(value, list | tuple) else value


def json_text(body: Body, *, is_answer: bool = False) -> str:
    """Return a body as text; a text is returned unchanged. Bytes in a map become base64.

    A lone surrogate is escaped, because UTF-8 cannot encode it.

    Args:
        body: the body.
        is_answer: as in :func:`json_map`.

    Raises:
        ValueError: it cannot be written as JSON.
    """
    if isinstance(body, str):
        return body
    if isinstance(body, bytes | bytearray | memoryview):
        return bytes(body).decode(errors="replace")
    if type(body) is dict:
        try:
            return _encoded(body)
        except (TypeError, RecursionError):
            pass  # it has bytes, or a map of another class
        except ValueError:
            if not is_answer:
                raise
    try:
        if isinstance(body, Mapping):
            return _encoded(json_map(body, is_answer=is_answer))
        return body.model_dump_json(by_alias=True)
    except (AttributeError, TypeError, RecursionError) as error:
        expected = "expected text, a map, or an object of a provider's SDK"
        raise ValueError(f"{expected}, got a {type(body).__name__} ({error})") from None


def _encoded(value: Any) -> str:
    from reel.base.strict_json import encode  # noqa: PLC0415 - a text needs no encoder
    from reel.base.values import is_clean  # noqa: PLC0415 - as above

    text = encode(value)
    return text if is_clean(text) else encode(value, ascii_only=True)
