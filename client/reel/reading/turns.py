"""Where the newest turn of a conversation begins: with what a person has said.

Only the messages tell: programs store a turn step by step, and need not know of each other.
"""

from __future__ import annotations

from itertools import takewhile

from reel.base.light_typing import TYPE_CHECKING
from reel.reading.approvals import step_of
from reel.said.messages import COMPACTED

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from reel.said.messages import Event, Message

# The roles of messages that speak with more authority than the user (reel.providers.roles).
_INSTRUCTIONS = ("system", "developer")
# The blocks that a person says. Opaque ones are answers to a program, such as an approval.
_SAID = ("text", "media")


def newest_question(messages: Sequence[Message]) -> Sequence[Message]:
    """Return the newest message in which a person says something, and the user's messages right before it.

    The newest is first. Empty if nobody has said anything, or if a summary has replaced it.
    """
    asked = next((index for index in range(len(messages) - 1, -1, -1) if _is_question(messages[index])), -1)
    if asked < 0 or _is_summary(messages[asked]):
        return ()
    return [*takewhile(lambda message: message["role"] == "user" and not _is_summary(message), messages[asked::-1])]


def newest_summary(messages: Sequence[Message]) -> Message | None:
    """Return the newest summary among messages, or ``None``."""
    return next((message for message in reversed(messages) if _is_summary(message)), None)


def beginning(question: Sequence[Message], events: Iterable[Event]) -> int:
    """Return the seq of the first message that was added together with a question.

    Args:
        question: the question, and the user's messages right before it, the newest first.
        events: the log around them.
    """
    # A clone into an agent brings messages with seqs that others in its log may have.
    commands = {(event["seq"], event["time"]): (event["agent"], event["command"]) for event in events}
    found = [commands.get((message["seq"], message["time"])) for message in question]
    together = [*takewhile(lambda command: command is not None and command == found[0], found)]
    return question[max(len(together), 1) - 1]["seq"]


def added_by(question: Message, events: Sequence[Event]) -> tuple[int, bool] | None:
    """Return the command that added a question, and whether it has the state of a graph as well.

    ``None`` if no command of this log added it.

    Args:
        question: the question.
        events: the log from the first message on that was added with it.
    """
    key = (question["seq"], question["time"])
    added = next((event for event in events if (event["seq"], event["time"]) == key), None)
    if added is None:
        return None
    together = (event for event in events if (event["agent"], event["command"]) == (added["agent"], added["command"]))
    return added["command"], any(step_of(event)[0] for event in together)


def until(question: Message, messages: list[Message]) -> list[Message]:
    """Return the messages up to a question that may be stored there in another copy; none if it is not among them."""
    place = next((place for place in range(len(messages), 0, -1) if is_said_again(question, messages[place - 1])), 0)
    return messages[:place]


def is_said_again(one: Message, other: Message) -> bool:
    """Whether two messages are one that a framework has stored twice.

    What it has of them is equal, ids as well; it has nothing of its own of a message that others added.
    """
    items = [item for item in map(_item, (one, other)) if item is not None]
    is_equal = (one["role"], one["content"]) == (other["role"], other["content"])
    return is_equal and all(item == items[0] for item in items)


def _item(message: Message) -> object:
    """Return what a framework has of a message, without where its copies are; ``None`` if it has nothing."""
    item = message["provider_metadata"].get("item")
    return {key: value for key, value in item.items() if key != "copies"} if isinstance(item, dict) else None


def _is_question(message: Message) -> bool:
    metadata = message["provider_metadata"]
    if message["role"] != "user" or metadata.get("role") in _INSTRUCTIONS:
        return False
    if metadata.get(COMPACTED) is False:  # a summary of what was said elsewhere
        return False
    return any(block["type"] in _SAID for block in message["content"])


def _is_summary(message: Message) -> bool:
    """Whether a message stands for what was said before it."""
    return bool(message["provider_metadata"].get(COMPACTED))
