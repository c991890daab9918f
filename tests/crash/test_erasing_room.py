"""What was erased is in no file, however little room there is, and wherever the daemon was killed."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.crash.test_disk_space import UNSHARE, may_mount
from tests.crash.workload import LONG

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not may_mount(), reason="unprivileged mounts are not allowed here")]

_ROUNDS = 20 if LONG else 1


@pytest.mark.parametrize("free", [1 << 20, 16 << 20, 100 << 20])
def test_erasing_with_little_room(directory: Path, free: int) -> None:
    """The daemon is killed while it erases with so many bytes free: it starts again, and nothing is left."""
    command = [sys.executable, "-m", "tests.crash.small_disk", str(directory), str(free), str(free), str(_ROUNDS)]
    ran = subprocess.run(
        [*UNSHARE, *command], cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False
    )

    assert 0 == ran.returncode, ran.stderr
