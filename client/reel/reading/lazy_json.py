"""JSON that only some conversations have: its parser is imported when the first one is read."""

from __future__ import annotations

from reel.base.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


def parsed(text: str) -> dict[str, Any]:
    """Return the object that a text is the JSON of; an empty one if it is anything else."""
    try:
        found = loaded(text)
    except ValueError:
        return {}
    return found if type(found) is dict else {}


def loaded(text: str) -> Any:
    """Return the value that a text is the JSON of.

    Raises:
        ValueError: it is not JSON, or nested too deep.
    """
    from json import loads  # noqa: PLC0415 - see above

    try:
        return loads(text)
    except RecursionError as error:
        raise ValueError("nested too deep") from error


def dumped(value: Any) -> str:
    """Return the JSON of a value; an empty text if it is nested too deep."""
    from json import dumps  # noqa: PLC0415 - see above

    try:
        return dumps(value, ensure_ascii=False)
    except RecursionError:
        return ""
