"""Caches between requests: states of renderings, written items, earlier states, and what was rendered last."""

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Protocol

from reel.base.light_typing import NamedTuple

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


class Asked(NamedTuple):
    """What the renderings of a conversation since its last answer have in common; ``None`` if that is unknown.

    Args:
        model: the model that they were for.
        prefix: the hash of their bodies.
    """

    model: str | None = None
    prefix: str | None = None


class UnansweredRenderings:
    """What a conversation was last rendered as, and for which model, until its answer is ingested.

    The requested name is often an alias of the model that answers, and both count as the same model (rule X16). Newer
    models bind their thinking to the body that they answer (rule A8). A client may pass both to ``ingest``. Otherwise
    it is what the renderings since the last answer have in common. If they differ, it is unknown which one was
    answered, and a wrong guess would send a model what it refuses.

    Args:
        room: how many conversations it remembers; the oldest are forgotten.
    """

    def __init__(self, room: int = _ASKED_ROOM) -> None:
        self._room = room
        self._asked: OrderedDict[CacheKey, Asked] = OrderedDict()

    def note(self, key: CacheKey, asked: Asked) -> None:
        """Note a rendering."""
        before = self._asked.get(key, asked)
        self._asked[key] = Asked(*(old if old == new else None for old, new in zip(before, asked, strict=True)))
        self._asked.move_to_end(key)
        while len(self._asked) > self._room:
            self._asked.popitem(last=False)

    def take(self, key: CacheKey) -> Asked:
        """Forget the renderings of a conversation; return what they have in common."""
        return self._asked.pop(key, Asked())
