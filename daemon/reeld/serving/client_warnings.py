"""Warnings about what clients do: a client that goes on and on does not fill the log."""

import logging
from collections import Counter

log = logging.getLogger(__name__)

# Warnings of one kind about one connection, and all warnings, between two reports. A client can open ever more
# connections.
_MAX_OF_ONE = 20
_MAX_OF_ALL = 200


class ClientWarnings:
    """Logs warnings about connections; those that would be too many are counted until the next report."""

    def __init__(self) -> None:
        self._logged = Counter[tuple[int | None, str]]()
        self._omitted = 0

    def warn(self, connection: int | None, text: str, *args: object) -> None:
        """Log a warning, or count it.

        Args:
            connection: which one it is about; ``None`` for those that were turned away.
            text: the format, by which kinds are told apart.
            args: its arguments.
        """
        kind = (connection, text)
        if self._logged[kind] < _MAX_OF_ONE and self._logged.total() < _MAX_OF_ALL:
            self._logged[kind] += 1
            log.warning(text, *args)
        else:
            self._omitted += 1

    def report(self) -> None:
        """Log how many warnings were omitted since the last report, and begin again; called once a minute."""
        if self._omitted:
            log.warning("warnings about connections that are missing above: %d", self._omitted)
        self._logged.clear()
        self._omitted = 0
