"""Checks of the places of the socket and the database, before anything is made there."""

import logging
import os

from reel.base.errors import NotRunning
from reel.daemon.address import standard_database, standard_socket
from reel.daemon.database_url import is_url
from reel.daemon.placement import file_system_of, require_own_home, synced_folder
from reeld.config import Config
from reeld.startup import StartupError

log = logging.getLogger(__name__)


def require_place(config: Config) -> None:
    """Refuse a place where a new database would not be safe; log it if one is there already.

    Raises:
        StartupError: root would make its files in the home of somebody else, or a new database would be on a network
            file system.
    """
    for path, usual in ((config.socket, standard_socket()), (config.database, standard_database())):
        if path == os.path.abspath(usual):
            try:
                require_own_home(path)
            except NotRunning as error:
                raise StartupError(error.message) from None
    if not is_url(config.database):
        _require_safe(config.database, allowed=config.allow_network_files)


def _require_safe(database: str, *, allowed: bool) -> None:
    found = file_system_of(database)
    if found is not None and found.is_network:
        about = f"{database} is on a network file system ({found}), where SQLite can lose commits"
        if not allowed and not os.path.exists(database):
            raise StartupError(
                f"{about}; name a path on a local disk with --database or $REEL_DATABASE,"
                " or accept that with --allow-network-files"
            )
        log.error("%s; move it to a local disk, see docs/operations.md", about)
    if (folder := synced_folder(database)) is not None:
        log.warning(
            "%s is in %s, which seems to be synced with other machines: the copies there are not whole, and one may be"
            " put back; move it to another folder",
            database,
            folder,
        )
