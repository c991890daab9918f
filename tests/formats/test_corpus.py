"""The checker agrees with the real APIs about recorded requests, if the folder with them exists."""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.formats.checker import check

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"
RECORDINGS = sorted(CORPUS.glob("*-*.json"))

# What an API says, and the rules that it may mean; the misleading ones have two.
MEANT = {
    r"must be followed by tool messages|No tool output found": {"tool-call-unanswered"},
    r"role 'tool' must be a response|No tool call found|unexpected `tool_use_id`": {"tool-result-orphan"},
    r"Duplicate value for 'tool_call_id'|each tool_use must have a single result": {"tool-result-duplicate"},
    r"`tool_use` ids must be unique": {"tool-call-duplicate"},
    r"`?tool_use`? ids were found without": {"tool-call-unanswered", "server-tool-after-call", "tool-result-not-first"},
    r"does not support assistant message prefill": {"prefill", "server-tool-after-call"},
    r"expected a string, got null": {"null-content"},
    r"[Ee]mpty array": {"empty-content-array", "empty-tool-calls"},
    r"either text or image_url type": {"audio-model"},
    r"does not support '(system|developer)'": {"role"},
    r"without its required following item": {"reasoning-unpaired"},
    r"not persisted when `store`": {"reasoning-not-stored"},
    r"Duplicate item found": {"item-id-duplicate"},
    r"Expected an ID that begins with": {"item-id"},
    r"Supported values are: 'output_text' and 'refusal'": {"part-role"},
    r"must have non-empty content": {"empty-content", "empty-text"},
    r"content blocks must be non-empty": {"empty-text"},
    r"must contain non-whitespace text": {"blank-text"},
    r"cannot end with trailing whitespace": {"trailing-whitespace"},
    r"cannot be empty if `is_error` is true": {"empty-content"},
    r"must be type `text` if `is_error` is true": {"error-result-text"},
    r"not permitted within assistant turns": {"media-role"},
    r"maximum of 4 blocks with cache_control": {"cache-marks"},
    r"Tool names must be unique|[Dd]uplicate function declaration": {"tool-declared-twice"},
    r"signature: Field required": {"thinking-signature"},
    r"Expected `thinking` or `redacted_thinking`": {"thinking-first"},
    r"final block in an assistant message cannot be": {"thinking-last"},
    r"in the final position cannot contain `thinking`": {"thinking-disabled"},
    r"use a valid role: user, model": {"role"},
    r"function call turn comes immediately after": {"function-call-turn"},
    r"function response turn comes immediately after": {"function-response-turn"},
    r"number of function response parts": {"function-parity"},
    r"parts must not be empty": {"empty-parts"},
    r"oneof field 'data'": {"part-data"},
    r"Name cannot be empty": {"tool-name"},
    r"Unknown name \"media_?[rR]esolution\"": {"media-resolution"},
    r"missing a thought_signature": {"thought-signature"},
}
# What is refused beside the history, and judged by no rule here.
BESIDE = (
    r"tool_choice|tools?\.\d|tools\[|function_declarations|Built-in tools",
    r"max_tokens|budget_tokens|temperature|top_p|generation_?[cC]onfig",
    r"[Uu]nsupported (parameter|value)|Invalid schema|responseSchema|json_schema|output_format",
)
# A place of the history that has the wrong form.
SHAPE = (
    r"got an object instead|Unknown parameter|Unrecognized request argument|Extra inputs|Field required",
    r"Unknown name|Input should be a valid|Supported values are|moved to 'text.format'|cannot start list",
)
# What no body shows, by what the API says of it.
UNSHOWN = (
    # What was made after what, and how it was signed, stands in earlier exchanges or is known to the maker alone.
    r"bound to a different conversation|cannot be modified|without its required 'reasoning' item",
    r"Invalid `?signature|Corrupted thought signature|could not be verified",
    # Who asks, and for which model.
    r"(API|api) key|authenti|permission|credit|billing|quota|not enabled for",
    r"model.{0,80}(not found|does not exist|not support)|not supported (with|by|for) (this|the) model",
    # Media are not opened, links not followed, tokens not counted, stored things not looked up.
    r"[Ii]nvalid (image|file|base64|URL)|[Uu]nable to (download|process|fetch)|[Cc]ould not (process|download|fetch)",
    r"[Uu]nsupported (image|file|MIME|mime)|MIME type|media type",
    r"too (long|large)|context (length|window)|maximum context|exceeds",
    r"previous_response|[Cc]ontainer|cached ?[Cc]ontent",
)

recorded = pytest.mark.skipif(not RECORDINGS, reason="the recorded requests are not here")


def read(path: Path) -> dict[str, Any]:
    """Read a recording."""
    recording: dict[str, Any] = json.loads(path.read_bytes())
    return recording


def broken(recording: dict[str, Any]) -> set[str]:
    """Return the rules that a recorded request breaks, careless ones left out."""
    found = check(recording["provider"], recording["body"], recording["model"])
    return {problem.rule for problem in found if not problem.careless}


def said(patterns: Iterable[str], error: str) -> str | None:
    """Return the first of some patterns that matches an error."""
    return next((pattern for pattern in patterns if re.search(pattern, error)), None)


def meant(error: str) -> set[str]:
    """Return the rules that an error may be about: none if no body can show it, all if the error is unknown."""
    known = said(MEANT, error)
    if known is not None:
        return MEANT[known]
    if said(BESIDE, error):
        return set()
    if said(SHAPE, error):
        return {"shape", "part-role"}
    return set() if said(UNSHOWN, error) else {"*"}


@recorded
@pytest.mark.parametrize("path", [path for path in RECORDINGS if "-200-" in path.name], ids=lambda path: path.stem)
def test_a_request_that_an_api_accepted_is_at_most_careless(path: Path) -> None:
    """What an API accepted breaks no rule, except carelessly."""
    recording = read(path)

    assert "valid" == recording["expect"]
    assert set() == broken(recording)


@recorded
@pytest.mark.parametrize("path", [path for path in RECORDINGS if "-200-" not in path.name], ids=lambda path: path.stem)
def test_a_request_that_an_api_refused_breaks_the_rule_that_it_named(path: Path) -> None:
    """What an API refused is refused here for the same reason."""
    recording = read(path)
    rules, found = meant(str(recording["error"])), broken(recording)

    assert "invalid" == recording["expect"]
    assert not rules or rules & {*found, *(["*"] if found else [])}


@pytest.mark.parametrize(
    ("expected", "error"),
    [
        ({"empty-content"}, "messages.0: all messages must have non-empty content"),
        ({"shape"}, "Unknown parameter: 'input[1].name'."),
        (set(), "Unknown parameter: 'tools[0].name'."),
        (set(), "Invalid `signature` in `thinking` block. The block is bound to a different conversation"),
        ({"*"}, "The history is not to our taste."),
    ],
)
def test_an_error_is_mapped_to_the_rules_it_may_mean(expected: set[str], error: str) -> None:
    """Only what a body shows must be found in it; for an unknown error something must be found."""
    assert expected <= meant(error)
    assert bool(expected) == bool(meant(error))
