"""How the daemon takes memory, and looks for garbage."""

import ctypes
import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

from reeld import memory
from tests.patience import PATIENCE

_on_glibc = pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_stats"), reason="only glibc has these functions")

# Prints a line for each heap of the C library, after four threads have allocated something.
_PROGRAM = """
import ctypes, threading
from reeld import memory
if {limited}:
    memory.use_one_heap()
together = threading.Barrier(4)
def allocate():
    kept = [bytes(1000 + number) for number in range(1000)]
    together.wait()
threads = [threading.Thread(target=allocate) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
memory.give_back()
ctypes.CDLL(None).malloc_stats()
"""


@_on_glibc
@pytest.mark.parametrize("limited", [True, False])
def test_heaps_of_threads(limited: bool) -> None:
    """Threads have a heap of their own, unless they are told to share one."""
    program = [sys.executable, "-c", _PROGRAM.format(limited=limited)]
    said = subprocess.run(program, text=True, capture_output=True, check=True, timeout=PATIENCE).stderr

    assert limited == (said.count("Arena ") == 1)


# Prints how many megabytes of its memory the system has, before and after each chance to give some of it back.
_CHANCES = """
from reeld import memory
memory.use_one_heap()
def resident():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) >> 8
def free(megabytes):
    rows = [[bytearray(4000) for _ in range(250)] for _ in range(megabytes)]
    kept.append([row.pop() for row in rows])
kept, spare = [], memory.FreeMemory()
spare.give_back_if_much()
for much in 40, 4, 8, 40:
    free(much)
    before = resident()
    spare.give_back_if_much()
    print(before - resident())
"""


def given_back(program: str) -> list[int]:
    """Return how many megabytes went back to the system at each chance."""
    environment = {**os.environ, "PYTHONMALLOC": "malloc"}
    said = subprocess.check_output([sys.executable, "-c", program], env=environment, timeout=PATIENCE)
    return [*map(int, said.split())]


@_on_glibc
def test_memory_that_is_free() -> None:
    """It is given back once it is much: small amounts break as many huge pages, and are used again soon."""
    much, little, more, much_again = given_back(_CHANCES)

    assert min(much, much_again) > 30
    assert [0, 0] == [little, more]


@_on_glibc
def test_memory_of_which_nobody_knows() -> None:
    """If the C library does not say how much is free, as before glibc 2.33, it is given back at each chance."""
    assert min(given_back(f"from reeld import memory\nmemory._describe = None\n{_CHANCES}")) > 2


_REQUESTS = """
import resource
from reeld import memory
memory.use_one_heap()
def take_requests():
    return [bytearray(1 << 20) for _ in range(4)]
take_requests()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    take_requests()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@_on_glibc
def test_memory_of_requests() -> None:
    """Requests of 1 MB use the memory of earlier ones: the system does not make 256 pages for each of them."""
    program = [sys.executable, "-c", _REQUESTS]
    pages = int(subprocess.run(program, text=True, capture_output=True, check=True, timeout=PATIENCE).stdout)

    assert pages < 256


_RETURNED = """
from reeld import memory
kept = [bytearray(9_000) for _ in range(3_000)]
del kept[::2]
def advised():
    with open("/proc/self/smaps") as maps:
        parts = maps.read().partition("[heap]")[2].split("VmFlags:")
    return [flag for flag in ("hg", "nh") if flag in parts[1].split("\\n")[0].split()]
print(advised())
memory.give_back()
print(advised())
"""


@_on_glibc
@pytest.mark.skipif(not Path("/sys/kernel/mm/transparent_hugepage").exists(), reason="this system has no huge pages")
def test_returned_memory_stays_returned() -> None:
    """What has been returned lies between pages that the system may not replace by huge ones, which would fill it."""
    environment = {**os.environ, "PYTHONMALLOC": "malloc", "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
    program = [sys.executable, "-c", _RETURNED]
    ran = subprocess.run(program, env=environment, text=True, capture_output=True, check=True, timeout=PATIENCE)

    assert "['nh']" == ran.stdout.splitlines()[1]


def test_a_collection_looks_at_few_objects() -> None:
    """No collection looks at more than 25,000 objects, while all threads wait."""
    seen: list[int] = []

    def look(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            seen.append(sum(len(gc.get_objects(generation)) for generation in range(info["generation"] + 1)))

    before = gc.get_threshold()
    memory.collect_rarely()
    gc.callbacks.append(look)
    try:
        made = [[number] for number in range(300_000)]
    finally:
        gc.callbacks.remove(look)
        gc.set_threshold(*before)

    assert 300_000 == len(made)
    assert len(seen) > 1
    assert max(seen[1:]) <= 25_000  # the first one looks at what was made before
