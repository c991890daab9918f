"""Memory in pages of 2 MB instead of 4 kB, where the system allows a program to ask for them.

One `add` that comes alone touches 1,640 pages: Python's objects lie where there was room for them. After some
milliseconds in which others use the processor, each page has to be looked up again, in a virtual machine in many steps.
With huge pages such an `add` took 3.0 instead of 5.6 ms of processor time, one of many in a row 1.1 instead of 2.0.

Python takes its memory from the system in pieces of 1 MB, between the libraries that it loads, so few of them lie side
by side. The C library has one heap that grows, and a tunable that asks for huge pages for it. A process reads tunables
when it begins, so the daemon begins again, which takes 15 ms. To copy the objects of a running process to huge pages
gave a third of the gain.
"""

import os
import sys
from collections.abc import Mapping
from contextlib import suppress

from reeld.signals import end_with_a_word, hold_signals

# Who gets huge pages; the word in brackets counts: `always` all, `madvise` those that ask, `never` nobody. Only where
# it is `madvise` does the C library ask, and let its heap grow by whole huge pages.
_POLICY = "/sys/kernel/mm/transparent_hugepage/enabled"
_WHO_ASKS = "[madvise]"
_ALLOCATOR, _TUNABLES = "PYTHONMALLOC", "GLIBC_TUNABLES"
_TUNABLE = "glibc.malloc.hugetlb"
# The least memory in bytes with which huge pages are used: they cost up to 5 MB. In a cgroup of 64 MB, a daemon with
# them was killed by 150 clients in three runs of three, and one without them in none.
_LEAST = 128 << 20
# The names of what can begin again: the command, and `python -m reeld`.
_PROGRAMS = ("reeld", "reeld.__main__")
_THIS_PROGRAM = "/proc/self/exe"


def begin_with_huge_pages() -> None:
    """Begin this process again, with memory in huge pages; return if it has them, or cannot have them.

    Its number, its open files and its arguments stay the same. If ``PYTHONMALLOC`` is set, that counts.
    """
    if not _may_choose() or not _is_alone() or not _can_have():
        return
    if (environment := with_huge_pages(os.environ)) is not None and _has_room():
        hold_signals()
        with suppress(OSError):
            os.execve(sys.executable, sys.orig_argv, environment)  # noqa: S606 - its own program
        end_with_a_word()


def with_huge_pages(environment: Mapping[str, str]) -> dict[str, str] | None:
    """Return an environment in which Python asks for huge pages; ``None`` if it says already where memory is taken."""
    if _ALLOCATOR in environment:
        return None
    given = environment.get(_TUNABLES, "")
    tunables = given if _TUNABLE in given else f"{given}:{_TUNABLE}=1".lstrip(":")
    # A variable may come without a name; Python does not pass on such a one.
    named = {name: value for name, value in environment.items() if name}
    return {**named, _ALLOCATOR: "malloc", _TUNABLES: tunables}


def _may_choose() -> bool:
    """Return whether this Python takes its memory as a variable says, and not from an allocator for its mode.

    One without the GIL has a single allocator, and does not start if it is told of another.
    """
    return not (sys.flags.ignore_environment or sys.flags.dev_mode or "t" in sys.abiflags)


def _is_alone() -> bool:
    """Return whether this process would begin as the same again.

    It would not as a part of another program, such as a profiler or one that forks, or if it was read from stdin.
    Python, too, may be another program: if it is called `reeld`, it takes what it finds under that name for itself.
    """
    main = sys.modules["__main__"]
    name = main.__spec__.name if main.__spec__ else os.path.basename(getattr(main, "__file__", ""))
    try:
        return name in _PROGRAMS and os.path.samefile(sys.executable, _THIS_PROGRAM)
    except OSError:  # one of the two does not exist, as on another system
        return False


def _has_room() -> bool:
    """Return whether every memory limit leaves enough for the few megabytes that huge pages cost."""
    from reeld.memory_budget import smallest_limit  # noqa: PLC0415 - only a process that may begin again needs to know

    limit = smallest_limit()
    return limit is None or limit.usable >= _LEAST


def _can_have() -> bool:
    """Return whether this system grants huge pages to who asks, and has a C library that asks for them."""
    try:
        with open(_POLICY, encoding="ascii") as policy:
            return bool(os.confstr("CS_GNU_LIBC_VERSION")) and _WHO_ASKS in policy.read()
    except (ValueError, OSError):  # another C library, another system
        return False
