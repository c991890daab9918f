"""The command ``chat``: a prompt around ``ask``.

It uses the standard library's readline: editing and history as in the shell, with the user's own ``~/.inputrc``, and
pasted lines stay together. prompt_toolkit edits several lines in place, but to import it takes three times as long as
to start Python (readline: 2 %), and it is 10 MB in two packages; ``/edit`` opens the user's editor for that. The
history is what the user said in the conversation, so it is in no file.
"""

import sys
from collections.abc import Callable, Iterable
from contextlib import suppress

from reel.base.errors import NotFound, ReelError
from reel.base.values import clean
from reel.cli.commands.ask import add_question
from reel.cli.commands.edit import write_in_editor
from reel.cli.commands.shared.answering import answer
from reel.cli.commands.shared.place import tags_of_place
from reel.cli.commands.shared.via import Provider, provider_of
from reel.cli.commands.show import text_of
from reel.cli.line.arguments import UsageError
from reel.cli.line.context import Context
from reel.cli.line.exits import OK
from reel.cli.screen.transcript import Transcript
from reel.reading.failures import explain
from reel.reading.wording import count, cut, flat, safe_lines
from reel.replies import AgentInfo
from reel.said.messages import Message
from reel.said.new_messages import text

try:
    import readline
except ImportError:  # a Python that was built without it
    readline = None  # type: ignore[assignment]

# How many messages are shown at the beginning, and how many of the user's are in the history.
_SHOWN = 2
_HISTORY = 200
# Two lines of this begin and end a message of several lines.
_FENCE = '"""'
# How much of a message that was taken back is shown, in columns.
_CUT = 60
# In bash's style: readline must not count what is between these as columns.
_HIDDEN_START, _HIDDEN_END = "\x01", "\x02"


class _Quit(Exception):
    """The user leaves."""


def chat(ctx: Context) -> int:
    """Talk to a model until the user leaves."""
    if not sys.stdin.isatty() or not ctx.out.terminal:
        raise UsageError("chat needs a terminal; in a script, use: reel ask")
    provider = provider_of(ctx)
    _Chat(ctx, _open(ctx), provider).run()
    return OK


def _open(ctx: Context) -> AgentInfo:
    """Return the agent to talk in; create it if none is named, or with ``--create``."""
    system = ctx.args.system
    if not ctx.agent:
        return ctx.client.create(system=system, tags=tags_of_place())
    try:
        info = ctx.client.agent(ctx.agent)
    except NotFound:
        if not ctx.args.create:
            raise
        return ctx.client.create(ctx.agent, system=system, tags=tags_of_place())
    if system is not None:
        raise UsageError(f"{info.name} exists; change its prompt with /system, or leave out --system")
    return info


class _Chat:
    """One run of the command.

    Args:
        ctx: the command's context.
        info: the agent.
        provider: who answers.
    """

    def __init__(self, ctx: Context, info: AgentInfo, provider: Provider) -> None:
        self._ctx = ctx
        # By its id, because it may be renamed while it is open.
        self._agent, self._id = info.name, info.id
        self._provider = provider
        # The seq up to which everything was shown or said here.
        self._seen = 0
        # The heads before and after each question that was asked here and can still be undone.
        self._exchanges: list[tuple[int, int]] = []
        self._commands: dict[str, tuple[str, Callable[[str], None]]] = {
            "undo": ("take back the last question and its answer", self._undo),
            "retry": ("have the last question answered, if it was not", self._retry),
            "edit": ("write a message in your editor", self._edit),
            "clone": ("go on in a copy of this conversation: /clone [NAME]", self._clone),
            "system": ("show the system prompt, or set it: /system TEXT", self._system),
            "help": ("show this", self._help),
            "quit": ("leave; so does Ctrl-D", self._quit),
        }

    def run(self) -> None:
        """Read and answer until the user leaves."""
        self._begin()
        with suppress(_Quit):
            while True:
                with suppress(KeyboardInterrupt):  # one more, while the first is handled
                    self._go_on()

    def _go_on(self) -> None:
        """Read and answer once.

        Raises:
            _Quit: the user leaves.
        """
        try:
            self._take(self._read())
        except KeyboardInterrupt:
            self._ctx.out.line()
        except EOFError:
            self._ctx.out.line()
            raise _Quit from None
        except (ReelError, UsageError) as error:
            said = error.message if isinstance(error, UsageError) else explain(error, self._agent)
            self._ctx.out.warn(said)

    def _begin(self) -> None:
        """Show where one is, and the end of the conversation; put what the user said into the history."""
        out, client = self._ctx.out, self._ctx.client
        page = client.messages(self._id, last=_HISTORY)
        about = [self._agent, count(client.agent(self._id).messages, "message"), self._provider.format]
        out.line(("  ".join(about), "bold"), ("  Ctrl-D leaves, /help lists the commands", "dim"))
        self._show(page.messages[-_SHOWN:])
        self._seen = page.head
        if readline is not None:
            if "libedit" not in (readline.__doc__ or ""):  # which has neither, and other words for what it has
                # Python turns it off for its own prompt, which takes one line. Then each pasted line is a question.
                readline.parse_and_bind("set enable-bracketed-paste on")
                # Alt-Enter begins a new line: "quoted insert" of a line feed.
                readline.parse_and_bind(r'"\e\C-m": "\C-v\C-j"')
            for message in page.messages:
                if message["role"] == "user" and (said := text_of(message)):
                    readline.add_history(safe_lines(said))

    def _read(self) -> str:
        """Read one message: a line, or several that end in a backslash or are between two lines of quotes."""
        self._ctx.out.line()
        line = self._prompt(f"{self._agent}> ")
        if line.strip() == _FENCE:
            return self._read_fenced()
        lines = [line]
        while lines[-1].endswith("\\"):
            lines[-1] = lines[-1][:-1]
            lines.append(self._prompt("... "))
        return "\n".join(lines).strip()

    def _read_fenced(self) -> str:
        lines: list[str] = []
        while (line := self._prompt("... ")).strip() != _FENCE:
            lines.append(line)
        return "\n".join(lines)

    def _prompt(self, label: str) -> str:
        sys.stdout.flush()
        styled = self._ctx.out.styled(label, "user")
        if styled != label and readline is not None:
            before, _, after = styled.partition(label)
            styled = f"{_HIDDEN_START}{before}{_HIDDEN_END}{label}{_HIDDEN_START}{after}{_HIDDEN_END}"
        return input(styled)

    def _take(self, said: str) -> None:
        """Carry out a command, or ask."""
        if not said:
            return
        name, _, rest = said.removeprefix("/").partition(" ")
        if not said.startswith("/"):
            self._ask(said)
        elif said.startswith("//"):
            self._ask(said[1:])
        elif name in self._commands:
            self._commands[name][1](rest.strip())
        else:
            raise UsageError(f"no command /{name}; /help lists them, and a message that begins with / is written //")

    def _ask(self, said: str) -> None:
        self._show_others()
        before = self._seen
        added = add_question(self._ctx, self._id, [{"type": "text", "text": clean(said)[0]}])
        self._exchanges.append((before, added.head))
        self._seen = added.head
        self._answer()

    def _answer(self) -> None:
        self._ctx.out.line()
        try:
            outcome = answer(self._ctx, self._id, self._provider)
        finally:
            sys.stdout.flush()
        if outcome.added is not None:
            self._advance(outcome.added.head)
        else:
            self._ctx.out.hint("/retry asks again, /undo takes your message back")

    def _advance(self, head: int) -> None:
        """Take the head that we have moved to as the end of the last exchange."""
        self._seen = head
        if self._exchanges:
            self._exchanges[-1] = (self._exchanges[-1][0], head)

    def _show_others(self) -> bool:
        """Show what others have added since the last check; return whether they have done anything."""
        page = self._ctx.client.messages(self._id, since=self._seen)
        self._show(page.messages)
        if page.head == self._seen:
            return False
        # A restore would undo what others have done since.
        self._exchanges.clear()
        self._seen = page.head
        return True

    def _show(self, messages: Iterable[Message]) -> None:
        transcript = Transcript(self._ctx.out.width, self._ctx.clock)
        for message in messages:
            self._ctx.out.line()
            self._ctx.out.lines(transcript.message(message))

    def _undo(self, _: str) -> None:
        client, out = self._ctx.client, self._ctx.out
        if self._show_others():
            out.line(("others have done something since; /undo again takes back the newest command, theirs", "dim"))
            return
        if not self._exchanges:
            undone = client.undo(self._id, if_seq=self._seen)
            self._seen = undone.head
            out.line((f"undid #{undone.undone}", "dim"))
            return
        before, after = self._exchanges.pop()
        question = client.messages(self._id, since=before, limit=1).messages
        self._advance(client.restore(self._id, before, if_seq=after).head)
        said = text_of(question[0]) if question else ""
        out.line((cut(f"took back: {flat(said)}", _CUT), "dim"))

    def _retry(self, _: str) -> None:
        self._show_others()
        self._answer()

    def _edit(self, _: str) -> None:
        said = write_in_editor(self._ctx, self._agent)
        if said is None:
            self._ctx.out.line(("nothing was written", "dim"))
        else:
            self._ask(said)

    def _clone(self, name: str) -> None:
        info = self._ctx.client.clone(self._id, name or None)
        self._ctx.out.line((f"{info.name} is a copy of {self._agent}; you are in {info.name} now", "dim"))
        self._agent, self._id, self._seen = info.name, info.id, info.head
        self._exchanges.clear()

    def _system(self, prompt: str) -> None:
        if prompt:
            self._seen = self._ctx.client.add(self._id, [text("system", prompt)]).head
            self._exchanges.clear()
            self._ctx.out.line(("the system prompt is set", "dim"))
            return
        now = self._ctx.client.agent(self._id).system
        self._ctx.out.lines([[line] for line in (now or "there is no system prompt").split("\n")])

    def _help(self, _: str) -> None:
        for name, (about, _run) in self._commands.items():
            self._ctx.out.line((f"/{name:<8}", "bold"), about)
        several = f"end a line with \\, press Alt-Enter, or put a line {_FENCE} before and after"
        self._ctx.out.line((f"{'several':<9}", "bold"), several)
        self._ctx.out.line((f"{'Ctrl-C':<9}", "bold"), "end an answer; what has arrived is kept")

    def _quit(self, _: str) -> None:
        raise _Quit
