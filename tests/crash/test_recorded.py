"""A history that is wrong is in a file, and can be checked again."""

import re
import sys
from pathlib import Path
from subprocess import run

import pytest

from tests.crash import recorded
from tests.crash.crashing_daemon import CrashingDaemon
from tests.crash.example import CREATE, END, HI, HO, LOG, unheard
from tests.crash.workload import Workload
from tests.model import Marked


@pytest.fixture(autouse=True)
def _temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def test_a_history_in_a_file() -> None:
    """What is read equals what was written."""
    calls, final = [CREATE, HI, unheard(HO)], [END._replace(marks=(Marked(3, None),))]

    assert (calls, [*LOG], final) == recorded.read(recorded.write(calls, LOG, final))


def test_a_finding(crashing: CrashingDaemon) -> None:
    """A failed check of a workload names the file, and the program finds the same in it."""
    crashing.start()
    with crashing.client() as client:
        client.add("demo", "hi", create=True)
    with pytest.raises(AssertionError, match="nobody asked for it") as error:
        Workload(crashing, seed=1).verify()
    (path,) = re.findall(r"all of it: (\S+)", str(error.value))
    found = run([sys.executable, "-m", "tests.crash.recorded", path], capture_output=True, text=True, check=True)

    assert found.stdout.startswith("nobody asked for it")
