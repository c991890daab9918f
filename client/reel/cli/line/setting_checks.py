"""What settings have in common: texts, and command lines."""

from __future__ import annotations

from reel.base.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


def check_text(value: Any) -> str | None:
    """Require a text."""
    return None if isinstance(value, str) else f'write a text, such as "less -R", not {value!r}'


def check_words(value: Any) -> str | None:
    """Require a command line: the quotes in it are balanced."""
    from shlex import split  # noqa: PLC0415 - only if it is set

    if (problem := check_text(value)) is not None:
        return problem
    try:
        split(value)
    except ValueError as error:
        return f"{value!r} is not a command line: {error}"
    return None
