"""The lines about a conversation."""

from typing import Any

from reel.reading.facts import facts

AGENT: dict[str, Any] = {
    "name": "demo",
    "id": "01a2",
    "alive": False,
    "title": "Tape\ndecks",
    "messages": 3,
    "head": 9,
    "marks": [{"label": "one", "seq": 2}, {"label": None, "seq": 4}],
    "open_calls": [{"name": "look", "id": "c1"}],
    "tags": {"b": "2", "a": "1"},
    "source": {"agent": "00ff", "at": 7},
    "created": 0,
    "updated": 90_000,
    "attached": 1,
    "system": "Be\x1b brief.\n\nVery.",
}


def test_every_fact_has_a_line() -> None:
    """Each fact is on one line, also one with line breaks or control characters of others."""
    lines = facts(AGENT, "origin")

    assert [
        *("name         demo", "id           01a2", "state        killed", "title        Tape decks"),
        *(
            "messages     3",
            "head         #9",
            "marks        one #2, #4",
            "turn         look c1",
            "tags         a=1, b=2",
        ),
        "cloned from  origin at #7",
    ] == lines[:10]
    assert ["created      1970-01-01", "updated      1970-01-01"] == [line[:23] for line in lines[10:12]]
    assert ["followers    1", "prompt       Be\\x1b brief. Very."] == lines[12:]
    assert "cloned from  00ff at #7" == facts(AGENT, None)[9]
    assert "context      about 9 tokens" == facts(AGENT, None, "about 9 tokens")[8]


def test_what_is_empty_has_no_line() -> None:
    """A new conversation has only the facts that there are."""
    new: dict[str, Any] = {
        "alive": True,
        "title": None,
        "marks": [],
        "open_calls": [],
        "tags": {},
        "source": None,
        "system": None,
    }

    assert ["name", "id", "messages", "head", "created", "updated", "followers"] == [
        line.split()[0] for line in facts({**AGENT, **new}, None)
    ]
