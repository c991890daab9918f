"""Positions in a conversation as they are typed: by number, or counted from the end.

``12`` and ``#12`` are the event with this seq. ``@last`` is the newest message; so are ``@`` and ``-``. ``@~2`` is the
message two before the newest, and so is ``~2``, which zsh would expand without quotes. No name of an agent begins like
one of these.
"""

import re
from argparse import ArgumentTypeError
from typing import TYPE_CHECKING, NamedTuple

from reel.cli.arguments import UsageError
from reel.values import MAX_INTEGER

if TYPE_CHECKING:
    from reel.sync.client import Client

_FORM = re.compile(r"#?(\d{1,16})|(?:@last|@|-)?~(\d{1,4})|@last|@|-")
FORMS = "12, #12, @last (the newest message) or @~2 (two before it)"


class FromEnd(NamedTuple):
    """A message, counted from the newest: how many come after it."""

    later: int


def parse_position(word: str) -> int | FromEnd | None:
    """Return a word as a seq or as a position from the end; ``None`` if it is neither."""
    found = _FORM.fullmatch(word)
    if found is None:
        return None
    if found[1] is None:
        return FromEnd(int(found[2] or 0))
    seq = int(found[1])
    return seq if seq <= MAX_INTEGER else None


def position(argument: str) -> int | FromEnd:
    """Return the value of an option as a position.

    Raises:
        ArgumentTypeError: it is none.
    """
    if (parsed := parse_position(argument)) is None:
        raise ArgumentTypeError(f"{argument!r} is not a position; write {FORMS}")
    return parsed


def absolute_position(argument: str) -> int:
    """Return the value of ``--if-seq``, which must not move with the conversation.

    Raises:
        ArgumentTypeError: it is not a number.
    """
    parsed = position(argument)
    if isinstance(parsed, FromEnd):
        raise ArgumentTypeError(f"{argument!r} would always be right; write the seq that you have read, such as 12")
    return parsed


def resolve_position(client: "Client", agent: str, position: int | FromEnd) -> int:
    """Return the seq of a position.

    Raises:
        UsageError: the conversation has no such message.
    """
    if not isinstance(position, FromEnd):
        return position
    wanted = position.later + 1
    messages = client.messages(agent, last=wanted).messages
    if len(messages) < wanted:
        has = f"only {len(messages)} messages" if messages else "no messages"
        raise UsageError(f"@~{position.later} is before the beginning: {agent} has {has}")
    return messages[0]["seq"]
