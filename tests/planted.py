"""A directory full of modules that must not be imported: each leaves a trace if it is."""

import os
from pathlib import Path

_MODULES = (
    "reeld/__init__",
    "reeld/__main__",
    "reel/__init__",
    "trio",
    "anyio",
    "aiosqlite",
    "msgpack",
    "sitecustomize",
)
_TRACE = "import os; open({trace!r}, 'a').write({name!r} + ' imported by ' + ' '.join(os.sys.orig_argv) + '\\n')\n"


class Planted:
    """Modules with the names of ours, of our dependencies, and of those that Python imports by itself.

    Args:
        directory: where they are put; ``lib`` in it has them as well.
    """

    # A PYTHONPATH that names the directory of the process: an empty entry, and relative ones.
    PYTHONPATH = os.pathsep.join(["", ".", "lib", "./lib"])

    def __init__(self, directory: Path) -> None:
        self._trace = directory / "trace"
        for place in (directory, directory / "lib"):
            for name in _MODULES:
                path = (place / name).with_suffix(".py")
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(_TRACE.format(trace=str(self._trace), name=name))

    def imported(self) -> list[str]:
        """Return the modules that were imported, and the command lines of the processes that did it."""
        return self._trace.read_text().splitlines() if self._trace.exists() else []
