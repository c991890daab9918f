"""What jobs may do with a connection."""

import sqlite3
from contextlib import closing

import pytest

from reeld.store.connection import Connection, Numbers, Texts


@pytest.mark.parametrize("values", [Texts(["a", '"', "%s ?"]), Numbers([1, -(1 << 63)]), Texts()])
def test_a_list_is_one_parameter(values: Texts | Numbers) -> None:
    """A statement gets a list of any length as one parameter, and makes rows of it."""
    with closing(sqlite3.connect(":memory:")) as opened:
        connection: Connection = opened
        found = [value for (value,) in connection.execute("SELECT value FROM json_each(?)", (values,))]

    assert [*values] == found
