"""What the tools work with: the daemon, who asks, and what may go out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from reel.aio.client import Client
from reel.base.errors import NotFound
from reel.base.light_typing import NamedTuple
from reel.base.place import directories
from reel.mcp.answers.answer import beginning
from reel.mcp.answers.rendering import Look
from reel.mcp.roots import MOST_DIRECTORIES
from reel.mcp.tools.arguments import ToolError, shown
from reel.reading.wording import safe
from reel.replies import AgentInfo, AgentRow, AgentsPage

# The bytes of a directory that an answer names.
_DIRECTORY = 200
_ROWS = 50
# The tag of conversations that are in no answer, nor what was cloned from one.
PRIVATE = "private"
# What the daemon has to know so that no answer has what is private, or what models thought.
_NEEDED = {"without_tag", "thinking", "listed_dirs"}


class Desk(NamedTuple):
    """What one call works with.

    Args:
        client: the daemon.
        project: the directories of the caller's project, the one that it works in first; empty if it has none.
        mask: hides secrets in a text.
        environment: of the server.
        meta: what the client says beside the call.
        client_name: the name of the program that calls.
        is_newest: whether all that tools had written is read in.
    """

    client: Client
    project: tuple[str, ...]
    mask: Callable[[str], str]
    environment: Mapping[str, str]
    meta: Mapping[str, Any]
    client_name: str
    is_newest: bool = False

    def look(self, *, thinking: bool = False, at: int | None = None) -> Look:
        """Return how messages are shown."""
        return Look(self.mask, thinking, at)

    def scope(self, *, everywhere: bool) -> list[str] | None:
        """Return the directories of the conversations to look at: those of the project, or ``None`` for all.

        The project is the directories of the caller and what is below them, also in other worktrees of a repository.
        """
        if not self.project or everywhere:
            return None
        others = (each for place in self.project for each in directories(place))
        return list(dict.fromkeys([*self.project, *others]))[:MOST_DIRECTORIES]

    def where(self, *, everywhere: bool) -> str:
        """Return the words for that."""
        if not self.project or everywhere:
            return "everywhere"
        return f"in {beginning(safe(' and '.join(self.project)), _DIRECTORY)}"

    @property
    def hidden(self) -> str:
        """The tag of what is not shown.

        Raises:
            ToolError: the daemon cannot leave it out.
        """
        if self.client.server is None or _NEEDED.difference(self.client.server.features):
            raise ToolError(
                "this reeld is an older one, which shows what is private: ask the user to run reel stop once"
            )
        return PRIVATE

    async def written_here(self) -> list[AgentRow]:
        """Return the conversations of the caller's directories in which something happened last."""
        found: list[AgentRow] = []
        for directory in self.project:
            page = await self.list(order="updated", details=True, tags={"cwd": directory}, alive=True, limit=_ROWS)
            found += page.agents
        return found

    def called(self, name: str, agent: str) -> str:
        """Return the name of a conversation, or its id instead of a name with a secret: both can be passed back."""
        return name if self.mask(name) == name else agent

    async def list(self, **asked: Any) -> AgentsPage:
        """Return a page of the conversations that may be shown, as :meth:`reel.aio.client.Client.agents` does."""
        page = await self.client.agents(without_tag=self.hidden, **asked)
        return page._replace(agents=[row._replace(name=self.called(row.name, row.id)) for row in page.agents])

    async def look_up(self, name: str) -> AgentInfo | None:
        """Return the conversation with a name; ``None`` if it does not exist, or must not be shown."""
        try:
            found = await self.client.agent(name, self.hidden)
        except NotFound:
            return None
        return found._replace(name=self.called(found.name, found.id))

    async def find(self, name: str) -> AgentInfo:
        """Return a conversation.

        Raises:
            ToolError: no conversation has this name.
        """
        if not name:
            raise ToolError("name a conversation, as search and conversations print it")
        found = await self.look_up(name)
        if found is None:
            raise ToolError(
                f"there is no conversation {shown(name)}; call conversations, or search, for the names that exist"
            )
        return found
