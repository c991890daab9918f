"""Where a database lies: on a network file system, in a folder that is synced, or in the home of somebody else.

SQLite's write-ahead log needs memory that all readers share, so it does not work over a network ("All processes using a
database must be on the same host computer; WAL does not work over a network filesystem", sqlite.org/wal.html). A
program that syncs a folder copies the database and its log at different moments, and may put an older one back.
"""

import os
import pwd
import re
from pathlib import Path

from reel.base.errors import NotRunning
from reel.base.light_typing import NamedTuple

# What Linux calls them (proc(5), mountinfo); what is mounted through FUSE is called after its program.
_NETWORK = frozenset(
    {
        *("9p", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "glusterfs", "lustre", "ncpfs", "nfs", "nfs4"),
        *("orangefs", "smb2", "smb3", "smbfs", "vboxsf"),
        *("fuse.ceph", "fuse.curlftpfs", "fuse.davfs2", "fuse.gcsfuse", "fuse.glusterfs", "fuse.juicefs"),
        *("fuse.rclone", "fuse.s3fs", "fuse.smbnetfs", "fuse.sshfs"),
    }
)
# How the folders of programs that sync begin, in small letters.
_SYNCED = (
    *("dropbox", "onedrive", "google drive", "googledrive", "mobile documents", "icloud drive", "cloudstorage"),
    *("nextcloud", "owncloud", "pclouddrive", "megasync"),
)
# Files with which such a program marks its folder.
_MARKS = (".stfolder", ".dropbox", ".nextcloudsync.log", ".sync_journal")
_ESCAPED = re.compile(r"\\([0-7]{3})")


class FileSystem(NamedTuple):
    """A mounted file system: its type, as the kernel calls it, and where it is mounted."""

    type: str
    mount: str

    @property
    def is_network(self) -> bool:
        """Whether other machines may write to it."""
        return self.type in _NETWORK

    def __str__(self) -> str:
        return f"{self.type} at {self.mount}"


def file_system_of(path: str, mounts: str | None = None) -> FileSystem | None:
    """Return the file system of a path that need not exist; ``None`` if the system does not tell.

    Args:
        path: of a file or a directory.
        mounts: the content of ``/proc/self/mountinfo``. Default: that of this process.
    """
    if mounts is None:
        try:
            mounts = Path("/proc/self/mountinfo").read_text(errors="surrogateescape")
        except OSError:
            return None
    path = os.path.realpath(path)
    found = None
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        mount = _ESCAPED.sub(lambda escaped: chr(int(escaped[1], 8)), before.split(" ")[4])
        # Of two on one path the later hides the earlier.
        if _is_below(path, mount) and (found is None or len(mount) >= len(found.mount)):
            found = FileSystem(after.split(" ")[0], mount)
    return found


def _is_below(path: str, directory: str) -> bool:
    return path == directory or path.startswith(f"{directory.rstrip('/')}/")


def synced_folder(path: str) -> str | None:
    """Return the folder above a path that a program seems to sync with other machines, by its name or a mark in it."""
    for folder in Path(os.path.realpath(path)).parents:
        if folder.name.lower().startswith(_SYNCED) or any(os.path.lexists(folder / mark) for mark in _MARKS):
            return str(folder)
    return None


def require_own_home(path: str) -> None:
    """Refuse to make a file as root in somebody else's directory, as under ``sudo -E``: it would lock them out.

    Args:
        path: the file, which nobody has named: it follows from the environment.

    Raises:
        NotRunning: it would be.
    """
    if os.geteuid() != 0:
        return
    parents = Path(path).parents
    try:
        there = next(parent for parent in parents if parent.exists())
        owner = there.stat().st_uid
    except (OSError, StopIteration):
        return
    if owner != 0:
        raise NotRunning(
            f"this is root, and {there} belongs to {_name_of(owner)}, whom root's files in it would lock out; run it"
            " without sudo, or as root with root's own home: sudo -H"
        )


def _name_of(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"
