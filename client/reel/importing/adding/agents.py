"""Finds the agents of conversations: by their names, or by their tags if they were renamed."""

from pathlib import Path

from reel import requests
from reel.importing.adding.described import TAG
from reel.importing.adding.grouping import Grouping
from reel.importing.adding.log import Log
from reel.importing.adding.stored import Stored
from reel.importing.adding.target import Target, read_log
from reel.importing.values import digest
from reel.replies import AgentRow

# The tag that names the file of a conversation.
SOURCE = "source"


class Agents:
    """The agents that exist, and those that an import creates.

    Args:
        pipeline: the connection.
    """

    def __init__(self, pipeline: Grouping) -> None:
        self._pipeline = pipeline
        self._named: dict[str, AgentRow] = {}
        self._tagged: dict[str, AgentRow] = {}
        # The heads of agents, by their ids.
        self.heads: dict[str, int] = {}
        # The agents that the import created, by the names of their conversations.
        self.made: dict[str, str] = {}
        # The agents that the import has read a source into: what was listed of them may be old.
        self.touched: set[str] = set()
        # The files of conversations, by their names.
        self._files: dict[str, str] = {}

    def look(self) -> None:
        """List the existing agents."""
        for row in self._pipeline.iter_agents():
            self.heads[row.id] = row.head
            if row.alive or row.name not in self._named:
                self._named[row.name] = row
            if (conversation := row.tags.get(TAG)) is not None:
                self._tagged.setdefault(conversation, row)
                self._files.setdefault(conversation, row.tags.get(SOURCE, ""))

    def agent_of(self, name: str) -> str:
        """Return the agent of a conversation; empty if it has none."""
        return self.made.get(name) or (found.id if (found := self._find(name)) else "")

    def older(self, name: str) -> list[str]:
        """Return the agents that a conversation went on in before somebody changed them."""
        row = self._find(name)
        return [] if row is None else [each.id for each in self._one_after_the_other(name, row)[:-1]]

    def _find(self, name: str) -> AgentRow | None:
        return (self._named.get(name) or self._tagged.get(name)) if name else None

    def name_of_file(self, name: str, path: str) -> str:
        """Return the name of a conversation in a file: another one if there is one of this name in another file.

        A file that is gone was moved: its conversation goes on in this one.
        """
        names = [name, f"{name}-{digest(path)}"]
        own = [one for one in names if self._files.get(one) == path]
        free = [one for one in names if not Path(self._files.get(one, "")).is_file()]
        found = (own or free or names[-1:])[0]
        self._files[found] = path
        return found

    def target(self, name: str, parent: str, stored: Stored | None) -> Target | None:
        """Return the agent for a conversation; ``None`` if it was killed here.

        Args:
            name: the conversation.
            parent: the agent that it is a fork of.
            stored: takes note of what the messages of the agent say.
        """
        if (made := self.made.get(name)) is not None:
            return self._existing(name, self._row_of(made), stored)
        if (row := self._find(name)) is not None:
            return self._existing(name, row, stored) if row.alive else None
        if not parent:
            return Target(name, None, Log())
        return Target(name, None, read_log(self._pipeline, parent), parent, is_fork=True)

    def _row_of(self, agent: str) -> AgentRow:
        info = self._pipeline.call(requests.agent(agent))
        return AgentRow(info.id, info.name, info.title, info.tags, info.alive, info.head, info.created, info.updated)

    def _existing(self, name: str, row: AgentRow, stored: Stored | None) -> Target | None:
        """Return the agent, or a replacement for one that was changed here."""
        *before, last = self._one_after_the_other(name, row)
        if last.id in self.touched:
            last = self._row_of(last.id)
        next_name, older = f"{name}@{len(before) + 2}", tuple(each.id for each in before)
        if not last.alive:
            return None
        if not before and last.tags.get(TAG) != name:
            return Target(next_name, None, Log())
        log = read_log(self._pipeline, last.id, stored)
        if log.changed:
            return Target(next_name, None, log, last.id, stored=stored, older=older)
        return Target(last.name, last, log, stored=stored, older=older)

    def _one_after_the_other(self, name: str, first: AgentRow) -> list[AgentRow]:
        """Return the agents that a conversation went on in, one after the other, as each was changed here."""
        rows = [first]
        while (beside := self._named.get(f"{name}@{len(rows) + 1}")) is not None:
            rows.append(beside)
        return rows
