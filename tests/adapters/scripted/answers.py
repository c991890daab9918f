"""What a model says, as a script has it, whichever format it is sent in."""

from collections.abc import Sequence
from typing import Any, NamedTuple


class Thought(NamedTuple):
    """What the model thinks."""

    text: str


class Words(NamedTuple):
    """What the model says."""

    text: str


class Use(NamedTuple):
    """A call of a tool: its name, after its namespace and a slash if it has one, and its arguments."""

    name: str
    given: dict[str, Any]


class Shell(NamedTuple):
    """A call of the program's shell."""

    command: str


class Held(NamedTuple):
    """A text of which half arrives; then the connection stays open until the program closes it."""

    text: str


class Failure(NamedTuple):
    """An error instead of an answer."""

    status: int


Part = Thought | Words | Use | Shell | Held | Failure
Answer = Sequence[Part]
