"""Where the daemon's socket is."""

import os

# sun_path has 108 bytes and ends in a NUL.
MAX_PATH = 107


def default_socket() -> str:
    """Give the path of the socket: ``$REEL_SOCKET``, else one in the runtime directory, else one in /tmp."""
    if path := os.environ.get("REEL_SOCKET"):
        return path
    if runtime := os.environ.get("XDG_RUNTIME_DIR"):
        return f"{runtime}/reel/reel.sock"
    return f"{fallback_directory()}/reel.sock"


def fallback_directory() -> str:
    """Give the directory of the socket where there is no runtime directory; the daemon sees that it is ours alone."""
    return f"/tmp/reel-{os.getuid()}"  # noqa: S108 - as it says


def default_database() -> str:
    """Give the path of the database: ``$REEL_DATABASE``, else one in the state directory."""
    if path := os.environ.get("REEL_DATABASE"):
        return path
    return f"{state_directory()}/reel.db"


def state_directory() -> str:
    """Give the directory that keeps the database and the log of a daemon that was started in the background."""
    state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")  # noqa: PTH111 - pathlib costs the command 4 ms
    return f"{state}/reel"


def config_home() -> str:
    """Give the directory where the user's programs look for what they are told."""
    return os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")  # noqa: PTH111 - as above
