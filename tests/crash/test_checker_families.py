"""The checker follows agents through clones, deaths and renames."""

from tests.crash.checker import check
from tests.crash.example import (
    CREATE,
    CREATED,
    END,
    HI,
    INFO,
    SAID_HI,
    A,
    B,
    answered,
    event,
    reading,
    refused,
    unheard,
)
from tests.crash.history import Call, Event, FinalAgent
from tests.model import Marked, Said

CLONE = Call(
    "s", 2, "clone", "demo", {"name": "copy"}, 5, 6, {"id": B, "head": 3, "command": 3, **INFO, "name": "copy"}
)
CLONED = event(3, "clone", {"from": A, "at": 2}, agent=B)
DEMO = END._replace(head=2, records=END.records[:1])
COPY = DEMO._replace(agent=B, name="copy", head=3)
FAMILY, BIRTHS = (CREATE, HI, CLONE), (CREATED, SAID_HI, CLONED)


def killing(command: int, *killed: str, sent: float = 7) -> Call:
    """Return a cascade over the family."""
    reply = {"agent": A, "head": 3, "command": command, "killed": list(killed)}
    return Call("s", 10, "kill", "demo", {"cascade": True, "key": "k"}, sent, sent + 1, reply)


ROOT_DIES = event(4, "agent_killed", {"cascade": True}, seq=3)
COPY_DIES = event(5, "agent_killed", {"by": A, "cascade": True}, agent=B, seq=4)
DEAD = [DEMO._replace(head=3, alive=False), COPY._replace(head=4, alive=False)]


def said_of(calls: list[Call], log: list[Event], final: list[FinalAgent]) -> str:
    """Return what the checker reports about the family."""
    return " | ".join(check([*FAMILY, *calls], [*BIRTHS, *log], final))


def test_a_key_in_use_for_another_agent() -> None:
    """A key used for a second agent is a conflict if the first agent's command was, or may have been, executed."""
    mark = answered(Call("s", 3, "mark", A, {"label": None, "key": "m"}, 7, 8), 3, seq=3, label=None)
    reused = Call("s", 4, "mark", B, {"label": None, "key": "m"}, 9, 10)
    conflict = refused(reused, "conflict", key="m", agent=A)
    log = [event(4, "mark", {"label": None}, seq=3)]
    final = [DEMO._replace(head=3, marks=(Marked(3, None),)), COPY]

    assert not said_of([mark, conflict], log, final)
    assert not said_of([unheard(mark), conflict], log, final)
    assert "one key for two agents" in said_of([mark, reused._replace(reply=mark.reply)], log, final)
    assert "the key was not used for this agent" in said_of(
        [mark._replace(params={"label": None}), conflict], log, final
    )
    assert "the key was not used for this agent" in said_of([mark, conflict._replace(agent=A)], log, final)


def test_a_clone_into_another() -> None:
    """A clone starts with the state of its source, and a second clone into it replaces that state."""
    info = {**INFO, "name": "copy"}
    into = Call("s", 3, "clone", "demo", {"into": "copy"}, 7, 8, {"id": B, "head": 4, "command": 4, **info})
    log = [event(4, "clone", {"from": A, "at": 2}, agent=B)]
    copy = COPY._replace(head=4)

    assert not said_of([into], log, [DEMO, copy])
    assert "in the model" in said_of([into], log, [DEMO, copy._replace(records=())])


def test_a_clone_of_a_longer_one_into_another() -> None:
    """The seq of such a clone is behind both heads, so it says nothing about the head that the call expected."""
    adds = [
        Call(
            "t",
            number,
            "add",
            "demo",
            {"messages": [text]},
            7,
            8,
            {"agent": A, "head": seq, "command": seq, "first": seq},
        )
        for number, (seq, text) in enumerate([(3, "ho"), (4, "hu")])
    ]
    said = [Event(seq + 1, A, seq, seq, "user", text, None, "t") for seq, text in [(3, "ho"), (4, "hu")]]
    into = unheard(Call("s", 3, "clone", "demo", {"into": "copy", "if_seq": 3}, 9))
    log = [*said, event(6, "clone", {"from": A, "at": 4}, agent=B, seq=5)]
    records = (*DEMO.records, Said(3, "user", "ho", None), Said(4, "user", "hu", None))
    final = [DEMO._replace(head=4, records=records), COPY._replace(head=5, records=records)]

    assert not said_of([*adds, into], log, final)
    assert "not possible" in said_of([*adds, into._replace(params={"into": "copy", "if_seq": 2})], log, final)


def test_a_kill_and_a_revival() -> None:
    """A dead agent refuses commands, is not killed again, and can be revived."""
    kill = Call("s", 2, "kill", "demo", {}, 5, 6, {"agent": A, "head": 3, "command": 3, "killed": [A]})
    again = Call("s", 3, "kill", "demo", {}, 7, 8, {"agent": A, "head": 3, "killed": []})
    late = refused(HI, "killed")._replace(number=4, sent=7, answered=8)
    revive = Call("s", 5, "revive", "demo", {}, 9, 10, {"id": A, "head": 4, "command": 4, **INFO})
    log = [CREATED, SAID_HI, event(3, "agent_killed", {}), event(4, "revived", {})]
    end = END._replace(head=4, records=END.records[:1])

    assert [] == check([CREATE, HI, kill, again, late, revive], log, [end])
    assert "no reason for doing nothing" in " ".join(
        check([CREATE, HI, kill, revive, again._replace(number=6, sent=11, answered=12)], log, [end])
    )


def test_a_cascade_takes_all_clones() -> None:
    """A cascade kills all clones at once, whether its reply arrived or not."""
    kill = killing(3, A, B)

    for calls in ([kill], [unheard(kill)], [unheard(kill), kill._replace(session="t", sent=9, answered=10)]):
        assert not said_of(calls, [ROOT_DIES, COPY_DIES], DEAD)


def test_a_cascade_from_the_dead() -> None:
    """A cascade from a dead agent kills its live clones."""
    alone = Call("s", 3, "kill", "demo", {}, 5, 6, {"agent": A, "head": 3, "command": 3, "killed": [A]})
    log = [event(4, "agent_killed", {}, seq=3), COPY_DIES]

    assert not said_of([alone, killing(4, B)], log, DEAD)
    assert "not possible" in said_of([alone, killing(4, B)], [ROOT_DIES, COPY_DIES], DEAD)


def test_a_cascade_that_found_nobody() -> None:
    """A cascade may kill no agent only if all clones were dead at some moment of it."""
    alone = Call("s", 3, "kill", "demo", {}, 5, 6, {"agent": A, "head": 3, "command": 3, "killed": [A]})
    nobody = Call("s", 11, "kill", "demo", {"cascade": True}, 9, 10, {"agent": A, "head": 3, "killed": []})
    log = [event(4, "agent_killed", {}, seq=3), COPY_DIES]

    assert not said_of([alone, killing(4, B), nobody], log, DEAD)
    assert f"{B} was spared" in said_of([alone, nobody], log[:1], [DEAD[0], COPY])


def test_a_cascade_that_took_a_part() -> None:
    """The checker reports a surviving clone, a clone missing in the reply, and a command within the cascade."""
    half = [DEAD[0], COPY]
    between = event(5, "mark", {"label": None}, agent=B, seq=4, client="t")
    mark = Call("t", 0, "mark", "copy", {}, 7, 8, {"agent": B, "head": 4, "command": 4, "seq": 4, "label": None})
    late = COPY_DIES._replace(id=6, seq=5, command=5)

    assert "takes" in said_of([killing(3, A)], [ROOT_DIES], half)
    assert "takes" in said_of([unheard(killing(3, A))], [ROOT_DIES], half)
    assert "was answered" in said_of([killing(3, A)], [ROOT_DIES, COPY_DIES], DEAD)
    assert "in the model" in said_of(
        [killing(3, A, B)], [ROOT_DIES, COPY_DIES], [DEAD[0], DEAD[1]._replace(alive=True)]
    )
    assert "takes" in said_of([killing(3, A, B), mark], [ROOT_DIES, between, late], DEAD)
    assert "takes" in said_of([killing(3, A, B)._replace(params={})], [ROOT_DIES, COPY_DIES], DEAD)


# --- names

RENAME = Call("s", 4, "change", A, {"name": "new"}, 7, 8, {"id": A, "head": 3, "command": 3, **INFO, "name": "new"})
RENAMED = event(4, "changed", {"name": "new"}, seq=3)
NEW = DEMO._replace(head=3, name="new")


def test_a_new_name() -> None:
    """A renamed agent is found by its old name before, by its new name after, and always by its id."""
    gone = refused(HI, "not_found", agent="demo")._replace(number=5, sent=9, answered=10)
    calls = [
        RENAME,
        gone,
        reading(3, (2, "hi"), sent=9, answered=10)._replace(agent="new"),
        reading(3, (2, "hi"), sent=9, answered=10)._replace(agent=A),
        reading(3, (2, "hi"), sent=7, answered=10),
    ]

    assert not said_of(calls, [RENAMED], [NEW, COPY])
    assert "no reason for not_found" in said_of([gone], [], [DEMO, COPY])
    assert "no reason for not_found" in said_of([RENAME, gone._replace(data={"agent": A})], [RENAMED], [NEW, COPY])
    assert "was not to be found at demo" in said_of(
        [RENAME, reading(3, (2, "hi"), sent=9, answered=10)], [RENAMED], [NEW, COPY]
    )
    assert "in the model" in said_of([RENAME], [RENAMED], [NEW._replace(name="demo"), COPY])


def test_a_head_of_a_missing_agent() -> None:
    """With `if_seq` an add to a missing agent is a conflict, with `create` as well."""
    first = refused(HI._replace(params={**HI.params, "create": True, "if_seq": 2}), "conflict", head=0)
    late = first._replace(number=5, sent=9, answered=10)

    assert not said_of([RENAME, late], [RENAMED], [NEW, COPY])
    assert "no reason for conflict" in said_of([late], [], [DEMO, COPY])


def test_an_old_name() -> None:
    """A command for a name is not executed on the agent that had the name before."""
    late = answered(HI._replace(number=5, sent=9, answered=10), 4, first=4)
    said = Event(5, A, 4, 4, "user", "hi", None, "s")
    two = NEW._replace(head=4, records=(*NEW.records, Said(4, "user", "hi", None)))

    assert "was not to be found at demo" in said_of([RENAME, late], [RENAMED, said], [two, COPY])
    assert not said_of([RENAME, late._replace(agent="new")], [RENAMED, said], [two, COPY])


def test_a_name_of_another_agent() -> None:
    """A name is taken as long as a live agent has it, and no other agent gets it."""
    taken = refused(RENAME._replace(params={"name": "copy"}), "exists", agent="copy")
    given = RENAME._replace(params={"name": "copy"}, reply={**(RENAME.reply or {}), "name": "copy"})
    two = event(4, "changed", {"name": "copy"}, seq=3)

    assert not said_of([taken], [], [DEMO, COPY])
    assert "no reason for exists" in said_of([taken._replace(params={"name": "nobody"})], [], [DEMO, COPY])
    assert "Refused('exists')" in said_of([given], [two], [NEW._replace(name="copy"), COPY])


def test_a_name_that_another_agent_got_unheard() -> None:
    """Of two commands that were not heard of, the one for a name is that on the agent that has the name by then."""
    given = Call("s", 5, "change", B, {"name": "demo"}, 9, 10, {"id": B, "head": 4, "command": 4, **INFO})
    calls = [
        RENAME,
        given,
        unheard(Call("t", 0, "mark", "demo", {}, 11)),
        unheard(Call("t", 1, "mark", A, {}, 11)),
    ]
    log = [
        RENAMED,
        event(5, "changed", {"name": "demo"}, agent=B, seq=4),
        event(6, "mark", {"label": None}, seq=4, client="t"),
        event(7, "mark", {"label": None}, agent=B, seq=5, client="t"),
    ]
    final = [
        NEW._replace(head=4, marks=(Marked(4, None),)),
        COPY._replace(head=5, name="demo", marks=(Marked(5, None),)),
    ]

    assert not said_of(calls, log, final)
    assert "nobody asked for it" in said_of([*calls[:2], calls[3]], log, final)
