"""Another process of this Python: as isolated as this one, and without modules of an untrusted directory."""

import os
import sys


def this_python() -> list[str]:
    """Return the command of another process of this Python, which is as isolated as this one.

    Whoever runs the daemon with ``-I`` does not want modules of ``PYTHONPATH`` or of the user's directory in any of it.
    """
    flags = sys.flags
    isolated = ["-I"] if flags.isolated else []
    isolated += ["-E"] if flags.ignore_environment and not flags.isolated else []
    isolated += ["-s"] if flags.no_user_site and not flags.isolated else []
    # -P: without it, -m looks for the module in the current directory first.
    return [sys.executable, *isolated, "-P"]


def trusted_environment() -> dict[str, str]:
    """Return the environment for a Python that must not import modules of the current directory.

    An empty or relative entry of ``PYTHONPATH`` names a directory below the current one, which may be untrusted; ``-P``
    alone does not drop it, and ``-I`` would drop the user's absolute entries as well.
    """
    entries = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(os.path.isabs, entries))}
