"""Requests to Amazon Bedrock with boto3, which has bytes where the JSON of the API has base64."""

import binascii
from typing import Any

from reel.base.strict_json import parse

# The keys of bytes, and those of a tool's own values, which are left alone.
_BYTES = ("bytes", "redactedContent")
_OF_TOOLS = ("input", "json")


def converse_arguments(body: str) -> dict[str, Any]:
    """Return a body that was rendered for ``bedrock-converse`` as the arguments of boto3's ``converse``.

    The same arguments are those of ``converse_stream``. ``modelId`` is not among them.

    Args:
        body: the body as JSON text.

    Raises:
        ValueError: it is not JSON, or not such a body.
    """
    match parse(body):
        case {"messages": list()} as found:
            return {key: _decoded(value) if key in ("messages", "system") else value for key, value in found.items()}
    raise ValueError("expected a body that was rendered for bedrock-converse: it has no list of messages")


def _decoded(value: Any) -> Any:
    if isinstance(value, list):
        return [_decoded(inside) for inside in value]
    if not isinstance(value, dict):
        return value
    return {key: _value(key, inside) for key, inside in value.items()}


def _value(key: str, value: Any) -> Any:
    if key in _BYTES and isinstance(value, str):
        return binascii.a2b_base64(value)
    return value if key in _OF_TOOLS else _decoded(value)
