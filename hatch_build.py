"""The build hook that makes the manual pages for a wheel."""

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Manual(BuildHookInterface[Any]):
    """Make reel.1 and reeld.8 from the tables that the programs themselves use."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Make the pages and name their places in the wheel; an editable install has none."""
        if version == "editable":
            return
        self._pages = TemporaryDirectory()
        # Ours come before what an installer may have put there, such as the packages that the build needs. Relative
        # entries, and the current directory that -P leaves out, could hold modules of somebody else.
        given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        path = [*(str(Path(self.root, source)) for source in ("client", "daemon")), *filter(os.path.isabs, given)]
        command = [sys.executable, "-P", str(Path(self.root, "daemon", "manual.py")), self._pages.name]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
        subprocess.run(command, check=True, env=environment)  # noqa: S603 - our own
        for page in Path(self._pages.name).iterdir():
            build_data["shared_data"][str(page)] = f"share/man/man{page.suffix[1:]}/{page.name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002 - hatchling calls it so
        """Remove the pages; the wheel has them by now."""
        if version != "editable":
            self._pages.cleanup()
