"""Where the files of this installation are, and writing some of them for this user.

A wheel carries the plug-ins and the units in ``reel/data``. In a checkout they are where they are edited.
"""

from pathlib import Path

import reel
from reel.base.errors import NotRunning
from reel.cli.line.arguments import UsageError
from reel.daemon.placement import require_own_home

_PACKAGE = Path(reel.__file__).parent
DATA = _PACKAGE / "data"
CHECKOUT = _PACKAGE.parent.parent


def write(file: Path, text: str) -> None:
    """Write a file, and the directories that it is in.

    Raises:
        UsageError: it cannot be written, or would be root's in the home of somebody else.
    """
    try:
        require_own_home(str(file))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", errors="surrogateescape")  # a path may be any bytes
    except NotRunning as error:
        raise UsageError(error.message) from None
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror}") from error
