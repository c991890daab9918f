"""Files that were compressed with Zstandard, for which Python has a module from 3.14 on."""

import io
from importlib import import_module
from typing import Any, BinaryIO

_MODULES = ("compression.zstd", "backports.zstd")
_MISSING = "is compressed with Zstandard; to read it: pip install 'reeld[zstd]'"


class _Decompressed(io.RawIOBase):
    """What a compressed file contains; damage is an ``OSError``."""

    def __init__(self, file: Any, path: str) -> None:
        self._file = file
        self._path = path

    def readable(self) -> bool:
        """Return whether it can be read: it can."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Read into a buffer."""
        try:
            data = self._file.read(len(buffer))
        except Exception as error:  # each module has exceptions of its own
            raise OSError(0, f"cannot be decompressed: {error}", self._path) from error
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()


def open_zstd(file: BinaryIO, path: str) -> BinaryIO:
    """Return what reads a compressed file.

    Raises:
        OSError: there is no module that can; the error says what to install.
    """
    for name in _MODULES:
        try:
            module: Any = import_module(name)
        except ImportError:
            continue
        return io.BufferedReader(_Decompressed(module.ZstdFile(file), path), 1 << 20)
    file.close()
    raise OSError(0, _MISSING, path)
