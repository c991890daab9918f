"""Which agent is meant by what was typed, if it is no agent's name: a short form, or the beginning of a name."""

from __future__ import annotations

from reel import requests
from reel.base.errors import InvalidParams, NotFound
from reel.base.light_typing import TYPE_CHECKING
from reel.reading.short_names import digits_of

if TYPE_CHECKING:
    from reel.replies import Hello
    from reel.sync.methods import Methods

# How many names a refusal lists.
_SHOWN = 6
# How much two names have in common if one is a slip of the other, from 0 to 1; in a long one, how many letters differ.
_ALIKE = 0.7
_SLIPS = 3


class Meant:
    """Finds the agents that may be meant: one bounded page for a short form, and one for the beginning of a name.

    Args:
        client: asks the daemon.
        server: what the daemon said of itself.
    """

    def __init__(self, client: Methods, server: Hello | None) -> None:
        self._client = client
        self._knows_forms = server is not None and "short_names" in server.features

    def only(self, typed: str, refused: NotFound) -> str:
        """Return the name that is meant; killed agents count only if no live one matches.

        Raises:
            NotFound: no name matches, or several do; those are in the error's ``data``.
        """
        names = self._names(typed, alive=True) or self._names(typed, alive=False)
        if len(names) == 1:
            return names[0]
        if not names:
            raise self._with_suggestion(typed, refused)
        shown = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
        how = "begin so" if all(name.startswith(typed) for name in names) else "are meant by it"
        raise NotFound(f"no conversation {typed}, but several names {how}: {shown}", candidates=names)

    def with_whole_name(self, typed: str, refused: NotFound) -> NotFound:
        """Return an error that says which agent may be meant, if there is one."""
        names = self._names(typed, alive=True)
        if not names:
            return self._with_suggestion(typed, refused)
        if len(names) > 1:
            return refused
        how = "begins so" if names[0].startswith(typed) else "is meant by it"
        return NotFound(
            f"no conversation {typed}, but {names[0]} {how}; in a script, a command that changes something needs the"
            " whole name",
            candidates=names,
        )

    def _names(self, typed: str, *, alive: bool) -> list[str]:
        """Return the names that a short form stands for, else those that begin with what was typed."""
        most = _SHOWN + 1
        pages = [requests.agents(prefix=typed, alive=alive, limit=most)]
        if self._knows_forms and digits_of(typed):
            # This first: the names of sub-agents begin like that of their conversation.
            pages.insert(0, requests.agents(short=typed, alive=alive, limit=most))
        for page in pages:
            try:
                found = self._client.call(page).agents
            except InvalidParams:
                return []  # no name begins like this
            if found:
                return sorted({row.name for row in found})
        return []

    def _with_suggestion(self, typed: str, refused: NotFound) -> NotFound:
        """Return the error with the name that was probably meant, of those that changed last."""
        from difflib import get_close_matches  # noqa: PLC0415 - only after a typing error

        names = [row.name for row in self._client.agents(alive=True, order="updated").agents]
        near = get_close_matches(typed, names, 1, max(_ALIKE, 1 - _SLIPS / len(typed)))
        if not near:
            return refused
        what, then, remedy = refused.message.partition("; ")
        return NotFound(f"{what} (did you mean {near[0]}?){then}{remedy}", **refused.data)
