"""How the daemon uses the heap of the C library."""

import ctypes
import subprocess
import sys

import pytest

from tests.patience import PATIENCE

pytestmark = pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_stats"), reason="only glibc has these functions")

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


@pytest.mark.parametrize("limited", [True, False])
def test_heaps_of_threads(limited: bool) -> None:
    """Threads have a heap of their own, unless they are told to share one."""
    program = [sys.executable, "-c", _PROGRAM.format(limited=limited)]
    said = subprocess.run(program, text=True, capture_output=True, check=True, timeout=PATIENCE).stderr

    assert limited == (said.count("Arena ") == 1)
