"""How many connections the system lets the daemon have; each case in a process of its own."""

import subprocess
import sys

import pytest

_TRY = """
import resource
from reeld.descriptors import make_room
resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))
print(make_room({wanted}), *resource.getrlimit(resource.RLIMIT_NOFILE))
"""


@pytest.mark.parametrize(
    ("soft", "hard", "wanted", "expected"),
    [
        (200, 400, 100, "100 200 400"),
        (200, 400, 104, "104 200 400"),
        (200, 400, 105, "105 201 400"),
        (200, 400, 304, "304 400 400"),
        (200, 400, 305, "304 400 400"),
        (50, 50, 1000, "1 50 50"),
    ],
)
def test_room(soft: int, hard: int, wanted: int, expected: str) -> None:
    """What is allowed is used; where that is too little, there are fewer connections, and the log says so."""
    code = _TRY.format(soft=soft, hard=hard, wanted=wanted)
    tried = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, check=True, timeout=30)

    assert expected == tried.stdout.strip()
    assert ("connections are limited to" in tried.stderr) is (int(expected.split(maxsplit=1)[0]) < wanted)
