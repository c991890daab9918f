"""The daemon itself: start, stop, status, socket."""

import os
import select
import time
from typing import Any

from reel.cli.context import Invocation
from reel.cli.exits import NOT_RUNNING, OK, REFUSED
from reel.cli.output import plain
from reel.cli.terminal import duration
from reel.errors import NotRunning, Storage, Timeout
from reel.replies import Hello
from reel.stop_marker import mark, unmark
from reel.sync.client import Client

# How long a daemon may take to finish what is in flight.
_ENDS_WITHIN = 30.0
# Seconds between two looks whether it listens.
_STEP = 0.05
# The daemon's figures that a person wants to know, and what to call them.
_SHOWN = {
    "sqlite": "SQLite",
    "uptime": "uptime",
    "agents": "agents",
    "living_agents": "living agents",
    "connections": "connections",
    "newest_event": "newest event",
    "storage_problem": "storage",
}


def start(run: Invocation) -> int:
    """Start the daemon unless it runs, and wait until it answers."""
    from reel import process  # noqa: PLC0415 - status does without subprocess

    wanted = run.args.database and os.path.abspath(run.args.database)  # noqa: PTH100 - a symlink stays one
    begin = process.autostart if run.args.unless_stopped else process.start
    with run.out.waiting("starting the daemon"):
        started = begin(run.socket, database=wanted)
    if wanted and not started and (kept := run.client.stats()["database"]) != wanted:
        end = run.command("stop")
        run.out.warn(f"the daemon that runs here keeps {kept}; end it with: {end}, or name another --socket")
        return REFUSED
    reply = {"socket": run.socket, "started": started}
    run.done(reply, f"{'started' if started else 'runs already'}: {run.socket}", *(["stop"] if started else []))
    return OK


def stop(run: Invocation) -> None:
    """Stop the daemon, wait until it has ended, and keep clients from starting another."""
    with run.out.waiting("the daemon finishes what is in flight"):
        stopped = _stop(run.socket)
    if stopped:
        run.done({"socket": run.socket, "stopped": True}, f"stopped: {run.socket}", "start")
    else:
        run.done({"socket": run.socket, "stopped": False}, f"does not run: {run.socket}")


def _stop(path: str) -> bool:
    from reel import process  # noqa: PLC0415 - as above

    new = mark(path)
    activated = process.is_activated(path)
    try:
        stopped = (not activated or process.unit_is_active()) and _shut_down(path)
    except Storage:  # it refuses to lose what it has, and goes on
        if new:
            unmark(path)
        raise
    if activated:
        process.stop_units()  # a connection after the end of the daemon has started another
        mark(path)  # which removed the mark
    return stopped


def _shut_down(path: str) -> bool:
    with Client(path, timeout=_ENDS_WITHIN, name="reel") as client:
        try:
            hello = _connect(client)
        except Timeout:
            raise Timeout("the daemon does not answer; see what to do with: reel doctor") from None
        if hello is None:
            return False
        mark(path)  # again: a daemon that has just started removed the mark before it listened
        # A handle rather than the bare number: that may be another process's by the time we look.
        process = _open_process(int(hello.server["pid"]))
        client.shutdown()
    if process is not None:
        _wait(process)
    return True


def _connect(client: Client) -> Hello | None:
    """Greet the daemon; return ``None`` if there is none. One that is starting, or about to end, is waited for."""
    from reel.process import lock_holder  # noqa: PLC0415 - as above

    deadline = time.monotonic() + _ENDS_WITHIN
    while True:
        try:
            return client.connect().server
        except NotRunning:
            if lock_holder(client.path) is None:
                return None
        if time.monotonic() > deadline:
            raise Timeout("it does not listen")
        time.sleep(_STEP)  # nothing reports that it listens, or has ended


def _open_process(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None


def _wait(process: int) -> None:
    """Wait for the process, not for the socket: systemd would answer there, and start the next one."""
    try:
        ended, _, _ = select.select([process], [], [], _ENDS_WITHIN)
    finally:
        os.close(process)
    if not ended:
        raise Timeout(f"the daemon is still busy after {_ENDS_WITHIN:.0f} s; its log says with what")


def status(run: Invocation) -> int:
    """Say whether the daemon runs, and how it is."""
    try:
        hello = run.client.connect().server
    except NotRunning:
        run.done({"running": False, "socket": run.socket}, f"does not run: {run.socket}")
        run.out.hint(f"start it: {run.command('start')}")
        return NOT_RUNNING
    assert hello is not None  # noqa: S101 - connect() has just seen to it
    stats = run.client.stats()
    if run.out.as_json:
        run.out.document({"running": True, "socket": run.socket, **plain(hello), "stats": stats})
        return OK
    about = {**hello.server, "protocol": hello.protocol, "socket": run.socket, **figures(stats)}
    for name, value in about.items():
        run.out.line((f"{name:<15}", "dim"), str(value))
    return OK


def figures(stats: dict[str, Any]) -> dict[str, str]:
    """Choose what a person wants to know of the daemon's figures; ``--json`` has them all."""
    chosen = {title: str(stats[name]) for name, title in _SHOWN.items() if stats.get(name) is not None}
    if "uptime" in chosen:
        chosen["uptime"] = duration(stats["uptime"] / 1000)
    return chosen


def socket(run: Invocation) -> None:
    """Print where the daemon listens."""
    run.done({"socket": run.socket}, run.socket)
