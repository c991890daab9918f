"""The replies about requests and responses of providers."""

from __future__ import annotations

from reel.base.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from reel.replies.adding import Orphan
    from reel.replies.agents import OpenCall
    from reel.said.messages import NewMessage, NewRecord


class Change(NamedTuple):
    """One thing that was changed when a conversation was rendered, or a history loaded.

    ``seq`` is the message and ``block`` the block in it; ``None`` if the change is about no message, or about all of
    one. ``action`` is dropped, synthesized, merged, moved, renamed, downgraded or prefix_changed.
    """

    seq: int | None
    block: int | None
    action: str
    why: str


class Prefix(NamedTuple):
    """The items of a rendered history that no later message changes: how many, and a hash of them.

    ``body`` is a hash of all that is sent. Give the prefix to ``ingest`` with the answer: newer models bind their
    thinking to what was before it. A daemon that does not know that has none.
    """

    messages: int
    hash: str
    body: str = ""


class Rendered(NamedTuple):
    """A conversation as the body of a provider's request.

    ``body`` is JSON text. ``ready`` is whether it can be sent; if not, ``needs`` says what is missing. ``names`` maps
    the names under which tools are sent, if these differ, to their own. ``extends`` is whether the prefix that was
    given as ``after`` is unchanged. ``omitted`` is how many older changes ``report`` leaves out. ``betas`` are the
    names of betas that the request declares in its header (``anthropic-beta``), if it needs any. ``agent`` is the id of
    the agent, and ``newest`` the seq of the newest record, to give to ``ingest`` as ``if_stands``. An older
    daemon tells neither.
    """

    format: str
    at: int
    body: str
    report: list[Change]
    ready: bool
    prefix: Prefix
    needs: str | None = None
    names: dict[str, str] | None = None
    extends: bool | None = None
    omitted: int = 0
    betas: list[str] | None = None
    agent: str | None = None
    newest: int | None = None


class Parsed(NamedTuple):
    """What ``ingest`` would add of a response: the message, and the records beside it."""

    message: NewMessage
    records: list[NewRecord]


class Loaded(NamedTuple):
    """A history was added; ``report`` lists what was left out or changed."""

    agent: str
    head: int
    command: int
    time: int
    first: int
    orphans: list[Orphan]
    open_calls: list[OpenCall]
    report: list[Change]
    replaced: int = 0
    repeated: bool = False
    numbers_as_text: int = 0
