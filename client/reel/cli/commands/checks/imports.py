"""Checks of the import of what other tools write: the unit that does it, and how each tool was read last."""

import os
import time
from collections.abc import Iterator

from reel.cli.commands.checks.finding import BAD, FINE, WARN, Finding
from reel.cli.commands.shared.import_account import account, last_readings
from reel.cli.commands.shared.unit_files import IMPORT, import_file, installed_program, is_launchd
from reel.cli.commands.shared.watcher import watcher_of
from reel.importing.adding.readings import Reading

_MILLISECONDS_PER_DAY = 86_400_000
# Days without a reading after which something is about to be lost: Claude Code deletes its files after 30.
_LONG = 14
_AGAIN = "install it again: reel units --import"
_LOG = "launchctl print gui/$UID/io.reel.import" if is_launchd() else f"journalctl --user -u {IMPORT}"


def check_imports(socket: str) -> Iterator[Finding]:
    """Check the unit that imports, if there is one, and each tool that was read."""
    watcher, path = watcher_of(socket), import_file()
    if path.exists():
        yield _unit(watcher)
    elif watcher is not None:
        yield Finding("import", FINE, f"pid {watcher} imports what the tools write")
    for tool, reading in sorted(last_readings(socket).items()):
        yield _tool(tool, reading, is_watched=watcher is not None)


def _unit(watcher: int | None) -> Finding:
    path = import_file()
    try:
        program = installed_program(path.read_text())
    except Exception as error:  # a list of launchd's may be damaged in several ways
        return Finding("import", BAD, f"{path}: {error}", _AGAIN)
    if not os.access(program, os.X_OK):
        return Finding("import", BAD, f"{path}: its program {program!r} is not there", _AGAIN)
    if watcher is None:
        about = f"{path} is installed, and nothing imports for this daemon"
        return Finding("import", BAD, about, f"start it: reel units --import; see why it ended: {_LOG}")
    return Finding("import", FINE, f"{path}: pid {watcher} imports what the tools write")


def _tool(tool: str, reading: Reading, *, is_watched: bool) -> Finding:
    about = account(reading)
    if reading.failure or reading.unread:
        return Finding(tool, WARN, about, "see all of it: reel status --json")
    if not is_watched and time.time() * 1000 - reading.time > _LONG * _MILLISECONDS_PER_DAY:
        return Finding(
            tool, WARN, about, "read it before it is deleted: reel import; and then always: reel units --import"
        )
    return Finding(tool, FINE, about)
