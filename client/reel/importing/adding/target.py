"""Where a conversation is imported to: an agent, and what its log says."""

from collections.abc import Iterator
from typing import Any

from reel import replies, requests
from reel.base.light_typing import NamedTuple
from reel.importing.adding.log import Log
from reel.importing.adding.pipeline import Commands
from reel.importing.adding.stored import Stored

# The name under which the importer's events are stored.
CLIENT = "reel import"


class Target(NamedTuple):
    """The agent that a conversation is imported into: an existing one, or one to be created.

    Args:
        name: the name of the agent.
        row: the agent, if it exists.
        log: the contents of its log, or of that of the agent from which it is cloned.
        origin: the agent to clone; empty for a new conversation.
        is_fork: whether the conversation is a fork that the tool made.
        stored: what the log says, if the source identifies messages by their position.
        older: the agents that the conversation went on in before somebody changed them.
    """

    name: str
    row: replies.AgentRow | None
    log: Log
    origin: str = ""
    is_fork: bool = False
    stored: Stored | None = None
    older: tuple[str, ...] = ()


def read_log(pipeline: Commands, agent: str, stored: Stored | None = None) -> Log:
    """Read an agent's log, including what it inherited.

    Args:
        pipeline: the connection.
        agent: the agent.
        stored: takes note of what the messages say.
    """
    log, events = Log(), _events(pipeline, agent)
    log.read(events if stored is None else stored.note(events), CLIENT)
    return log


def _events(pipeline: Commands, agent: str) -> Iterator[Any]:
    for page in pipeline.pages(requests.history(agent, inherited=True)):
        yield from page.events
