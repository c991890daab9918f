"""Where a database lies: network file systems, folders that are synced, homes of others."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from reel.base.errors import NotRunning
from reel.daemon.placement import FileSystem, file_system_of, require_own_home, synced_folder
from tests.daemon import Daemon

_MOUNTS = """\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
23 22 0:21 / /proc rw - proc proc rw
30 22 0:40 / /home rw,relatime shared:9 - nfs4 server:/home rw,vers=4.2
31 30 254:1 / /home/me/local rw - xfs /dev/vdb rw
32 22 0:41 / /mnt/a\\040share rw - cifs //server/share rw
33 22 0:42 / /mnt/c rw,noatime - 9p C:\\134 rw
34 22 0:43 / /mnt/ssh rw - fuse.sshfs me@host: rw
35 22 0:44 / /mnt/usb rw - fuseblk /dev/sdb1 rw
36 22 0:45 / /mnt/usb rw - tmpfs tmpfs rw
"""


@pytest.mark.parametrize(
    ("path", "expected", "is_network"),
    [
        ("/srv/reel.db", FileSystem("ext4", "/"), False),
        ("/home/me/.local/state/reel/reel.db", FileSystem("nfs4", "/home"), True),
        ("/homes/reel.db", FileSystem("ext4", "/"), False),
        ("/home/me/local/reel.db", FileSystem("xfs", "/home/me/local"), False),
        ("/mnt/a share/reel.db", FileSystem("cifs", "/mnt/a share"), True),
        ("/mnt/c/Users/me/reel.db", FileSystem("9p", "/mnt/c"), True),
        ("/mnt/ssh/reel.db", FileSystem("fuse.sshfs", "/mnt/ssh"), True),
        ("/mnt/usb/reel.db", FileSystem("tmpfs", "/mnt/usb"), False),
    ],
)
def test_the_file_system_of_a_path(path: str, expected: FileSystem, is_network: bool) -> None:
    """It is the deepest mount above the path, and of two on one path the later."""
    found = file_system_of(path, _MOUNTS)

    assert expected == found
    assert found is not None
    assert is_network == found.is_network


def test_the_file_system_of_this_machine(tmp_path: Path) -> None:
    """A file that is not there yet has that of its directory."""
    assert file_system_of(str(tmp_path)) == file_system_of(str(tmp_path / "new" / "reel.db")) is not None


@pytest.mark.parametrize(
    "folder", ["Dropbox", "Dropbox (Work)", "OneDrive - Contoso", "Google Drive", "Mobile Documents", "Nextcloud"]
)
def test_a_folder_that_is_synced_by_its_name(tmp_path: Path, folder: str) -> None:
    """The usual names count, anywhere above the file, and however their letters are written."""
    assert str(tmp_path / folder) == synced_folder(str(tmp_path / folder / "state" / "reel.db"))
    assert str(tmp_path / folder.upper()) == synced_folder(str(tmp_path / folder.upper() / "reel.db"))
    assert synced_folder(str(tmp_path / f"my {folder}" / "reel.db")) is None


def test_a_folder_that_is_synced_by_its_mark(tmp_path: Path) -> None:
    """Syncthing's folders may have any name."""
    assert synced_folder(str(tmp_path / "state" / "reel.db")) is None
    (tmp_path / ".stfolder").mkdir()

    assert str(tmp_path) == synced_folder(str(tmp_path / "state" / "reel.db"))


def _on_a_share(daemon: Daemon, *options: str) -> subprocess.Popen[bytes]:
    """Start a daemon for which every directory is on a network file system."""
    code = (
        "import sys; from reel.daemon import placement;"
        " placement._NETWORK = {placement.file_system_of('/').type, placement.file_system_of(sys.argv[4]).type};"
        " from reeld.__main__ import main; sys.exit(main())"
    )
    command = [sys.executable, "-c", code, "--socket", daemon.socket, "--database", daemon.database, *options]
    return subprocess.Popen(command, stderr=subprocess.PIPE)


@pytest.mark.slow
def test_a_database_on_a_network_file_system(home: Path) -> None:
    """A new one is refused unless that is accepted; one that is there is served, with an error in the log."""
    daemon = Daemon(home)
    refused = _on_a_share(daemon)
    _, said = refused.communicate()
    assert 4 == refused.returncode
    assert b"is on a network file system" in said
    assert b"--allow-network-files" in said
    assert not os.path.exists(daemon.database)
    for options in (["--allow-network-files"], []):
        with _on_a_share(daemon, *options) as served:
            assert served.stderr is not None
            lines = []
            for line in served.stderr:
                lines.append(line)
                if b" ready in " in line:
                    break
            served.terminate()
            assert any(b"ERROR" in line and b"is on a network file system" in line for line in lines)


def test_the_home_of_somebody_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root makes no files in it; root's own home, and everybody's files in their own, are as before."""
    place = tmp_path / ".local" / "state" / "reel" / "reel.db"
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    before = os.stat

    def owned_by(uid: int) -> None:
        monkeypatch.setattr(Path, "stat", lambda path, **_: os.stat_result([*before(path)[:4], uid, *before(path)[5:]]))

    owned_by(4711)
    with pytest.raises(NotRunning, match=f"this is root, and {tmp_path} belongs to uid 4711.*sudo -H"):
        require_own_home(str(place))
    owned_by(0)
    require_own_home(str(place))
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    owned_by(4711)
    require_own_home(str(place))


@pytest.mark.slow
@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
@pytest.mark.parametrize("words", [["add", "demo", "hi"], ["start"], ["stop"], ["units", "--install"]])
def test_root_in_the_home_of_somebody_else(home: Path, words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """No command leaves a file there, and the error says what to do."""
    monkeypatch.delenv("REEL_NO_START", raising=False)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    os.chown(home, 4711, 4711)
    reel = [sys.executable, "-c", "from reel.cli import process; process()"]
    refused = subprocess.run([*reel, *words], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    daemon = subprocess.run([sys.executable, "-m", "reeld"], capture_output=True, text=True, check=False)

    assert refused.returncode != 0
    assert "this is root, and " in refused.stderr
    assert (4, True) == (daemon.returncode, "this is root, and " in daemon.stderr)
    assert [] == [*home.rglob("*")]
