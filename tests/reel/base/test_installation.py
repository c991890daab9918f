"""What is missing is installed where this package came from, not from whoever has its name on an index."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

import reel
from reel.base import installation
from reel.base.installation import install_command, was_updated
from reel.version import __version__

_CHECKOUT = Path(reel.__file__).parent.parent.parent
_FROM = {
    "an index": ({}, "reeld[zstd]"),
    "a directory": ({"url": "file:///home/me/reel", "dir_info": {}}, "reeld[zstd] @ file:///home/me/reel"),
    "a wheel": (
        {"url": "file:///tmp/reeld-0.1.0-py3-none-any.whl", "archive_info": {}},
        "reeld[zstd] @ file:///tmp/reeld-0.1.0-py3-none-any.whl",
    ),
    "a repository": (
        {"url": "https://example.org/reel", "vcs_info": {"vcs": "git", "commit_id": "0a1b"}},
        "reeld[zstd] @ git+https://example.org/reel@0a1b",
    ),
}
_CODE = (
    "import sys; sys.prefix = {prefix!r}; from reel.base.installation import install_command as f; print(f({extra!r}))"
)


def test_another_version(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What is installed is compared with what runs; if it is gone, it was updated or removed."""
    found = [was_updated()]
    for text in (f'__version__ = "{__version__}"\n', '__version__ = "99.1"\n', None):
        monkeypatch.setattr(installation, "_VERSION", tmp_path / "version.py" if text else tmp_path / "gone")
        (tmp_path / "version.py").write_text(text or "")
        found.append(was_updated())

    assert [False, False, True, True] == found


def advice(site: Path, origin: Mapping[str, object] | None, installer: str = "pip", extra: str = "zstd") -> str:
    """Return the advice of an installation with these records; with ``None`` for its origin, there are none."""
    site.joinpath("reel").symlink_to(Path(reel.__file__).parent)
    if installer == "pip":
        site.joinpath("pip").mkdir()
    if origin is not None:
        records = site / "reeld-0.1.0.dist-info"
        records.mkdir()
        (records / "METADATA").write_text("Metadata-Version: 2.1\nName: reeld\nVersion: 0.1.0\n")
        (records / "INSTALLER").write_text(f"{installer}\n")
        if origin:
            (records / "direct_url.json").write_text(json.dumps(origin))
    code = f"import sys; sys.path = [{str(site)!r}, *sys.path]; " + _CODE.format(prefix=str(site), extra=extra)
    return subprocess.check_output([sys.executable, "-S", "-c", code], text=True).rstrip("\n")


@pytest.mark.parametrize("origin", _FROM)
def test_where_it_came_from(tmp_path: Path, origin: str) -> None:
    """What was installed from somewhere is installed from there again, into the same environment."""
    record, requirement = _FROM[origin]

    assert f"{sys.executable} -m pip install '{requirement}'" == advice(tmp_path, record)


def test_an_editable_checkout(tmp_path: Path) -> None:
    """An editable installation stays one."""
    record = {"url": "file:///home/me/my%20reel", "dir_info": {"editable": True}}

    assert f"{sys.executable} -m pip install --editable '/home/me/my reel[zstd]'" == advice(tmp_path, record)


def test_a_checkout_that_is_not_installed(tmp_path: Path) -> None:
    """A checkout that is only on the path is installed from its place."""
    assert f"{sys.executable} -m pip install --editable {_CHECKOUT}" == advice(tmp_path, None, extra="")


@pytest.mark.parametrize(
    ("mark", "command"),
    [("pipx_metadata.json", "pipx install --force"), ("uv-receipt.toml", "uv tool install --force")],
)
def test_the_environment_of_a_program(tmp_path: Path, mark: str, command: str) -> None:
    """pipx and uv install a program into an environment of its own, which only they change."""
    (tmp_path / mark).touch()
    record, requirement = _FROM["a directory"]

    assert f"{command} '{requirement}'" == advice(tmp_path, record)


def test_an_environment_of_uv(tmp_path: Path) -> None:
    """An environment of uv has no pip."""
    record, _ = _FROM["a directory"]
    expected = f"uv pip install --python {sys.executable} 'reeld @ file:///home/me/reel'"

    assert expected == advice(tmp_path, record, "uv", extra="")


def test_an_environment_without_pip(tmp_path: Path) -> None:
    """Another environment's pip installs into one that has none."""
    expected = f"pip --python {sys.executable} install reeld"

    assert expected == advice(tmp_path, {}, "other", extra="")


def test_this_installation() -> None:
    """The advice of the installation that runs the tests names the checkout."""
    assert str(_CHECKOUT) in install_command()
