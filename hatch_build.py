"""The hooks of the build: the text of the package's page, and what else a wheel has."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

# Where each shell looks below a prefix such as ~/.local.
_COMPLETIONS = {
    "bash": "share/bash-completion/completions/reel",
    "zsh": "share/zsh/site-functions/_reel",
    "fish": "share/fish/vendor_completions.d/reel.fish",
}
# Pictures and links of Markdown whose targets are files of the project, or headings of the same page.
_PICTURE = re.compile(r"^!\[[^]]*\]\((?!https://)[^)]*\)\n\n", re.MULTILINE)
_LINK = re.compile(r"\[([^]]*)\]\((?!https://)[^)]*\)")
_WHERE = "\nThe pages and programs that this text names are in the source distribution.\n"
# Seconds for the extension for VS Code, which is loaded and compiled in some ten.
_PATIENCE = 300
_COMMAND = "from reel.cli import process; process()"


class Readme(MetadataHookInterface):
    """Make the text of the package's page from README.md."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Leave out the pictures, and of the links all but their texts."""
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        text = _LINK.sub(r"\1", _PICTURE.sub("", text)) + _WHERE
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


class Generated(BuildHookInterface[Any]):
    """Make reel.1, reeld.8 and the completion scripts from the tables that the programs themselves use."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Make the files and name their places in the wheel; an editable install has none."""
        if version == "editable":
            return
        self._made = TemporaryDirectory()
        made = Path(self._made.name)
        self._run(str(Path(self.root, "daemon", "manual.py")), self._made.name)
        shared: dict[str, str] = build_data["shared_data"]
        for page in made.iterdir():
            shared[str(page)] = f"share/man/man{page.suffix[1:]}/{page.name}"
        for shell, place in _COMPLETIONS.items():
            script = made / shell
            script.write_text(self._run("-c", _COMMAND, "completion", shell))
            shared[str(script)] = place
        if extension := self._extension(made / "reel.vsix"):
            build_data["force_include"][str(extension)] = "reel/data/editors/reel.vsix"

    def _extension(self, made: Path) -> Path | None:
        """Return the extension for VS Code: the one of `make vsix`, else a new one if Node is there.

        Without it the wheel is whole but for `reel editor vscode`, so a registry that does not answer is no error.
        """
        known = Path(self.root, "build", "reel.vsix")
        if known.exists():
            return known
        if os.environ.get("REEL_NO_VSIX") or shutil.which("npm") is None:
            return None
        command = [sys.executable, str(Path(self.root, "client", "editors", "vscode", "vsix.py")), str(made)]
        try:
            subprocess.run(command, check=True, timeout=_PATIENCE, stdout=subprocess.PIPE)  # noqa: S603 - our own
        except subprocess.SubprocessError as error:
            self.app.display_warning(f"the wheel is without the extension for VS Code: {error}")
            return None
        return made

    def _run(self, *arguments: str) -> str:
        """Run Python on our own packages, and return what it prints."""
        # Ours come before what an installer may have put there, such as the packages that the build needs. Relative
        # entries, and the current directory that -P leaves out, could hold modules of somebody else.
        given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        path = [*(str(Path(self.root, source)) for source in ("client", "daemon")), *filter(os.path.isabs, given)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
        command = [sys.executable, "-P", *arguments]
        return subprocess.run(command, check=True, env=environment, stdout=subprocess.PIPE, text=True).stdout  # noqa: S603 - our own

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002 - hatchling calls it so
        """Remove what was made; the wheel has it by now."""
        if version != "editable":
            self._made.cleanup()
