"""The words of a person in a prompt, without what a tool put there."""

import re

# Tools put what they add between tags such as <system-reminder>; a person's own tags seldom have two words.
_ADDED = re.compile(r"<([a-z]+(?:[-_][a-z]+)+)>.*?(?:</\1>|\Z)", re.DOTALL)
# What Claude Code writes without tags: a warning before local commands, a mark, and the beginning of a summary.
_NOT_SAID = ("Caveat: ", "[Request interrupted", "This session is being continued from")
# No title needs more.
_LOOKED_AT = 1 << 16


def words_of_person(text: str) -> str:
    """Return what a person said in a prompt; empty if the tool wrote all of it."""
    said = _ADDED.sub(" ", text[:_LOOKED_AT]).strip()
    return "" if said.startswith(_NOT_SAID) else said


class FirstWords:
    """Finds what to call a conversation without a title: what a person said first, if other words come before that."""

    def __init__(self) -> None:
        self.is_found = self._is_needed = False
        # Empty if the first message of the conversation says it.
        self.title = ""

    def take(self, text: str, *, by_tool: bool) -> None:
        """Process the next prompt.

        Args:
            text: what it says.
            by_tool: whether its record says that the tool wrote it.
        """
        if self.is_found:
            return
        words = "" if by_tool else words_of_person(text)
        self._is_needed = self._is_needed or words != text.strip()
        if words:
            self.is_found = True
            self.title = words if self._is_needed else ""
