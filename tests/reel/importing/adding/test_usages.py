"""The newest count of each answer."""

import json
from typing import Any

import pytest

from reel.importing.adding.log import Log
from reel.importing.adding.usages import Usages, replacing
from reel.importing.steps import Kept


def counted(seq: int, output: int, ref: str | None = "a", **more: Any) -> dict[str, Any]:
    """Return the event of a count."""
    data = {"usage": {"output_tokens": output}, **more}
    return {"seq": seq, "ref": ref, "kind": "usage", "data_json": json.dumps(data)}


LARGER = {"usage": {"output_tokens": 8}}


def test_a_larger_count() -> None:
    """Only a larger count of a known answer takes the place of another one: the newest."""
    found, places = Usages(), {"a": 3, "b": 4}
    found.note(counted(3, 5), places.get)
    second = replacing(Kept("usage", "a", None, {"usage": {"output_tokens": 7}}, None), "a", counted(3, 5))
    found.note({"seq": 9, "ref": second.ref, "data_json": json.dumps(second.data)}, places.get)

    assert ("a@7", {"ref": "a", "usage": {"output_tokens": 5}}) == (second.ref, second.data["replaces"])
    assert None is found.smaller(3, {"usage": {"output_tokens": 7}})
    assert None is found.smaller(3, {"usage": {"output_tokens": 6}})
    assert None is found.smaller(4, {"usage": {"output_tokens": 9}})
    assert 9 == found.smaller(3, LARGER)


def test_counts_in_any_order() -> None:
    """A count that takes the place of an earlier one may be the first that this log has of the answer."""
    found = Usages()
    for first, seq in ((7, 7), (3, 9), (8, 8)):
        found.add(first, seq, {"usage": {"output_tokens": first}})

    assert (9, 7, None) == tuple(found.smaller(first, LARGER) for first in (3, 7, 8))


@pytest.mark.parametrize("data", [None, "[", "7", '{"replaces": 7}', '{"replaces": {"ref": 7}}'])
def test_what_anybody_may_have_added(data: str | None) -> None:
    """An event without a count, or without an id, is no count of an answer."""
    found = Usages()
    found.note({"seq": 3, "ref": None, "data_json": data}, {"": 3}.get)

    assert None is found.smaller(3, LARGER)


@pytest.mark.parametrize(("tokens", "smaller"), [(10**30, None), (-(10**30), 3)])
def test_a_count_of_any_size(tokens: int, smaller: int | None) -> None:
    """A number that no computer counts to is compared like any other one."""
    found = Usages()
    found.note(counted(3, tokens), {"a": 3}.get)

    assert smaller == found.smaller(3, LARGER)


def test_what_a_clone_inherited() -> None:
    """It is counted in the log that it is from."""
    log, more = Log(), {"parent": None, "command": 1, "client": "reel import"}
    log.read([counted(3, 5) | more, {"seq": 4, "kind": "clone", **more}, counted(5, 5, "b") | more], "reel import")

    assert (None, 5) == (log.usages.smaller(3, LARGER), log.usages.smaller(5, LARGER))
