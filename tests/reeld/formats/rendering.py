"""Renders messages as the handler of ``render`` does."""

import json
from typing import Any

from reeld.formats.body import Rendered, RenderRequest
from reeld.formats.render import render
from reeld.formats.render_state import RenderState
from tests.reeld.formats.histories import entries_of, prompt_in


def ask(messages: list[Any], name: str = "anthropic", kept: RenderState | None = None, **how: Any) -> Rendered:
    entries = entries_of(messages)
    return render(RenderRequest(name, **how), entries, prompt_in(entries), kept)[0]


def body(messages: list[Any], name: str = "anthropic", **how: Any) -> Any:
    return json.loads(ask(messages, name, **how).body)
