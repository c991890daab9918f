"""Each reply becomes a tuple of the protocol's fields, and a page leads to the next."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel import replies, requests
from reel.base.values import Numeral
from reel.requests import Call, next_page

SOURCE = {"agent": "a0", "at": 3}
ROW = {
    "id": "a1",
    "name": "demo",
    "title": None,
    "tags": {"x": "y"},
    "alive": True,
    "head": 9,
    "created": 1,
    "updated": 2,
}
INFO = {
    **ROW,
    "system": "be brief",
    "messages": 2,
    "conversation": 3,
    "ready": True,
    "attached": 0,
    "marks": [{"label": None, "seq": 4}, {"label": "x", "seq": 5}],
    "open_calls": [{"id": "c1", "name": "grep", "seq": 6}],
}
WRITTEN = {"agent": "a1", "head": 9, "command": 8, "time": 7}
PAGE = {"agent": "a1", "head": 9, "at": 9, "system": None, "more": False}
MESSAGE = {"role": "user", "content": [{"type": "text", "text": "hi"}], "provider_metadata": {}, "seq": 2, "time": 1}
RECORD = {"seq": 2, "kind": "user", "content": "hi", "data_json": None, "time": 1}
EVENT = {**RECORD, "id": 5, "agent": "a1", "command": 2, "parent": {"agent": "a0", "seq": 1}, "client": None}

MARKS = [replies.Mark(None, 4), replies.Mark("x", 5)]
CALLS = [replies.OpenCall("c1", "grep", 6)]
ROW_READ = replies.AgentRow("a1", "demo", None, {"x": "y"}, True, 9, 1, 2)
INFO_READ = replies.AgentInfo("a1", "demo", None, {"x": "y"}, True, 9, 1, 2, "be brief", 2, 3, MARKS, CALLS, True, 0)

MOVED = {**WRITTEN, "was": 3}
CHANGE = {"seq": 3, "block": None, "action": "dropped", "why": "a blank text"}
CHANGE_READ = replies.Change(3, None, "dropped", "a blank text")
PREFIX_READ = replies.Prefix(2, "ab")
ADDED_READ = replies.Added("a1", 9, 8, 7, 8, [], [])
RENDERED = {
    "format": "gemini",
    "at": 9,
    "body": "{}",
    "report": [CHANGE],
    "ready": False,
    "prefix": {"messages": 2, "hash": "ab"},
}
REPLIES: list[tuple[Call[Any], dict[str, Any], Any]] = [
    (requests.ping(), {"pong": True}, True),
    (
        requests.methods(),
        {"methods": [{"name": "add", "params": ["agent", "create?"], "summary": "Add.", "new": 1}]},
        [replies.MethodInfo("add", ["agent", "create?"], "Add.")],
    ),
    (
        requests.hello(),
        {"server": {"pid": 1}, "protocol": 1, "framing": "f", "connection": 2, "features": ["x"], "limits": {"m": 3}},
        replies.Hello({"pid": 1}, 1, "f", 2, ["x"], {"m": 3}),
    ),
    (requests.create(), INFO, INFO_READ),
    (requests.agent("demo"), {**INFO, "source": SOURCE}, INFO_READ._replace(source=replies.Source("a0", 3))),
    (requests.agent("demo"), {**INFO, "source": None}, INFO_READ),
    (
        requests.clone("demo"),
        {**INFO, "command": 8, "time": 7, "repeated": True},
        INFO_READ._replace(command=8, time=7, repeated=True),
    ),
    (requests.revive("demo"), {**INFO, "marks": []}, INFO_READ._replace(marks=[])),
    (requests.change("demo"), INFO, INFO_READ),
    (
        requests.add("demo", "hi"),
        {**WRITTEN, "first": 8, "orphans": [{"id": "c0", "seq": 8}], "open_calls": INFO["open_calls"]},
        replies.Added("a1", 9, 8, 7, 8, [replies.Orphan("c0", 8)], CALLS),
    ),
    (
        requests.add("demo", "hi"),
        {**WRITTEN, "first": 8, "orphans": [], "open_calls": [], "replaced": 2, "repeated": True},
        replies.Added("a1", 9, 8, 7, 8, [], [], 2, True),
    ),
    (
        requests.render("demo", "gemini"),
        {**RENDERED, "needs": "user", "names": {"a": "b c"}, "extends": True},
        replies.Rendered("gemini", 9, "{}", [CHANGE_READ], False, PREFIX_READ, "user", {"a": "b c"}, True),
    ),
    (
        requests.render("demo", "gemini"),
        RENDERED,
        replies.Rendered("gemini", 9, "{}", [CHANGE_READ], False, PREFIX_READ),
    ),
    (
        requests.load("demo", "gemini", "{}"),
        {**WRITTEN, "first": 8, "orphans": [], "open_calls": [], "report": [CHANGE]},
        replies.Loaded("a1", 9, 8, 7, 8, [], [], [CHANGE_READ]),
    ),
    (requests.ingest("demo", "gemini", "{}"), {**WRITTEN, "first": 8, "orphans": [], "open_calls": []}, ADDED_READ),
    (requests.clear("demo"), MOVED, replies.Moved("a1", 9, 8, 7, 3)),
    (requests.restore("demo", 2), {**MOVED, "repeated": True}, replies.Moved("a1", 9, 8, 7, 3, True)),
    (requests.mark("demo"), {**WRITTEN, "seq": 9, "label": None}, replies.Marked("a1", 9, 8, 7, 9, None)),
    (requests.rewind("demo"), {**MOVED, "target": 2, "dropped": 5}, replies.Rewound("a1", 9, 8, 7, 2, 5, 3)),
    (requests.undo("demo"), {**MOVED, "undone": 6}, replies.Undone("a1", 9, 8, 7, 6, 3)),
    (requests.redo("demo"), {**MOVED, "redone": 6}, replies.Redone("a1", 9, 8, 7, 6, 3)),
    (requests.kill("demo"), {**WRITTEN, "killed": ["a1"]}, replies.KilledAgents(["a1"], "a1", 9, 8, 7)),
    (requests.kill("demo"), {"agent": "a1", "head": 9, "killed": []}, replies.KilledAgents([], "a1", 9)),
    (requests.kill("demo"), {"killed": []}, replies.KilledAgents([], None, None, None, None, False)),
    (
        requests.redact("demo"),
        {**WRITTEN, "redacted": 1, "events": [{"agent": "a1", "seq": 3}], "affected": ["a1"], "traces": True},
        replies.Redacted("a1", 9, 1, [replies.Place("a1", 3)], ["a1"], 8, 7, True),
    ),
    (
        requests.redact("demo"),
        {**WRITTEN, "redacted": 0, "events": [], "affected": [], "backups": [{"path": "/b", "events": 2}]},
        replies.Redacted("a1", 9, 0, [], [], 8, 7, backups=[replies.ErasedBackup("/b", 2)]),
    ),
    (
        requests.purge("demo"),
        {"agent": "a1", "head": 9, "purged": ["a1"], "events": 5, "kept": 1, "heirs": ["b1"]},
        replies.Purged("a1", 9, ["a1"], 5, 1, ["b1"]),
    ),
    (
        requests.prune("demo", 7),
        {**WRITTEN, "before": 7, "pruned": 3, "bytes": 90, "kept": 1, "heirs": ["b1"]},
        replies.Pruned("a1", 9, 7, 3, 90, 1, ["b1"], 8, 7),
    ),
    (
        requests.retention(),
        {"agents": [{"id": "a1", "name": "n", "updated": 5}], "purged": ["a1"], "events": 2, "kept": 0, "heirs": []},
        replies.Retained([replies.OldAgent("a1", "n", 5)], ["a1"], 2, 0, [], agents_count=1, purged_count=1),
    ),
    (
        requests.retention(),
        {"agents": [], "purged": [], "events": 0, "kept": 0, "heirs": [], "agents_count": 9, "purged_count": 8},
        replies.Retained([], [], 0, 0, [], agents_count=9, purged_count=8),
    ),
    (requests.agents(), {"agents": [ROW, ROW], "more": True}, replies.AgentsPage([ROW_READ, ROW_READ], True)),
    (
        requests.agents(details=True),
        {
            "agents": [{**ROW, "messages": 2, "first_words": "Hi", "said": 7, "turn": "user", "drafts": ["nvim"]}],
            "more": False,
        },
        replies.AgentsPage(
            [ROW_READ._replace(messages=2, first_words="Hi", said=7, turn="user", drafts=["nvim"])], False
        ),
    ),
    (
        requests.agents(state=True),
        {
            "agents": [{**ROW, "values": [{"key": "k", "seq": 2, "time": 1, "data_json": '{"value":3}'}], "next": "k"}],
            "more": False,
        },
        replies.AgentsPage([ROW_READ._replace(values=[replies.Value("k", 3, 2, 1)], next="k")], False),
    ),
    (
        requests.agents(),
        {"agents": [{**ROW, "source": SOURCE}], "more": False},
        replies.AgentsPage([ROW_READ._replace(source=replies.Source("a0", 3))], False),
    ),
    (
        requests.messages("demo"),
        {**PAGE, "messages": [MESSAGE]},
        replies.MessagesPage("a1", 9, 9, None, [MESSAGE], False),  # type: ignore[list-item]
    ),
    (
        requests.items("demo", "gemini"),
        {**PAGE, "items": [{"seq": 3, "time": 5, "ref": "a", "item_json": '{"a": 1e400}'}], "erasures": 2},
        replies.ItemsPage(
            "a1", 9, 9, None, [{"seq": 3, "time": 5, "ref": "a", "item": {"a": Numeral("1e400")}}], False, 2
        ),
    ),
    (
        requests.add_items("demo", [], "gemini"),
        {"agent": "a1", "head": 9, "first": 0, "seqs": [3], "orphans": [], "open_calls": []},
        replies.AddedItems("a1", 9, 0, 0, 0, [3], [], []),
    ),
    (
        requests.conversation("demo"),
        {**PAGE, "conversation": [RECORD]},
        replies.ConversationPage("a1", 9, 9, None, [RECORD], False),  # type: ignore[list-item]
    ),
    (
        requests.history("demo"),
        {"agent": "a1", "head": 9, "events": [EVENT], "more": False},
        replies.HistoryPage("a1", 9, [EVENT], False),  # type: ignore[list-item]
    ),
    (
        requests.replay("demo"),
        {**PAGE, "messages": [], "marks": INFO["marks"], "skipped": [{"seq": 3, "reason": "no JSON"}], "matched": True},
        replies.ReplayPage("a1", 9, 9, None, MARKS, [replies.Skipped(3, "no JSON")], False, [], None, True),
    ),
    (
        requests.replay("demo", at=9, view="conversation"),
        {**PAGE, "conversation": [], "marks": [], "skipped": []},
        replies.ReplayPage("a1", 9, 9, None, [], [], False, None, [], None),
    ),
    (
        requests.verify(),
        {"agents": 1, "events": 2, "problems": [{"what": "gap", "reason": "r", "agent": "a1", "seq": 3}], "omitted": 4},
        replies.Verified(1, 2, [replies.Problem("gap", "r", "a1", None, 3)], 4),
    ),
    (requests.backup("/c.db"), {"path": "/c.db", "bytes": 4096}, replies.BackedUp("/c.db", 4096)),
    (requests.wait("demo", 8), {"head": 9, "events": [EVENT]}, replies.Waited(9, [EVENT])),  # type: ignore[list-item]
    (requests.subscribe("demo"), {"sub": 1, "head": 9, "agent": "a1"}, replies.Subscribed(1, 9, "a1")),
    (requests.subscribe(), {"sub": 1, "head": 9}, replies.Subscribed(1, 9, None)),
    (requests.draft("demo", "hi"), {}, None),
    (requests.stats(), {"agents": {"live": 1}}, {"agents": {"live": 1}}),
    (requests.shutdown(), {}, None),
]


REPEATED = {"repeated": False}


ADDED = {"replaced": 0, "numbers_as_text": 0, "dropped": 0, "was": None, "known": (), "late": 0, **REPEATED}


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        (
            replies.AgentRow,
            dict.fromkeys(
                ("source", "messages", "first_words", "turn", "drafts", "values", "next", "said", "short", "waits")
            ),
        ),
        (replies.AgentInfo, {**dict.fromkeys(("source", "command", "time", "revived", "taken")), **REPEATED}),
        (replies.Added, ADDED),
        (replies.AddedItems, ADDED),
        (replies.Moved, REPEATED),
        (replies.Marked, REPEATED),
        (replies.Rewound, {**REPEATED, "label": None}),
        (replies.Undone, REPEATED),
        (replies.Redone, REPEATED),
        (replies.KilledAgents, {"agent": None, "head": None, "command": None, "time": None, **REPEATED}),
        (replies.Redacted, {"command": None, "time": None, "traces": False, "backups": (), "texts": (), **REPEATED}),
        (
            replies.Retained,
            {
                "traces": False,
                "agents_count": 0,
                "purged_count": 0,
                "after": None,
                "followed_count": 0,
                "off": False,
                "histories_count": 0,
                "pruned": 0,
                "pruned_bytes": 0,
                "history_after": None,
            },
        ),
        (replies.Purged, {"time": None, "traces": False, "backups": (), **REPEATED}),
        (replies.Pruned, {"command": None, "time": None, "traces": False, **REPEATED}),
        (replies.ReplayPage, {"messages": None, "conversation": None, "matched": None}),
        (Call, {"writes": False, "items": "", "if_exists": None, "steps": None}),
    ],
)
def test_what_may_be_left_out(shape: Any, expected: dict[str, Any]) -> None:
    """A reply without ``repeated`` and ``replaced`` was not repeated and replaced nothing."""
    assert expected == shape._field_defaults


def test_a_reply_is_read() -> None:
    """A reply becomes a tuple of its fields; missing optional ones have their defaults."""
    for call, result, expected in REPLIES:
        read = call.read(result)

        assert type(expected) is type(read), call
        assert expected == read, call


def test_unknown_fields_are_passed_over() -> None:
    """Unknown fields of a newer daemon are ignored, in a reply and in its items."""
    nested = {"marks", "open_calls", "orphans", "skipped", "agents", "report", "problems"}
    for call, result, expected in REPLIES:
        if not isinstance(expected, tuple):
            continue
        newer = {
            field: [{**item, "newer": 1} for item in value] if field in nested and isinstance(value, list) else value
            for field, value in result.items()
        }

        assert expected == call.read({**newer, "newer": {"than": "this"}}), call


def page(call: Call[Any], **fields: Any) -> Any:
    """Parse a page with these fields."""
    return call.read({**PAGE, "marks": [], "skipped": [], **fields})


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (requests.messages("demo"), "messages"),
        (requests.conversation("demo"), "conversation"),
        (requests.history("demo"), "events"),
        (requests.replay("demo"), "messages"),
        (requests.agents(), "agents"),
    ],
)
def test_nothing_follows_the_last_page(call: Call[Any], field: str) -> None:
    """A page that says that there are no more is the last."""
    assert next_page(call, page(call, **{field: []})) is None


@pytest.mark.parametrize(("call", "result"), [(requests.agent("demo"), INFO), (requests.stats(), {"more": True})])
def test_nothing_follows_what_is_no_page(call: Call[Any], result: dict[str, Any]) -> None:
    """A reply without pages is complete."""
    assert next_page(call, call.read(result)) is None


@pytest.mark.parametrize(
    ("call", "field", "change"),
    [
        (requests.messages("demo", limit=2), "messages", {"since": 6, "at": 8}),
        (requests.messages("demo", since=3, at=8), "messages", {"since": 6, "at": 8}),
        (requests.conversation("demo", max_bytes=9), "conversation", {"since": 6, "at": 8}),
        (requests.history("demo", kinds=["user"], inherited=True), "events", {"since": 6}),
        (requests.replay("demo", strict=True), "messages", {"since": 6, "at": 8}),
        (requests.replay("demo", view="conversation"), "conversation", {"since": 6, "at": 8}),
    ],
)
def test_the_next_page_goes_on_after_the_last_item(call: Call[Any], field: str, change: dict[str, Any]) -> None:
    """The next page is requested like the first, after its last item and in the same state."""
    before = dict(call.params)
    after = next_page(call, page(call, more=True, head=9, at=8, **{field: [{"seq": 5}, {"seq": 6}]}))

    assert after == call._replace(params={**before, **change})
    assert before == call.params


def test_the_newest_in_pages() -> None:
    """After the first page of the newest items, the next pages continue after it."""
    call = requests.messages("demo", last=100)
    after = next_page(call, page(call, more=True, messages=[{"seq": 40}]))

    assert after is not None
    assert {"agent": "demo", "since": 40, "at": 9} == after.params


def test_the_next_page_of_agents() -> None:
    """The next page of agents starts after the last id."""
    call = requests.agents(prefix="d", alive=True, limit=2)
    after = next_page(call, call.read({"agents": [ROW, {**ROW, "id": "a7"}], "more": True}))

    assert after is not None
    assert {"prefix": "d", "alive": True, "limit": 2, "after": "a7"} == after.params


@given(st.lists(st.integers(1, 1_000), unique=True).map(sorted), st.integers(1, 5), st.integers(0, 1_000))
def test_pages_together_are_the_whole(seqs: list[int], size: int, since: int) -> None:
    """With pages of any size, every item comes once and in order."""
    call: Call[replies.MessagesPage] | None = requests.messages("demo", since=since)
    read: list[int] = []
    while call is not None:
        left = [seq for seq in seqs if seq > call.params["since"]]
        reply = page(call, messages=[{"seq": seq} for seq in left[:size]], more=len(left) > size)
        read += [message["seq"] for message in reply.messages]
        call = next_page(call, reply)

    assert [seq for seq in seqs if seq > since] == read
