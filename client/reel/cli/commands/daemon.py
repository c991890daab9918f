"""Commands about the daemon: start, stop, status, socket."""

import os
import select
import time
from typing import Any, Protocol

from reel.base.errors import NotRunning, Storage, Timeout
from reel.cli.commands.shared.retention_notice import retention_notice
from reel.cli.line.context import Context
from reel.cli.line.exits import NOT_RUNNING, OK, REFUSED
from reel.cli.screen.output import plain
from reel.daemon.database_url import is_url, printable
from reel.daemon.stop_marker import mark, unmark
from reel.reading.wording import duration, name_counts, size
from reel.replies import Hello
from reel.sync.client import Client

# How long a daemon may take to finish the requests in flight.
STOP_TIMEOUT = 30.0
# Seconds between two attempts to connect.
_STEP = 0.05
# The daemon's figures that a person wants to know, and their labels.
_FIGURES = {
    "engine": "engine",
    "database": "database",
    "storage_problem": "storage",
    "erasing_problem": "erasing",
    "retention_problem": "retention",
    "housekeeping_problem": "housekeeping",
    "log": "log",
    "uptime": "uptime",
    "memory_kb": "memory",
    "agents": "agents",
    "newest_event": "events",
    "connections": "connections",
}


def start(ctx: Context) -> int:
    """Start the daemon unless it is running, and wait until it answers."""
    from reel.daemon import process  # noqa: PLC0415 - status does without subprocess

    wanted = ctx.args.database
    if wanted and not is_url(wanted):
        wanted = os.path.abspath(wanted)
    begin = process.autostart if ctx.args.unless_stopped else process.start
    with ctx.out.waiting("starting the daemon"):
        started = begin(ctx.socket, database=wanted)
    ctx.client.connect()  # what listens may be too busy to answer, or no daemon
    if wanted and not started and (kept := ctx.client.stats()["database"]) != printable(wanted):
        end = ctx.command("stop")
        ctx.out.warn(f"the daemon on this socket uses {kept}; stop it with: {end}, or name another --socket")
        return REFUSED
    reply = {"socket": ctx.socket, "started": started}
    ctx.report(reply, f"{'started' if started else 'already running'}: {ctx.socket}", *(["stop"] if started else []))
    return OK


def stop(ctx: Context) -> None:
    """Stop the daemon, wait until it has ended, and keep clients from starting another."""
    with ctx.out.waiting("waiting for the daemon to finish"):
        stopped = stop_daemon(ctx.socket, ctx.args.time_limit or STOP_TIMEOUT)
    if stopped:
        ctx.report({"socket": ctx.socket, "stopped": True}, f"stopped: {ctx.socket}", "start")
    else:
        ctx.report({"socket": ctx.socket, "stopped": False}, f"not running (no daemon at {ctx.socket})")


def stop_daemon(path: str, limit: float) -> bool:
    """Stop a daemon, wait until it has ended, and keep clients from starting another; return whether one ran.

    Args:
        path: its socket.
        limit: how long it may take, in seconds.

    Raises:
        ReelError: it refuses to stop, or takes longer.
    """
    from reel.daemon import process  # noqa: PLC0415 - as above

    new = mark(path)
    activated = process.is_activated(path)
    try:
        stopped = (not activated or process.unit_is_active()) and _shut_down(path, limit)
    except Storage:  # it refuses to lose its data, and keeps running
        if new:
            unmark(path)
        raise
    if activated:
        process.stop_units()  # a connection since the daemon ended may have started another
        mark(path)  # which removed the mark
    return stopped


def _shut_down(path: str, limit: float) -> bool:
    with Client(path, timeout=limit, name="reel") as client:
        try:
            hello = _connect(client, limit)
        except Timeout:
            raise Timeout("the daemon does not answer; see what to do with: reel doctor") from None
        if hello is None:
            return False
        mark(path)  # again: a daemon that has just started removed the mark before it listened
        # A handle instead of the number: by the time we look, the number may belong to another process.
        process = open_process(int(hello.server["pid"]))
        client.shutdown()
    if process is not None:
        _wait(process, limit)
    return True


def _connect(client: Client, limit: float) -> Hello | None:
    """Connect and return the daemon's greeting, or ``None`` if none runs. Wait for one that is starting or ending."""
    from reel.daemon.process import lock_holder  # noqa: PLC0415 - as above

    deadline = time.monotonic() + limit
    while True:
        try:
            return client.connect().server
        except NotRunning:
            if lock_holder(client.path) is None:
                return None
        if time.monotonic() > deadline:
            raise Timeout("the daemon runs, but does not listen on its socket")
        time.sleep(_STEP)  # nothing signals that it listens, or has ended


class _Handle(Protocol):
    """Something that becomes readable when a process ends."""

    def fileno(self) -> int:
        """Return its descriptor."""
        ...

    def close(self) -> None:
        """Free it."""
        ...


def open_process(pid: int) -> _Handle | None:
    """Return a handle of a process, or ``None`` if it has ended: a pidfd on Linux, a kqueue on a Mac."""
    try:
        if hasattr(os, "pidfd_open"):
            return open(os.pidfd_open(pid), "rb", buffering=0)  # the caller closes it
        return _mac_process(pid)
    except OSError:
        return None


def _mac_process(pid: int) -> _Handle:
    mac: Any = select  # as it is there
    queue: _Handle = mac.kqueue()
    end = mac.kevent(pid, mac.KQ_FILTER_PROC, mac.KQ_EV_ADD, mac.KQ_NOTE_EXIT)
    try:
        mac.kqueue.control(queue, [end], 0)
    except OSError:
        queue.close()
        raise
    return queue


def _wait(process: _Handle, limit: float) -> None:
    """Wait for the process, not for the socket: systemd would accept the connection and start the next daemon."""
    try:
        ended, _, _ = select.select([process], [], [], limit)
    finally:
        process.close()
    if not ended:
        raise Timeout(f"the daemon is still busy after {limit:g} s; its log says why")


def status(ctx: Context) -> int:
    """Show whether the daemon is running, and its figures."""
    try:
        hello = ctx.client.connect().server
    except NotRunning:
        ctx.report({"running": False, "socket": ctx.socket}, f"not running (no daemon at {ctx.socket})")
        ctx.out.hint(f"start it with: {ctx.command('start')}")
        return NOT_RUNNING
    assert hello is not None  # noqa: S101 - connect() has set it
    stats = ctx.client.stats()
    if ctx.out.as_json:
        ctx.out.document({"running": True, "socket": ctx.socket, **plain(hello), "stats": stats})
        return OK
    about = {**hello.server, "protocol": hello.protocol, "socket": ctx.socket, **figures(stats)}
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
    if clients := known.get("clients"):
        chosen["connections"] += f": {name_counts(clients)}"
    return chosen


def socket(ctx: Context) -> None:
    """Print the path of the daemon's socket."""
    ctx.report({"socket": ctx.socket}, ctx.socket)
