"""Names of tools at the top of a body: ``extra`` is sent with the names that providers accept (rule X6)."""

from collections.abc import Callable
from typing import Any

from reel.base.light_typing import NamedTuple
from reel.base.strict_json import Json


class ToolNames(NamedTuple):
    """Where an API has the names of tools at the top of a body. What is of another shape stays as it is.

    Args:
        objects: the keys of objects that lead to names.
        lists: the keys of lists of such objects.
        keys: the keys of a name, or of a list of names.
        kinds: the types of the objects that have a name; empty for all.
        by_name: the key of a map that has the tools by their names.
    """

    objects: frozenset[str]
    lists: frozenset[str] = frozenset({"tools"})
    keys: frozenset[str] = frozenset({"name"})
    kinds: frozenset[str] = frozenset()
    by_name: str = ""


def rename_tools(extra: Json, names: ToolNames, rename: Callable[[str], str]) -> Json:
    """Return ``extra`` with the names of its tools, and of the tools that it chooses, renamed by a function."""

    def at(key: str, value: Any) -> Any:
        if type(value) is str:
            return rename(value) if key in names.keys else value
        if type(value) is list:
            return [inside(found) if key in names.lists and type(found) is dict else at(key, found) for found in value]
        if type(value) is dict and key == names.by_name:
            return {rename(name): tool for name, tool in value.items()}
        return inside(value) if type(value) is dict and key in names.objects else value

    def inside(value: Json) -> Json:
        is_kept = names.kinds and value.get("type") not in names.kinds
        return {key: found if is_kept and type(found) is str else at(key, found) for key, found in value.items()}

    return {key: found if type(found) is str else at(key, found) for key, found in extra.items()}
