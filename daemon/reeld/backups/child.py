"""Running ``reeld verify`` beside the daemon, so that it takes neither the interpreter nor the loop from anybody."""

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import anyio
from anyio.streams.text import TextReceiveStream

from reel.errors import Storage, from_wire
from reel.process import trusted_environment


async def check_in_child(path: str, tell: Callable[[int, int], None]) -> dict[str, Any]:
    """Check a file in a process of its own, which ends with the caller; return the report.

    Args:
        path: the file.
        tell: called with how many events have been checked, and how many there are.

    Raises:
        Storage: it cannot be checked.
    """
    # -P: without it, -m looks for the module in the current directory first.
    command = [sys.executable, "-P", "-m", "reeld", "verify", "--background", path]
    last: dict[str, Any] = {}
    try:
        async with await anyio.open_process(
            command, stdin=subprocess.DEVNULL, stderr=None, env=trusted_environment()
        ) as process:
            assert process.stdout is not None  # noqa: S101 - it is a pipe
            rest = ""
            async for text in TextReceiveStream(process.stdout):
                *lines, rest = f"{rest}{text}".split("\n")
                for line in lines:
                    last = json.loads(line)
                    if "done" in last:
                        tell(last["done"], last["total"])
            status = await process.wait()
    except ValueError as error:
        raise Storage(f"{path} was not checked: the process printed something else: {error}") from error
    except OSError as error:
        raise Storage(f"{path} cannot be checked: {sys.executable}: {error.strerror}") from error
    if "error" in last:
        raise from_wire(last["error"])
    if "report" not in last:
        raise Storage(f"{path} was not checked: the process ended with status {status}")
    report: dict[str, Any] = last["report"]
    return report
