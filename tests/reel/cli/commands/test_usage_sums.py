"""``reel usage``."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.cli.commands.usage import Row, csv_lines, table
from reel.reading.prices import DATE
from reel.reading.tokens import Tokens, total
from reel.reading.usage import Sum, Usage, responses, whole
from reel.replies import AgentRow
from reel.said.messages import Event
from reel.sync.client import Client
from tests.reel.cli.conftest import Reel

TOKENS = st.builds(Tokens, *[st.integers(0, 1 << 40)] * 5)


ID = "0a" * 16


def agent() -> AgentRow:
    """Return an agent without tags."""
    return AgentRow(ID, "demo", None, {}, True, 1, 0, 0)


def used(model: str, tokens: int) -> Any:
    """Return the record of a response."""
    data = {"model": model, "usage": {"prompt_tokens": tokens, "completion_tokens": 1}}
    return {"kind": "usage", "data_json": json.dumps(data)}


def test_a_shared_past_is_counted_once(reel: Reel, client: Client, name: str) -> None:
    """A clone has only what it used itself; over all agents, a killed one too, nothing is counted twice."""
    client.add(name, ["hi", used("old", 10)], create=True, tags={name: "x"})
    client.clone(name, f"{name}-2")
    client.add(f"{name}-2", [used("new", 5)])
    client.change(f"{name}-2", tags={name: "x"})
    client.kill(name)

    assert [{"responses": 1, "in": 5, "cached": 0, "cache_writes": 0, "out": 1, "reasoning": 0}] == reel(
        "usage", f"{name}-2", "--json"
    ).documents
    everybody = reel("usage", "--by", f"tag:{name}", "--json").documents
    assert [15] == [row["in"] for row in everybody if row["group"] == "x"]
    assert (
        f"{name},responses,in,cached,cache_writes,out,reasoning"
        in reel("usage", "--by", f"tag:{name}", "--format", "csv").out
    )
    assert "new" in reel("usage", f"{name}-2", "--by", "model").out
    assert reel("usage", name, "--by", "week").status == reel("usage", "--format", "csv", "--json").status == 2


@given(st.lists(st.tuples(st.sampled_from("abc"), TOKENS)))
def test_groups_add_up(counted: list[tuple[str, Tokens]]) -> None:
    """The groups have all responses, and together as many tokens as there are."""
    found = Usage("model")
    found.add_agents([agent()])
    for model, tokens in counted:
        usage = {"prompt_tokens": tokens.read, "completion_tokens": tokens.written}
        data = json.dumps({"model": model, "usage": usage})
        found.add([{"agent": ID, "command": 1, "kind": "usage", "data_json": data}])  # type: ignore[typeddict-item]

    expected = [tokens for _, tokens in counted if tokens.read or tokens.written]
    assert sum(entry.responses for entry in found.sums.values()) == len(expected)
    assert whole(found.sums.values()).tokens[:2] == total(expected)[:2]


@pytest.mark.parametrize(
    ("by", "group"), [("", "all"), ("model", "(none)"), ("day", "1970-01-02"), ("tag:project", "tapes")]
)
def test_groups(by: str, group: str) -> None:
    """A response without a model is in a group of its own, and the day is that on which it was sent."""
    event: Any = {"data_json": '{"usage": {"eval_count": 2}}', "time": 0, "sent": 36 * 3_600_000}

    assert [(group, "(none)", Tokens(0, 2), 1)] == list(responses(event, by, "tapes"))


@pytest.mark.parametrize("data", [None, "[", "[]", '{"usage": {}}', "[" * 100_000])
def test_events_that_count_nothing(data: str | None) -> None:
    """What anybody may have added is left out."""
    event: Event = {"data_json": data, "time": 0}  # type: ignore[typeddict-item]

    assert not list(responses(event, "model", ""))


def test_a_response_that_is_counted_again() -> None:
    """An answer that was read while it arrived is one response, with the tokens of its last count."""
    found = Usage("model")
    found.add_agents([agent()])
    counts: list[Any] = [{"model": "m", "usage": {"output_tokens": 2}}]
    counts.append({"model": "m", "usage": {"output_tokens": 9}, "replaces": counts[0]})
    found.add([{"agent": ID, "command": 1, "kind": "usage", "data_json": json.dumps(data)} for data in counts])  # type: ignore[typeddict-item]

    assert {"m": Sum(1, Tokens(0, 9))} == found.sums == found.models["m"]


def test_values_with_commas_are_quoted() -> None:
    """A reader of CSV gets each name as it is."""
    lines = csv_lines("model", [Row('a,"b"', Sum(1, Tokens(1, 2, 3, 4, 5)))])

    assert ['a,"b"', "1", "1", "3", "5", "2", "4"] == list(csv.reader(lines))[1]


def test_a_table_fits_the_screen() -> None:
    """A long name is cut, and a total comes below several rows."""
    lines = list(table("model", [Row("m" * 200, Sum(1, Tokens(1000, 2))), Row("b", Sum())], 75))

    assert {75} == {len(line[0][0]) for line in lines}
    assert ["total", "1", "1,000", "0", "0", "2", "0"] == lines[-1][0][0].split()


def test_costs(reel: Reel, client: Client, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Known models cost what the table says, or the settings; of an unknown one, the number of responses is told."""
    (tmp_path / "reel").mkdir()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    client.add(
        name, [used("claude-opus-4-5-20251101", 1_000_000), used("mine", 2_000_000), used("mine", 0)], create=True
    )

    (before,) = reel("usage", name, "--cost", "--json").documents
    assert (5.000025, 2) == (before["cost"], before["unpriced"])
    ran = reel("usage", name, "--by", "model", "--cost")
    assert "no price of mine is known, for 2 responses" in ran.err
    assert f"the prices are those of {DATE} in USD" in ran.err
    assert ["total", "5.00", "+", "?"] == [*ran.out.split("\n")[-2].split()[:1], *ran.out.split("\n")[-2].split()[-3:]]
    (tmp_path / "reel/reel.toml").write_text("[prices]\nmine = { input = 1, output = 2 }\n")
    after = reel("usage", name, "--by", "model", "--cost", "--format", "csv").out.split()
    assert "model,responses,in,cached,cache_writes,out,reasoning,cost,unpriced" == after[0]
    assert "mine,2,2000000,0,0,2,0,2.000004,0" == after[2]
    assert "cost" not in reel("usage", name, "--json").documents[0]
