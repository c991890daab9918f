"""A prompt in a conversation, with its slash commands: what ``chat`` and ``attach`` have in common."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from contextlib import ExitStack, suppress
from glob import glob

from reel.base.errors import ReelError
from reel.base.light_typing import TYPE_CHECKING
from reel.base.values import clean
from reel.cli.commands.edit import write_in_editor
from reel.cli.commands.shared.prompt import FENCE, Prompt
from reel.cli.commands.shared.question import Question
from reel.cli.commands.show import text_of
from reel.cli.line.arguments import UsageError
from reel.cli.line.names import short_name
from reel.cli.screen.output import cells_of
from reel.cli.screen.transcript import Transcript
from reel.reading.failures import explain
from reel.said.kinds import CONVERSATION
from reel.said.new_messages import text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import TypeAlias

    from reel.cli.line.context import Context
    from reel.cli.screen.output import Line
    from reel.replies import AgentInfo
    from reel.said.messages import Block, Message

    Commands: TypeAlias = "Mapping[str, tuple[str, Callable[[str], None]]]"

# How many messages are shown at the beginning, and how many of the user's are in the history.
_SHOWN = 2
_HISTORY = 200

_HELP = "Ctrl-D leaves, /help lists the commands"


class Quit(Exception):
    """The user leaves, or has to: there is an error.

    Args:
        error: the error.
    """

    def __init__(self, error: ReelError | None = None) -> None:
        super().__init__()
        self.error = error


class Talk(ABC):
    """A prompt in a conversation.

    Args:
        ctx: the command's context.
        info: the conversation.
        commands: the slash commands that only this prompt has.
    """

    def __init__(self, ctx: Context, info: AgentInfo, commands: Commands) -> None:
        self._ctx = ctx
        ctx.out.folds = True
        # By its id, because it may be renamed while it is open.
        self._agent, self._id = info.name, info.id
        self._shown = short_name(ctx.client, info.name)
        self._prompt = Prompt(ctx, self._offers)
        # What shows what others say.
        self._listening = ExitStack()
        # What goes with the next message.
        self._attached = Question()
        # The seq up to which everything was shown or said here.
        self._seen = 0
        self._commands: Commands = {
            **commands,
            "edit": ("write a message in your editor", self._edit),
            "attach": ("send a file with the next question: /attach FILE", self._attach),
            "clone": ("go on in a copy of this conversation: /clone [NAME]", self._clone),
            "system": ("show the system prompt, or set it: /system TEXT", self._system),
            "help": ("show this", self._help),
            "quit": ("leave; so does Ctrl-D", self._quit),
        }

    def run(self) -> None:
        """Read and answer until the user leaves.

        Raises:
            ReelError: it is not possible to go on.
        """
        self._begin()
        try:
            with self._listening:
                self._listen()
                while True:
                    with suppress(KeyboardInterrupt):  # one more, while the first is handled
                        self._go_on()
        except Quit as quits:
            if quits.error is not None:
                raise quits.error from None

    def _listen(self) -> None:
        """Show what others say in this conversation while a line is typed; nothing does so without readline."""
        self._listening.close()
        with suppress(ImportError):
            from reel.cli.commands.shared.arrivals import Arrivals  # noqa: PLC0415 - some have no readline

            coming = self._ctx.client.subscribe(self._id, self._seen, kinds=sorted(CONVERSATION))
            arrivals = self._listening.enter_context(Arrivals(coming, self._ctx.out, self._look))
            self._prompt.after_line = arrivals.pause

    def _go_on(self) -> None:
        """Read and answer once.

        Raises:
            Quit: the user leaves.
        """
        try:
            self._take(self._read(f"{self._shown}> "))
        except KeyboardInterrupt:
            self._ctx.out.line()
        except EOFError:
            self._ctx.out.line()
            raise Quit from None
        except (ReelError, UsageError, OSError) as error:
            self._ctx.out.warn(self._explained(error))

    def _read(self, label: str) -> str:
        """Return what is typed behind a label."""
        self._ctx.out.line()
        return self._prompt.read(label)

    def _explained(self, error: Exception) -> str:
        if isinstance(error, UsageError):
            return error.message
        if isinstance(error, ReelError):
            return explain(error, self._agent)
        filename = getattr(error, "filename", None)
        return f"{filename}: {getattr(error, 'strerror', error)}" if filename else str(error)

    def _heading(self, about: str) -> list[Line]:
        """Return what is told about the conversation, and how to leave: on one line if the terminal has room for it."""
        told: Line = [(about, "bold")]
        one = [*told, (f"  {_HELP}", "dim")]
        return [one] if cells_of(one) <= self._ctx.out.current_width() else [told, [(_HELP, "dim")]]

    def _begin(self) -> None:
        """Show where one is, and the end of the conversation; put what the user said into the history."""
        page = self._ctx.client.messages(self._id, last=_HISTORY)
        about = "  ".join([self._shown, *self._about(page.messages)])
        self._ctx.out.lines(self._heading(about))
        if page.messages:
            self._ctx.out.line()
            self._ctx.out.lines(self._laid_out(page.messages[-_SHOWN:]))
        self._seen = page.head
        asked = (message for message in page.messages if message["role"] == "user")
        self._prompt.prepare(filter(None, map(text_of, asked)))

    @abstractmethod
    def _about(self, messages: list[Message]) -> Iterable[str]:
        """Return what the first line says of the conversation."""

    @abstractmethod
    def _say(self, content: list[Block]) -> None:
        """Add a message of the user."""

    def _look(self) -> list[Line]:
        """Return what others have added since the last check."""
        page = self._ctx.client.messages(self._id, since=self._seen)
        self._seen = page.head
        return list(self._laid_out(page.messages))

    def _laid_out(self, messages: Iterable[Message]) -> Iterator[Line]:
        transcript = Transcript(self._ctx.out.width, self._ctx.clock, styled=self._ctx.out.colour)
        for message in messages:
            yield from transcript.message(message)

    def _offers(self, line: str) -> list[str]:
        """Return the lines that may complete one that begins with a slash."""
        name, space, rest = line.removeprefix("/").partition(" ")
        if not line.startswith("/"):
            return []
        if not space:
            return [f"/{known}" for known in self._commands if known.startswith(name)]
        return [f"/{name} {word}" for word in self._words(name, rest) if word.startswith(rest)]

    def _words(self, name: str, begun: str) -> Iterable[str]:
        """Return what may follow a slash command."""
        if name == "attach":
            return (f"{path}/" if os.path.isdir(path) else path for path in sorted(glob(f"{begun}*")))
        return ()

    def _take(self, said: str) -> None:
        """Carry out a command, or say what was typed."""
        if not said:
            return
        name, _, rest = said.removeprefix("/").partition(" ")
        if not said.startswith("/"):
            self._say_text(said)
        elif said.startswith("//"):
            self._say_text(said[1:])
        elif name in self._commands:
            self._commands[name][1](rest.strip())
        else:
            raise UsageError(f"no command /{name}; /help lists them, and a message that begins with / is written //")

    def _say_text(self, said: str) -> None:
        attached, self._attached = self._attached.blocks, Question()
        self._say([{"type": "text", "text": clean(said)[0]}, *attached])

    def _edit(self, _: str) -> None:
        said = write_in_editor(self._ctx, self._agent)
        if said is None:
            self._ctx.out.tell(("nothing was written", "dim"))
        else:
            self._say_text(said)

    def _attach(self, path: str) -> None:
        if not path:
            raise UsageError("/attach FILE: no file is named")
        self._attached.add_file(os.path.expanduser(path))
        self._ctx.out.tell((f"{os.path.basename(path)} goes with your next question", "dim"))

    def _clone(self, name: str) -> None:
        info = self._ctx.client.clone(self._id, name or None)
        self._ctx.out.tell((f"{info.name} is a copy of {self._agent}; you are in {info.name} now", "dim"))
        self._agent, self._id, self._seen = info.name, info.id, info.head
        self._shown = short_name(self._ctx.client, info.name)
        self._listen()

    def _system(self, prompt: str) -> None:
        if prompt:
            self._seen = self._ctx.client.add(self._id, [text("system", prompt)]).head
            self._ctx.out.tell(("the system prompt is set", "dim"))
            return
        now = self._ctx.client.agent(self._id).system
        self._ctx.out.lines([[line] for line in (now or "there is no system prompt").split("\n")])

    def _help(self, _: str) -> None:
        for name, (about, _run) in self._commands.items():
            self._ctx.out.tell((f"/{name:<8}", "bold"), about, hang=9)
        several = f"end a line with \\, press Alt-Enter, or put a line {FENCE} before and after"
        self._ctx.out.tell((f"{'several':<9}", "bold"), several, hang=9)
        self._ctx.out.tell((f"{'Ctrl-C':<9}", "bold"), self._on_interrupt, hang=9)

    @property
    @abstractmethod
    def _on_interrupt(self) -> str:
        """What Ctrl-C does."""

    def _quit(self, _: str) -> None:
        raise Quit
