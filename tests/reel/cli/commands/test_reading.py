"""Conversations, logs and agents as people and programs see them."""

import json
from typing import Any

import pytest

from reel import requests
from reel.sync.client import Client
from tests.reel.cli.conftest import Reel, texts


def test_show_is_plain_when_piped(reel: Reel, talk: str) -> None:
    """A pipe gets roles, seqs and texts, without colours and without wrapping."""
    lines = reel("show", talk).out.splitlines()

    assert [
        "system",
        "  Be brief.",
        "",
        "user  #3",
        "  What is a tape deck?",
        "",
        "assistant  #4",
        "  A machine.",
    ] == [line.split("  2")[0] for line in lines]


@pytest.mark.parametrize(
    ("options", "expected"),
    [(["--last", "1"], ["A machine."]), (["--at", "3"], ["What is a tape deck?"]), (["--at", "0"], [])],
)
def test_show_a_part(reel: Reel, talk: str, options: list[str], expected: list[str]) -> None:
    """--last and --at select messages."""
    assert expected == texts(reel, talk, *options)


def test_show_records(reel: Reel, talk: str) -> None:
    """--records shows the stored records, including the system prompt."""
    assert ["system", "user", "assistant"] == [r["kind"] for r in reel("show", talk, "--records", "--json").documents]
    assert reel("show", talk, "--records").out.startswith("system  #2")


def test_show_prints_all_pages(reel: Reel, name: str) -> None:
    """All messages are shown, however many there are."""
    lines = "\n".join(f'"{n}"' for n in range(2500)).encode()
    reel("add", name, "--create", "--file", "-", stdin=lines)

    assert [str(n) for n in range(2500)] == texts(reel, name)
    assert [str(n) for n in range(300, 2500)] == texts(reel, name, "--last", "2200")


def test_log_includes_cleared_messages(reel: Reel, talk: str) -> None:
    """Cleared messages are still in the log."""
    reel("clear", talk)

    kinds = ["created", "system", "user", "assistant", "clear", "system"]
    assert kinds == [event["kind"] for event in reel("log", talk, "--json").documents]
    assert kinds == [line.split()[2] for line in reel("log", talk).out.splitlines()]


def test_log_can_be_narrowed(reel: Reel, talk: str) -> None:
    """The log can be filtered by position and by kind."""
    assert [3, 4] == [event["seq"] for event in reel("log", talk, "--since", "2", "--json").documents]
    picked = reel("log", talk, "--kind", "user", "--kind", "system", "--json").documents
    assert [2, 3] == [event["seq"] for event in picked]
    left = reel("log", talk, "--without", "user", "--without", "created", "--json").documents
    assert [2, 4] == [event["seq"] for event in left]
    assert 2 == len(reel("log", talk, "--without", "user", "--without", "created").out.splitlines())
    assert [2] == [
        event["seq"] for event in reel("log", talk, "--kind", "system", "--without", "user", "--json").documents
    ]


def test_log_of_a_clone_with_inherited_events(reel: Reel, talk: str) -> None:
    """The events of the source come first."""
    reel("clone", talk, f"{talk}-2")

    assert ["clone"] == [e["kind"] for e in reel("log", f"{talk}-2", "--json").documents]
    inherited = reel("log", f"{talk}-2", "--inherited", "--json").documents
    assert ["created", "system", "user", "assistant", "clone"] == [e["kind"] for e in inherited]


def test_info_shows_only_what_there_is(reel: Reel, talk: str) -> None:
    """Fields without a value are left out."""
    reel("mark", talk, "draft")
    rows = dict(line.split(maxsplit=1) for line in reel("info", talk).out.splitlines())

    assert (talk, "2", "Be brief.") == (rows["name"], rows["messages"], rows["prompt"])
    assert ("draft #5", "alive") == (rows["marks"], rows["state"])
    assert "tags" not in rows


def test_info_says_who_has_the_next_turn(reel: Reel, talk: str) -> None:
    """It waits for the user after an answer, for the assistant after a question, and for the results of open calls."""

    def waiting_for() -> str:
        return reel("info", talk).out.partition("\nturn ")[2].splitlines()[0].strip()

    assert "the user" == waiting_for()
    reel("add", talk, "And who makes them?")
    assert "the assistant" == waiting_for()
    reel("add", talk, "--tool-call", "c1", "search", "{}")
    assert "tool results" == waiting_for()


def test_info_says_that_it_waits_for_an_approval(reel: Reel, client: Client, talk: str) -> None:
    """Not that it waits for the assistant, which has asked."""
    asked = {"type": "function_approval_request", "function_call": {"name": "delete"}}
    block: Any = {"type": "opaque", "provider": "agent-framework", "data_json": json.dumps(asked)}
    client.add(talk, {"role": "assistant", "content": [block]})

    assert "\nturn         waiting for an approval: delete\n" in reel("info", talk).out


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("adk_request_input", {}, "waiting for an approval"),
        ("adk_request_confirmation", {"originalFunctionCall": {"name": "delete"}}, "waiting for an approval: delete"),
    ],
    ids=["unnamed", "named"],
)
def test_a_question_is_waited_for_whatever_is_said_after_it(
    reel: Reel, talk: str, tool: str, arguments: Any, expected: str
) -> None:
    """``show`` and ``info`` agree: a call of a tool that asks a person is open, and named, until it has a result."""
    reel("add", talk, "--tool-call", "c1", tool, json.dumps(arguments))
    reel("add", talk, "And who makes them?")

    assert f"\nturn         {expected}\n" in reel("info", talk).out
    assert reel("show", talk).out.endswith(f"\n\n{expected}\n")
    reel("add", talk, "--tool-result", "c1", "yes")
    assert "waiting" not in reel("info", talk).out + reel("show", talk).out


def test_info_says_how_full_the_context_is(reel: Reel, client: Client, talk: str) -> None:
    """It is what the provider counted for the last answer that the conversation has, and about what came since."""

    def context(agent: str) -> str:
        return dict(line.split(maxsplit=1) for line in reel("info", agent).out.splitlines())["context"]

    usage = {"model": "claude-haiku-4-5", "usage": {"input_tokens": 40_000, "output_tokens": 10_000}}
    counted: Any = {"kind": "usage", "data_json": json.dumps(usage)}
    assert "about 19 tokens, estimated" == context(talk)
    client.add(talk, ["And a reel?", {"role": "assistant", "content": "A part."}, counted])
    assert "50,000 tokens, 25 % of 200,000 (claude-haiku-4-5)" == context(talk)
    client.clone(talk, f"{talk}-2")
    client.add(f"{talk}-2", "x" * 384)
    assert "about 50,100 tokens, 100 of them estimated, 25 % of 200,000 (claude-haiku-4-5)" == context(f"{talk}-2")
    document = reel("info", f"{talk}-2", "--json").documents[0]
    assert (50_000, 100, 200_000) == tuple(document["context"][key] for key in ("counted", "estimated", "size"))
    client.undo(talk)
    assert "about 19 tokens, estimated" == context(talk)
    item = {"model": "claude-haiku-4-5", "usage": {"input_tokens": 20_000, "output_tokens": 5_000}}
    said: Any = [[{"role": "assistant", "content": "A part."}]]
    client.add_items(talk, [item], "x-demo", messages=said)
    assert "25,000 tokens, 12 % of 200,000 (claude-haiku-4-5)" == context(talk)
    client.add_items(talk, [item], "x-demo", messages=said, from_=client.agent(talk).head)
    assert "about 25 tokens, estimated" == context(talk)


def test_replay_matches_the_live_state(reel: Reel, talk: str) -> None:
    """The log and the live state agree."""
    assert f"{talk}: 2 messages at #4; the live state is the same\n" == reel("replay", talk).out
    assert f"{talk}: 1 message at #3\n" == reel("replay", talk, "--at", "3", "--strict").out
    document = reel("replay", talk, "--json").documents[0]
    assert (True, [], 2) == (document["matched"], document["skipped"], len(document["messages"]))


@pytest.mark.slow
def test_replay_of_many_pages(reel: Reel, name: str) -> None:
    """With --json all pages become one document; people see the count of the first page."""
    lines = b'"x"\n' * 10_001
    reel("add", name, "--create", "--file", "-", stdin=lines)

    assert 10_001 == len(reel("replay", name, "--json").documents[0]["messages"])
    assert f"{name}: more than 10,000 messages at #10002; the live state is the same\n" == reel("replay", name).out


def test_no_command_prints_control_characters(reel: Reel, name: str) -> None:
    """show, log, list and JSON print no control character."""
    evil = "\x1b[2J\x9b\x07\u202e"
    reel("new", name, "--title", evil, "--system", evil, "--tag", f"t={evil}")
    reel("add", name, evil)
    reel("mark", name, evil)

    for argv in (
        ["show", name],
        ["show", name, "--json"],
        ["log", name],
        ["list"],
        ["info", name],
        ["info", name, "--json"],
    ):
        out = reel(*argv).out
        assert "[2J" in out
        assert not set(evil) & set(out) - set("[2J")


def test_escaped_json_parses_to_the_original(reel: Reel, talk: str) -> None:
    """The escapes in JSON are undone by parsing it."""
    text = "\x1b é 日 \u202e 😀\u2028 end"
    reel("add", talk, text)

    assert text == json.loads(reel("show", talk, "--json").out.split("\n")[-2])["content"][0]["text"]


def test_info_has_names_and_tokens(reel: Reel, talk: str) -> None:
    """The source of a clone has its name, and what the responses used is added up."""
    reel("clone", talk, f"{talk}-2")
    events = [{"usage": {"input_tokens": 1000, "output_tokens": 2}}, {"usage": {"prompt_tokens": 3}}, {"seconds": 1}]
    records = [json.dumps({"kind": "usage", "data_json": json.dumps(event)}) for event in events]
    reel("add", f"{talk}-2", "--file", "-", stdin="\n".join(records).encode())
    lines = reel("info", f"{talk}-2").out.splitlines()

    assert {f"source       {talk} at #4", "tokens       1,003 in, 2 out", "head         #8"} <= set(lines)


def test_show_says_who_speaks_and_what_it_waits_for(reel: Reel, client: Client, talk: str) -> None:
    """A message has the name and the tokens that a framework stored with it; what is asked is the last line."""
    asked = {"type": "function_approval_request", "function_call": {"name": "delete", "arguments": "{}"}}
    item = {"role": "assistant", "author_name": "deck", "usage": {"input_tokens": 12, "output_tokens": 5}}
    block: Any = {"type": "opaque", "provider": "agent-framework", "data_json": json.dumps(asked)}
    client.call(requests.add_items(talk, [item], "x-mine", messages=[[{"role": "assistant", "content": [block]}]]))

    shown = reel("show", talk).out
    assert "\nassistant · deck  #" in shown
    assert "  12 in, 5 out\n  asks for an approval of delete\n    {}\n" in shown
    assert shown.endswith("\n\nwaiting for an approval: delete\n")
    assert "waiting" not in reel("show", talk, "1").out
    assert 'class="tokens">12 in, 5 out</span>' in reel("export", talk, "--format", "html").out
    assert "### Assistant · deck\n" in reel("export", talk, "--format", "markdown").out
