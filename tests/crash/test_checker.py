"""The checker accepts every history that one daemon can produce, and reports the others."""

from collections.abc import Sequence

import pytest

from tests.crash.bodies import answer, request
from tests.crash.checker import check
from tests.crash.example import (
    CREATE,
    CREATED,
    END,
    HI,
    HO,
    LOG,
    SAID_HI,
    SAID_HO,
    A,
    answered,
    event,
    reading,
    refused,
    unheard,
)
from tests.crash.history import Call, Event, FinalAgent
from tests.model import Marked, Said

INGEST = Call(
    "s",
    2,
    "ingest",
    "demo",
    {"body": answer("oh"), "key": "i"},
    5,
    6,
    {"agent": A, "head": 4, "command": 3, "first": 3},
)
INGESTED = (Event(3, A, 3, 3, "assistant", "oh", "{}", "s"), Event(4, A, 4, 3, "usage", None, "{}", "s"))
LOAD = Call(
    "s", 1, "load", "demo", {"body": request("be", "q", "a")}, 3, 4, {"agent": A, "head": 4, "command": 2, "first": 2}
)
LOADED = [
    Event(seq, A, seq, 2, kind, text, None, "s")
    for seq, kind, text in ((2, "system", "be"), (3, "user", "q"), (4, "assistant", "a"))
]
LOADED_RECORDS = tuple(Said(event.seq, event.kind, event.content, None) for event in LOADED)
CHANGE = Call(
    "s",
    2,
    "change",
    "demo",
    {"title": "T", "tags": {"k": "v"}},
    5,
    6,
    {"id": A, "head": 3, "command": 3, "name": "demo", "title": "T", "tags": {"k": "v"}},
)
CHANGED = event(3, "changed", {"title": "T", "tags": {"k": "v"}})

RIGHT: dict[str, tuple[Sequence[Call], Sequence[Event], FinalAgent]] = {
    "as it should be": ([CREATE, HI, HO], LOG, END),
    "read at the end": ([CREATE, HI, HO, reading(3, (2, "hi"), (3, "ho"))], LOG, END),
    "read in between": ([CREATE, HI, HO, reading(2, (2, "hi"), sent=4.5, answered=5.5)], LOG, END),
    "not heard of, and written": ([CREATE, HI, unheard(HO)], LOG, END),
    "not heard of, and not written": (
        [CREATE, HI, unheard(HO)],
        LOG[:2],
        END._replace(head=2, records=END.records[:1]),
    ),
    "tried again": (
        [CREATE, HI, unheard(HO), HO._replace(session="u", sent=9, answered=10)],
        LOG,
        END,
    ),
    "refused at the second try, and done by the first": (
        [
            CREATE,
            HI,
            unheard(HO),
            refused(HO._replace(session="u", params={"key": "k", "if_seq": 1}), "conflict", head=2),
        ],
        LOG,
        END,
    ),
    "of two that were not heard of, the later was done": (
        [
            CREATE,
            unheard(Call("s", 1, "mark", "demo", {}, 3)),
            HI._replace(number=2),
            unheard(Call("s", 3, "mark", "demo", {}, 5)),
        ],
        [CREATED, SAID_HI, event(3, "mark", {"label": None})],
        END._replace(head=3, records=END.records[:1], marks=(Marked(3, None),)),
    ),
    "refused at first, and done under the same key on the same connection": (
        [
            CREATE,
            refused(Call("s", 1, "rewind", "demo", {"label": "m", "key": "r"}, 3, 4), "no_such_mark"),
            answered(Call("s", 2, "mark", "demo", {"label": "m"}, 5, 6), 2, seq=2, label="m"),
            answered(Call("s", 3, "rewind", "demo", {"label": "m", "key": "r"}, 7, 8), 3, target=2, dropped=0, was=2),
        ],
        [CREATED, event(2, "mark", {"label": "m"}), event(3, "rewind", {"label": "m", "target": 2})],
        END._replace(head=3, records=(), marks=(Marked(2, "m"),)),
    ),
    "of two that were not heard of, the head allowed the later": (
        [
            CREATE,
            HI,
            unheard(Call("s", 2, "mark", "demo", {"if_seq": 1}, 5)),
            unheard(Call("s", 3, "mark", "demo", {"if_seq": 2}, 5)),
        ],
        [CREATED, SAID_HI, event(3, "mark", {"label": None})],
        END._replace(head=3, records=END.records[:1], marks=(Marked(3, None),)),
    ),
    "tried again on another connection, and done late on the first": (
        [
            CREATE,
            HI,
            unheard(Call("t", 1, "mark", "demo", {"key": "k"}, 5)),
            unheard(Call("u", 0, "mark", "demo", {"key": "k"}, 6)),
            unheard(Call("u", 1, "mark", "demo", {}, 6)),
        ],
        [
            CREATED,
            SAID_HI,
            event(3, "mark", {"label": None}, client="u"),
            event(4, "mark", {"label": None}, client="t"),
        ],
        END._replace(head=4, records=END.records[:1], marks=(Marked(3, None), Marked(4, None))),
    ),
    "nothing to do at the second try, and done by the first": (
        [
            CREATE,
            HI,
            Call("s", 2, "kill", "demo", {}, 5, 6, {"agent": A, "head": 3, "command": 3, "killed": [A]}),
            unheard(Call("s", 3, "revive", "demo", {"key": "k"}, 4)),
            Call("u", 1, "revive", "demo", {"key": "k"}, 4.5, 4.9, {"id": A, "head": 2}),
        ],
        [CREATED, SAID_HI, event(3, "agent_killed", {}), event(4, "revived", {})],
        END._replace(head=4, records=END.records[:1]),
    ),
    "at once, in either order": (
        [CREATE, HI._replace(sent=3, answered=9), HO._replace(sent=3, answered=9)],
        LOG,
        END,
    ),
    "refused with a reason": (
        [CREATE, HI, HO, refused(HI, "conflict", head=3)._replace(params={"if_seq": 2}, sent=7, answered=8, number=2)],
        LOG,
        END,
    ),
    "marks, and a rewind": (
        [
            CREATE,
            HI,
            answered(Call("s", 2, "mark", "demo", {"label": "m"}, 5, 6), 3, seq=3, label="m"),
            answered(Call("s", 3, "rewind", "demo", {"label": "m"}, 7, 8), 4, target=3, dropped=0, was=3),
            refused(Call("s", 4, "rewind", "demo", {"label": "x"}, 9, 10), "no_such_mark"),
        ],
        [CREATED, SAID_HI, event(3, "mark", {"label": "m"}), event(4, "rewind", {"label": "m", "target": 3})],
        END._replace(head=4, records=END.records[:1], marks=(Marked(3, "m"),)),
    ),
    "a provider's answer, and an undo of all of it": (
        [CREATE, HI, INGEST, answered(Call("s", 3, "undo", "demo", {}, 7, 8), 5, undone=3, was=4)],
        [CREATED, SAID_HI, *INGESTED, event(5, "restore", {"to": 2, "undoes": 3})],
        END._replace(head=5, records=END.records[:1]),
    ),
    "a provider's answer, tried again": (
        [CREATE, HI, unheard(INGEST), INGEST._replace(session="u", sent=7, answered=8)],
        [CREATED, SAID_HI, *INGESTED],
        END._replace(head=4, records=(END.records[0], Said(3, "assistant", "oh", "{}"))),
    ),
    "a history that was loaded": (
        [CREATE, LOAD],
        [CREATED, *LOADED],
        END._replace(head=4, records=LOADED_RECORDS),
    ),
    "made by what was said, and an undo of that": (
        [
            HI._replace(params={**HI.params, "create": True}, reply={"agent": A, "head": 2, "command": 1, "first": 2}),
            answered(Call("s", 3, "undo", "demo", {}, 7, 8), 3, undone=1, was=2),
        ],
        [CREATED, SAID_HI._replace(command=1), event(3, "restore", {"to": 0, "undoes": 1})],
        END._replace(head=3, records=()),
    ),
    "changed": (
        [CREATE, HI, CHANGE],
        [CREATED, SAID_HI, CHANGED],
        END._replace(head=3, records=END.records[:1], title="T", tags={"k": "v"}),
    ),
    "changed, and nobody heard of it": (
        [CREATE, HI, unheard(CHANGE._replace(number=2)), unheard(CHANGE._replace(params={"title": ""}, number=3))],
        [CREATED, SAID_HI, event(3, "changed", {"title": None})],
        END._replace(head=3, records=END.records[:1]),
    ),
}

WRONG: dict[str, tuple[Sequence[Call], Sequence[Event], FinalAgent, str]] = {
    "an acknowledged add is lost": ([CREATE, HI, HO], LOG[:2], END._replace(head=2, records=END.records[:1]), "lost"),
    "a refused add is there": ([CREATE, HI, refused(HO, "storage")], LOG, END, "nobody asked for it"),
    "nobody asked": ([CREATE, HI], LOG, END, "nobody asked for it"),
    "a key is done twice": (
        [CREATE, HI, HO, HO._replace(reply={"agent": A, "head": 4, "command": 4, "first": 4})],
        [*LOG, Event(4, A, 4, 4, "user", "ho", None, "t")],
        END._replace(head=4, records=(*END.records, Said(4, "user", "ho", None))),
        "done more than once",
    ),
    "an unheard add is there twice": (
        [CREATE, HI, unheard(HO)],
        [*LOG, Event(4, A, 4, 4, "user", "ho", None, "t")],
        END._replace(head=4, records=(*END.records, Said(4, "user", "ho", None))),
        "done twice, or out of order",
    ),
    "one place for two": (
        [CREATE, HI, HI._replace(number=2)],
        LOG[:2],
        END._replace(head=2, records=END.records[:1]),
        "acknowledged twice",
    ),
    "somebody else's": ([CREATE, HI, HO], [CREATED, SAID_HI, SAID_HO._replace(client="x")], END, "somebody else's"),
    "against the order of a connection": (
        [CREATE, HI._replace(number=5), HO._replace(session="s", number=4, sent=3, answered=9)],
        [CREATED, SAID_HI, SAID_HO._replace(client="s")],
        END,
        "out of order on its connection",
    ),
    "not heard of, and against the order of a connection": (
        [CREATE, unheard(HI._replace(number=2)), unheard(HO._replace(session="s", number=1))],
        [CREATED, SAID_HI, SAID_HO._replace(client="s")],
        END,
        "out of order on its connection",
    ),
    "of two that were not heard of, one was done twice": (
        [
            CREATE,
            unheard(Call("s", 1, "mark", "demo", {}, 3)),
            HI._replace(number=2),
            unheard(Call("s", 3, "mark", "demo", {}, 5)),
        ],
        [CREATED, SAID_HI, event(3, "mark", {"label": None}), event(4, "mark", {"label": None})],
        END._replace(head=4, records=END.records[:1], marks=(Marked(3, None), Marked(4, None))),
        "done twice, or out of order",
    ),
    "done under a key that was refused": (
        [CREATE, HI, refused(HO, "conflict", head=2), HO._replace(session="u", sent=7, answered=8)],
        LOG,
        END,
        "somebody else's",
    ),
    "against time": ([CREATE, HI._replace(sent=8, answered=9), HO], LOG, END, "against time"),
    "the wrong head": (
        [CREATE, HI._replace(reply={"agent": A, "head": 3, "command": 2, "first": 2}), HO],
        LOG,
        END,
        "was answered",
    ),
    "a gap": (
        [CREATE, HI, HO._replace(reply={"agent": A, "head": 4, "command": 4, "first": 4})],
        [CREATED, SAID_HI, SAID_HO._replace(seq=4, command=4)],
        END._replace(head=4, records=(END.records[0], Said(4, "user", "ho", None))),
        "seq 4 follows 2",
    ),
    "an event twice": ([CREATE, HI, HO], [*LOG, SAID_HO], END, "an event is there twice"),
    "not what the model is": ([CREATE, HI, HO], LOG, END._replace(records=END.records[:1]), "in the model"),
    "dead, and nobody killed it": ([CREATE, HI, HO], LOG, END._replace(alive=False), "in the model"),
    "a stale read": ([CREATE, HI, HO, reading(2, (2, "hi"))], LOG, END, "against time"),
    "a read of the future": (
        [CREATE, HI, HO, reading(3, (2, "hi"), (3, "ho"), sent=4.1, answered=4.9)],
        LOG,
        END,
        "against time",
    ),
    "reads that go back": (
        [
            CREATE,
            HI,
            unheard(HO),
            reading(3, (2, "hi"), (3, "ho"), sent=7, answered=8),
            reading(2, (2, "hi"), sent=9, answered=10),
        ],
        LOG,
        END,
        "against time",
    ),
    "a read of what never was": ([CREATE, HI, HO, reading(3, (3, "ho"))], LOG, END, "never was"),
    "a conflict without a reason": (
        [CREATE, HI, HO, refused(HI, "conflict", head=2)._replace(params={"if_seq": 1}, sent=7, answered=8, number=2)],
        LOG,
        END,
        "no reason for conflict",
    ),
    "killed, and alive": (
        [CREATE, HI, HO, refused(HI, "killed")._replace(sent=7, answered=8, number=2)],
        LOG,
        END,
        "no reason for killed",
    ),
    "nothing to undo, though there was": (
        [CREATE, HI, HO, refused(Call("s", 2, "undo", "demo", {}, 7, 8), "nothing_to_undo")],
        LOG,
        END,
        "no reason for nothing_to_undo",
    ),
    "an undo of the wrong command": (
        [CREATE, HI, HO, answered(Call("s", 2, "undo", "demo", {}, 7, 8), 4, undone=2, was=3)],
        [*LOG, event(4, "restore", {"to": 1, "undoes": 2})],
        END._replace(head=4, records=()),
        "was answered",
    ),
    "done, though the head was another": (
        [CREATE, HI, HO._replace(params={"messages": ["ho"], "if_seq": 1})],
        LOG,
        END,
        "not possible (Refused('conflict'))",
    ),
    "a rewind without a mark": (
        [CREATE, HI, HO, unheard(Call("s", 2, "rewind", "demo", {"label": "m"}, 7))],
        [*LOG, event(4, "rewind", {"label": "m", "target": 2})],
        END._replace(head=4),
        "not possible",
    ),
    "a log that begins with nothing": ([HI], [SAID_HI], END._replace(head=2, records=END.records[:1]), "not possible"),
    "an acknowledged change is lost": (
        [CREATE, HI, CHANGE],
        LOG[:2],
        END._replace(head=2, records=END.records[:1]),
        "lost",
    ),
    "an acknowledged change is logged, and gone": (
        [CREATE, HI, CHANGE],
        [CREATED, SAID_HI, CHANGED],
        END._replace(head=3, records=END.records[:1]),
        "in the model",
    ),
    "changed to something else": (
        [CREATE, HI, unheard(CHANGE)],
        [CREATED, SAID_HI, event(3, "changed", {"title": "U"})],
        END._replace(head=3, records=END.records[:1], title="U"),
        "nobody asked for it",
    ),
    "an ingest is done twice": (
        [CREATE, HI, unheard(INGEST), INGEST._replace(session="u", sent=7, answered=8)],
        [
            CREATED,
            SAID_HI,
            *INGESTED,
            *(each._replace(id=each.id + 2, seq=each.seq + 2, command=5) for each in INGESTED),
        ],
        END._replace(head=6, records=(END.records[0], *(Said(seq, "assistant", "oh", "{}") for seq in (3, 5)))),
        "nobody asked for it",
    ),
    "an ingest is done twice, and acknowledged so": (
        [CREATE, HI, INGEST, INGEST._replace(reply={"agent": A, "head": 6, "command": 5, "first": 5})],
        [
            CREATED,
            SAID_HI,
            *INGESTED,
            *(each._replace(id=each.id + 2, seq=each.seq + 2, command=5) for each in INGESTED),
        ],
        END._replace(head=6, records=(END.records[0], *(Said(seq, "assistant", "oh", "{}") for seq in (3, 5)))),
        "done more than once",
    ),
    "half of an ingest": (
        [CREATE, HI, INGEST],
        [CREATED, SAID_HI, INGESTED[0]],
        END._replace(head=3, records=(END.records[0], Said(3, "assistant", "oh", "{}"))),
        "says something else",
    ),
    "half of a load that nobody heard of": (
        [CREATE, unheard(LOAD)],
        [CREATED, *LOADED[:2]],
        END._replace(head=3, records=LOADED_RECORDS[:2]),
        "nobody asked for it",
    ),
    "made, and nobody asked for that": (
        [unheard(HI)],
        [CREATED, SAID_HI._replace(command=1)],
        END._replace(head=2, records=END.records[:1]),
        "nobody asked for it",
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_linearizable_history(name: str) -> None:
    """The checker accepts a history that one daemon can produce."""
    calls, events, final = RIGHT[name]

    assert [] == check(calls, events, [final])


@pytest.mark.parametrize("name", WRONG)
def test_a_history_that_is_not_linearizable(name: str) -> None:
    """The checker names the problem of a history that no daemon can produce."""
    calls, events, final, expected = WRONG[name]

    assert expected in " | ".join(check(calls, events, [final]))
