"""Shell commands, as a user types them."""

import subprocess

from tests.patience import PATIENCE


def run(script: str) -> str:
    """Run shell commands as a user types them; return what they print."""
    command = ["sh", "-ec", f"umask 022\n{script}"]
    return subprocess.run(command, text=True, capture_output=True, check=True, timeout=PATIENCE).stdout
