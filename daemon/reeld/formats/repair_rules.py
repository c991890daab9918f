"""What one repair has to keep to: the rules of the API, and what the rest of the body leaves to the history."""

from typing import NamedTuple

from reel.strict_json import Json
from reeld.formats.format import Format, Position
from reeld.formats.model import HistorySettings
from reeld.formats.server_tools import ServerToolStatus


class Rules(NamedTuple):
    """What the API accepts; ``lost`` are the keys of the server's calls that were left out for another reason."""

    target: Format
    model: str | None
    tools: ServerToolStatus
    settings: HistorySettings
    lost: set[str]

    def lacks_tool(self, name: str) -> bool:
        """Return whether the model does not have a tool (rule X18)."""
        return self.settings.tools is not None and name not in self.settings.tools

    def why_unsendable(self, block: Json, position: Position) -> str | None:
        """Return why a block cannot be sent; blank texts nowhere can (rules X3 and A3)."""
        if block["type"] == "text":
            return None if block["text"].strip() else "a blank text"
        return self.target.why_unsendable(block, position, self.model)
