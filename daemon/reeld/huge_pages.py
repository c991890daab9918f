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

# Who gets huge pages; the word in brackets counts: `always` all, `madvise` those that ask, `never` nobody.
_POLICY = "/sys/kernel/mm/transparent_hugepage/enabled"
_NOBODY = "[never]"
_ALLOCATOR, _TUNABLES = "PYTHONMALLOC", "GLIBC_TUNABLES"
_TUNABLE = "glibc.malloc.hugetlb"
# If that has been imported, it is too late: most of the memory is taken.
_LARGEST = "reeld.app"


def begin_with_huge_pages() -> None:
    """Begin this process again, with memory in huge pages; return if it has them, or cannot have them.

    Its number, its open files and its arguments stay the same. If ``PYTHONMALLOC`` is set, that counts.
    """
    if _LARGEST in sys.modules or sys.flags.ignore_environment or not sys.executable or not _can_have():
        return
    if (environment := with_huge_pages(os.environ)) is not None:
        with suppress(OSError):
            os.execve(sys.executable, sys.orig_argv, environment)  # noqa: S606 - its own program


def with_huge_pages(environment: Mapping[str, str]) -> dict[str, str] | None:
    """Return an environment in which Python asks for huge pages; ``None`` if it says already where memory is taken."""
    if _ALLOCATOR in environment:
        return None
    given = environment.get(_TUNABLES, "")
    tunables = given if _TUNABLE in given else f"{given}:{_TUNABLE}=1".lstrip(":")
    return {**environment, _ALLOCATOR: "malloc", _TUNABLES: tunables}


def _can_have() -> bool:
    """Return whether this system has huge pages, and a C library that asks for them."""
    try:
        with open(_POLICY, encoding="ascii") as policy:
            return bool(os.confstr("CS_GNU_LIBC_VERSION")) and _NOBODY not in policy.read()
    except (ValueError, OSError):  # another C library, another system
        return False
