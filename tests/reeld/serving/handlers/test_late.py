"""The formats of providers are imported beside the loop."""

import subprocess
import sys

import pytest

# Calls a handler of a daemon that has imported nothing of the formats yet, and prints which threads imported them.
_PROGRAM = """
import sys
from threading import current_thread, main_thread

import trio
from reeld.serving.handlers import late

threads = set()

class Finder:
    def find_spec(self, name, *_):
        if name.startswith("reeld.formats."):
            threads.add(current_thread() is main_thread())

sys.meta_path.insert(0, Finder())

async def call():
    try:
        await late.{handler}({arguments}).run()
    except AttributeError:
        pass  # there are no services

trio.run(call)
print(threads)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("handler", "arguments"), [("ingest", 5), ("load", 5), ("render", 4), ("add_items", 5)])
def test_the_first_call(handler: str, arguments: int) -> None:
    """The first call imports the formats in a thread, so that the loop goes on."""
    program = _PROGRAM.format(handler=handler, arguments=", ".join(["None"] * arguments))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert ("{False}\n", "") == (done.stdout, done.stderr)
