"""How much memory the daemon may take in all, and whether that fits into what the system allows it.

The limits on conversations, requests and unread bytes are for machines with some gigabytes. In a small container, or
under a limit of the process, the system would kill the daemon, or refuse it memory, long before these are reached. So
the defaults are lowered until their sum fits. A setting that somebody has made stays as it is; if the sum does not fit
then, the daemon says so.
"""

import resource
from collections.abc import Iterator, Mapping

from reel.base.light_typing import NamedTuple

MEGABYTE = 1 << 20
# The settings that count, each a number of bytes.
SETTINGS = ("agents.memory", "connection.all_bytes", "connection.all_waiting")
# What else there may be, as measured or by its own limit: the process with its code and the database's caches; what was
# rendered; all drafts, in the longest characters; and the one page or rendered body that is made at a time.
_FIXED = (96 + 64 + 64 + 128) * MEGABYTE
# The stacks of a dozen threads, which take addresses and hardly any memory.
_STACKS = 96 * MEGABYTE
# No default is lowered below the length of one message.
_LEAST = 16 * MEGABYTE
# A limit of a cgroup that means none, in version 1.
_NONE = 1 << 62
_PROC = "/proc/self/cgroup"
_MOUNT = "/sys/fs/cgroup"


class Limit(NamedTuple):
    """A limit of the system: its name, the bytes, and how many of them are lost to something else than memory."""

    name: str
    bytes: int
    lost: int = 0

    @property
    def usable(self) -> int:
        """How many bytes of memory it allows."""
        return self.bytes - self.lost


def smallest_limit() -> Limit | None:
    """Return the limit that is reached first, of the process or of one of its cgroups; ``None`` if there is none."""
    return min((*_of_process(), *_of_cgroups()), key=lambda limit: limit.usable, default=None)


def _of_process() -> Iterator[Limit]:
    for name in ("RLIMIT_AS", "RLIMIT_DATA"):
        soft, _ = resource.getrlimit(getattr(resource, name))
        if soft != resource.RLIM_INFINITY:
            yield Limit(name, soft, _STACKS)


def _of_cgroups() -> Iterator[Limit]:
    try:
        with open(_PROC, encoding="ascii", errors="replace") as file:
            lines = file.read().splitlines()
    except OSError:  # another system than Linux
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers:
            yield from _in(_MOUNT, path, ("memory.max", "memory.high"))
        elif "memory" in controllers.split(","):
            yield from _in(f"{_MOUNT}/memory", path, ("memory.limit_in_bytes",))


def _in(mount: str, path: str, names: tuple[str, ...]) -> Iterator[Limit]:
    """Yield the limits of a cgroup and of those that it is in; from inside of a container, only the mount is seen."""
    groups = [part for part in path.split("/") if part]
    for depth in range(len(groups), -1, -1):
        for name in names:
            file = "/".join((mount, *groups[:depth], name))
            try:
                with open(file, encoding="ascii") as opened:
                    text = opened.read().strip()
            except OSError:
                continue
            if text.isdigit() and int(text) < _NONE:
                yield Limit(file, int(text))


def most(values: Mapping[str, int]) -> int:
    """Return about how many bytes of memory the daemon may take with some settings."""
    return _FIXED + sum(values[name] for name in SETTINGS)


def lowered(values: Mapping[str, int], defaults: set[str], limit: Limit | None) -> dict[str, int]:
    """Return those of the defaults that have to be lowered, so that everything fits into a limit.

    Args:
        values: the settings.
        defaults: the names of those that nobody has set.
        limit: the limit.
    """
    free = [name for name in SETTINGS if name in defaults]
    if limit is None or most(values) <= limit.usable or not free:
        return {}
    room = limit.usable - _FIXED - sum(values[name] for name in SETTINGS if name not in defaults)
    total = sum(values[name] for name in free)
    return {name: min(values[name], max(_LEAST, room * values[name] // total)) for name in free}


def described(values: Mapping[str, int], limit: Limit | None) -> tuple[str, bool]:
    """Return a sentence about the memory that the daemon may take, and whether that is all right."""
    total = most(values)
    parts = ", ".join(f"{values[name] // MEGABYTE} for {name}" for name in SETTINGS)
    about = f"memory: up to {total // MEGABYTE} MB in all: {parts}, and {_FIXED // MEGABYTE} for everything else"
    if limit is None:
        return about, True
    about += f"; the limit is {limit.bytes // MEGABYTE} MB ({limit.name})"
    if total <= limit.usable:
        return about, True
    return f"{about}, which is too little: lower these settings, or raise the limit", False
