"""Names of agents for the ids in replies and events: people call an agent by its name."""

from reel.errors import NotFound
from reel.sync.client import Client

# How many names a line lists.
_LISTED = 8


class Names:
    """Looks up names, each once.

    Args:
        client: asks the daemon.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._known: dict[str, str] = {}

    def of(self, agent: str) -> str:
        """Return the name of an agent, or its id if there is no such agent."""
        if agent not in self._known:
            try:
                self._known[agent] = self._client.agent(agent).name
            except NotFound:
                self._known[agent] = agent
        return self._known[agent]

    def listed(self, agents: list[str]) -> str:
        """Return the names of some agents, and how many more there are."""
        shown = ", ".join(self.of(agent) for agent in agents[:_LISTED])
        return f"{shown} and {len(agents) - _LISTED:,} more" if len(agents) > _LISTED else shown
