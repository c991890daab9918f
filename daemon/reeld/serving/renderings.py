"""Caches between requests: states of renderings, written items, earlier states, and the models of renderings."""

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from reeld.formats.render_state import RenderState

# An agent's row in the database, and a format or another kind of entry.
CacheKey = tuple[int, str]

# Bytes: about ten long conversations.
_CACHE_ROOM = 64 << 20
# Conversations; a render is usually followed by its answer within minutes.
_ASKED_ROOM = 10_000


class Kept(Protocol):
    """An entry of the cache, which knows its size."""

    @property
    def size(self) -> int:
        """The bytes."""
        ...


class RenderCache:
    """Keeps the state of incremental renderings, written items, and earlier states, the most recently used.

    An entry may be gone the next time.

    Args:
        room: how many bytes it holds.
    """

    def __init__(self, room: int = _CACHE_ROOM) -> None:
        self.size = 0
        # How many renderings were found here, and how many were not.
        self.hits = self.misses = 0
        # Counts the calls of ``forget``: a rendering of a conversation that was read before the last one is not kept.
        self.age = 0
        self._room = room
        self._entries: OrderedDict[CacheKey, tuple[Kept, int]] = OrderedDict()

    def pop(self, key: CacheKey) -> "RenderState | None":
        """Take out the state of a rendering, as :meth:`take` does, and count whether it was here."""
        state: RenderState | None = self.take(key)
        if state is None:
            self.misses += 1
        else:
            self.hits += 1
        return state

    def take(self, key: CacheKey) -> Any:
        """Take an entry out; it belongs to the caller until it is put back, because it is changed when it is used."""
        state, size = self._entries.pop(key, (None, 0))
        self.size -= size
        return state

    def forget(self, rows: set[int] | None = None) -> None:
        """Drop the entries of some agents, or of all, including those that were taken out."""
        self.age += 1
        for key in [key for key in self._entries if rows is None or key[0] in rows]:
            self.take(key)

    def put(self, key: CacheKey, state: Kept, age: int) -> None:
        """Put an entry in, and drop the least recently used ones if there are too many.

        Args:
            key: whose entry it is.
            state: the entry.
            age: the age when the conversation was read; if something was forgotten since, the entry is not kept.
        """
        self.take(key)
        # An empty entry saves nothing, and any number of them would fit.
        if age != self.age or not state.size:
            return
        self._entries[key] = state, state.size
        self.size += state.size
        while self.size > self._room:
            _, (_, size) = self._entries.popitem(last=False)
            self.size -= size


class AskedModels:
    """Which model a conversation was last rendered for, until its answer is ingested.

    The requested name is often an alias of the model that answers, and both count as the same model (rule X16). A
    client may pass it to ``ingest``. Otherwise it is the model of the renderings since the last answer, if all of them
    were for the same one. With several models it is unknown which one answered, and a wrong guess would send one model
    what another one signed.

    Args:
        room: how many conversations it remembers; the oldest are forgotten.
    """

    def __init__(self, room: int = _ASKED_ROOM) -> None:
        self._room = room
        self._asked: OrderedDict[CacheKey, set[str | None]] = OrderedDict()

    def note(self, key: CacheKey, model: str | None) -> None:
        """Note the model of a rendering; ``None`` if it is not known."""
        self._asked.setdefault(key, set()).add(model)
        self._asked.move_to_end(key)
        while len(self._asked) > self._room:
            self._asked.popitem(last=False)

    def take(self, key: CacheKey) -> str | None:
        """Forget the renderings of a conversation; return their model if it is only one."""
        models = self._asked.pop(key, set())
        return models.pop() if len(models) == 1 else None
