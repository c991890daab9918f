"""The vendors' own suites, from their source distributions: fetched when the tests are set up, and never copied."""

import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.patience import PATIENCE

_ROOT = Path(__file__).parents[2]
_KEPT = _ROOT / "build" / "vendors"


def sources_of(package: str) -> Path:
    """Return the directory with the source distribution of a package, in the version that is installed.

    It stays in ``build``. Without a network, and without it, the test is skipped.
    """
    directory = _KEPT / f"{package}-{version(package)}"
    if not directory.exists():
        _KEPT.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=_KEPT) as place:
            _fetch(f"{package}=={version(package)}", Path(place))
            (unpacked,) = (found for found in Path(place).iterdir() if found.is_dir())
            with suppress(OSError):  # another worker was faster
                unpacked.rename(directory)
    return directory


def _fetch(requirement: str, place: Path) -> None:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-binary", ":all:", "--dest", str(place)]
    ran = subprocess.run([*command, requirement], capture_output=True, text=True, check=False, timeout=PATIENCE)
    if ran.returncode != 0:
        pytest.skip("a source distribution cannot be fetched")
    (archive,) = place.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(place, filter="data")


def run_suite(
    directory: Path, plugin: str, socket: str, files: Sequence[str], left_out: Iterable[str], *, path: Path = _ROOT
) -> None:
    """Run tests of a vendor's suite with a plugin that puts our class in the place of theirs.

    Args:
        directory: their source distribution.
        plugin: the plugin's module.
        socket: the daemon's socket, which the plugin finds in ``REEL_SOCKET``.
        files: the files of tests.
        left_out: the tests that are left out, as pytest names them.
        path: the directory in which the plugin's module is found.
    """
    if not all((directory / file).exists() for file in files):
        pytest.skip("this version has no such tests")
    options = ["-q", "-p", plugin, "-p", "no:cacheprovider", *(f"--deselect={test}" for test in left_out)]
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *files],
        cwd=directory,
        env={**os.environ, "REEL_SOCKET": socket, "PYTHONPATH": str(path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert 0 == ran.returncode, ran.stdout[-10_000:]
