"""The events of a stretch fit into a request."""

from typing import Any

import pytest

from reel import requests
from reel.base.values import Numeral
from reel.importing.adding.stretch import fitted, size_of


@pytest.mark.parametrize(("number", "said"), [(2**64, str(2**64)), (Numeral("1e400"), "1e400"), (7, 7)])
def test_numbers_that_do_not_fit(number: Any, said: Any) -> None:
    """A number that MessagePack cannot represent is sent as its text, any other as it is."""
    event = {"role": "user", "content": "a\udcff", "provider_metadata": {"count": [number]}}
    expected = {**event, "provider_metadata": {"count": [said]}}

    assert (expected, size_of(expected)) == fitted(event)
    assert [expected] == requests.append("a", [event]).params["events"]
