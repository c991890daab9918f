"""A run: the longest row of writes in an agent's mailbox, staged over its committed state as one transaction."""

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from reel.base.errors import ReelError
from reeld.agents.clock import now
from reeld.agents.idempotency import key_row
from reeld.agents.jobs import Job, Write, WriteTexts
from reeld.agents.packing import loop_packer
from reeld.core.commands import add_texts
from reeld.core.stage import NotInMemory, Reply, Stage
from reeld.core.state import State
from reeld.store.transactions import Key, Transaction, one_write

# So many references and values are looked for in one transaction, 50 us each: nothing else happens in the event loop
# meanwhile.
_MOST_LOOKED_UP = 64


class Run:
    """The writes of one transaction.

    Args:
        state: the committed state, over which they are staged.
    """

    def __init__(self, state: State) -> None:
        self._row = state.profile.row
        self._stage = Stage(state, now(), loop_packer.pack)
        self._keys: list[Key] = []
        # The writes, and the reply of each: a list of replies for texts.
        self.staged: list[tuple[Write | WriteTexts, Any]] = []
        # How many commands they are.
        self.commands = 0

    @property
    def writes(self) -> list[Write | WriteTexts]:
        """The writes that are staged."""
        return [write for write, _ in self.staged]

    def fill(self, mailbox: deque[Job], most: int) -> Iterator[tuple[Write | WriteTexts, ReelError]]:
        """Take the writes at the front of a mailbox, up to so many commands; yield those that are refused at once."""
        while mailbox and self.commands < most and self._stage.looked_up < _MOST_LOOKED_UP:
            write = mailbox[0]
            if not isinstance(write, (WriteTexts, Write)):
                return
            try:
                self._stage_next(write)
            except NotInMemory:
                assert isinstance(write, Write) and write.apart is not None, "only these look back"  # noqa: S101, PT018
                mailbox[0] = write.apart()
                return
            except ReelError as error:
                if self.staged:
                    # The cause may be in this very run: a head that it moves, or a key that it repeats. Commit what
                    # there is, and stage this command again.
                    return
                mailbox.popleft()
                yield write, error
                continue
            mailbox.popleft()

    def _stage_next(self, write: Write | WriteTexts) -> None:
        if isinstance(write, WriteTexts):
            self.staged.append((write, self._stage_texts(write)))
            self.commands += len(write.texts)
        else:
            self.staged.append((write, self._stage_write(write)))
            self.commands += 1

    def _stage_texts(self, write: WriteTexts) -> Sequence[Reply | bytes]:
        self._stage.client = write.client
        command = self._stage.head
        replies = add_texts(self._stage, write.texts)
        write.on_staged(self._row)
        if any(write.keys):
            for key, reply in zip(write.keys, replies, strict=True):
                command += 1
                if key is not None:
                    self._keys.append(key_row(key, self._row, reply, command))
        return replies

    def _stage_write(self, write: Write) -> Reply | bytes:
        stage, options = self._stage, write.options
        stage.client = options.client
        if options.if_seq is not None:
            stage.require_head(options.if_seq)
        command = stage.head + 1
        reply = write.stage(stage)
        if options.key is not None:
            self._keys.append(key_row(options.key, self._row, reply, command))
        return reply

    def transaction(self) -> Transaction:
        """Return what is committed."""
        return one_write(self._stage.profile, self._stage.events, self._keys)
