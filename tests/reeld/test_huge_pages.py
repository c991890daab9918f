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
    not _POLICY.is_file() or "[madvise]" not in _POLICY.read_text(), reason="this system grants none to who asks"
)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, ASKING),
        ({"HOME": "/h"}, {"HOME": "/h", **ASKING}),
        ({"": "without a name"}, ASKING),
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


# What a program does before it becomes the daemon, which ends at once.
_BEGINNING = """
import sys
print("begins", flush=True)
{before}
from reeld.__main__ import main
sys.argv[1:] = ["--version"]
sys.exit(main())
"""
_LIMIT = "import resource; resource.setrlimit(resource.RLIMIT_AS, ({megabytes} << 20,) * 2)"


def _begin(
    command: list[str], *, called: str | None = None, text: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Run this Python in an environment that does not say where it takes its memory."""
    environment = {name: value for name, value in os.environ.items() if name not in ASKING}
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    return subprocess.run(
        [called or sys.executable, *command],
        executable=sys.executable,
        env=environment,
        input=text,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )


@pytest.mark.parametrize(
    ("name", "flags", "before", "times"),
    [
        pytest.param("reeld", [], "", 2, marks=_with_huge_pages),
        ("reeld", ["-E"], "", 1),  # otherwise it would begin again without end
        ("reeld", ["-I"], "", 1),
        ("reeld", ["-X", "dev"], "", 1),
        ("reeld", [], "sys.abiflags += 't'", 1),
        ("reeld", [], "sys.executable = ''", 1),
        ("reeld", [], _LIMIT.format(megabytes=200), 1),
        pytest.param("reeld", [], _LIMIT.format(megabytes=1000), 2, marks=_with_huge_pages),
        ("profiler", [], "", 1),
    ],
)
def test_how_often_it_begins(name: str, flags: list[str], before: str, times: int, tmp_path: Path) -> None:
    """A daemon begins again if that changes where its memory is taken, and nothing else."""
    program = tmp_path / name
    program.write_text(_BEGINNING.format(before=before))
    ran = _begin([*flags, str(program)])
    *begun, said = ran.stdout.splitlines()

    assert (0, ["begins"] * times, True) == (ran.returncode, begun, said.startswith("reeld ")), ran.stderr


def test_a_program_that_is_read_from_stdin() -> None:
    """It is not begun again, as it could not be read again."""
    ran = _begin(["-"], text=_BEGINNING.format(before=""))

    assert (0, 2) == (ran.returncode, len(ran.stdout.splitlines()))


def test_a_python_that_is_called_reeld() -> None:
    """It finds the command of that name, takes it for itself, and nevertheless does not begin again as that."""
    ran = _begin(["-m", "reeld", "--check"], called="reeld")

    assert (0, "") == (ran.returncode, ran.stderr)


# Gets a signal at the last moment before it begins again.
_SIGNALLED = """
import os, signal
def hook(event, _):
    if event == "os.exec":
        os.kill(os.getpid(), signal.{name})
        print("begins again", flush=True)
sys.addaudithook(hook)
"""


@_with_huge_pages
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_it_begins_again(number: signal.Signals, tmp_path: Path) -> None:
    """It is not lost between the handlers of both beginnings, and ends the second one with a word."""
    program = tmp_path / "reeld"
    program.write_text(_BEGINNING.format(before=_SIGNALLED.format(name=number.name)))
    ran = _begin([str(program)])

    assert -number == ran.returncode
    assert ["begins", "begins again", "begins"] == ran.stdout.splitlines()
    assert f"reeld: ended by {number.name}\n" == ran.stderr
