"""How many values a message may have, and how much memory it takes."""

from reel.base.errors import TooLarge

# The most values in a message, those inside others and the keys of maps included. An empty list is one byte on the
# wire: without this limit 16 MiB of them became 1.2 GB in memory.
MAX_VALUES = 1 << 20
# The average memory of a decoded value besides its bytes on the wire, in bytes.
_VALUE_COST = 80
# A message of fewer values is charged for its bytes alone: its values do not matter, and need not be counted exactly.
UNCOUNTED_VALUES = 256
# Nor do the values of a message of fewer bytes.
UNCOUNTED_BYTES = 1 << 10


def memory_cost(size: int, values: int) -> int:
    """Return about how many bytes of memory a message takes: its bytes on the wire, and its values."""
    return size if values < UNCOUNTED_VALUES or size < UNCOUNTED_BYTES else size + _VALUE_COST * values


def too_many(limit: int) -> TooLarge:
    """Return the error for a message that has too many values."""
    return TooLarge(f"a message may have {limit} values, one inside another included; send it in parts", limit=limit)
