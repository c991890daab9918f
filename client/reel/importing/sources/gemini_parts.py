"""Reads the parts of Gemini's API, as ``reel load`` reads them; what it refuses is kept whole."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from reel.base.strict_json import Json
from reel.importing.sources.blocks import fitting
from reel.importing.values import map_in, other_fields
from reel.providers.gemini import BESIDE_DATA, OF_A_RESPONSE, PROVIDER, camel_case, read_part
from reel.providers.message_builder import MessageBuilder
from reel.providers.refusals import Refusals

# The fields of a part of which something is made, and those of its data.
_DATA = {
    "text": frozenset[str](),
    "functionCall": frozenset({"id", "name", "args"}),
    "functionResponse": frozenset({"id", "name", "response", "parts", *OF_A_RESPONSE}),
    "inlineData": frozenset({"mimeType", "data", "displayName"}),
    "fileData": frozenset({"mimeType", "fileUri", "displayName"}),
}
_FIELDS = frozenset({"thought", "thoughtSignature", "mediaResolution", *_DATA, *BESIDE_DATA})


def parts_in(content: Any) -> list[Any]:
    """Return content as a list of parts: it may be such a list, one part, or a text."""
    if type(content) is list:
        return content
    return [] if content in (None, "") else [content]


def left_out_of_part(part: Any) -> Iterator[str]:
    """Yield the fields of a part that its block does not have, in the spelling of the API."""
    cased = camel_case(part) if type(part) is dict else {}
    if not cased.keys().isdisjoint(_DATA):  # any other part is kept whole
        yield from other_fields(cased, _FIELDS, "parts.")
        for key, known in _DATA.items():
            yield from other_fields(camel_case(map_in(cased, key)), known, f"parts.{key}.")


class Parts:
    """Reads the parts of one conversation.

    Args:
        refused: how often something of a type was refused; is added to.
    """

    def __init__(self, refused: Counter[str]) -> None:
        self._builder = MessageBuilder()
        self._refusals = Refusals(PROVIDER, refused)

    def read(self, parts: list[Any], place: str, role: str, model: str = "") -> list[Json]:
        """Convert the parts of one record; results stay among them.

        Args:
            parts: the parts.
            place: the id of the record, which makes generated ids unique.
            role: the role of all other parts, ``user`` or ``assistant``.
            model: the model that generated them; empty if it is unknown, or if none did.
        """
        blocks = [
            read_part(
                self._builder,
                part,
                f"contents[{place}].parts[{number}]",
                f"{place}_{number}",
                model or None,
                self._refusals,
            )
            for number, part in enumerate(parts)
        ]
        return [fitting(block, "tool" if block["type"] == "tool_result" else role, self._refusals) for block in blocks]
