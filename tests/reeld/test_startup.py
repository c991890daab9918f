"""The limits of the process, without which the daemon does not start, and its name."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.daemon import Daemon
from tests.patience import PATIENCE

_LIMIT_FILES = """
import resource
from reeld.startup import raise_file_limit
resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))
print(raise_file_limit({wanted}), *resource.getrlimit(resource.RLIMIT_NOFILE))
"""


@pytest.mark.parametrize(
    ("soft", "hard", "wanted", "expected"),
    [
        (200, 400, 100, "100 200 400"),
        (200, 400, 104, "104 200 400"),
        (200, 400, 105, "105 201 400"),
        (200, 400, 304, "304 400 400"),
        (200, 400, 305, "304 400 400"),
        (50, 100, 1000, "4 100 100"),
    ],
)
def test_file_limit(soft: int, hard: int, wanted: int, expected: str) -> None:
    """The limit is raised as far as allowed; if that is not enough, fewer connections are possible, which is logged."""
    code = _LIMIT_FILES.format(soft=soft, hard=hard, wanted=wanted)
    tried = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, check=True, timeout=PATIENCE)

    assert expected == tried.stdout.strip()
    assert ("connections are limited to" in tried.stderr) is (int(expected.split(maxsplit=1)[0]) < wanted)


def test_a_file_limit_that_is_too_low() -> None:
    """With fewer than a hundred files hardly a client could connect: the daemon does not start."""
    code = _LIMIT_FILES.format(soft=64, hard=99, wanted=1000)
    tried = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, check=False, timeout=PATIENCE)

    said = "99 open files are allowed (ulimit -Hn), and reeld needs 100 or more; raise the limit"
    assert f"reeld.startup.StartupError: {said}" == tried.stderr.splitlines()[-1]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a process choose its name")
def test_the_name_of_the_process(prepared: Daemon) -> None:
    """Lists of processes call it reeld, although its program is Python."""
    prepared.start()

    assert "reeld\n" == Path(f"/proc/{prepared.process.pid}/comm").read_text()
