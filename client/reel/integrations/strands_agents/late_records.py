"""Holds back what the framework keeps of an agent, if only a count has grown, until its next message is stored."""

from typing import Any

from reel.base.light_typing import NamedTuple
from reel.integrations.newest import Newest
from reel.integrations.strands_agents.window import only_leaves_out_more

Json = dict[str, Any]


class LateRecord(NamedTuple):
    """What the framework keeps of an agent, and the seq of the record that it replaces."""

    record: Json
    replaces: int


class LateRecords:
    """The records that are stored with the next messages of their agents, by the agents' names.

    How many messages a window leaves out changes in each turn once it is full. A command for that alone takes a tenth
    of the turn. With a lower number the next process reads the messages of one more turn, and leaves them out again;
    with a higher one it would not read all, so a number that has become lower is not late.

    Of each agent, the first record since it was read is not late: however short processes live, what is stored is never
    more than one turn behind.

    Args:
        most: the number of agents that may have one.
    """

    def __init__(self, most: int) -> None:
        # The seq of the newest record that was stored, and the one that is late, if any. An agent that is not here was
        # read, and no record of it was stored since.
        self._records = Newest[str, tuple[int, Json | None]](most)

    def begin(self, name: str) -> LateRecord | None:
        """Forget an agent, whose next record is not late, and return what was late of it."""
        late = self.get(name)
        self._records.pop(name, None)
        return late

    def end(self, name: str, seq: int) -> None:
        """Note that the newest record of an agent was stored, at this seq."""
        self._records[name] = seq, None

    def drop(self, name: str) -> None:
        """Note that what is stored of an agent is its newest record again."""
        if name in self._records:
            self.end(name, self._records[name][0])

    def hold(self, name: str, record: Json, stored: Any) -> bool:
        """Hold a record back; return ``False`` if it is to be stored now.

        Args:
            name: the agent's name.
            record: what the framework keeps of the agent.
            stored: what is stored of it.
        """
        may_wait = name in self._records and only_leaves_out_more(stored, record)
        if may_wait:
            self._records[name] = self._records[name][0], record
        return may_wait

    def get(self, name: str) -> LateRecord | None:
        """Return the record that is to be stored with the next message of an agent; ``None`` if there is none."""
        replaces, record = self._records.get(name, (0, None))
        return None if record is None else LateRecord(record, replaces)
