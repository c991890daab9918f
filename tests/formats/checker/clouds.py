"""What the clouds that serve a provider's own API want beside the history, and have signed (rules A22, G13, G14)."""

from collections.abc import Iterator, Mapping
from typing import Any

from tests.formats.checker.problem import Json, Problem

# What a body must have, and the keys that it must not have.
CLOUDS: dict[str, tuple[Json, tuple[str, ...]]] = {
    "anthropic/vertex": ({"anthropic_version": "vertex-2023-10-16"}, ("model",)),
    "anthropic/bedrock-invoke": ({"anthropic_version": "bedrock-2023-05-31"}, ("model", "stream")),
    "anthropic/foundry": ({}, ("anthropic_version",)),
    "gemini/ai-studio": ({"store": False}, ("model",)),
    "gemini/vertex": ({}, ("model", "store")),
    "gemini-interactions/ai-studio": ({"store": False}, ()),
    "gemini-interactions/vertex": ({"store": False}, ()),
}
# The name of a provider's rule.
SIGNED_ELSEWHERE = "signed-elsewhere"
RULES = {"anthropic": "model-in-url", "gemini": "not-stored", "gemini-interactions": "not-stored"}


def check_cloud(name: str, body: Json) -> list[Problem]:
    """List what a cloud would refuse at the top of a body, by its name after that of the provider and a slash."""
    wanted, refused = CLOUDS[name]
    lacks = [f"no {key}: {value}" for key, value in wanted.items() if body.get(key) != value]
    extraneous = [f"{key} is not known here" for key in refused if key in body]
    return [Problem(RULES[name.partition("/")[0]], "top", why, careless=False) for why in (*lacks, *extraneous)]


def signed_elsewhere(body: Json, made_by: Mapping[str, str], cloud: str) -> list[Problem]:
    """List the signatures in a body that another cloud than the one that it goes to is known to have made."""
    return [
        Problem(SIGNED_ELSEWHERE, where, f"{made_by[text]} has signed it", careless=False)
        for where, text in _texts(body, "")
        if made_by.get(text, cloud) != cloud
    ]


def _texts(value: Any, where: str) -> Iterator[tuple[str, str]]:
    """Yield every text of a body, and where it is."""
    if isinstance(value, str):
        yield where, value
    elif isinstance(value, dict):
        for key, inside in value.items():
            yield from _texts(inside, f"{where}.{key}" if where else key)
    elif isinstance(value, list):
        for index, inside in enumerate(value):
            yield from _texts(inside, f"{where}[{index}]")
