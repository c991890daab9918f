"""The wheel, installed into an empty directory, contains what it promises."""

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

import msgpack
import pytest

from reel.version import __version__
from reeld.startup import CANNOT_START

_ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel."""
    target = tmp_path_factory.mktemp("dist")
    run([sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(target)])
    (built,) = target.iterdir()
    return built


@pytest.fixture(scope="module")
def place(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install it without extras; its one dependency is copied from this environment, since no test downloads."""
    place = tmp_path_factory.mktemp("place")
    run([sys.executable, "-m", "venv", "--without-pip", str(place)])
    python = str(place / "bin" / "python")
    run([sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-index", "--no-deps", str(wheel)])
    (packages,) = place.glob("lib/python*/site-packages")
    shutil.copytree(Path(msgpack.__file__).parent, packages / "msgpack")
    return place


def run(command: Sequence[str | Path], status: int = 0) -> subprocess.CompletedProcess[str]:
    """Run a program without this process's packages, and expect an exit status."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COVERAGE"))}
    ran = subprocess.run(command, cwd=_ROOT, env=environment, text=True, capture_output=True, check=False, timeout=60)
    assert ran.returncode == status, ran.stderr
    return ran


def test_the_command(place: Path) -> None:
    """The command works with the base dependency alone."""
    assert f"reel {__version__}" in run([place / "bin" / "reel", "--version"]).stdout
    assert "/s.sock\n" == run([place / "bin" / "reel", "--socket", "/s.sock", "socket"]).stdout


def test_the_client(place: Path) -> None:
    """The package can be imported, and reports that no daemon runs."""
    code = (
        "import reel; print(reel.__file__)\ntry: reel.connect('/nowhere')\nexcept reel.NotRunning: print('as expected')"
    )
    said = run([place / "bin" / "python", "-c", code]).stdout.splitlines()

    assert said[0].startswith(str(place))
    assert said[1] == "as expected"


def test_the_daemon_without_its_extra(place: Path) -> None:
    """The daemon is installed, and says which extra is missing."""
    ran = run([place / "bin" / "reeld"], status=CANNOT_START)

    assert ran.stderr == "reeld: aiosqlite is missing; the daemon comes with: pip install 'reeld[daemon]'\n"


@pytest.mark.parametrize("name", ["reeld.service", "reeld.socket"])
def test_units(place: Path, name: str) -> None:
    """The units are where systemd looks below a prefix, and refer to the documentation."""
    unit = (place / "share" / "systemd" / "user" / name).read_text()

    assert "Documentation=man:reeld(8)" in unit.splitlines()


@pytest.mark.parametrize(("page", "title"), [("man1/reel.1", ".TH REEL 1 "), ("man8/reeld.8", ".TH REELD 8 ")])
def test_manual(place: Path, page: str, title: str) -> None:
    """The manual pages are where man looks beside a directory of programs."""
    assert (place / "share" / "man" / page).read_text().startswith(title)


def test_contents(wheel: Path) -> None:
    """Both packages are typed; the licence and the extras are there, and nothing unexpected."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (metadata,) = (archive.read(name).decode() for name in names if name.endswith("METADATA"))

    about = f"reeld-{__version__}"
    assert {"reel/py.typed", "reeld/py.typed", f"{about}.dist-info/licenses/LICENSE"} <= names
    assert {"reel", "reeld", f"{about}.data", f"{about}.dist-info"} == {name.split("/")[0] for name in names}
    assert {"Provides-Extra: daemon", "Provides-Extra: async"} <= set(metadata.splitlines())
