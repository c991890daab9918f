"""A stored reply loses what a redaction removes, and nothing else."""

from typing import Any

from reeld.core.redaction import Redaction
from reeld.core.reply_redaction import redacted_reply

_REPLY = {
    "id": "a1",
    "name": "secret-name",
    "title": "a secret",
    "tags": {"secret": "a"},
    "system": "the secret",
    "head": 3,
    "marks": [{"label": "secret", "seq": 1}, {"label": None, "seq": 2}, {"label": "b", "seq": 3}],
    "open_calls": [{"id": "secret", "name": "secret", "seq": 4}, {"id": "c", "name": "d", "seq": 5}],
    "orphans": [{"id": "secret", "seq": 6}],
    "label": "secret",
    "report": [{"seq": 1, "block": None, "action": "dropped", "why": "no secret"}],
    "results": [{"agent": "a1", "name": "secret-name"}, {"agent": "a2", "name": "secret-other"}],
}


def test_a_text_in_a_reply() -> None:
    """The text is in no field that has content; calls have the ids that the events have."""
    redaction = Redaction("now", b"k", ["secret"])
    marker, call = redaction.marker, redaction.call_id("secret")

    assert {
        **_REPLY,
        "name": "redacted",
        "title": f"a {marker}",
        "tags": {marker: "a"},
        "system": f"the {marker}",
        "marks": [{"label": None, "seq": 1}, {"label": None, "seq": 2}, {"label": "b", "seq": 3}],
        "open_calls": [{"id": call, "name": "redacted", "seq": 4}, {"id": "c", "name": "d", "seq": 5}],
        "orphans": [{"id": call, "seq": 6}],
        "label": None,
        "report": [{"seq": 1, "block": None, "action": "dropped", "why": f"no {marker}"}],
        "results": [{"agent": "a1", "name": "redacted"}, {"agent": "a2", "name": "secret-other"}],
    } == redacted_reply(redaction, _REPLY, {"a1": "new"})


def test_the_names_that_stay() -> None:
    """A current name stays, and so does that of an agent whose past is not redacted."""
    redaction = Redaction("now", b"k", ["secret"])

    for names in ({"a1": "secret-name"}, {}):
        assert "secret-name" == redacted_reply(redaction, _REPLY, names)["name"]


def test_all_content_of_a_reply() -> None:
    """If all content is redacted, prompts, labels and calls go, and titles, tags and names stay."""
    kept = redacted_reply(Redaction("now", b"k"), _REPLY, {})

    empty: dict[str, Any] = {"system": None, "marks": [], "open_calls": [], "orphans": [], "label": None}
    assert {**_REPLY, **empty} == kept
