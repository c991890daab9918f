"""Content in two forms: a text, or a list of parts."""

from typing import Any


def shortest(parts: list[dict[str, Any]]) -> str | list[dict[str, Any]]:
    """Give parts as content: a string where one plain text is all, or where there is none."""
    if len(parts) == 1 and parts[0].keys() == {"type", "text"}:
        text: str = parts[0]["text"]
        return text
    return parts or ""


def texts_of(blocks: list[dict[str, Any]]) -> str:
    """Give the texts among blocks, a line each."""
    return "\n".join(block["text"] for block in blocks if block["type"] == "text")


def as_error(text: str) -> str:
    """Give a text that says of itself that something failed, where nothing else can say it."""
    return text if text.lower().startswith("error") else f"Error: {text}"
