"""The command ``attach``: a prompt in a conversation that something else answers, and what is said there as it comes.

As long as nothing is typed, the screen is that of ``follow``, with a prompt below it. The first key hands the prompt to
readline; then messages are shown as in ``chat``, and the rest when the line has ended.
"""

from __future__ import annotations

import sys

from reel import requests
from reel.base.errors import ReelError
from reel.base.ids import new_id
from reel.base.light_typing import TYPE_CHECKING
from reel.cli.commands.shared.live import PushPrinter, require_agent
from reel.cli.commands.shared.reconnecting import retry_until_running
from reel.cli.commands.show import transcript_for
from reel.cli.commands.talk import Quit, Talk
from reel.cli.line.arguments import UsageError
from reel.cli.line.exits import OK
from reel.cli.screen.full_screen import KeyPressed, cancellable_client, unechoed
from reel.cli.screen.output import is_interactive
from reel.reading.wording import count
from reel.wire.pushes import EventPush, ResetPush

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reel.cli.line.context import Context
    from reel.cli.screen.output import Line
    from reel.replies import AgentInfo
    from reel.said.messages import Block, Message, NewMessage
    from reel.wire.pushes import Push


def attach(ctx: Context) -> int:
    """Take part in a conversation until the user leaves."""
    if not is_interactive(sys.stdin, sys.stdout):
        raise UsageError("attach needs a terminal; in a script, use: reel follow, and reel add")
    info = ctx.client.agent(ctx.agent)
    # A lost connection is reported at once, and the retries are made here.
    ctx.client.give_up_after(0)
    _Attached(ctx, info).run()
    return OK


class _Attached(Talk):
    """One run of the command.

    Args:
        ctx: the command's context.
        info: the conversation.
    """

    def __init__(self, ctx: Context, info: AgentInfo) -> None:
        super().__init__(ctx, info, {"undo": ("undo the newest command, also of somebody else", self._undo)})
        self._client = cancellable_client(ctx.socket, [sys.stdin.fileno()])
        # The seqs of messages that are on the screen already: they were said here, or came while a line was typed.
        self._on_screen: set[int] = set()
        # Whether the daemon went away and has not come back.
        self._is_lost = False

    def _begin(self) -> None:
        super()._begin()
        self._follow()

    def _about(self, _: list[Message]) -> Iterator[str]:
        info = self._ctx.client.agent(self._id)
        yield count(info.messages, "message")
        if info.attached:
            yield f"{count(info.attached, 'other')} attached"

    @property
    def _on_interrupt(self) -> str:
        return "drop the line that was begun"

    def _follow(self) -> None:
        """Follow the conversation from what was shown of it."""
        ctx = self._ctx
        self._live = PushPrinter(ctx, ctx.client.agent(self._id), transcript_for(ctx, folds=True, continues=True))
        self._subscription = self._client.subscribe(self._id, self._seen)

    def _read(self, label: str) -> str:
        """Show what happens until a key is pressed, and return what is typed."""
        try:
            with unechoed(sys.stdin.fileno(), sys.stdout.fileno()):
                while True:
                    self._live.draw([("", ""), (label, "user")])
                    sys.stdout.flush()
                    push = retry_until_running(self._ctx, lambda: next(self._subscription), self._lose)
                    self._hear(push)
                    if self._is_lost:
                        self._is_lost = False
                        self._listen()
        except KeyPressed:
            return super()._read(label)
        except KeyboardInterrupt:
            if self._is_lost:  # no key is read while the daemon is waited for
                raise Quit from None
            raise
        except ReelError as error:  # there is nothing to follow any more
            self._ctx.out.transient(())
            raise Quit(error) from error

    def _lose(self) -> None:
        self._live.lose()
        self._is_lost = True

    def _hear(self, push: Push) -> None:
        """Show a push, unless it is on the screen already."""
        if isinstance(push, ResetPush):
            require_agent(self._ctx, self._agent, self._id)
        if not isinstance(push, EventPush):
            self._live.show(push)
            return
        self._seen = max(self._seen, push.seq)
        if push.seq in self._on_screen:
            self._on_screen.remove(push.seq)
            self._live.pass_over(push)
        else:
            self._live.show(push)

    def _look(self) -> list[Line]:
        page = self._ctx.client.messages(self._id, since=self._seen)
        news = [message for message in page.messages if message["seq"] not in self._on_screen]
        self._seen = page.head
        self._on_screen.update(message["seq"] for message in news)
        return list(self._laid_out(news))

    def _say(self, content: list[Block]) -> None:
        """Add the user's message; the daemon tells whatever answers."""
        message: NewMessage = {"role": "user", "content": content}
        # Under a key of its own, so that it is added once if the daemon goes away meanwhile.
        call = requests.add(self._id, [message], key=new_id())
        added = retry_until_running(self._ctx, lambda: self._ctx.client.call(call), self._live.lose)
        self._on_screen.update(range(added.first, added.head + 1))
        if added.first == self._seen + 1:  # nothing came before it that is not on the screen
            self._seen = added.head

    def _undo(self, _: str) -> None:
        self._ctx.client.undo(self._id, if_seq=self._seen)

    def _clone(self, name: str) -> None:
        super()._clone(name)
        self._subscription.close()
        self._on_screen.clear()
        self._follow()
