"""The checker takes every history that one daemon could have, and refuses those that it could not."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.crash.checker import check
from tests.crash.history import Call, Event, Living
from tests.model import Marked, Said

# The agents' ids, and their names.
A, B = "a" * 32, "b" * 32

CREATE = Call("s", 0, "create", "demo", {}, 1, 2, {"id": A, "head": 1, "command": 1})
HI = Call("s", 1, "add", "demo", {"messages": ["hi"]}, 3, 4, {"agent": A, "head": 2, "command": 2, "first": 2})
HO = Call(
    "t", 1, "add", "demo", {"messages": ["ho"], "key": "k"}, 5, 6, {"agent": A, "head": 3, "command": 3, "first": 3}
)
READ = Call("r", 0, "messages", "demo", {}, 7, 8, {"agent": A, "head": 3, "conversation": []})
CREATED = Event(1, A, 1, 1, "created", None, {"name": "demo"}, "s")
SAID_HI = Event(2, A, 2, 2, "user", "hi", {}, "s")
SAID_HO = Event(3, A, 3, 3, "user", "ho", {}, "t")
LOG = (CREATED, SAID_HI, SAID_HO)
END = Living(A, "demo", True, 3, (Said(2, "user", "hi", None), Said(3, "user", "ho", None)), ())


def shown(*records: tuple[int, str]) -> list[dict[str, Any]]:
    """Records as they come over the wire."""
    return [{"seq": seq, "kind": "user", "content": text, "data_json": None} for seq, text in records]


def reading(head: int, *records: tuple[int, str], sent: float = 7, answered: float = 8) -> Call:
    """Somebody read this."""
    reply = {"agent": A, "head": head, "conversation": shown(*records)}
    return READ._replace(reply=reply, sent=sent, answered=answered)


def unheard(call: Call) -> Call:
    """The same call, of which nothing was heard."""
    return call._replace(answered=float("inf"), reply=None)


def refused(call: Call, error: str, **data: Any) -> Call:
    """The same call, refused."""
    return call._replace(reply=None, error=error, data=data)


def answered(call: Call, command: int, **more: Any) -> Call:
    """The same call, answered as a command of one event."""
    return call._replace(reply={"agent": A, "head": command, "command": command, **more})


def event(number: int, kind: str, data: dict[str, Any], *, agent: str = A, seq: int = 0, client: str = "s") -> Event:
    """An event of a command of its own."""
    return Event(number, agent, seq or number, seq or number, kind, None, data, client)


RIGHT: dict[str, tuple[Sequence[Call], Sequence[Event], Living]] = {
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
}

WRONG: dict[str, tuple[Sequence[Call], Sequence[Event], Living, str]] = {
    "an acknowledged add is lost": ([CREATE, HI, HO], LOG[:2], END._replace(head=2, records=END.records[:1]), "lost"),
    "a refused add is there": ([CREATE, HI, refused(HO, "storage")], LOG, END, "nobody asked for it"),
    "nobody asked": ([CREATE, HI], LOG, END, "nobody asked for it"),
    "a key is done twice": (
        [CREATE, HI, HO, HO._replace(reply={"agent": A, "head": 4, "command": 4, "first": 4})],
        [*LOG, Event(4, A, 4, 4, "user", "ho", {}, "t")],
        END._replace(head=4, records=(*END.records, Said(4, "user", "ho", None))),
        "done more than once",
    ),
    "an unheard add is there twice": (
        [CREATE, HI, unheard(HO)],
        [*LOG, Event(4, A, 4, 4, "user", "ho", {}, "t")],
        END._replace(head=4, records=(*END.records, Said(4, "user", "ho", None))),
        "nobody asked for it",
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
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_history(name: str) -> None:
    """What may happen is taken."""
    calls, events, living = RIGHT[name]

    assert [] == check(calls, events, [living])


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_history(name: str) -> None:
    """What may not happen is found, and named."""
    calls, events, living, expected = WRONG[name]

    assert expected in " | ".join(check(calls, events, [living]))


def test_a_clone() -> None:
    """A clone begins where its source was, and goes its own way."""
    clone = Call("s", 2, "clone", "demo", {"name": "copy"}, 5, 6, {"id": B, "head": 3, "command": 3})
    into = Call("s", 3, "clone", "demo", {"into": "copy"}, 7, 8, {"id": B, "head": 4, "command": 4})
    log = [
        CREATED,
        SAID_HI,
        event(3, "clone", {"from": A, "at": 2}, agent=B),
        event(4, "clone", {"from": A, "at": 2}, agent=B),
    ]
    demo = END._replace(head=2, records=END.records[:1])
    copy = demo._replace(agent=B, name="copy", head=4)

    assert [] == check([CREATE, HI, clone, into], log, [demo, copy])
    assert "in the model" in " ".join(check([CREATE, HI, clone, into], log, [demo, copy._replace(records=())]))


def test_death_and_life() -> None:
    """The dead refuse, are not killed again, and can be revived."""
    kill = Call("s", 2, "kill", "demo", {}, 5, 6, {"agent": A, "head": 3, "command": 3, "killed": [A]})
    again = Call("s", 3, "kill", "demo", {}, 7, 8, {"agent": A, "head": 3, "killed": []})
    late = refused(HI, "killed")._replace(number=4, sent=7, answered=8)
    revive = Call("s", 5, "revive", "demo", {}, 9, 10, {"id": A, "head": 4, "command": 4})
    log = [CREATED, SAID_HI, event(3, "agent_killed", {}), event(4, "revived", {})]
    end = END._replace(head=4, records=END.records[:1])

    assert [] == check([CREATE, HI, kill, again, late, revive], log, [end])
    assert "no reason for doing nothing" in " ".join(
        check([CREATE, HI, kill, revive, again._replace(number=6, sent=11, answered=12)], log, [end])
    )
