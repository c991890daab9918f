"""How the daemon takes memory, looks for garbage, and returns what it has freed to the system.

The C library keeps freed memory for reuse, and returns only what lies at the end of its heap: after 300 clients that
did not read, with 4 MB each, the daemon permanently kept 595 MB, and more after each such crowd.
"""

import ctypes
import gc
import resource
from contextlib import suppress

# glibc only; other C libraries either have nothing to give back or do it by themselves.
_libc = ctypes.CDLL(None)
_trim = getattr(_libc, "malloc_trim", None)
_set = getattr(_libc, "mallopt", None)
_describe = getattr(_libc, "mallinfo2", None)  # since glibc 2.33
# Options of glibc's mallopt, for which Python has no names.
_M_ARENA_MAX, _M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -8, -1, -3
# Bytes of one object that is no part of the heap: the system has them back as soon as it is freed.
_APART = 4 << 20
# Advice to the system, for which Python's mmap has a name, but only for what it has mapped itself.
_NO_HUGE_PAGES = 15
# Bytes at the end of the heap that are kept when they are free. If each large request takes them anew, the system first
# fills them with zeros.
_KEPT = 8 << 20
# Freed bytes that are worth giving back. To give back pages breaks the huge ones in which they are, which the system
# joins in its own time: where that was done once a minute, an add took as long as without huge pages.
_MUCH = 16 << 20
# Allocations before a collection of what is young, and such collections before one of what has survived; Python's
# default is (700, 10, 10). All threads wait for a collection: one of 20,000 objects took 6 to 12 ms in the middle of an
# import, one of 5,000 takes 1 to 2, and all of them together take as long. The next generation has nearly none that it
# could free: with (5000, 5) each object was looked at twice, which took a tenth of the time of adding many rows.
_COLLECTIONS = (5_000, 20_000, 10)


class _Heap(ctypes.Structure):
    """What ``mallinfo2`` returns, in bytes as far as it has a name here."""

    _fields_ = (
        ("_counts", ctypes.c_size_t * 4),
        ("used_apart", ctypes.c_size_t),
        ("_others", ctypes.c_size_t * 2),
        ("used", ctypes.c_size_t),
        ("_free", ctypes.c_size_t * 2),
    )


if _describe is not None:
    _describe.restype = _Heap


def use_one_heap() -> None:
    """Let all threads allocate from one heap; to be called before any other heap exists.

    With a heap for each thread that reads, every one of them kept pages with next to nothing on them: in 100 seconds of
    a mixed load the daemon grew from 41 MB to 47, with one heap from 40 to 41. The GIL serializes the threads anyway.
    """
    if _set is not None:
        _set(_M_ARENA_MAX, 1)
        _set(_M_MMAP_THRESHOLD, _APART)
        _set(_M_TRIM_THRESHOLD, _KEPT)


def collect_rarely() -> None:
    """Let the garbage collector pass over what is there now, and look at what is new less often.

    Live conversations are long-lived and acyclic: repeated passes over them would find nothing.
    """
    gc.freeze()
    gc.set_threshold(*_COLLECTIONS)


def give_back() -> None:
    """Return freed memory to the system: 50 us per megabyte, and almost nothing if there is none."""
    if _trim is not None:
        _trim(0)
        with suppress(OSError):  # another system than Linux
            _keep_pages()


def _keep_pages() -> None:
    """Ask the system to make no more huge pages of the memory that the heap has now; existing ones stay.

    Otherwise it would join the remaining small pages to huge ones, and fill the gaps between them: after 150 clients
    that did not read, 43 MB became 145 again. Memory that the heap takes later may still be huge pages.
    """
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        heaps = [line.split()[0].split("-") for line in maps if line.endswith("[heap]\n")]
    for start, end in heaps:
        first = int(start, 16)
        _libc.madvise(ctypes.c_void_p(first), ctypes.c_size_t(int(end, 16) - first), _NO_HUGE_PAGES)


class FreeMemory:
    """Gives freed memory back to the system once there is enough of it to be worth the broken huge pages."""

    def __init__(self) -> None:
        # How many bytes were free after that was done last, or have been since.
        self._least = 0

    def give_back_if_much(self) -> None:
        """Give memory back if enough was freed since the last time; if the amount is unknown, always."""
        free = _free_bytes()
        if free is not None:
            self._least = min(self._least, free)
            if free - self._least < _MUCH:
                return
        give_back()
        self._least = _free_bytes() or 0


def _free_bytes() -> int | None:
    """Return how many bytes of memory this process holds but does not use; ``None`` if that is unknown.

    It is computed from what the process holds, because the C library also counts the pages that the system has back as
    free. Memory that Python does not take from the C library counts as unused.
    """
    if _describe is None:
        return None
    try:
        with open("/proc/self/statm", encoding="ascii") as statm:
            _, resident, shared, *_ = map(int, statm.read().split())
    except OSError:
        return None
    heap = _describe()
    return (resident - shared) * resource.getpagesize() - int(heap.used) - int(heap.used_apart)
