"""The command ``originals``: the files of other tools as they were when they were imported."""

import os
from collections.abc import Iterable, Iterator
from errno import EEXIST
from hashlib import sha256
from pathlib import Path

from reel.cli.commands.shared.erasing import agreed
from reel.cli.commands.shared.kept_originals import erase_originals, store_path
from reel.cli.line.arguments import UsageError
from reel.cli.line.context import Context
from reel.cli.line.exits import OK, REFUSED
from reel.cli.screen.output import Line
from reel.importing import MODULES, tool_named
from reel.importing.originals.store import CHUNK, Damaged, Original, Store, StoreError, existing
from reel.importing.sources.files import open_regular
from reel.reading.wording import age, count, full_time, pad, size


def originals(ctx: Context) -> int:
    """List the originals, check them, write them back, or erase some."""
    if sum(map(bool, (ctx.args.verify, ctx.args.directory, ctx.args.erase))) > 1:
        raise UsageError("--verify, --write and --erase are different things; give one of them")
    tool = ctx.word or ""
    if tool and tool not in MODULES:
        raise UsageError(f"{tool!r} is not one of {', '.join(MODULES)}")
    try:
        store = _store()
        if store is None:
            ctx.out.warn("no originals are kept; to keep them, write into reel.toml: [import], then originals = true")
            return REFUSED
        with store:
            found = store.originals(tool)
            if ctx.args.verify:
                return _verify(ctx, store, found)
            if ctx.args.directory:
                return _write(ctx, store, found, Path(ctx.args.directory).absolute())
            if ctx.args.erase:
                return _erase(ctx, found, os.path.abspath(ctx.args.erase))
            _list(ctx, found)
    except StoreError as error:
        ctx.out.warn(f"{store_path()}: {error}")
        return REFUSED
    return OK


def _store() -> Store | None:
    try:
        return existing(store_path())
    except OSError as error:  # only one of the store: stdout has errors of its own
        raise StoreError(error.strerror) from error


def _list(ctx: Context, found: list[Original]) -> None:
    if ctx.out.as_json:
        ctx.out.documents(_document(original) for original in found)
        return
    ctx.out.lines(_table(ctx, found))
    newest = [original for original in found if not original.older]
    files, total = count(len(newest), "file"), size(sum(original.size for original in newest))
    older = f", {count(len(found) - len(newest), 'older version')}" if len(found) > len(newest) else ""
    ctx.out.hint(f"{files} of {total}{older}; {size(os.path.getsize(store_path()))} in {store_path()}")


def _document(original: Original) -> dict[str, object]:
    return {**original._asdict(), "hash": original.hash.hex()}


def _table(ctx: Context, found: list[Original]) -> Iterator[Line]:
    when = age if ctx.out.terminal else full_time
    rows = [(original.tool, size(original.size), when(original.kept)) for original in found]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    for original, row in zip(found, rows, strict=True):
        start = "  ".join(pad(cell, width) for cell, width in zip(row, widths, strict=True))
        older = f" (~{original.older})" if original.older else ""
        yield [(f"{start}  ", "dim"), f"{original.path}{older}"]


def _verify(ctx: Context, store: Store, found: list[Original]) -> int:
    """Read everything; print what is damaged."""
    problems = [] if not (damage := store.damage()) else [f"{store.path}: {damage}"]
    for original in found:
        try:
            for _ in store.content(original):
                pass
        except (Damaged, StoreError) as error:
            problems.append(f"{_name(original)}: {error}")
    if ctx.out.as_json:
        ctx.out.document({"originals": len(found), "problems": problems})
    else:
        for problem in problems:
            ctx.out.warn(problem)
        ctx.out.line(f"{count(len(found), 'original')}, {count(len(problems), 'problem')}")
    return REFUSED if problems else OK


def _erase(ctx: Context, found: list[Original], path: str) -> int:
    """Erase the originals of a file, or of those below a directory; a conversation that was read of them stays."""
    files = sorted({each.path for each in found if Path(each.path).is_relative_to(path)})
    if not files:
        ctx.out.warn(f"there is no original of {path}, nor of a file below it; see {ctx.command('originals')}")
        return REFUSED
    if not ctx.out.as_json:
        ctx.out.lines([file] for file in files)
    if not agreed(ctx, f"Erase {count(len(files), 'original')} for good?"):
        return REFUSED
    erase_originals(ctx, (), files)
    if ctx.out.as_json:
        ctx.out.document({"erased": files})
    return OK


def _name(original: Original) -> str:
    """Return the path of an original; for an older version, a number is added to the name, before its suffix."""
    path = Path(original.path)
    return str(path.with_name(f"{path.stem}~{original.older}{path.suffix}")) if original.older else original.path


def _write(ctx: Context, store: Store, found: list[Original], directory: Path) -> int:
    """Write originals below a directory, each at its path; what is there stays, and is no problem if it is the same."""
    left = 0
    for original in found:
        target = _below(directory, _name(original))
        try:
            _write_one(store, original, target)
        except (Damaged, StoreError, OSError) as error:
            left += 1
            why = (error.strerror if isinstance(error, OSError) else None) or str(error)
            ctx.out.warn(f"{target} was not written: {why}")
            continue
        ctx.out.line(str(target))
    for command in _next(ctx, found, directory):
        ctx.out.hint(f"read them again with: {command}")
    return REFUSED if left else OK


def _below(directory: Path, path: str) -> Path:
    return directory / path.lstrip("/")


def _write_one(store: Store, original: Original, target: Path) -> None:
    """Write an original as a whole or not at all, with its time; only its owner can read it."""
    if os.path.lexists(target):
        if not _is_same(original, target):
            raise FileExistsError(EEXIST, "there is another file", str(target))
        return
    new = target.with_name(f".{target.name}.{os.getpid()}")
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            for data in store.content(original):
                file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.utime(new, ns=(original.modified, original.modified))
        new.rename(target)
    finally:
        new.unlink(missing_ok=True)


def _is_same(original: Original, target: Path) -> bool:
    """Return whether a file has the content of an original."""
    found = sha256()
    with open_regular(str(target)) as file:
        for data in iter(lambda: file.read(CHUNK), b""):
            found.update(data)
    return found.digest() == original.hash


def _next(ctx: Context, found: Iterable[Original], directory: Path) -> Iterator[str]:
    """Yield the commands that import what was written: from each tool's usual place, if it is there."""
    for tool in dict.fromkeys(original.tool for original in found):
        usual = [_below(directory, str(place.absolute())) for place in tool_named(tool).places(os.environ)]
        places = [place for place in usual if place.exists()]
        if not places:
            paths = [os.path.dirname(original.path) for original in found if original.tool == tool]
            places = [_below(directory, os.path.commonpath(paths))]
        yield ctx.command("import", tool, *map(str, places))
