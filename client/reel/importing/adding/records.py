"""Records beside a conversation: notes, states, interruptions, and the usage of answers.

They have no place in the conversation, so it does not matter where that is. Of an answer that was still being written,
the first count of its tokens is replaced (:mod:`reel.importing.adding.usages`).
"""

from reel import requests
from reel.base.strict_json import encode
from reel.importing.adding.log import ref_for
from reel.importing.adding.redactions import Redactions
from reel.importing.adding.usages import replacing
from reel.importing.adding.writer import Writer
from reel.importing.steps import Kept


class Records:
    """Adds the records of a conversation.

    Args:
        writer: writes the log.
        redactions: what was redacted in it.
    """

    def __init__(self, writer: Writer, redactions: Redactions) -> None:
        self._writer = writer
        self._redactions = redactions
        # Those that came before the agent existed: no agent is made of records alone.
        self._early: list[Kept] = []

    def keep(self, kept: Kept) -> bool:
        """Add a record, once there is an agent; return whether it says something new."""
        place = self._writer.log.place_of(kept.ref)
        if place is not None:
            return self._recount(kept, place)
        if self._writer.agent:
            self._put(self._redactions.of_record(kept))
        else:
            self._early.append(kept)
        return True

    def keep_early(self) -> int:
        """Add what came before there was an agent; return how many of it say nothing new."""
        early, self._early = self._early, []
        return sum(not self.keep(kept) for kept in early)

    def _recount(self, kept: Kept, first: int) -> bool:
        """Count the tokens of an answer again if its first count, at a seq, was made before it was complete."""
        is_usage = kept.kind == "usage" and self._writer.agent
        place = self._writer.log.usages.smaller(first, kept.data) if is_usage else None
        if place is None:
            return False
        self._writer.flush()
        for earlier in self._writer.ask(requests.history(self._writer.agent, since=place - 1, limit=1)).events:
            self._put(replacing(kept, ref_for(kept.ref), earlier), first)
        return True

    def _put(self, kept: Kept, first: int | None = None) -> None:
        """Add a record; ``first`` is the first count of the answer whose tokens it counts again, if it does so."""
        record = {"kind": kept.kind, "content": kept.content, "data_json": encode(kept.data, ascii_only=True)}
        seq = self._writer.put(record, kept.ref, kept, None, is_prompt=False)
        if seq is not None and kept.kind == "usage":
            self._writer.log.usages.add(seq if first is None else first, seq, kept.data)
