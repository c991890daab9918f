"""A database on a server, as one end of a copy."""

from reeld.store.copying import End

# The tables whose rows the server numbers.
_NUMBERED = ("keys", "erasures")


class ServerEnd(End):
    """A database on a server; see :class:`reeld.store.copying.End`."""

    def exclude(self) -> None:
        """Exclude all other writers until the end of the transaction."""
        self.connection.execute("SELECT newest FROM log FOR UPDATE")

    def size(self) -> int:
        """Return the bytes of the tables and their indexes."""
        (size,) = self.connection.execute(
            "SELECT coalesce(sum(pg_total_relation_size(oid)), 0) FROM pg_class"
            " WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace"
        ).fetchone()
        return int(size)

    def newest(self) -> int:
        """Return the newest id that was given to an event."""
        (newest,) = self.connection.execute("SELECT newest FROM log").fetchone()
        return int(newest)

    def advance(self, event: int) -> None:
        """Record the newest id that was given to an event."""
        self.connection.execute("UPDATE log SET newest = ?", (event,))

    def finish(self) -> None:
        """Make later rows have greater numbers than the copied ones."""
        for table in _NUMBERED:
            self.connection.execute(
                f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), max(id)) FROM {table} HAVING max(id) > 0"
            ).fetchone()
