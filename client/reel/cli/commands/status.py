"""The command ``status``."""

from typing import Any

from reel.base.errors import NotRunning
from reel.cli.commands.shared import import_account
from reel.cli.commands.shared.retention_notice import retention_notice
from reel.cli.line.context import Context
from reel.cli.line.exits import NOT_RUNNING, OK
from reel.cli.screen.output import plain
from reel.reading.wording import count, duration, name_counts, size

# The daemon's figures that a person wants to know, and their labels.
_FIGURES = {
    "engine": "engine",
    "database": "database",
    "storage_problem": "storage",
    "erasing_problem": "erasing",
    "retention_problem": "retention",
    "housekeeping_problem": "housekeeping",
    "search_problem": "search",
    "log": "log",
    "uptime": "uptime",
    "memory_kb": "memory",
    "agents": "agents",
    "newest_event": "events",
    "connections": "connections",
}


def status(ctx: Context) -> int:
    """Show whether the daemon is running, its figures, and when the tools were read last."""
    try:
        hello = ctx.client.connect().server
    except NotRunning:
        ctx.report({"running": False, "socket": ctx.socket}, f"not running (no daemon at {ctx.socket})")
        ctx.out.hint(f"start it with: {ctx.command('start')}")
        return NOT_RUNNING
    assert hello is not None  # noqa: S101 - connect() has set it
    stats = ctx.client.stats()
    if ctx.out.as_json:
        imports = import_account.document(ctx.socket)
        ctx.out.document({"running": True, "socket": ctx.socket, **plain(hello), "stats": stats, "imports": imports})
        return OK
    about = {**hello.server, "protocol": hello.protocol, "socket": stats["socket"], **figures(stats)}
    about |= import_account.lines(ctx.socket)
    for name, value in about.items():
        ctx.out.line((f"{name:<15}", "dim"), str(value))
    return OK


def figures(stats: dict[str, Any]) -> dict[str, str]:
    """Return the daemon's figures that a person wants to know; ``reel stats`` has all of them."""
    known = {name: value for name, value in stats.items() if value is not None}
    chosen = {title: str(known[name]) for name, title in _FIGURES.items() if name in known}
    if "database_bytes" in known:
        chosen["database"] += f" ({size(known['database_bytes'])}, its WAL {size(known.get('wal_bytes', 0))})"
    if "agents" in chosen:
        chosen["agents"] += f" ({stats['agents'] - stats['living_agents']} killed)"
    if "uptime" in chosen:
        chosen["uptime"] = duration(stats["uptime"] / 1000)
    if chosen.get("log") == "journal":
        chosen["log"] = "journalctl --user -u reeld"
    if "memory" in chosen:
        chosen["memory"] = size(known["memory_kb"] * 1024)
    if "retention" not in chosen and (notice := retention_notice(stats)) is not None:
        chosen["retention"] = notice
    if "search" not in chosen and (behind := known.get("search_behind")):
        chosen["search"] = f"{count(behind, 'event')} not in the index yet"
    if clients := known.get("clients"):
        chosen["connections"] += f": {name_counts(clients)}"
    return chosen
