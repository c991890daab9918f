"""The originals of what was imported: keeping them, if the settings say so, and erasing them."""

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager

from reel.cli.commands.shared.texts_in_files import TextsInFiles
from reel.cli.line.context import Context
from reel.daemon.address import state_directory
from reel.importing.adding.importer import Totals
from reel.importing.adding.tombstones import NAME as TOMBSTONES
from reel.importing.adding.tombstones import Tombstones
from reel.importing.originals.keeping import Keeper, erased_file
from reel.importing.originals.store import NAME, Damaged, Store, StoreError, existing
from reel.importing.steps import Problem, Source, Tool
from reel.reading.wording import count

# Keeps the files of a tool's sources; returns those that could not be kept.
Keep = Callable[[Tool, Collection[Source]], list[Problem]]


def store_path() -> str:
    """Return where the originals are: beside the usual database."""
    return f"{state_directory()}/{NAME}"


@contextmanager
def kept_originals(ctx: Context) -> Iterator[Keep]:
    """Return what keeps originals for the length of the block; it does nothing unless the settings ask for it."""
    if not ctx.settings.importing.get("originals"):
        yield lambda _tool, _sources: []
        return
    try:
        store = Store(store_path())
    except (OSError, StoreError) as error:
        problem = Problem(store_path(), 0, f"{error}; originals are not kept")
        yield lambda _tool, _sources: [problem]
        return
    with store:
        keeper = Keeper(store)
        yield lambda tool, sources: [] if tool.name == "reel" else keeper.keep(tool, sources, _tombstones(ctx).has)


def has_originals() -> bool:
    """Return whether there is a store of originals, whatever the settings say now."""
    return os.path.exists(store_path())


def follow_erasures(ctx: Context, tool: Tool, sources: Collection[Source], totals: Totals) -> None:
    """Erase the originals of what anybody has purged or redacted, as an import found, and keep again what is back.

    Args:
        ctx: what the command runs with.
        tool: the tool that was read.
        sources: its sources.
        totals: what became of them.
    """
    if restored := _files_of(tool, sources, totals.restored):
        _tombstones(ctx).remove(map(erased_file, restored))
    for erased in (totals.purged, totals.redacted):
        if erased:
            erase_originals(ctx, erased, _files_of(tool, sources, erased))


def _files_of(tool: Tool, sources: Collection[Source], conversations: Collection[str]) -> set[str]:
    """Return the files of the sources of conversations, or of a common beginning of their names."""
    return {
        str(path)
        for source in sources
        if any(f"{name}/".startswith(f"{source.conversation}/") for name in conversations)
        for path in (source.path, *tool.beside(source))
    }


def erase_originals(ctx: Context, conversations: Collection[str], files: Collection[str]) -> None:
    """Erase the originals of conversations, and those of files, and remember not to keep these, now or later."""
    own = set(filter(None, files))
    if not own and not conversations:
        return
    with _warning(ctx):
        _tombstones(ctx).add(map(erased_file, own))
        if (store := existing(store_path())) is not None:
            with store:
                erased = _erase(ctx, store, own | {*store.files_with(conversations)})
            if erased and not ctx.out.as_json:
                ctx.out.line(f"{count(erased, 'original')} erased")


def erase_originals_with(ctx: Context, texts: TextsInFiles) -> list[str]:
    """Erase the originals in which a text is found, and remember not to keep these files again; return their paths."""
    with _warning(ctx):
        if (store := existing(store_path())) is not None:
            with store:
                found = sorted({one.path for one in store.originals() if _may_have(store.content(one), texts)})
                _erase(ctx, store, found)
                return found
    return []


def _may_have(content: Iterable[bytes], texts: TextsInFiles) -> bool:
    try:
        return texts.are_in(content)
    except Damaged:  # nobody knows what it had
        return True


def _erase(ctx: Context, store: Store, files: Collection[str]) -> int:
    """Erase the originals of files, and remember not to keep these again; return how many had one."""
    _tombstones(ctx).add(map(erased_file, files))
    return store.erase(files)


@contextmanager
def _warning(ctx: Context) -> Iterator[None]:
    """Warn if the originals cannot be reached."""
    try:
        yield
    except (OSError, StoreError) as error:
        ctx.out.warn(f"{store_path()}: {error}; the originals in it stay: remove the file if it is damaged")


def _tombstones(ctx: Context) -> Tombstones:
    return Tombstones(f"{state_directory()}/{TOMBSTONES}", str(ctx.socket))
