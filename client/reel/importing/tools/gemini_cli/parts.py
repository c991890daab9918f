"""Reads the parts of Gemini's API, as ``reel load`` reads them; what it refuses is kept whole."""

from collections import Counter
from typing import Any

from reel.base.strict_json import Json
from reel.importing.sources.blocks import fitting
from reel.providers.gemini import PROVIDER, read_part
from reel.providers.message_builder import MessageBuilder
from reel.providers.refusals import Refusals


def parts_in(content: Any) -> list[Any]:
    """Return content as a list of parts: it may be such a list, one part, or a text."""
    if type(content) is list:
        return content
    return [] if content in (None, "") else [content]


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
