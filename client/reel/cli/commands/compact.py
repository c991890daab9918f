"""The command ``compact``: a summary in place of the beginning of a conversation."""

from typing import Any

from reel.base.errors import NoSuchMark
from reel.cli.commands.shared.aside import Unanswered
from reel.cli.commands.shared.compacting import Compacted, put_summary
from reel.cli.commands.shared.via import provider_of
from reel.cli.line.arguments import UsageError
from reel.cli.line.context import Context
from reel.cli.line.exits import OK
from reel.cli.screen.output import plain
from reel.reading.wording import count
from reel.replies import AgentInfo

# How many of the newest questions stay as they are: what one is about to go on with.
KEPT = 2


def compact(ctx: Context) -> int:
    """Let a model sum up the beginning of a conversation, and put the summary in its place."""
    args = ctx.args
    if args.keep is not None and args.to is not None:
        raise UsageError("--keep and --to both say what stays; leave one of them out")
    provider = provider_of(ctx)
    info = ctx.client.agent(ctx.agent)
    if args.keep is not None and args.keep < 0:
        raise UsageError(f"--keep {args.keep}: write how many questions stay, 0 or more")
    mark = None if args.to is None else _mark(info, args.to)
    keep = 0 if mark is not None else KEPT if args.keep is None else args.keep
    try:
        done = put_summary(ctx, info.id, provider, keep=keep, mark=mark, note=args.note, if_seq=args.if_seq)
    except Unanswered as none:
        for line in (none.why, *none.details):
            ctx.out.warn(line)
        ctx.out.warn(f"{info.name} was not changed")
        return none.status
    ctx.report(
        _document(done) if ctx.out.as_json else done.reply,
        f"{info.name}: {told(done)}",
        "undo",
        info.name,
        destructive=True,
    )
    return OK


def _mark(info: AgentInfo, label: str) -> int:
    """Return the seq of the newest mark with a label.

    Raises:
        NoSuchMark: no mark has this label.
    """
    seqs = [mark.seq for mark in info.marks if mark.label == label]
    if not seqs:
        labels = list(dict.fromkeys(mark.label for mark in info.marks if mark.label is not None))
        there = f"; there are {', '.join(labels)}" if labels else ""
        raise NoSuchMark(f"no mark {label} in {info.name}{there}", labels=labels)
    return seqs[-1]


def told(done: Compacted) -> str:
    """Return in one line what became of a conversation."""
    tokens = "" if done.summary.tokens is None else f" of {done.summary.tokens.written:,} tokens"
    return f"{count(done.cut.summarized, 'message')} became a summary{tokens}; {done.cut.kept} stayed"


def _document(done: Compacted) -> dict[str, Any]:
    """Return what ``--json`` prints: the daemon's reply, and the summary."""
    more: dict[str, Any] = {"text": done.summary.text, "summarized": done.cut.summarized, "kept": done.cut.kept}
    if done.summary.model is not None:
        more["model"] = done.summary.model
    if done.summary.tokens is not None:
        more["usage"] = done.summary.tokens._asdict()
    return {**plain(done.reply), **more}
