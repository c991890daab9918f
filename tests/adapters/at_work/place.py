"""Where coding agents work: a home, and projects in it."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from tests.adapters.programs import search_path
from tests.adapters.scripted_provider import Provider

# The variables with which an agent, or reel, would find another home.
_OWN = ("XDG_", "REEL_", "ANTHROPIC_", "CLAUDE", "CODEX_", "GEMINI_", "GOOGLE_", "OPENAI_", "OPENCODE_", "PI_", "TMUX")


class Place:
    """Where the agents work.

    Args:
        home: the home directory.
        provider: the provider.
    """

    def __init__(self, home: Path, provider: Provider) -> None:
        self.home = home
        self.provider = provider
        # opencode installs what it needs: the variables that lead to the network stay.
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_OWN)}
        self.environment = {**kept, "PATH": search_path(os.environ["PATH"]), "HOME": str(home), "IS_SANDBOX": "1"}
        self.environment |= {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
        self.environment |= {"ANTHROPIC_BASE_URL": provider.address, "ANTHROPIC_API_KEY": "none"}
        self.environment |= {"OPENAI_API_KEY": "none", "PI_OFFLINE": "1"}
        self.environment |= {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": provider.address}
        fetched = ("MODELS_FETCH", "AUTOUPDATE", "LSP_DOWNLOAD", "DEFAULT_PLUGINS")
        self.environment |= {f"OPENCODE_DISABLE_{what}": "1" for what in fetched}

    def project(self, name: str) -> Path:
        """Return the directory of a project, which is a repository."""
        path = self.home / name
        if not path.exists():
            path.mkdir()
            subprocess.run(["git", "init", "-q", "."], check=True, cwd=path, env=self.environment)
        return path

    def settings(self, file: str, value: Any) -> None:
        """Write settings of an agent."""
        path = self.home / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(value if type(value) is str else json.dumps(value))
