"""The wheel, installed into an empty directory, contains what it promises."""

import os
import re
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
from tests.patience import PATIENCE

_ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel."""
    target = tmp_path_factory.mktemp("dist")
    run(["env", "REEL_NO_VSIX=1", sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(target)])
    (built,) = target.iterdir()
    return built


@pytest.fixture(scope="module")
def place(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install it without dependencies but msgpack, which is copied from this environment: no test downloads."""
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
    ran = subprocess.run(
        command, cwd=_ROOT, env=environment, text=True, capture_output=True, check=False, timeout=PATIENCE
    )
    assert ran.returncode == status, ran.stderr
    return ran


def test_the_command(place: Path) -> None:
    """The command works with msgpack alone."""
    assert f"reel {__version__}" in run([place / "bin" / "reel", "--version"]).stdout
    assert "/s.sock\n" == run([place / "bin" / "reel", "--socket", "/s.sock", "socket"]).stdout


def test_the_client(place: Path) -> None:
    """The package can be imported, and reports that no daemon runs."""
    code = (
        "import reel; print(reel.__file__)\ntry: reel.connect('/nowhere')\nexcept reel.NotRunning: print('as expected')"
    )
    said = run([place / "bin" / "python", "-c", code]).stdout.splitlines()

    assert said[0].startswith(str(place))
    assert "as expected" == said[1]


def test_the_daemon_without_its_dependencies(place: Path, wheel: Path) -> None:
    """In the thin installation the daemon says what is missing, and names the wheel, which pip takes."""
    ran = run([place / "bin" / "reeld"], status=CANNOT_START)

    requirement = f"reeld @ {wheel.as_uri()}"
    assert ran.stderr.startswith("reeld: anyio is missing; install what it needs with: ")
    assert ran.stderr.endswith(f" install '{requirement}'\n")
    run([sys.executable, "-m", "pip", "install", "--dry-run", "--no-index", "--no-deps", requirement])


def test_the_text_of_a_package_page(wheel: Path) -> None:
    """What an index shows of the package is the README without links and pictures that would lead nowhere there."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        text = archive.read(name).decode()

    assert "Description-Content-Type: text/markdown" in text
    assert "| docs/cli.md | what each command does" in text
    assert "go on with it from any editor or program" in text
    assert text.endswith("The pages and programs that this text names are in the source distribution.\n")
    assert [] == re.findall(r"\[[^]]*\]\((?!https://)[^)]*\)", text)


def test_units(place: Path) -> None:
    """The installed command has the units, which start the installed daemon."""
    assert f'ExecStart="{place}/bin/reeld"' in run([place / "bin" / "reel", "units"]).stdout.splitlines()


@pytest.mark.parametrize(
    ("editor", "file"), [("nvim", "plugin/reel.lua"), ("vim", "plugin/reel.vim"), ("emacs", "reel.el")]
)
def test_plug_ins(place: Path, editor: str, file: str) -> None:
    """The installed command knows where the plug-ins are that were installed with it."""
    plug_in = Path(run([place / "bin" / "reel", "editor", editor, "--path"]).stdout.strip())

    assert (plug_in / file).exists()
    assert place in plug_in.parents


@pytest.mark.parametrize(
    "file",
    ["bash-completion/completions/reel", "zsh/site-functions/_reel", "fish/vendor_completions.d/reel.fish"],
)
def test_completions(place: Path, file: str) -> None:
    """The completions are where each shell looks below a prefix."""
    assert "reel" in (place / "share" / file).read_text()


@pytest.mark.parametrize(("page", "title"), [("man1/reel.1", ".TH REEL 1 "), ("man8/reeld.8", ".TH REELD 8 ")])
def test_manual(place: Path, page: str, title: str) -> None:
    """The manual pages are where man looks beside a directory of programs."""
    assert (place / "share" / "man" / page).read_text().startswith(title)


def test_contents(wheel: Path) -> None:
    """Both packages are typed, the daemon's dependencies are installed by default, and there is nothing unexpected."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (metadata,) = (archive.read(name).decode() for name in names if name.endswith("METADATA"))

    about = f"reeld-{__version__}"
    assert {"reel/py.typed", "reeld/py.typed", f"{about}.dist-info/licenses/LICENSE"} <= names
    assert {f"reel/viewing/static/view.{kind}" for kind in ("js", "css")} <= names
    assert {"reel", "reeld", f"{about}.data", f"{about}.dist-info"} == {name.split("/")[0] for name in names}
    required = {line.split()[1].split(">")[0] for line in metadata.splitlines() if line.startswith("Requires-Dist:")}
    assert {"msgpack", "anyio", "trio", "aiosqlite"} <= required
