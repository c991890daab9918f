"""How the histories of tools were read last, for people and for programs."""

from typing import Any

from reel.cli.commands.shared.watcher import watcher_of
from reel.daemon.address import state_directory
from reel.importing.adding.readings import NAME, Reading, Readings
from reel.reading.wording import age, count


def last_readings(socket: str) -> dict[str, Reading]:
    """Return how each tool was read last for the daemon on a socket; a tool that was never used here is not named."""
    return Readings(f"{state_directory()}/{NAME}", socket).tools


def account(reading: Reading) -> str:
    """Return when a tool was read last, and what could not be read."""
    parts = [f"read {_ago(reading.time)}, {count(reading.conversations, 'conversation')}"]
    if reading.failure:
        parts.append(f"could not be read since: {reading.failure}")
    if reading.unread:
        first, number = reading.unread[0], len(reading.unread) + reading.more
        such = " such as" if number > 1 else ""
        parts.append(f"{count(number, 'problem')},{such} {first.path}: {first.why}")
    return "; ".join(parts)


def _ago(when: int) -> str:
    if not when:
        return "never"
    return "just now" if (since := age(when)) == "now" else f"{since} ago"


def lines(socket: str) -> dict[str, str]:
    """Return what ``reel status`` says of imports: a line for what goes on, and one for each tool."""
    found = {tool: account(reading) for tool, reading in sorted(last_readings(socket).items())}
    if (watcher := watcher_of(socket)) is not None:
        return {"importing": f"pid {watcher} imports what the tools write", **found}
    return found


def document(socket: str) -> dict[str, Any]:
    """Return the same for programs."""
    tools = {
        tool: {**reading._asdict(), "unread": [one._asdict() for one in reading.unread]}
        for tool, reading in last_readings(socket).items()
    }
    return {"watcher": watcher_of(socket), "tools": tools}
