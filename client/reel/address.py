"""Where the socket and the files of the daemon are: the one place that client and daemon both look them up."""

import os

# The longest path of a socket, in bytes: sun_path has 108 and ends in a NUL (unix(7)).
MAX_PATH = 107


def default_socket() -> str:
    """Return the path of the socket: ``$REEL_SOCKET``, else one in the runtime directory, else one in /tmp."""
    if path := os.environ.get("REEL_SOCKET"):
        return path
    if runtime := os.environ.get("XDG_RUNTIME_DIR"):
        return f"{runtime}/reel/reel.sock"
    return f"{fallback_directory()}/reel.sock"


def fallback_directory() -> str:
    """Return the directory of the socket if there is no runtime directory; the daemon checks that it is ours alone."""
    return f"/tmp/reel-{os.getuid()}"  # noqa: S108 - the daemon checks its owner


def default_database() -> str:
    """Return the path of the database: ``$REEL_DATABASE``, else one in the state directory."""
    if path := os.environ.get("REEL_DATABASE"):
        return path
    return f"{state_directory()}/reel.db"


def state_directory() -> str:
    """Return the directory of the database, and of the log of a daemon that was started in the background."""
    state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")  # noqa: PTH111 - pathlib costs the command 4 ms
    return f"{state}/reel"


def config_home() -> str:
    """Return the directory of the user's configuration files."""
    return os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")  # noqa: PTH111 - pathlib costs the command 4 ms
