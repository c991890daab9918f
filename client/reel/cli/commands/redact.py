"""The command ``redact``: texts are replaced by a marker, for good."""

import re
from typing import Any

from reel.cli.commands.shared.copies import OTHERS, VALUES, are_in_title, records_with, words_of
from reel.cli.commands.shared.erasing import NAME_THEM, agreed, backups_of, tell_backups, warn_of_backups
from reel.cli.commands.shared.imported_versions import versions_of, with_texts, with_words
from reel.cli.commands.shared.origins import erase_originals_of, imported_among
from reel.cli.line.arguments import UsageError
from reel.cli.line.context import Context
from reel.cli.line.exits import OK, REFUSED
from reel.cli.line.names import Names
from reel.reading.wording import count
from reel.replies import Redacted

# Matches that are shown, and characters of each.
_SHOWN = 20
_WIDTH = 60


def redact(ctx: Context) -> int:
    """Replace texts, or events, by a marker."""
    args = ctx.args
    if sum(map(bool, (args.match, args.text, args.seq))) != 1:
        raise UsageError("name what to redact with --match, --text or --seq: one of them")
    versions, elsewhere = versions_of(ctx, ctx.agent, args.seq or [])
    asked = [*(args.seq or ()), *versions]
    words = words_of(ctx, ctx.agent, asked)
    seqs = [*asked, *records_with(ctx, ctx.agent, words, *VALUES)]
    what: dict[str, Any] = {"seqs": seqs or None, "text": args.text, "pattern": _compiled(args.match)}
    how: dict[str, Any] = {"backups": backups_of(ctx), "if_seq": args.if_seq}
    tried = ctx.client.redact(ctx.agent, **what, **how, dry_run=True)
    if args.match:  # redact exactly what was shown, and nothing that arrives meanwhile
        what = {"text": list(tried.texts)}
        if not ctx.out.as_json:
            _show(ctx, what["text"])
    if not (tried.redacted or tried.affected or how["backups"]):
        return _nothing(ctx, tried)
    if versions and not ctx.out.as_json:
        ctx.out.line(f"other versions that imports have added go as well: {_listed(versions)}")
    if args.dry_run:
        _tell(ctx, tried, "would be redacted")
    if args.dry_run or not args.yes:
        warn_of_backups(ctx, NAME_THEM)
    if args.dry_run:
        return OK
    if not agreed(ctx, f"Redact {count(tried.redacted, 'event')} for good?"):
        return REFUSED
    done = ctx.client.redact(ctx.agent, **what, **how)
    _tell(ctx, done, "redacted")
    _tell_of_others(ctx, records_with(ctx, ctx.agent, words, *OTHERS))
    _tell_of_titles(ctx, done, words)
    for agent, left in with_words(ctx, elsewhere):
        _tell_of_another(ctx, agent, left, [part for seq in left[:_SHOWN] for part in ("--seq", str(seq))])
    for agent, left in with_texts(ctx, ctx.agent, [args.text] if args.text else tried.texts):
        _tell_of_another(ctx, agent, left, ["--text", "WORDS"])
    if done.redacted:
        erase_originals_of(ctx, imported_among(ctx, done.affected))
    # A pattern would find nothing any more.
    again = "repeat it with --text and --backup FILE" if args.match else "repeat it with --backup FILE"
    warn_of_backups(ctx, f"{again}, or remove them")
    return OK


def _nothing(ctx: Context, tried: Redacted) -> int:
    if ctx.out.as_json:
        ctx.out.document(tried)
    else:
        ctx.out.line("there is nothing to redact")
    return OK


def _tell(ctx: Context, reply: Redacted, what: str) -> None:
    if ctx.out.as_json:
        ctx.out.document(reply)
        return
    ctx.out.line(f"{count(reply.redacted, 'event')} of {Names(ctx.client).listed(reply.affected)} {what}")
    tell_backups(ctx, reply)


def _tell_of_another(ctx: Context, agent: str, left: list[int], which: list[str]) -> None:
    """Name a conversation that was imported from the same one, and has messages of its own with the words."""
    found = ctx.client.agent(agent)
    command = ctx.command("redact", found.name if found.alive else found.id, *which)
    ctx.out.warn(f"{found.name}, of the same origin, has it as well: {_listed(left)}; remove it there with: {command}")


def _tell_of_others(ctx: Context, left: list[int]) -> None:
    """Name the records that have the words of redacted messages, and that the programs which keep them may need."""
    if left:
        ctx.out.warn(
            f"records that programs keep still have these words: {_listed(left)}; remove them everywhere with:"
            f" {ctx.command('redact', ctx.agent, '--text', 'WORDS')}"
        )


def _tell_of_titles(ctx: Context, done: Redacted, words: frozenset[str]) -> None:
    """Name the conversations whose titles have words of redacted messages: many are called by the first of these."""
    for found in map(ctx.client.agent, done.affected if words else ()):
        if are_in_title(words, found.title or ""):
            command = ctx.command("redact", found.name, "--text", "WORDS")
            ctx.out.warn(f"the title of {found.name} still has these words; remove them there with: {command}")


def _listed(seqs: list[int]) -> str:
    """Return seqs as a person reads them; of many, the first ones and how many more there are."""
    more = f" and {count(len(seqs) - _SHOWN, 'other')}" if len(seqs) > _SHOWN else ""
    return ", ".join(f"#{seq}" for seq in seqs[:_SHOWN]) + more


def _compiled(pattern: str | None) -> re.Pattern[str] | None:
    try:
        return None if not pattern else re.compile(pattern)
    except re.error as error:
        raise UsageError(f"--match: {pattern!r} is not a regular expression: {error}") from None


def _show(ctx: Context, texts: list[str]) -> None:
    for text in texts[:_SHOWN]:
        shown = text if len(text) <= _WIDTH else f"{text[:_WIDTH]}…"
        ctx.out.line(f"  {shown!r}")
    if len(texts) > _SHOWN:
        ctx.out.line(f"  and {count(len(texts) - _SHOWN, 'other text')}")
