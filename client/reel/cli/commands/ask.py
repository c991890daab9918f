"""The command ``ask``: a question, and the answer to it."""

from typing import Any

from reel.base.light_typing import NamedTuple
from reel.base.place import tags_of_place
from reel.cli.commands.add import note_altered
from reel.cli.commands.shared.answering import Outcome, answer
from reel.cli.commands.shared.beginning import apply_template, opened, take_text
from reel.cli.commands.shared.question import read_question
from reel.cli.commands.shared.schema import read_schema, schema_fields, why_not_answer
from reel.cli.commands.shared.titling import title_conversation
from reel.cli.commands.shared.via import provider_of
from reel.cli.line.arguments import VARIABLE, UsageError
from reel.cli.line.context import Context
from reel.cli.line.exits import INTERRUPTED, OK, REFUSED
from reel.cli.screen.output import plain
from reel.reading.wording import seq_range
from reel.said.messages import Block, NewMessage


class Asked(NamedTuple):
    """A question in a conversation: the agent's id, the head, and whether it was there before."""

    agent: str
    head: int
    is_repeated: bool = False


def ask(ctx: Context) -> int:
    """Add a message, have it answered, and print the answer."""
    take_text(ctx)
    apply_template(ctx)
    schema = None if ctx.args.schema is None else read_schema(ctx.args.schema)
    provider = provider_of(ctx)
    if schema is not None:
        provider = provider._replace(extra={**schema_fields(provider.format, schema), **provider.extra})
    question = read_question(ctx)
    if not ctx.agent and not question.blocks:
        raise UsageError(f"no conversation was named, and ${VARIABLE} is not set; give a TEXT to begin a conversation")
    begun = opened(ctx)
    if begun is not None:
        ctx.use_as_agent(begun.name)
    agent = ctx.agent if begun is None else begun.id
    if question.blocks:
        # By its id from now on, because it may be renamed meanwhile.
        agent = add_question(ctx, agent, question.blocks, create=ctx.args.create, if_seq=ctx.args.if_seq).agent
        note_altered(ctx, question.replaced, 0)
    outcome = answer(ctx, agent, provider)
    if outcome.added is None:
        if outcome.status != INTERRUPTED and question.blocks:
            ctx.out.warn(f"only the question was added to {ctx.agent}; ask again with: {_again(ctx)}")
        return outcome.status or REFUSED
    if ctx.args.asks_for_title and outcome.status == OK:
        title_conversation(ctx, agent, provider)
    problem = None if schema is None or outcome.status else why_not_answer(outcome.text, schema)
    if ctx.out.as_json:
        ctx.out.document(_document(outcome))
    else:
        ctx.out.hint(f"{ctx.agent}: added {seq_range(outcome.added.first, outcome.added.head)}")
    if problem is not None:
        ctx.out.warn(f"the answer does not match the schema: {problem}")
        return REFUSED
    return outcome.status


def add_question(
    ctx: Context, agent: str, content: list[Block], *, create: bool = False, if_seq: int | None = None
) -> Asked:
    """Add the user's message, unless it is the newest already: then its answer has failed, and is asked for again."""
    if if_seq is None and (there := _newest(ctx, agent, create=create)) is not None and there.content == content:
        ctx.out.hint(f"{ctx.agent}: #{there.seq} is this question; asking again")
        return Asked(there.agent, there.head, is_repeated=True)
    message: NewMessage = {"role": "user", "content": content}
    tags = tags_of_place() if create else None
    added = ctx.client.add(agent, [message], create or None, tags=tags, if_seq=if_seq)
    note_altered(ctx, added.replaced, added.numbers_as_text)
    return Asked(added.agent, added.head)


class _Newest(NamedTuple):
    agent: str
    head: int
    seq: int
    content: list[Block]


def _newest(ctx: Context, agent: str, *, create: bool) -> _Newest | None:
    """Return the newest message of an agent if it is a user's."""
    if create and not ctx.client.has(agent):
        return None
    page = ctx.client.messages(agent, last=1)
    if not page.messages or page.messages[0]["role"] != "user":
        return None
    message = page.messages[0]
    return _Newest(page.agent, page.head, message["seq"], message["content"])


def _document(outcome: Outcome) -> dict[str, Any]:
    """Return what ``--json`` prints of an answer: the daemon's reply, and what a program wants of the answer."""
    more: dict[str, Any] = {"text": outcome.text, "calls": [call._asdict() for call in outcome.calls]}
    if outcome.model:
        more["model"] = outcome.model
    if outcome.tokens is not None:
        more["usage"] = outcome.tokens._asdict()
    if outcome.cut is not None:
        more["cut"] = outcome.cut
    return {**plain(outcome.added), **more}


def _again(ctx: Context) -> str:
    via = ["--via", ctx.args.via, *(["--format", ctx.args.format] if ctx.args.format else [])] if ctx.args.via else []
    dialect = ["--dialect", ctx.args.dialect] if ctx.args.dialect else []
    return ctx.command("ask", "-a", ctx.agent, *via, *dialect)
