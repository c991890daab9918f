"""Fingerprints of secrets: the same secret has the same one everywhere on this machine, and nobody can try secrets.

The key is in a file of its own, which only its owner can read and which is in no backup. If it is lost, secrets that
are masked later have other fingerprints; nothing else depends on it.
"""

import hmac
import os
from hashlib import sha256
from pathlib import Path

# The file, in the state directory.
NAME = "secrets.key"
_BYTES = 32
_DIGITS = 16


class Fingerprints:
    """Makes fingerprints with the key in a file, which is made if it is not there.

    Args:
        path: the file.

    Raises:
        OSError: the file cannot be read or made, or has no key.
    """

    def __init__(self, path: str) -> None:
        self._key = _read(path) or _made(path)

    def __call__(self, secret: str) -> str:
        """Return the fingerprint of a secret: 16 hexadecimal digits. A private key has the same one in JSON."""
        said = "".join(secret.replace("\\r", "").replace("\\n", "\n").split("\\")).encode("utf-8", "surrogatepass")
        return hmac.new(self._key, said, sha256).hexdigest()[:_DIGITS]


def _read(path: str) -> bytes | None:
    """Return the key in a file; ``None`` if there is no file."""
    try:
        key = Path(path).read_bytes()
    except FileNotFoundError:
        return None
    if len(key) != _BYTES:
        raise OSError(f"{path} has {len(key)} bytes, not the {_BYTES} of a key; remove it, so that another one is made")
    return key


def _made(path: str) -> bytes:
    """Write a new key as a whole; if another import has done it meanwhile, return that one's."""
    Path(path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    new = f"{path}.{os.getpid()}"
    key = os.urandom(_BYTES)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(key)
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(new, path)
    except FileExistsError:
        key = _read(path) or key
    finally:
        os.unlink(new)
    return key
