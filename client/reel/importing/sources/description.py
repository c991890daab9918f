"""What a conversation is called, and the facts about it, which a source tells little by little."""

from collections.abc import Iterator

from reel.importing.steps import About, Source
from reel.importing.values import tags_of, title_of


class Description:
    """The title and the tags of the conversation of a source.

    Args:
        tool: the name of the tool.
        source: the source.
        part: the suffix of the conversation's name, if the source has several.
    """

    def __init__(self, tool: str, source: Source, part: str = "") -> None:
        self._part = part
        # The tags; empty values are no tags.
        self.facts: dict[str, str] = {"tool": tool, "source": source.path, **source.about}
        self._title = self._prompt = self._command = ""
        self._told: About | None = None

    def name(self, title: str) -> None:
        """Set the title that the tool gave, unless it is empty."""
        self._title = title_of(title) or self._title

    def prompt(self, text: str) -> None:
        """Take a prompt of the person: the first one is the title if the tool gave none, or the first command."""
        if text.startswith("/"):
            self._command = self._command or title_of(text)
        else:
            self._prompt = self._prompt or title_of(text)

    def begin(self) -> Iterator[About]:
        """Yield the description before the first step."""
        if self._told is None:
            yield from self.end()

    def end(self) -> Iterator[About]:
        """Yield the description if it has changed; nothing if there was no step."""
        if self._now() != self._told:
            yield self.tell()

    def tell(self) -> About:
        """Return the description: what follows belongs to this conversation."""
        self._told = self._now()
        return self._told

    def _now(self) -> About:
        return About(self._part, self._title or self._prompt or self._command, tags_of(**self.facts))

    @property
    def has_begun(self) -> bool:
        """Whether there was a step."""
        return self._told is not None
