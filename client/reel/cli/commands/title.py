"""The command ``title``."""

from reel.cli.line.context import Context
from reel.reading.wording import flat


def title(ctx: Context) -> None:
    """Set an agent's title, or remove it."""
    before = ctx.client.agent(ctx.agent).title or ""
    info = ctx.client.change(ctx.agent, title=ctx.words[0], if_seq=ctx.args.if_seq)
    now = flat(info.title or "")
    ctx.report(info, f"{info.name}: {now or 'no title'}", "title", info.name, *_as_word(before))


def _as_word(text: str) -> list[str]:
    """Return a text as arguments, none of which can be mistaken for an option."""
    return ["--", text] if text.startswith("-") else [text]
