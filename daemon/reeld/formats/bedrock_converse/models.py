"""How the models behind Converse differ: the API is the same, but each model has its own restrictions."""

import re
from functools import lru_cache

from reel.base.strict_json import Json

# The tool that is declared if a history has calls and the caller declares none (rule B7).
NO_TOOL: Json = {
    "toolSpec": {
        "name": "no_tool",
        "description": "Does nothing. There are no tools now; do not call this.",
        "inputSchema": {"json": {"type": "object"}},
    }
}
_CLAUDE, _NOVA = re.compile(r"claude"), re.compile(r"amazon\.nova|^nova-")
# Models that accept user text beside results: measured for Claude 4 and later, and for the models of OpenAI.
_MIXING = re.compile(r"claude-[a-z]+-[4-9]|openai\.gpt")
# Models that refuse text beside calls.
_PARTING = re.compile(r"meta\.llama|mistral\.")

# Every turn asks these questions about the same model.


@lru_cache(maxsize=64)
def is_claude(model: str | None) -> bool:
    """Whether a model is one of Anthropic's."""
    return _CLAUDE.search(model or "") is not None


@lru_cache(maxsize=64)
def is_nova(model: str | None) -> bool:
    """Whether a model is one of Amazon's Nova models."""
    return _NOVA.search(model or "") is not None


@lru_cache(maxsize=64)
def mixes_results(model: str | None) -> bool:
    """Whether a message to a model may have other content beside results; if unknown, it may not (rule B2)."""
    return _MIXING.search(model or "") is not None


@lru_cache(maxsize=64)
def parts_calls(model: str | None) -> bool:
    """Whether a message of a model may not have other content beside calls (rule B2)."""
    return _PARTING.search(model or "") is not None


def takes_status(model: str | None) -> bool:
    """Whether a model accepts the status of a result, and pictures in it; an unknown model does not (rule B5)."""
    return is_claude(model) or is_nova(model)


def caches(model: str | None) -> bool:
    """Whether a model accepts cache points; others refuse the whole request (rule B10)."""
    return is_claude(model) or is_nova(model)
