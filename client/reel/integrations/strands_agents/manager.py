"""A session manager of Strands Agents whose sessions are in the daemon. docs/frameworks.md has an example."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from strands.session.repository_session_manager import RepositorySessionManager
from strands.types.session import SessionAgent

from reel.integrations.strands_agents.repository import ReelSessionRepository

if TYPE_CHECKING:
    from strands import Agent


class ReelSessionManager(RepositorySessionManager, ReelSessionRepository):  # type: ignore[misc]  # the types are not read
    """Keeps a session, for ``Agent(session_manager=ReelSessionManager("demo"))``.

    Like the framework's own managers, it is its repository as well. A conversation that was begun in an editor, or
    imported, goes on: the framework has stored nothing beside it, and would begin a new one.

    Args:
        session_id: the id of the session, without path separators.
        socket: the socket of the daemon. Default: ``$REEL_SOCKET``, else the usual one.
        autostart: start a daemon if none answers.
        prefix: the prefix of the agents' names; the session and the agent follow.

    Raises:
        InvalidParams: the prefix is not valid in an agent's name.
        ValueError: the id has a path separator.
    """

    def __init__(
        self, session_id: str, *, socket: str | None = None, autostart: bool = False, prefix: str = "strands/"
    ) -> None:
        ReelSessionRepository.__init__(self, socket=socket, autostart=autostart, prefix=prefix)
        RepositorySessionManager.__init__(self, session_id, session_repository=self)

    def initialize(self, agent: Agent, **kwargs: Any) -> None:
        """Load the conversation of an agent, or begin one."""
        self.adopt_agent(self.session_id, SessionAgent.from_agent(agent))
        super().initialize(agent, **kwargs)
