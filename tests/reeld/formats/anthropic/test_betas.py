"""Blocks that a request declares by a beta, and the header that it needs (rule A23)."""

import json
from typing import Any

import pytest

from reel.base.errors import InvalidParams
from reeld.formats.body import Rendered, RenderRequest
from reeld.formats.render import render
from tests.formats.checker import check
from tests.reeld.formats.histories import Json, entries_of, model, opaque, user

MODEL = "claude-opus-4-8"
LISTING = {"type": "mcp_tool_listing", "mcp_server_name": "s", "tools": []}
TAKEOVER = {"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}}
COMPACTION = {"type": "compaction", "content": "S"}
UPLOAD = {"type": "container_upload", "file_id": "f"}
EDIT = {"edits": [{"type": "compact_20260112"}]}
# A block, what declares it, and what is in the header then.
DECLARED: list[tuple[Json, Json, list[str]]] = [
    (TAKEOVER, {"fallbacks": "default"}, ["server-side-fallback-2026-07-01"]),
    (TAKEOVER, {"betas": ["server-side-fallback-2026-06-01"]}, ["server-side-fallback-2026-06-01"]),
    (TAKEOVER, {"anthropic_beta": ["server-side-fallback-2026-06-01"]}, ["server-side-fallback-2026-06-01"]),
    (COMPACTION, {"context_management": EDIT}, ["compact-2026-09-04"]),
    (COMPACTION, {"betas": ["compact-2026-01-12"], "context_management": EDIT}, ["compact-2026-01-12"]),
    (LISTING, {"mcp_servers": [{"type": "url", "url": "https://x", "name": "s"}]}, ["mcp-client-2026-09-15"]),
    (UPLOAD, {"container": "c"}, ["files-api-2025-04-14"]),
]


def rendered(block: Json, extra: Json) -> Rendered:
    """Render an answer with a block of Anthropic's, or a question with an upload."""
    kept = opaque(json.dumps(block), model=MODEL)
    answer, asked = (model("OK"), user("And?", kept)) if block == UPLOAD else (model("OK", kept), user("And?"))
    found, _ = render(RenderRequest("anthropic", MODEL, extra), entries_of(["Hi", answer, asked]))
    assert [] == check("anthropic", json.loads(found.body), MODEL)
    return found


@pytest.mark.parametrize(("block", "extra", "betas"), DECLARED)
def test_a_block_is_sent_if_the_request_declares_it(block: Json, extra: Json, betas: list[str]) -> None:
    """By the beta's name, or by using the feature; the reply has what the header needs."""
    found = rendered(block, {**extra, "max_tokens": 9})

    assert block["type"] in json.dumps(json.loads(found.body)["messages"])
    assert {"betas", "anthropic_beta"}.isdisjoint(json.loads(found.body))
    assert betas == found.betas == found.as_map()["betas"]


@pytest.mark.parametrize("block", [TAKEOVER, COMPACTION, LISTING, UPLOAD])
@pytest.mark.parametrize(
    "extra", [{}, {"betas": ["other-2026-01-01"]}, {"betas": None}, {"context_management": {"edits": 1}}]
)
def test_a_block_that_is_not_declared_is_left_out(block: Json, extra: Json) -> None:
    """The API does not know it; the report says which beta would do."""
    found = rendered(block, {**extra, "max_tokens": 9})

    assert block["type"] not in json.dumps(json.loads(found.body)["messages"])
    assert [f"a block of the type {block['type']}"] == [change.why.split(":")[0] for change in found.report]


def test_a_body_that_needs_no_beta_names_none() -> None:
    """Those of the caller's are named as they are."""
    assert "betas" not in rendered(TAKEOVER, {"max_tokens": 9}).as_map()
    assert ["x-1"] == rendered(TAKEOVER, {"betas": ["x-1"]}).betas


@pytest.mark.parametrize("dialect", [None, "vertex", "bedrock-invoke", "foundry"])
@pytest.mark.parametrize("key", ["betas", "anthropic_beta"])
@pytest.mark.parametrize("value", ["compact-2026-09-04", 7, {}, ["x", 7], ["x", ""], ["x,y"], ["x\n"]])
def test_betas_are_a_list_of_names(key: str, value: Any, dialect: str | None) -> None:
    """What is something else would be left out unsaid, and with it what it declares; or break the header."""
    with pytest.raises(InvalidParams) as refused:
        render(RenderRequest("anthropic", MODEL, {key: value}, dialect=dialect), entries_of(["Hi"]))

    expected = f'extra: {key}: expected a list of names, such as ["compact-2026-09-04"], got {value!r}'
    assert expected == str(refused.value).removeprefix("invalid_params: ")


def test_betas_that_are_named_twice_are_declared_once() -> None:
    """In either key, by the caller or by what the request uses."""
    twice = {"betas": ["mcp-client-2026-09-15", "x-1"], "anthropic_beta": ["x-1", "mcp-client-2026-09-15"]}

    assert ["mcp-client-2026-09-15", "x-1"] == rendered(LISTING, {**twice, "mcp_servers": []}).betas


@pytest.mark.parametrize("extra", [{}, {"betas": ["mcp-client-2026-09-15"]}])
def test_a_servers_call_is_not_sent_without_its_result(extra: Json) -> None:
    """If its result is left out for want of a beta, so is the call; nothing waits for it."""
    halves = [
        {"type": "server_tool_use", "id": "s", "name": "x", "input": {}},
        {"type": "mcp_tool_result", "tool_use_id": "s", "content": []},
    ]
    said = model(*(opaque(json.dumps(half), model=MODEL) for half in halves), "OK")
    body = json.loads(render(RenderRequest("anthropic", MODEL, extra), entries_of(["Hi", said, user("And?")]))[0].body)

    assert [] == check("anthropic", body, MODEL)
    assert (3 if extra else 1) == len(body["messages"][1]["content"])
