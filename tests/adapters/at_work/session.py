"""What a person does at a coding agent: asks, interrupts, forks, takes back, ends it.

Each agent is driven by the interface that its makers have for programs; Gemini CLI, which has none for that, in a
terminal.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.adapters.at_work.place import Place

# How long an agent may take to do what it is told with a signal or a key, before it is told again.
LAST = 10.0
# Between two looks at a file, or at a server that starts.
PAUSE = 0.1


class Session(ABC):
    """A session of an agent, at which somebody works.

    Args:
        program: the path of the agent.
        place: where it works.
        project: the directory.
        model: which of its models it asks.
    """

    # What reel calls the agent, and what its models are called.
    tool: str
    models: Sequence[str] = ("",)

    def __init__(self, program: str, place: Place, project: Path, model: str) -> None:
        self.program = program
        self.place = place
        self.project = project
        self.model = model

    @classmethod
    @abstractmethod
    def prepare(cls, place: Place) -> None:
        """Write the settings."""

    @abstractmethod
    def open(self) -> None:
        """Begin, or go on after :meth:`close` or :meth:`kill`."""

    @abstractmethod
    def ask(self, text: str) -> None:
        """Send a prompt."""

    @abstractmethod
    def finish(self) -> None:
        """Wait until the turn has ended."""

    @abstractmethod
    def interrupt(self) -> None:
        """Interrupt the turn, and wait until it has ended."""

    @abstractmethod
    def compact(self) -> None:
        """Sum up the conversation."""

    @abstractmethod
    def rewind(self) -> bool:
        """Take back the last turn, if there is one before it; return whether the agent deletes it."""

    @abstractmethod
    def fork(self) -> None:
        """Go on in a copy."""

    @abstractmethod
    def rename(self, title: str) -> None:
        """Give it a title."""

    @abstractmethod
    def close(self) -> None:
        """Let the agent end."""

    @abstractmethod
    def kill(self) -> None:
        """Kill the agent."""

    def sub_agent(self, word: str) -> tuple[str, dict[str, Any]] | None:  # noqa: ARG002 - the others need it
        """Return the call that lets a sub-agent work on a prompt; ``None`` if the agent has no sub-agents."""
        return None
