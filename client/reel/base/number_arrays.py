"""Arrays of numbers of which most are small: four bytes for each, until one of them needs eight."""

from __future__ import annotations

from array import array

_NARROW, _WIDE = "i", "q"


def numbers() -> array[int]:
    """Return an array without numbers, for :func:`inserted` and :func:`replaced`."""
    return array(_NARROW)


def inserted(values: array[int], index: int, value: int) -> array[int]:
    """Return the array with a number inserted: another one if its numbers need more room.

    Raises:
        OverflowError: the number has more than 64 bits.
    """
    try:
        values.insert(index, value)
    except OverflowError:
        values = array(_WIDE, values)
        values.insert(index, value)
    return values


def replaced(values: array[int], index: int, value: int) -> array[int]:
    """Return the array with a number replaced; see :func:`inserted`."""
    try:
        values[index] = value
    except OverflowError:
        values = array(_WIDE, values)
        values[index] = value
    return values
