"""Holds back what the framework keeps of an agent, if only a count is new, until the agent's next message is stored."""

from typing import Any, Final

from reel.integrations.newest import Newest

Json = dict[str, Any]

_WINDOW: Final = "conversation_manager_state"


class LateRecords:
    """The records that are stored with the next messages of their agents, by the agents' names.

    How many messages a window leaves out changes in each turn once it is full. A command for that alone takes a tenth
    of the turn. With an older number the next process reads the messages of one more turn, and leaves them out again.

    Of each agent, the first record since it was read is not late: however short processes live, what is stored is never
    more than one turn behind.

    Args:
        most: the number of agents that may have one.
    """

    def __init__(self, most: int) -> None:
        # ``None`` if the newest record of an agent is stored. One that is not here was read, and none was stored since.
        self._records = Newest[str, Json | None](most)

    def begin(self, name: str) -> None:
        """Note that an agent is read: what was late is left to whoever has read it."""
        self._records.pop(name, None)

    def end(self, name: str) -> None:
        """Note that the newest record of an agent was stored."""
        self._records[name] = None

    def drop(self, name: str) -> None:
        """Note that what is stored of an agent is its newest record again."""
        if name in self._records:
            self._records[name] = None

    def hold(self, name: str, record: Json, stored: Any) -> bool:
        """Hold a record back; return ``False`` if it is to be stored now.

        Args:
            name: the agent's name.
            record: what the framework keeps of the agent.
            stored: what is stored of it.
        """
        may_wait = name in self._records and _without_count(record) == _without_count(stored)
        if may_wait:
            self._records[name] = record
        return may_wait

    def get(self, name: str) -> Json | None:
        """Return the record that is to be stored with the next message of an agent; ``None`` if there is none."""
        return self._records.get(name)


def _without_count(record: Any) -> Any:
    """Return what the framework keeps of an agent, without its time and how many messages its window leaves out."""
    if not isinstance(record, dict) or not isinstance(window := record.get(_WINDOW), dict):
        return record
    return {**record, "updated_at": None, _WINDOW: {**window, "removed_message_count": None}}
