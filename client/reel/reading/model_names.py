"""The names of models: those of a cloud or a gateway, and of versions, are the same model's."""

from __future__ import annotations

import re

from reel.base.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeVar

    T = TypeVar("T")

# What may stand before the name of a model at a cloud or a gateway, and after it for a version.
_BEFORE = re.compile(r"^(?:.*/)?(?:(?:us|eu|apac|global|jp|au)\.)?(?:(?:anthropic|openai|google|deepseek|xai)[./])?")
_VERSION = re.compile(r"(?:[-@](?:\d{8}|\d{4}-\d\d-\d\d|latest|default))?(?:-v\d+(?::\d+)?)?")


def look_up(model: str, *tables: Mapping[str, T]) -> T | None:
    """Return what the first table that knows a model has of it; ``None`` if none does.

    Args:
        model: the name of the model, as its provider writes it.
        tables: what is known of models. A name without a version stands for all versions.
    """
    name = _BEFORE.sub("", model.lower())
    for table in tables:
        if (found := table.get(model)) is not None:
            return found
        for known in sorted(table, key=len, reverse=True):
            if name.startswith(known.lower()) and _VERSION.fullmatch(name, len(known)):
                return table[known]
    return None
