"""What a daemon is told: flags before environment before defaults."""

import argparse
from collections.abc import Sequence
from typing import NamedTuple

from reel.address import default_database, default_socket
from reel.version import PROTOCOL, __version__

_LEVELS = ("debug", "info", "warning", "error")


class Config(NamedTuple):
    """Where the daemon listens, where it keeps what was said, and how much it says about it."""

    socket: str
    database: str
    log_level: str = "info"


def parse(arguments: Sequence[str] | None = None) -> Config:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="reeld",
        description="The daemon that owns the conversations of LLM agents. It stays in the foreground.",
        epilog="Exit status: 0 stopped as asked, 2 usage, 3 another reeld runs, 4 it cannot start as told.",
    )
    parser.add_argument("--socket", metavar="PATH", default=default_socket(), help="or $REEL_SOCKET (%(default)s)")
    parser.add_argument(
        "--database", metavar="PATH", default=default_database(), help="or $REEL_DATABASE (%(default)s)"
    )
    parser.add_argument("--log-level", choices=_LEVELS, default="info", help="what goes to stderr (%(default)s)")
    parser.add_argument("--version", action="version", version=f"reeld {__version__}, protocol {PROTOCOL}")
    given = parser.parse_args(arguments)
    return Config(given.socket, given.database, given.log_level)
