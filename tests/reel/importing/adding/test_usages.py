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


def test_a_larger_count() -> None:
    """Only a larger count of a known answer takes the place of another one: the newest."""
    found = Usages()
    found.note(counted(3, 5))
    second = replacing(Kept("usage", "a", None, {"usage": {"output_tokens": 7}}, None), "a", counted(3, 5))
    found.note({"seq": 9, "ref": second.ref, "data_json": json.dumps(second.data)})

    assert ("a@7", {"ref": "a", "usage": {"output_tokens": 5}}) == (second.ref, second.data["replaces"])
    assert None is found.smaller("a", {"usage": {"output_tokens": 7}})
    assert None is found.smaller("a", {"usage": {"output_tokens": 6}})
    assert None is found.smaller("b", {"usage": {"output_tokens": 9}})
    assert 9 == found.smaller("a", {"usage": {"output_tokens": 8}})


@pytest.mark.parametrize("data", [None, "[", "7", '{"replaces": 7}', '{"replaces": {"ref": 7}}'])
def test_what_anybody_may_have_added(data: str | None) -> None:
    """An event without a count, or without an id, is no count of an answer."""
    found = Usages()
    found.note({"seq": 3, "ref": None, "data_json": data})

    assert None is found.smaller("", {"usage": {"output_tokens": 8}})


def test_what_a_clone_inherited() -> None:
    """It is counted in the log that it is from."""
    log, more = Log(), {"parent": None, "command": 1, "client": "reel import"}
    log.read([counted(3, 5) | more, {"seq": 4, "kind": "clone", **more}, counted(5, 5, "b") | more], "reel import")

    larger = {"usage": {"output_tokens": 8}}
    assert (None, 5) == (log.usages.smaller("a", larger), log.usages.smaller("b", larger))
