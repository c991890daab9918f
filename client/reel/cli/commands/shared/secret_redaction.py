"""Erases the secrets that are stored: in the log, the index, the backups that are found, and the originals.

They are erased by their texts, which nothing remembers: the events that have them are read again. What has a text
elsewhere without what it was told by, such as a password alone, loses it as well.
"""

import glob
import json
import os
import re
from collections.abc import Iterable, Iterator
from typing import Any

from reel import requests
from reel.base.errors import InvalidParams, NotFound
from reel.cli.commands.shared.erasing import agreed, backups_of, known_backups
from reel.cli.commands.shared.kept_originals import erase_originals_with
from reel.cli.commands.shared.origins import imported_among
from reel.cli.commands.shared.secret_table import table
from reel.cli.commands.shared.stored_secrets import Look
from reel.cli.commands.shared.texts_in_files import TextsInFiles, forms
from reel.cli.line.context import Context
from reel.cli.line.exits import OK, REFUSED
from reel.daemon.address import state_directory
from reel.reading.wording import count
from reel.secrets.finding import any_of, find

# A shorter secret is erased with the characters around it: alone, it may be a part of words.
_SHORTEST = 8
# How many places are shown before the question.
_SHOWN = 50
# The bytes of a file that are read at once.
_CHUNK = 1 << 20


def redact_all(ctx: Context, found: Look) -> int:
    """Erase every secret that is not masked, after asking."""
    plain = [stored for stored in found.stored if not stored.secret.masked]
    readers = list(dict.fromkeys(stored.reader for stored in plain))
    texts = {text for reader in readers for text in _texts_of(ctx, reader)}
    if not texts:
        return _nothing(ctx)
    holders = _holders(ctx, found.names, readers, texts)
    backups = list(dict.fromkeys([*(backups_of(ctx) or ()), *known_backups(ctx.client.stats())]))
    if not ctx.out.as_json:
        ctx.out.lines(table(ctx, found, plain[:_SHOWN]))
        if len(plain) > _SHOWN:
            ctx.out.line(f"and {len(plain) - _SHOWN:,} more places")
        for backup in backups:
            ctx.out.line(f"the backup {backup} is searched as well")
    question = f"Erase {count(len(texts), 'secret')} in {count(len(holders), 'conversation')} for good?"
    if not agreed(ctx, question):
        return REFUSED
    done = _Done(backups)
    with ctx.out.waiting("erasing"):
        for agent in holders:
            done.redact(ctx, agent, texts)
        in_files = TextsInFiles(texts)
        done.originals = erase_originals_with(ctx, in_files)
    files = {origin.file for origin in imported_among(ctx, holders).values()}
    done.unreached |= {file: "the tool's own file" for file in sorted(files) if file and os.path.exists(file)}
    done.unreached |= {
        path: "still has it" for path in _files_with(ctx, in_files, done.backups) if path not in done.unreached
    }
    _report(ctx, done, sent=any(stored.sent for stored in plain))
    return OK


class _Done:
    """What was erased.

    Args:
        backups: the backups in which it is erased as well.
    """

    def __init__(self, backups: Iterable[str]) -> None:
        # How many events were changed in the log, and in each backup.
        self.events = 0
        self.backups = dict.fromkeys(backups, 0)
        # The files that have secrets, or may have them, and why they were not erased there.
        self.unreached: dict[str, str] = {}
        # Whether the database still has traces.
        self.traces = False
        # The files whose originals were erased.
        self.originals: list[str] = []

    def redact(self, ctx: Context, agent: str, texts: set[str]) -> None:
        """Erase texts in the past of an agent, and in its backups; skip files of other kinds and versions."""
        while True:
            backups = list(self.backups)
            try:
                reply = ctx.client.redact(agent, text=sorted(texts, key=len, reverse=True), backups=backups or None)
            except NotFound:  # it was purged a moment ago
                return
            except InvalidParams as error:
                refused = max((path for path in backups if path in error.message), key=len, default=None)
                if refused is None:
                    raise
                del self.backups[refused]
                self.unreached[refused] = f"{error.message}; remove it if you do not need it"
            else:
                break
        self.events += reply.redacted
        self.traces = self.traces or reply.traces
        for backup in reply.backups:
            self.backups[backup.path] = self.backups.get(backup.path, 0) + backup.events


def _nothing(ctx: Context) -> int:
    if ctx.out.as_json:
        ctx.out.document({"redacted": 0, "backups": {}, "unreached": {}, "originals": []})
    else:
        ctx.out.line("there is no secret to erase")
    return OK


def _report(ctx: Context, done: _Done, *, sent: bool) -> None:
    if ctx.out.as_json:
        document = {"redacted": done.events, "backups": done.backups, "unreached": done.unreached}
        ctx.out.document({**document, "originals": done.originals})
        return
    ctx.out.line(f"{count(done.events, 'event')} redacted")
    for path in done.originals:
        ctx.out.line(f"{path}: its original was erased, and will not be kept again")
    for path, events in done.backups.items():
        ctx.out.line(f"{path}: {count(events, 'event')}")
    if done.traces:
        ctx.out.warn(f"traces are left in the database; `{ctx.command('status')}` says why, and when they are gone")
    for path, why in done.unreached.items():
        ctx.out.warn(f"not erased in {path}: {why}")
    if sent:
        ctx.out.warn("some were sent to a model; erasing does not take them back: revoke them where they are from")


def _events(ctx: Context, agent: str, *, inherited: bool = False) -> Iterator[Any]:
    try:
        for page in ctx.client.pages(requests.history(agent, inherited=inherited or None)):
            yield from page.events
    except NotFound:  # it was purged a moment ago
        return


def _words(event: Any) -> Iterator[tuple[str, bool]]:
    """Yield the texts of an event, and whether each is JSON."""
    for field in ("content", "data_json", "ref"):
        if isinstance(text := event.get(field), str):
            yield text, field == "data_json"


def _texts_of(ctx: Context, reader: str) -> Iterator[str]:
    """Yield the secrets in the past of an agent, as they are erased."""
    for event in _events(ctx, reader, inherited=True):
        for text, is_json in _words(event):
            for one in find(text):
                start, end = (one.start, one.end) if len(one.text) >= _SHORTEST else (one.start - 1, one.end + 1)
                yield _unescaped(text[start:end]) if is_json else text[start:end]


def _unescaped(text: str) -> str:
    """Return what a part of a JSON text says."""
    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError:
        return text


def _holders(ctx: Context, names: Iterable[str], readers: list[str], texts: set[str]) -> list[str]:
    """Return the agents in whose pasts secrets were found, and those that have one of the texts elsewhere."""
    pattern = re.compile(any_of(forms(texts)))
    known = set(readers)
    return [*readers, *(agent for agent in names if agent not in known and _has_one(ctx, agent, pattern))]


def _has_one(ctx: Context, agent: str, pattern: re.Pattern[str]) -> bool:
    return any(pattern.search(text) for event in _events(ctx, agent) for text, _ in _words(event))


def _files_with(ctx: Context, texts: TextsInFiles, backups: Iterable[str]) -> Iterator[str]:
    """Yield the files of the state directory, of the database and of backups in which a text is found."""
    stem = glob.escape(str(ctx.client.stats()["database"]).removesuffix(".db"))
    kept = [os.path.join(folder, name) for folder, _, names in os.walk(state_directory()) for name in names]
    for path in sorted({*kept, *glob.glob(f"{stem}*"), *backups}):
        if os.path.isfile(path) and _has(path, texts):
            yield path


def _has(path: str, texts: TextsInFiles) -> bool:
    try:
        with open(path, "rb") as file:
            return texts.are_in(iter(lambda: file.read(_CHUNK), b""))
    except OSError:
        return False
