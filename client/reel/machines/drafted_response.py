"""A provider's response while it arrives, and the drafts that show it to others meanwhile. No I/O."""

from reel import requests
from reel.base.errors import InvalidParams
from reel.base.values import clean
from reel.requests import Call
from reel.said.formats import Body, Format
from reel.streams.response import IncomingResponse

# Seconds between two drafts, and the length of the tail that a draft has: nobody reads more.
_DRAFT_INTERVAL = 0.1
_DRAFT_LENGTH = 1 << 16


class DraftedResponse:
    """A response for an agent.

    Args:
        agent: who gets it.
        format: the format of the provider.
    """

    def __init__(self, agent: str, format: Format) -> None:  # noqa: A002 - the protocol's name
        self.agent = agent
        self.incoming = IncomingResponse(format)
        self._next_draft = 0.0
        self._drafted = False
        self._shows_drafts = True

    def take_piece(self, piece: Body, now: float) -> tuple[str, Call[None] | None]:
        """Take a piece of the response; return the text that it adds, and the draft to send, if one is due.

        Args:
            piece: text or bytes as they were received, or an event or a response of a provider's SDK.
            now: a monotonic clock, in seconds.

        Raises:
            InvalidParams: the piece is something else.
        """
        try:
            added = self.incoming.feed(piece)
        except ValueError as error:
            raise InvalidParams(f"piece: {error}", field="piece") from None
        if not added or not self._shows_drafts or now < self._next_draft:
            return added, None
        self._next_draft, self._drafted = now + _DRAFT_INTERVAL, True
        return added, requests.draft(self.agent, clean(self.incoming.text[-_DRAFT_LENGTH:])[0])

    def stop_drafts(self) -> None:
        """Send no more drafts, because one was refused or the daemon is gone. Only the response matters."""
        self._shows_drafts = False

    def undraft(self) -> Call[None] | None:
        """Return the request that removes the draft, if there may be one."""
        return requests.draft(self.agent, "") if self._drafted else None
