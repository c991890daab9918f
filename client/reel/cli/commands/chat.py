"""The command ``chat``: a prompt around ``ask``."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress

from reel.base.place import tags_of_place
from reel.cli.commands.ask import add_question
from reel.cli.commands.compact import KEPT, told
from reel.cli.commands.shared.account import account, fullness
from reel.cli.commands.shared.answering import answer
from reel.cli.commands.shared.aside import Unanswered
from reel.cli.commands.shared.compacting import put_summary
from reel.cli.commands.shared.provider import Provider
from reel.cli.commands.shared.titling import title_conversation
from reel.cli.commands.shared.tool_runs import ToolRuns, declared
from reel.cli.commands.shared.via import provider_of
from reel.cli.commands.show import text_of
from reel.cli.commands.talk import Talk
from reel.cli.line.arguments import UsageError
from reel.cli.line.context import Context
from reel.cli.line.exits import OK
from reel.cli.screen.output import Line
from reel.cli.screen.streamed import StreamedMarkdown
from reel.reading.wording import count, cut, flat
from reel.replies import AgentInfo
from reel.said.messages import Block, Message
from reel.said.tool_calls import ToolCall

# How many of the newest messages are looked at for the question that an answer belongs to.
_LOOKED_AT = 1000
# How much of a message that was taken back is shown, in columns.
_CUT = 60


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
    # Not if it is merely the beginning of another one's name: then that one would be talked in.
    if ctx.args.create and not ctx.client.has(ctx.agent):
        return ctx.client.create(ctx.agent, system=system, tags=tags_of_place())
    info = ctx.client.agent(ctx.agent)
    if system is not None:
        raise UsageError(f"{info.name} exists; change its prompt with /system, or leave out --system")
    return info


class _Chat(Talk):
    """One run of the command.

    Args:
        ctx: the command's context.
        info: the agent.
        provider: who answers.
    """

    def __init__(self, ctx: Context, info: AgentInfo, provider: Provider) -> None:
        commands = {
            "undo": ("take back the last question and its answer", self._undo),
            "retry": ("take the last answer back, if there is one, and ask again", self._retry),
            "model": ("show who answers, or ask another model: /model NAME", self._model),
            "via": ("let another provider answer: /via NAME", self._other),
            "result": ("give the results of the calls that wait for one", self._give_results),
            "compact": ("sum up all but the newest questions: /compact [WHAT NOT TO MISS]", self._compact),
        }
        super().__init__(ctx, info, commands)
        self._via: str | None = None
        self._provider = provider
        self._prompt.begun = ctx.begun
        self._tools = ToolRuns(ctx, self._prompt)
        # Whether others have done something since we did, and the user was not told yet.
        self._is_after_others = False
        # The heads before and after each question that was asked here and can still be undone.
        self._exchanges: list[tuple[int, int]] = []

    def _begin(self) -> None:
        super()._begin()
        if calls := self._ctx.client.open_calls(self._id):
            self._show_open(calls)

    def _about(self, messages: list[Message]) -> Iterator[str]:
        yield count(self._ctx.client.agent(self._id).messages, "message")
        yield self._who
        if messages and (full := fullness(self._ctx, self._id, self._provider.model)) is not None:
            yield full.short

    @property
    def _who(self) -> str:
        return self._provider.model or self._provider.format

    @property
    def _on_interrupt(self) -> str:
        return "end an answer; what has arrived is kept"

    def _show_open(self, calls: Iterable[ToolCall]) -> None:
        for call in calls:
            self._ctx.out.tell((call.name, "call"), (f"  {call.arguments_json}", ""), ("  waits for a result", "dim"))
        self._ctx.out.hint("/result gives the results; the model is told of those that have none when you go on")

    def _words(self, name: str, begun: str) -> Iterable[str]:
        known: dict[str, Iterable[str]] = {
            "model": self._ctx.settings.models,
            "via": self._ctx.settings.providers,
        }
        return known[name] if name in known else super()._words(name, begun)

    def _say(self, content: list[Block]) -> None:
        """Add a question, and have it answered."""
        self._show_others()
        before = self._seen
        self._tell_of_open_calls()
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
        if outcome.added.late:
            self._show_late(outcome.added.first)
        self._advance(outcome.added.head)
        if self._ctx.args.asks_for_title and outcome.cut is None:
            titled = title_conversation(self._ctx, self._id, self._provider)
            if titled is not None and titled.before == self._seen:
                self._advance(titled.head)
        self._ctx.out.tell((account(self._ctx, self._id, outcome, self._provider.model), "dim"))
        return bool(outcome.calls) and self._add_results(list(outcome.calls))

    def _show_late(self, first: int) -> None:
        """Show what others have said while an answer arrived, whose seq this is."""
        since = self._ctx.client.messages(self._id, since=self._seen).messages
        self._ctx.out.line()
        self._ctx.out.lines(self._laid_out(message for message in since if message["seq"] < first))
        self._ctx.out.line()

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
        before = self._seen
        lines = super()._look()
        if self._seen != before:
            # A restore would undo what others have done since.
            self._exchanges.clear()
            self._is_after_others = True
        return lines

    def _undo(self, _: str) -> None:
        client, out = self._ctx.client, self._ctx.out
        if self._show_others():
            out.tell(("others have done something since; /undo again takes back the newest command, theirs", "dim"))
            return
        if not self._exchanges:
            undone = client.undo(self._id, if_seq=self._seen)
            self._seen = undone.head
            out.tell((f"undid #{undone.undone}", "dim"))
            return
        before, after = self._exchanges.pop()
        question = client.messages(self._id, since=before, limit=1).messages
        self._advance(client.restore(self._id, before, if_seq=after).head)
        said = text_of(question[0]) if question else ""
        out.tell((cut(f"took back: {flat(said)}", _CUT), "dim"))

    def _retry(self, _: str) -> None:
        """Take back what followed the last question, and ask again."""
        if self._show_others():
            self._ctx.out.tell(("others have done something since; /retry again answers that", "dim"))
            return
        messages = self._ctx.client.messages(self._id, last=_LOOKED_AT).messages
        asked = max((place for place, message in enumerate(messages) if message["role"] == "user"), default=-1)
        if asked >= 0 and (answered := messages[asked + 1 :]):
            taken = self._ctx.client.add(self._id, [], from_=answered[0]["seq"], if_seq=self._seen)
            self._advance(taken.head)
            self._ctx.out.tell((f"took back {count(taken.dropped, 'message')}; the log keeps it", "dim"))
        self._answer()

    def _model(self, name: str) -> None:
        if name:
            self._provider = provider_of(self._ctx, self._via, name)
        self._ctx.out.tell((f"{self._who} answers, of {self._provider.name}", "dim"))

    def _other(self, name: str) -> None:
        if name:
            self._provider = provider_of(self._ctx, name)
            self._via = name
        self._model("")

    def _clone(self, name: str) -> None:
        super()._clone(name)
        self._exchanges.clear()

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
            self._ctx.out.tell(("others have written meanwhile; what they said is behind the summary", "dim"))
        self._seen = done.reply.head
        self._exchanges.clear()
        self._ctx.out.tell((f"{told(done)}; /undo takes that back", "dim"))

    def _system(self, prompt: str) -> None:
        super()._system(prompt)
        if prompt:
            self._exchanges.clear()
