"""What a format is: the one table of properties and functions that each of the four fills in.

Repair asks a dialect what a provider takes; rendering asks it for the entries of the history list, one turn at a time.
A dialect's functions are pure: what they give depends on what they are given and on nothing else.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple, TypeAlias

from reeld.formats.model import Json, Piece, Turn
from reeld.formats.report import Action, Change

# Who holds a block: a role, or a tool's result, which some providers treat otherwise when it failed.
Holder: TypeAlias = Literal["user", "assistant", "result", "failed"]


class Pair(NamedTuple):
    """One half of two opaque blocks that go together or not at all: a server's tool call, or its result."""

    key: str
    is_call: bool


class Prompt(NamedTuple):
    """The system prompt in force: its text, and what its event's ``data_json`` has (a provider's own form of it)."""

    text: str
    seq: int
    data: Json


class Head(NamedTuple):
    """What stands before the turns: keys at the top of the body, and leading entries of the history list."""

    fields: Json
    entries: list[Json]


class Settings(NamedTuple):
    """What ``extra`` and the prompt leave for the history.

    Args:
        marks: how many cache marks it may set, where a provider counts them.
        thinking: whether the last turn may think, where it is the assistant's.
    """

    marks: int = 0
    thinking: bool = True


class Page:
    """What the entries of one rendering are written with.

    Args:
        model: the model that they are for, where it is known.
        marks: how many cache marks may still be set.
        thinking: whether the turn may have thinking in it.
    """

    __slots__ = ("marks", "model", "report", "thinking")

    def __init__(self, model: str | None, marks: int = 0) -> None:
        self.model = model
        self.marks = marks
        self.thinking = True
        self.report: list[Change] = []

    def note(self, piece: Piece, action: Action, why: str) -> None:
        """Report what happened to a block."""
        self.report.append(Change(piece.seq, piece.index, action, why))


class Dialect(NamedTuple):
    """A format.

    Args:
        provider: whose signatures and opaque blocks it takes: ``openai``, ``anthropic`` or ``gemini``.
        history: the key of the body that holds the list of entries.
        owned: the keys of the body that only the conversation may fill, ``history`` among them.
        has_model: whether the body names the model.
        alternates: whether user and assistant must take turns, the user first; an empty turn gets a placeholder.
        calls_last: whether nothing but calls may stand after a call in a turn.
        results_first: whether nothing may stand between a turn's calls and their results.
        refuses: why a block (not blank, no tool_call, no tool_result) cannot be sent from its holder to a model;
            ``None`` where it can.
        leads: whether a block belongs to the one after it, and so cannot be the last of a turn.
        pair: which half of a pair an opaque block is that ``refuses`` lets pass; ``None`` for all others.
        identity: the id of an opaque block of the assistant's that may stand in a history once only; ``None``: it has
            none.
        entries: the entries of the history list that a turn becomes. The user turn's answers come first.
        head: what the prompt becomes (``None``: there is none).
        settings: what ``extra`` and the prompt leave for the history.
        rename: ``extra`` with the names of its tools, and of the tool that it chooses, put through a function.
        objection: why ``extra`` cannot be sent with this history, given whether the first and the last step of the
            tool loop that it ends in begin with thinking (``None``: it ends in none).
        pauses: whether a turn that ends in a server's tool call is sent as it stands, to be gone on with.
    """

    provider: str
    history: str
    owned: frozenset[str]
    has_model: bool
    alternates: bool
    calls_last: bool
    results_first: bool
    refuses: Callable[[Json, Holder, str | None], str | None]
    leads: Callable[[Json], bool]
    pair: Callable[[Json], Pair | None]
    identity: Callable[[Json], str | None]
    entries: Callable[[Turn, Page], list[Json]]
    head: Callable[[Prompt | None, Page], Head]
    settings: Callable[[Json, Prompt | None], Settings]
    rename: Callable[[Json, Callable[[str], str]], Json]
    objection: Callable[[Json, tuple[bool, bool] | None], str | None]
    pauses: bool = False
