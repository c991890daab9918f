"""The rules of one repair: what the API accepts, and the settings that the rest of the body imposes."""

from reel.base.light_typing import NamedTuple
from reel.base.strict_json import Json
from reeld.formats.format import Format, Position
from reeld.formats.model import HistorySettings
from reeld.formats.server_tools import ServerToolStatus


class Rules(NamedTuple):
    """The rules; ``lost`` are the keys of server tool calls that were left out for other reasons."""

    target: Format
    model: str | None
    tools: ServerToolStatus
    settings: HistorySettings
    lost: set[str]

    def continues_server_tool(self, number: int) -> bool:
        """Return whether a group goes on while a server's tool of an earlier one works."""
        return any(key not in self.lost for key in self.tools.continuing.get(number, ()))

    def why_unsendable(self, block: Json, position: Position) -> str | None:
        """Return why a block cannot be sent; no API accepts blank texts (rules X3 and A3)."""
        if block["type"] == "text":
            return None if block["text"].strip() else "a blank text"
        why = self.target.why_unsendable(block, position, self.model)
        return why or self.target.why_undeclared(block, self.settings.declared)
