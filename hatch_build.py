"""What a wheel carries beside the packages and is made when it is built: the manual pages."""

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Manual(BuildHookInterface[Any]):
    """Makes reel.1 and reeld.8 from the tables that the programs themselves read."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Have the pages made, and tell where they belong; an editable install has none."""
        if version == "editable":
            return
        self._pages = TemporaryDirectory()
        # Ours come before what an installer may have put there, such as the packages that the build needs. Relative
        # entries, and the current directory that -P leaves out, could hold modules of somebody else.
        given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        path = [*(str(Path(self.root, source)) for source in ("client", "daemon")), *filter(os.path.isabs, given)]
        command = [sys.executable, "-P", "-m", "reeld.man", self._pages.name]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
        subprocess.run(command, check=True, env=environment)  # noqa: S603 - our own
        for page in Path(self._pages.name).iterdir():
            build_data["shared_data"][str(page)] = f"share/man/man{page.suffix[1:]}/{page.name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002 - hatchling calls it so
        """Remove the pages, which are in the wheel by now."""
        if version != "editable":
            self._pages.cleanup()
