"""When the daemon asks for huge pages, and that it has them."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from reeld.huge_pages import with_huge_pages
from tests.daemon import Daemon
from tests.patience import PATIENCE

ASKING = {"PYTHONMALLOC": "malloc", "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
_POLICY = Path("/sys/kernel/mm/transparent_hugepage/enabled")
_with_huge_pages = pytest.mark.skipif(
    not _POLICY.is_file() or "[never]" in _POLICY.read_text(), reason="this system has no huge pages"
)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, ASKING),
        ({"HOME": "/h"}, {"HOME": "/h", **ASKING}),
        (
            {"GLIBC_TUNABLES": "glibc.malloc.perturb=1"},
            {"PYTHONMALLOC": "malloc", "GLIBC_TUNABLES": "glibc.malloc.perturb=1:glibc.malloc.hugetlb=1"},
        ),
        (
            {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=0"},
            {"PYTHONMALLOC": "malloc", "GLIBC_TUNABLES": "glibc.malloc.hugetlb=0"},
        ),
        ({"PYTHONMALLOC": "pymalloc"}, None),
        ({"PYTHONMALLOC": ""}, None),
        (ASKING, None),
    ],
)
def test_an_environment(given: dict[str, str], expected: dict[str, str] | None) -> None:
    """Both variables are set, unless the environment says where Python takes its memory; other tunables stay."""
    assert expected == with_huge_pages(given)


@_with_huge_pages
def test_a_daemon_has_huge_pages(prepared: Daemon) -> None:
    """It begins again as the same process, on the same files, with at least half of its own memory in huge pages."""
    prepared.environment = {name: value for name, value in os.environ.items() if name not in ASKING}
    prepared.start()
    process = Path(f"/proc/{prepared.process.pid}")
    environment = dict(entry.partition("=")[::2] for entry in (process / "environ").read_text().split("\0"))
    parts = (process / "smaps_rollup").read_text().splitlines()
    huge, own = (int(line.split()[1]) for name in ("AnonHuge", "Anonymous") for line in parts if line.startswith(name))

    assert prepared.command() == (process / "cmdline").read_text().split("\0")[:-1]
    assert ASKING == {name: environment.get(name) for name in ASKING}
    assert huge > own / 2
    assert 0 == prepared.end(signal.SIGTERM)


@pytest.mark.parametrize("flag", ["-E", "-I"])
def test_an_environment_that_is_ignored(flag: str) -> None:
    """If Python ignores its variables, the daemon begins once: otherwise it would begin again without end."""
    environment = {name: value for name, value in os.environ.items() if name not in ASKING}
    command = [sys.executable, flag, "-m", "reeld", "--version"]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=PATIENCE)

    assert (0, True) == (ran.returncode, ran.stdout.startswith("reeld "))
