"""The command ``chat``: a prompt around ``ask``."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from glob import glob

from reel.base.errors import NotFound, ReelError
from reel.base.values import clean
from reel.cli.commands.ask import add_question
from reel.cli.commands.compact import KEPT, told
from reel.cli.commands.edit import write_in_editor
from reel.cli.commands.shared.account import account, fullness
from reel.cli.commands.shared.answering import answer
from reel.cli.commands.shared.aside import Unanswered
from reel.cli.commands.shared.compacting import put_summary
from reel.cli.commands.shared.place import tags_of_place
from reel.cli.commands.shared.prompt import FENCE, Prompt
from reel.cli.commands.shared.provider import Provider
from reel.cli.commands.shared.question import Question
from reel.cli.commands.shared.titling import title_conversation
from reel.cli.commands.shared.tool_runs import ToolRuns, declared
from reel.cli.commands.shared.via import provider_of
from reel.cli.commands.show import text_of
from reel.cli.line.arguments import UsageError
from reel.cli.line.context import Context
from reel.cli.line.exits import OK
from reel.cli.line.names import short_name
from reel.cli.screen.output import Line
from reel.cli.screen.streamed import StreamedMarkdown
from reel.cli.screen.transcript import Transcript
from reel.reading.failures import explain
from reel.reading.wording import count, cut, flat
from reel.replies import AgentInfo
from reel.said.kinds import CONVERSATION
from reel.said.messages import Block, Message
from reel.said.new_messages import text
from reel.said.tool_calls import ToolCall

# How many messages are shown at the beginning, and how many of the user's are in the history.
_SHOWN = 2
_HISTORY = 200
# How many of the newest messages are looked at for the question that an answer belongs to.
_LOOKED_AT = 1000
# How much of a message that was taken back is shown, in columns.
_CUT = 60


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
        self._shown = short_name(ctx.client, info.name)
        self._via: str | None = None
        self._provider = provider
        self._prompt = Prompt(ctx, self._offers)
        self._tools = ToolRuns(ctx, self._prompt)
        # What shows what others say.
        self._listening = ExitStack()
        # What goes with the next question.
        self._attached = Question()
        # The seq up to which everything was shown or said here.
        self._seen = 0
        # Whether others have done something since we did, and the user was not told yet.
        self._is_after_others = False
        # The heads before and after each question that was asked here and can still be undone.
        self._exchanges: list[tuple[int, int]] = []
        self._commands: dict[str, tuple[str, Callable[[str], None]]] = {
            "undo": ("take back the last question and its answer", self._undo),
            "retry": ("take the last answer back, if there is one, and ask again", self._retry),
            "edit": ("write a message in your editor", self._edit),
            "attach": ("send a file with the next question: /attach FILE", self._attach),
            "model": ("show who answers, or ask another model: /model NAME", self._model),
            "via": ("let another provider answer: /via NAME", self._other),
            "result": ("give the results of the calls that wait for one", self._give_results),
            "compact": ("sum up all but the newest questions: /compact [WHAT NOT TO MISS]", self._compact),
            "clone": ("go on in a copy of this conversation: /clone [NAME]", self._clone),
            "system": ("show the system prompt, or set it: /system TEXT", self._system),
            "help": ("show this", self._help),
            "quit": ("leave; so does Ctrl-D", self._quit),
        }

    def run(self) -> None:
        """Read and answer until the user leaves."""
        self._begin()
        with suppress(_Quit), self._listening:
            self._listen()
            while True:
                with suppress(KeyboardInterrupt):  # one more, while the first is handled
                    self._go_on()

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
            _Quit: the user leaves.
        """
        try:
            self._ctx.out.line()
            self._take(self._prompt.read(f"{self._shown}> "))
        except KeyboardInterrupt:
            self._ctx.out.line()
        except EOFError:
            self._ctx.out.line()
            raise _Quit from None
        except (ReelError, UsageError, OSError) as error:
            self._ctx.out.warn(self._explained(error))

    def _explained(self, error: Exception) -> str:
        if isinstance(error, UsageError):
            return error.message
        if isinstance(error, ReelError):
            return explain(error, self._agent)
        filename = getattr(error, "filename", None)
        return f"{filename}: {getattr(error, 'strerror', error)}" if filename else str(error)

    def _begin(self) -> None:
        """Show where one is, and the end of the conversation; put what the user said into the history."""
        out, client = self._ctx.out, self._ctx.client
        page = client.messages(self._id, last=_HISTORY)
        about = [self._shown, count(client.agent(self._id).messages, "message"), self._who]
        if page.messages and (full := fullness(self._ctx, self._id, self._provider.model)) is not None:
            about.append(full.short)
        out.line(("  ".join(about), "bold"), ("  Ctrl-D leaves, /help lists the commands", "dim"))
        if page.messages:
            out.line()
            out.lines(self._laid_out(page.messages[-_SHOWN:]))
        self._seen = page.head
        asked = (message for message in page.messages if message["role"] == "user")
        self._prompt.prepare(filter(None, map(text_of, asked)))
        if calls := client.open_calls(self._id):
            self._show_open(calls)

    @property
    def _who(self) -> str:
        return self._provider.model or self._provider.format

    def _show_open(self, calls: Iterable[ToolCall]) -> None:
        for call in calls:
            self._ctx.out.line((call.name, "call"), (f"  {call.arguments_json}", ""), ("  waits for a result", "dim"))
        self._ctx.out.hint("/result gives the results; the model is told of those that have none when you go on")

    def _offers(self, line: str) -> list[str]:
        """Return the lines that may complete one that begins with a slash."""
        name, space, rest = line.removeprefix("/").partition(" ")
        if not line.startswith("/"):
            return []
        if not space:
            return [f"/{known}" for known in self._commands if known.startswith(name)]
        settings = self._ctx.settings
        words: Iterable[str] = ()
        if name == "attach":
            words = (f"{path}/" if os.path.isdir(path) else path for path in sorted(glob(f"{rest}*")))
        elif name == "model":
            words = settings.models
        elif name == "via":
            words = settings.providers
        return [f"/{name} {word}" for word in words if word.startswith(rest)]

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
        self._tell_of_open_calls()
        attached, self._attached = self._attached.blocks, Question()
        content: list[Block] = [{"type": "text", "text": clean(said)[0]}, *attached]
        asked = add_question(self._ctx, self._id, content)
        if not asked.is_repeated:
            self._exchanges.append((before, asked.head))
        self._seen = asked.head
        self._answer()

    def _tell_of_open_calls(self) -> None:
        """Name the open calls, which the next request closes: it tells the model that they have no result."""
        for call in self._ctx.client.open_calls(self._id):
            self._ctx.out.warn(f"{call.name} ({call.id}) gets no result; the model is told so")

    def _answer(self) -> None:
        """Have the conversation answered, and go on as long as the calls of the answers get their results."""
        calls = True
        while calls:
            calls = self._answer_once()

    def _answer_once(self) -> bool:
        """Have the conversation answered; return whether all calls of the answer have got a result."""
        self._ctx.out.line()
        tools = declared(self._ctx.settings.tools, self._provider.format)
        provider = self._provider._replace(extra={**tools, **self._provider.extra})
        try:
            outcome = answer(self._ctx, self._id, provider, StreamedMarkdown(self._ctx.out), tells_calls=False)
        finally:
            with suppress(OSError):  # the terminal was closed
                sys.stdout.flush()
        if outcome.added is None:
            self._ctx.out.hint("/retry asks again, /undo takes your message back")
            return False
        self._advance(outcome.added.head)
        if self._ctx.args.asks_for_title and outcome.cut is None:
            titled = title_conversation(self._ctx, self._id, self._provider)
            if titled is not None and titled.before == self._seen:
                self._advance(titled.head)
        self._ctx.out.line((account(self._ctx, self._id, outcome, self._provider.model), "dim"))
        return bool(outcome.calls) and self._add_results(list(outcome.calls))

    def _add_results(self, calls: list[ToolCall]) -> bool:
        """Add the results of calls; return whether each has one."""
        results = self._tools.results(calls)
        if results:
            self._advance(self._ctx.client.add(self._id, results).head)
        return len(results) == len(calls)

    def _give_results(self, _: str) -> None:
        calls = self._ctx.client.open_calls(self._id)
        if not calls:
            raise UsageError("no call waits for a result")
        if self._add_results(calls):
            self._answer()

    def _advance(self, head: int) -> None:
        """Take the head that we have moved to as the end of the last exchange."""
        self._seen, self._is_after_others = head, False
        if self._exchanges:
            self._exchanges[-1] = (self._exchanges[-1][0], head)

    def _show_others(self) -> bool:
        """Show what others have added and was not shown yet; return whether they have done anything since we did."""
        if lines := self._look():
            self._ctx.out.line()
            self._ctx.out.lines(lines)
        was_after_others, self._is_after_others = self._is_after_others, False
        return was_after_others

    def _look(self) -> list[Line]:
        """Return what others have added since the last check."""
        page = self._ctx.client.messages(self._id, since=self._seen)
        if page.head != self._seen:
            # A restore would undo what others have done since.
            self._exchanges.clear()
            self._seen, self._is_after_others = page.head, True
        return list(self._laid_out(page.messages))

    def _laid_out(self, messages: Iterable[Message]) -> Iterator[Line]:
        transcript = Transcript(self._ctx.out.width, self._ctx.clock, styled=self._ctx.out.colour)
        for message in messages:
            yield from transcript.message(message)

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
        """Take back what followed the last question, and ask again."""
        if self._show_others():
            self._ctx.out.line(("others have done something since; /retry again answers that", "dim"))
            return
        messages = self._ctx.client.messages(self._id, last=_LOOKED_AT).messages
        asked = max((place for place, message in enumerate(messages) if message["role"] == "user"), default=-1)
        if asked >= 0 and (answered := messages[asked + 1 :]):
            taken = self._ctx.client.add(self._id, [], from_=answered[0]["seq"], if_seq=self._seen)
            self._advance(taken.head)
            self._ctx.out.line((f"took back {count(taken.dropped, 'message')}; the log keeps it", "dim"))
        self._answer()

    def _edit(self, _: str) -> None:
        said = write_in_editor(self._ctx, self._agent)
        if said is None:
            self._ctx.out.line(("nothing was written", "dim"))
        else:
            self._ask(said)

    def _attach(self, path: str) -> None:
        if not path:
            raise UsageError("/attach FILE: no file is named")
        self._attached.add_file(os.path.expanduser(path))
        self._ctx.out.line((f"{os.path.basename(path)} goes with your next question", "dim"))

    def _model(self, name: str) -> None:
        if name:
            self._provider = provider_of(self._ctx, self._via, name)
        self._ctx.out.line((f"{self._who} answers, of {self._provider.name}", "dim"))

    def _other(self, name: str) -> None:
        if name:
            self._provider = provider_of(self._ctx, name)
            self._via = name
        self._model("")

    def _clone(self, name: str) -> None:
        info = self._ctx.client.clone(self._id, name or None)
        self._ctx.out.line((f"{info.name} is a copy of {self._agent}; you are in {info.name} now", "dim"))
        self._agent, self._id, self._seen = info.name, info.id, info.head
        self._shown = short_name(self._ctx.client, info.name)
        self._exchanges.clear()
        self._listen()

    def _compact(self, note: str) -> None:
        """Put a summary in the place of the beginning of the conversation; /undo takes it back."""
        self._show_others()
        try:
            done = put_summary(self._ctx, self._id, self._provider, keep=KEPT, note=note or None)
        except Unanswered as none:
            for line in (none.why, *none.details):
                self._ctx.out.warn(line)
            self._ctx.out.warn("nothing was changed")
            return
        if done.reply.first != self._seen + 1:
            self._ctx.out.line(("others have written meanwhile; what they said is behind the summary", "dim"))
        self._seen = done.reply.head
        self._exchanges.clear()
        self._ctx.out.line((f"{told(done)}; /undo takes that back", "dim"))

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
        several = f"end a line with \\, press Alt-Enter, or put a line {FENCE} before and after"
        self._ctx.out.line((f"{'several':<9}", "bold"), several)
        self._ctx.out.line((f"{'Ctrl-C':<9}", "bold"), "end an answer; what has arrived is kept")

    def _quit(self, _: str) -> None:
        raise _Quit
