"""Programs that speak JSON lines on their streams."""

import json
import os
import queue
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.patience import LONGEST, Deadline

Record = dict[str, Any]
# Between two looks whether the time is over.
_LOOK = 1.0


class Talk:
    """A program that speaks JSON lines on its streams."""

    def __init__(self, command: Sequence[str], directory: Path, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            command,
            cwd=directory,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._records: queue.Queue[Record | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                if line.startswith(b"{"):
                    self._records.put(json.loads(line))
        self._records.put(None)

    def send(self, record: Record) -> None:
        """Send a record."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(record).encode() + b"\n")
        self._process.stdin.flush()

    def wait(self, is_it: Callable[[Record], bool]) -> Record:
        """Read records up to the first one that is meant, and return it."""
        deadline = Deadline()
        while True:
            try:
                record = self._records.get(timeout=_LOOK)
            except queue.Empty:
                assert not deadline.is_over, self._process.args
                continue
            if record is None:
                raise EOFError(self._process.args)
            if is_it(record):
                return record

    def close(self) -> None:
        """Let it end."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(LONGEST)
        self._reader.join()

    def kill(self) -> None:
        """Kill it, and what it has started."""
        os.killpg(self._process.pid, signal.SIGKILL)
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait(LONGEST)
        self._reader.join()
