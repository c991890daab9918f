"""Which conversations a list has."""

from __future__ import annotations

from reel.base.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from reel.replies import AgentRow

# The tag with the directory of a conversation, as in `reel.base.place`, which takes 5 ms to import.
_DIRECTORY = "cwd"


class Wanted(NamedTuple):
    """The words of a query, and what its filters ask for.

    Args:
        words: what must be in the name, title or tags.
        names: the whole name, if one is asked for; several are never one.
        tags: the keys of tags, each with its value, or ``None`` for any.
        since: the earliest time of the last change, in milliseconds.
        until: the end of that time, excluded.
        places: the directories of which one is that of the conversation, or above it.
    """

    words: str = ""
    names: tuple[str, ...] = ()
    tags: tuple[tuple[str, str | None], ...] = ()
    since: int | None = None
    until: int | None = None
    places: tuple[str, ...] = ()

    @property
    def has_filters(self) -> bool:
        """Whether more than words is asked for."""
        return self != Wanted(self.words)

    def accepts(self, row: AgentRow) -> bool:
        """Return whether the filters accept a conversation."""
        return (
            all(name == row.name for name in self.names)
            and all(key in row.tags and value in (None, row.tags[key]) for key, value in self.tags)
            and (self.since is None or row.updated >= self.since)
            and (self.until is None or row.updated < self.until)
            and (not self.places or self._is_inside(row.tags.get(_DIRECTORY)))
        )

    def _is_inside(self, directory: str | None) -> bool:
        return directory is not None and any(
            directory == place or directory.startswith(f"{place.rstrip('/')}/") for place in self.places
        )
