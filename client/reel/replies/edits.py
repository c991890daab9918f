"""Pages of what calls read, wrote and ran."""

from __future__ import annotations

from reel.base.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Literal


class Edit(NamedTuple):
    r"""What a call did to a file, or in a shell.

    Args:
        id: the event of its message.
        agent: whose message it is.
        name: the name of that agent.
        title: its title.
        seq: the message.
        time: when it was added.
        live: whether the message is in the conversation now: neither undone, rewound, cleared nor compacted.
        call: the id of the call.
        deed: what it did.
        path: the file, or the directory of a command: absolute if that is known.
        status: the exit status of a command, if its result says it.
        answered: whether the call has a result; without one it counts as carried out.
        whole: whether ``after`` is the whole file.
        before: the text that was replaced, if the call has it; of a hunk with the lines around it.
        after: the text that was written, if the call has it.
        command: what was run.
        cut: whether one of these texts was longer than 64 kB.
        removed: whether the file was removed.
        sent: when it was said, if that was not when it was added.
        every: whether ``before`` was replaced wherever it was.
    """

    id: int
    agent: str
    name: str
    title: str | None
    seq: int
    time: int
    live: bool
    call: str
    deed: Literal["read", "wrote", "ran"]
    path: str
    status: int | None
    answered: bool
    whole: bool
    before: str | None = None
    after: str | None = None
    command: str | None = None
    cut: bool = False
    removed: bool = False
    sent: int | None = None
    every: bool = False


class EditsPage(NamedTuple):
    """A page of edits. It may have fewer than asked for, or none, although there are ``more``: it takes a second.

    ``next`` is the ``after`` of the next page. ``behind`` is how many events are not in the table of edits yet.
    """

    edits: list[Edit]
    more: bool
    behind: int
    next: str | None = None
