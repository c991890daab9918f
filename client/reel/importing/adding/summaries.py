"""Summaries, and the messages that stay beside them.

A summary takes the place of what was said before it. What stays, the prompt and the messages that a tool kept, is said
again beside it: the log has these a second time, as copies, whose ids end with that of the summary.

The file of a fork has what was kept only there. The log of its origin has it before the summary as well, under the id
that it has in the file, and may have the copy.
"""

from collections.abc import Callable
from typing import Any

from reel.base.light_typing import NamedTuple
from reel.base.strict_json import Json
from reel.importing.adding.log import Log
from reel.importing.adding.places import Places
from reel.importing.steps import Part, Said


class Summary(NamedTuple):
    """A summary.

    Args:
        ref: its id in the log.
        line: its line in the source.
    """

    ref: str
    line: int

    def ref_of_copy(self, ref: str) -> str:
        """Return the id of the copy of a message."""
        return f"{ref}@{self.ref}"

    def prompt(self, prompt: Said) -> Said:
        """Return the copy of a prompt."""
        *before, last = prompt.parts
        return prompt._replace(parts=(*before, last._replace(ref=self.ref_of_copy(last.ref))))

    def copy(self, ref: str, message: Any) -> Said:
        """Return the copy of a message that is in the log.

        Args:
            ref: its id.
            message: the message, as it was read.
        """
        part, sent = Part(self.ref_of_copy(ref), message["content"]), message.get("sent", message["time"])
        return Said(message["role"], (part,), message["provider_metadata"], sent, self.line)

    def in_fork(self, said: Said, log: Log, places: Places, stored: Callable[[list[int]], list[Json]]) -> Said:
        """Return a message that was kept with the ids of its copy; any other one unchanged.

        Args:
            said: the message.
            log: what is known of the log.
            places: where messages are in it.
            stored: returns the blocks that messages have in it.
        """
        summary = places.of_message(self.ref)
        if summary is None:
            return said
        parts = tuple(part._replace(ref=self.ref_of_copy(part.ref)) for part in said.parts)
        copy = next((place for part in parts if (place := log.place_of(part.ref)) is not None), None)
        before = places.of_message(said.parts[-1].ref)
        if copy is None and (before is None or before > summary):
            return said
        blocks = [block for part in parts for block in part.blocks]
        if copy is not None and len(stored([copy])) >= len(blocks):
            # It was copied as a whole, under the id of its first part.
            parts = tuple(Part(part.ref, blocks) for part in parts if log.place_of(part.ref) == copy)
        return said._replace(parts=parts)
