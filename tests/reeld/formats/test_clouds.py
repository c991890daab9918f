"""A dialect is a cloud that serves a provider's own API (rule A22)."""

import json
from typing import Any

import pytest

from reel.base.errors import InvalidParams
from reel.said.formats import DIALECTS
from reeld.formats.body import Rendered, RenderRequest
from reeld.formats.render import render
from reeld.formats.table import FORMATS
from tests.formats.checker import check
from tests.formats.checker.clouds import CLOUDS
from tests.reeld.formats.histories import call, entries_of, model, prompt_in, result, thinking, tool, user

CLAUDE = "claude-opus-5-1"
HISTORY: list[Any] = [
    {"role": "system", "content": "Be brief"},
    user("Hi"),
    model(thinking("hm", "c2ln", model=CLAUDE), call()),
    tool(result()),
]


def rendered(name: str, asked: str | None = CLAUDE, **extra: Any) -> Rendered:
    """Render a conversation in a dialect, whose name follows after a slash."""
    found, _, dialect = name.partition("/")
    entries = entries_of(HISTORY)
    return render(RenderRequest(found, asked, extra, dialect=dialect or None), entries, prompt_in(entries))[0]


@pytest.mark.parametrize("name", [name for name in CLOUDS if name.startswith("anthropic")])
def test_claude_of_a_cloud(name: str) -> None:
    """The history is that of Anthropic's API; the model is where the cloud wants it."""
    own = json.loads(rendered("anthropic", max_tokens=9, stream=True).body)
    body = json.loads(rendered(name, max_tokens=9, stream=True).body)
    more, left_out = CLOUDS[name]

    assert [] == check(name, body, CLAUDE)
    assert {**more, **{key: value for key, value in own.items() if key not in left_out}} == body


def test_the_version_of_the_caller_comes_first() -> None:
    """So does a model in extra stay out of the body."""
    body = json.loads(rendered("anthropic/vertex", None, anthropic_version="vertex-9", model=CLAUDE).body)

    assert ("vertex-9", False) == (body["anthropic_version"], "model" in body)


def test_invoke_model_has_the_betas_in_its_body() -> None:
    """It takes no header, unlike Vertex; those that the caller puts there are declared as well."""
    named: dict[str, Any] = {"betas": ["context-1m-2025-08-07"], "max_tokens": 9}
    found = {name: json.loads(rendered(f"anthropic/{name}", **named).body) for name in ("bedrock-invoke", "vertex")}
    own = rendered("anthropic/bedrock-invoke", anthropic_beta=["x"], **named)

    assert [] == check("anthropic/bedrock-invoke", found["bedrock-invoke"], CLAUDE)
    assert [named["betas"], None] == [body.get("anthropic_beta") for body in found.values()]
    assert [*named["betas"], "x"] == json.loads(own.body)["anthropic_beta"] == own.betas


def test_a_dialect_of_another_format_is_refused() -> None:
    """The error names those that the format has."""
    with pytest.raises(InvalidParams, match="expected one of vertex, bedrock-invoke, foundry, got 'deepseek'"):
        rendered("anthropic/deepseek")
    with pytest.raises(InvalidParams, match="ollama has no dialects"):
        rendered("ollama/vertex")


def test_the_protocol_names_every_dialect_once() -> None:
    """They are those of the formats, in their order."""
    assert tuple(dict.fromkeys(name for target in FORMATS.values() for name in target.dialects)) == DIALECTS
