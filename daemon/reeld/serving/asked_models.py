"""Which model a conversation was last rendered for, until its answer is ingested.

The name that was asked for is often an alias of the one that answers, and both count as the same model (rule X16). A
client may name it with ``ingest``. If it does not, it is the model of the renderings since the last answer, provided
that they were all for one. With several it is not known whose answer comes, and to guess wrong would send a model what
another one signed.
"""

from collections import OrderedDict

# An agent's row in the database, and a format.
Key = tuple[int, str]

# Conversations; a render is usually followed by its answer within minutes.
ROOM = 10_000


class AskedModels:
    """The models of the renderings that were not answered yet.

    Args:
        room: how many conversations it remembers; the oldest are forgotten.
    """

    def __init__(self, room: int = ROOM) -> None:
        self._room = room
        self._asked: OrderedDict[Key, set[str | None]] = OrderedDict()

    def note(self, key: Key, model: str | None) -> None:
        """Note the model of a rendering; ``None`` if it is not known."""
        self._asked.setdefault(key, set()).add(model)
        self._asked.move_to_end(key)
        while len(self._asked) > self._room:
            self._asked.popitem(last=False)

    def take(self, key: Key) -> str | None:
        """Forget the renderings of a conversation; return their model if it is only one."""
        models = self._asked.pop(key, set())
        return models.pop() if len(models) == 1 else None
