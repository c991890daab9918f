"""The paths of the daemon's socket and files; client and daemon both get them from here."""

import os

from reel.base.errors import NotRunning

# The longest path of a socket, in bytes: sun_path has 108 and ends in a NUL (unix(7)).
MAX_PATH = 107


def default_socket() -> str:
    """Return the path of the socket: ``$REEL_SOCKET``, else ``socket`` in ``reeld.toml``, else the standard one.

    Raises:
        NotRunning: ``reeld.toml`` cannot be read, or has no valid path.
    """
    return os.environ.get("REEL_SOCKET") or usual_socket()


def usual_socket() -> str:
    """Return the path of the socket for whoever names none: ``socket`` in ``reeld.toml``, else the standard one.

    Raises:
        NotRunning: ``reeld.toml`` cannot be read, or has no valid path.
    """
    return configured("socket") or standard_socket()


def standard_socket() -> str:
    """Return the default path of the socket: in the runtime directory, else in /tmp."""
    if runtime := os.environ.get("XDG_RUNTIME_DIR"):
        return f"{runtime}/reel/reel.sock"
    return f"{fallback_directory()}/reel.sock"


def fallback_directory() -> str:
    """Return the directory of the socket if there is no runtime directory; the daemon checks that it is ours alone."""
    return f"/tmp/reel-{os.getuid()}"  # noqa: S108 - the daemon checks its owner


def default_database() -> str:
    """Return the path of the database: ``$REEL_DATABASE``, else ``database`` in ``reeld.toml``, else the standard one.

    Raises:
        NotRunning: ``reeld.toml`` cannot be read, or has no valid path.
    """
    return os.environ.get("REEL_DATABASE") or configured("database") or standard_database()


def standard_database() -> str:
    """Return the default path of the database: in the state directory."""
    return f"{state_directory()}/reel.db"


def state_directory() -> str:
    """Return the directory of the database, and of the log of a daemon that was started in the background."""
    state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return f"{state}/reel"


def config_directory() -> str:
    """Return the directory of the settings of the daemon and of the command."""
    return f"{config_home()}/reel"


def config_home() -> str:
    """Return the directory of this user's settings of all programs."""
    return os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")


def config_file() -> str:
    """Return the path of the daemon's settings, which need not exist."""
    return f"{config_directory()}/reeld.toml"


def configured(name: str) -> str | None:
    """Return a path from ``reeld.toml``, or ``None``. The daemon reads the same file, and checks all of it.

    Raises:
        NotRunning: the file cannot be read, or the path is not one.
    """
    file = config_file()
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _unreadable(file, error.strerror) from error
    # Most users have no such file, and importing these modules would cost every command 9 ms.
    import tomllib  # noqa: PLC0415

    from reel.daemon.database_url import is_url  # noqa: PLC0415

    try:
        with os.fdopen(descriptor, "rb") as opened:
            value = tomllib.loads(opened.read().decode("utf-8-sig")).get(name)  # it may begin with a BOM
    except OSError as error:
        raise _unreadable(file, error.strerror) from error
    except ValueError as error:  # not TOML, or not UTF-8
        raise _unreadable(file, str(error)) from error
    if value is None:
        return None
    if isinstance(value, str) and is_url(value):
        return value
    path = os.path.expanduser(value) if isinstance(value, str) else ""
    if not path.startswith("/"):
        raise _unreadable(file, f"{name}: {value!r} is not an absolute path")
    return path


def _unreadable(file: str, reason: str | None) -> NotRunning:
    return NotRunning(f"{file}: {reason}; correct it, or name the socket with --socket or $REEL_SOCKET", file=file)
