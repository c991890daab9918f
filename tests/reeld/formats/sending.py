"""Histories as the bodies that they are sent in."""

import json
from collections.abc import Sequence
from typing import Any

from reel.providers.changes import Change
from reeld.formats.body import RenderRequest
from reeld.formats.render import render
from tests.reeld.formats.histories import Json, entries_of, prompt_in


def sent(
    name: str, messages: Sequence[Any], model: str | None = None, extra: Json | None = None
) -> tuple[Json, list[Change]]:
    """Return the body of a conversation in a format, and the report."""
    entries = entries_of(messages)
    rendered, _ = render(RenderRequest(name, model, extra), entries, prompt_in(entries))
    body: Json = json.loads(rendered.body)
    return body, rendered.report
