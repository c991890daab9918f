"""Requests that real APIs accepted keep their meaning when they are loaded and rendered, and suit every API."""

import json
from pathlib import Path
from typing import Any

import pytest

from reeld.formats.body import RenderRequest
from reeld.formats.fields import LoadedRequest
from reeld.formats.render import render
from reeld.formats.table import FORMATS
from tests.formats.checker import check
from tests.formats.test_corpus import RECORDINGS, read, recorded
from tests.reeld.formats.histories import entries_of, prompt_in
from tests.reeld.formats.meaning import MEANINGS, same
from tests.thoroughness import THOROUGH, sampled

pytestmark = [pytest.mark.slow, sampled]

NAMES = {name.replace("-", "_"): name for name in FORMATS}
OUTSIDE = ("previous_response_id", "conversation", "prompt")


def is_whole(path: Path) -> bool:
    """Whether a recording contains its whole history; one that begins elsewhere is not loaded."""
    return not begins_outside(read(path)["body"])


def begins_outside(body: dict[str, Any]) -> bool:
    """Whether a body continues what is not in it."""
    items = [item for item in body.get("input") or [] if type(item) is dict]
    refers = any(item.get("type") in ("item_reference", None) and "role" not in item for item in items)
    return refers or any(body.get(key) is not None for key in OUTSIDE)


# A quarter of them, and all for `make fuzz`.
READ = [path for path in (RECORDINGS if THOROUGH else RECORDINGS[::4]) if is_whole(path)]
ACCEPTED = [path for path in READ if "-200-" in path.name and path.name.rsplit("-", 2)[0] in MEANINGS]
MODELS = {
    "anthropic": "claude-opus-4-8",
    "gemini": "gemini-3-pro-preview",
    "gemini-interactions": "gemini-3-pro-preview",
    "ollama": "qwen3:8b",
    "bedrock-converse": "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
}


# The headers were not recorded.
BETAS = {"anthropic": {"betas": ["mcp-client-2025-11-20", "files-api-2025-04-14", "compact-2026-01-12"]}}


def loaded(recording: dict[str, Any]) -> LoadedRequest:
    return FORMATS[NAMES[recording["provider"]]].read_request(recording["body"], recording["model"])


def rendered(messages: list[Any], name: str, model: str | None) -> tuple[Any, bool]:
    """Render what was loaded; return the body, and whether a provider could answer it."""
    entries = entries_of(messages)
    found, _ = render(RenderRequest(name, model, BETAS.get(name)), entries, prompt_in(entries))
    return json.loads(found.body), found.ready


def since_compaction(items: list[Any]) -> list[Any]:
    """Return items of Responses from the last compaction on, which stands for the others (rule R13)."""
    places = [place for place, item in enumerate(items) if item.get("type") == "compaction"]
    return items[places[-1] :] if places else items


@recorded
@pytest.mark.parametrize("path", ACCEPTED, ids=lambda path: path.stem)
def test_an_accepted_request_keeps_its_meaning(path: Path) -> None:
    """It is rendered with the same meaning, and breaks no rule."""
    recording = read(path)
    body, _ = rendered(loaded(recording).messages, NAMES[recording["provider"]], recording["model"])
    before, after = same(recording["provider"], recording["body"], body)

    is_cut = recording["provider"] == "openai_responses" and after == since_compaction(before)
    assert is_cut or before == after
    assert [] == check(recording["provider"], body, recording["model"])


@recorded
@pytest.mark.parametrize("path", READ, ids=lambda path: path.stem)
def test_a_recorded_request_is_rendered_for_every_provider(path: Path) -> None:
    """Accepted or refused, it is rendered to what every provider accepts."""
    messages = loaded(read(path)).messages
    broken = {}
    for name in FORMATS:
        body, ready = rendered(messages, name, MODELS.get(name))
        broken[name] = check(name.replace("-", "_"), body, MODELS.get(name)) if ready else []

    assert {name: [] for name in FORMATS} == broken
