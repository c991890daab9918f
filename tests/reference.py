"""The reference of the Python client, made from its docstrings: :mod:`tests.documents` writes it into a page."""

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any, get_type_hints

import reel
from reel import replies
from reel.base import errors
from reel.reading.tokens import Tokens
from reel.said import messages
from reel.said.tool_calls import ToolCall

# The methods of a client in groups: those of a program's day first.
_GROUPS = {
    "Begin and end": "connect close create handle",
    "Write": "add add_items ingest load commit append draft",
    "Read": "messages items conversation history iter_messages iter_items iter_conversation iter_history open_calls"
    " answer render parse state search edits wait subscribe",
    "Conversations": "agent agents iter_agents change clone kill revive tree difference usage histories",
    "Go back": "undo undo_turn redo mark rewind restore clear",
    "Erase": "redact prune purge purged retention",
    "The daemon": "ping methods stats verify replay backup shutdown server is_still fingerprint",
    "Requests as values": "call pages send send_within begin converse dial",
}
# The public functions beside the client, and the types of what is said.
_FUNCTIONS = "connect text tool_call tool_result media state no_state is_conversation_kind message_from_record"
_SAID = (
    *("NewMessage", "Message", "TextBlock", "NewToolCallBlock", "ToolCallBlock", "ToolResultBlock", "MediaBlock"),
    *("ThinkingBlock", "RedactedThinkingBlock", "OpaqueBlock", "NewRecord", "Record", "Event", "Item"),
)
_SECTION = re.compile(r"^(Args|Raises|Returns):$")
_ENTRY = re.compile(r"^    (\w+): (.*)$")


def functions() -> Iterator[str]:
    """Make the sections of the functions."""
    for name in _FUNCTIONS.split():
        yield from _callable(f"reel.{name}", getattr(reel, name))


def client() -> Iterator[str]:
    """Make the sections of the client's methods, in their groups."""
    for group, names in _GROUPS.items():
        yield from ("", f"### {group}")
        for name in names.split():
            yield from _member("client", reel.Client, name)


def answer() -> Iterator[str]:
    """Make the sections of an answer."""
    names = [name for name in vars(reel.Answer.__base__) if not name.startswith("_")]
    for name in ("feed", *names):
        yield from _member("answer", reel.Answer, name)


def said() -> Iterator[str]:
    """Make the tables of what is said: messages, blocks and records."""
    for name in _SAID:
        kind = getattr(messages, name)
        yield from ("", f"#### {name}", "", *_prose(kind.__doc__), "", "| field | type |", "|---|---|")
        hints = get_type_hints(kind, include_extras=True)
        optional = kind.__optional_keys__
        yield from (f"| `{field}{'?' if field in optional else ''}` | {_type(hint)} |" for field, hint in hints.items())


def reply_types() -> Iterator[str]:
    """Make the list of the replies and the other named tuples, with their fields."""
    kinds = {name: getattr(replies, name) for name in dir(replies)}
    for name, kind in sorted({**kinds, "Tokens": Tokens, "ToolCall": ToolCall}.items()):
        fields = " ".join(f"`{field}`" for field in kind._fields)
        yield from ("", f"#### {name}", "", *_prose(kind.__doc__), "", fields)


def classes() -> Iterator[str]:
    """Make the sections of the classes that a program meets beside the client: what they are, and their fields."""
    for kind in (reel.Client, reel.Handle, reel.Answer, reel.EventPush, reel.DraftPush, reel.ResetPush):
        yield from ("", f"#### reel.{kind.__name__}", "", *_prose(kind.__doc__))
        if fields := getattr(kind, "_fields", ()):
            yield from ("", " ".join(f"`{field}`" for field in fields))


def error_types() -> Iterator[str]:
    """Make the table of the errors."""
    yield from ("| error | name in the protocol | |", "|---|---|---|")
    for name, error in sorted(errors.BY_NAME.items()):
        yield f"| `reel.{error.__name__}` | `{name}` | {' '.join(_prose(error.__doc__))} |"


def _member(owner: str, of: type, name: str) -> Iterator[str]:
    found = inspect.getattr_static(of, name)
    if isinstance(found, property):
        yield from ("", f"#### {owner}.{name}", "", *_prose(found.__doc__))
    else:
        yield from _callable(f"{owner}.{name}", found)


def _callable(shown: str, function: Callable[..., Any]) -> Iterator[str]:
    parameters = list(inspect.signature(function).parameters.values())
    given = [each for each in parameters if each.name != "self"]
    yield from ("", f"#### {shown}", "", f"`{shown}({', '.join(_parameters(given))})`", "")
    yield from _prose(function.__doc__)


def _parameters(parameters: list[inspect.Parameter]) -> Iterator[str]:
    """Yield parameters without their types, which the text describes."""
    has_star = False
    for each in parameters:
        if each.kind is each.KEYWORD_ONLY and not has_star:
            has_star = True
            yield "*"
        default = each.default
        is_plain = isinstance(default, str | int | float | bool | None)
        yield each.name if default is each.empty else f"{each.name}={default!r}" if is_plain else f"{each.name}=…"


def _prose(docstring: str | None) -> Iterator[str]:
    """Yield a docstring as Markdown: what it says, and its sections as lists."""
    lines = inspect.cleandoc(docstring or "").splitlines()
    for line in map(_inline, lines):
        if section := _SECTION.match(line):
            if section[1] != "Args":
                yield from (f"{section[1]}:", "")
        elif entry := _ENTRY.match(line):
            yield f"- `{entry[1]}`: {entry[2]}"
        else:
            yield line.replace("        ", "  ") if line.startswith("        ") else line.removeprefix("    ")


def _inline(line: str) -> str:
    """Return a line without the markup of docstrings."""
    line = re.sub(r":\w+:`~?(?:reel\.\w+\.)*([^`]+)`", r"`\1`", line)
    return line.replace("``", "`").replace("Example::", "Example:")


def _type(hint: Any) -> str:
    text = getattr(hint, "__forward_arg__", None) or (hint.__name__ if isinstance(hint, type) else str(hint))
    text = re.sub(r"\b(?:typing|collections\.abc|reel\.said\.messages)\.", "", text)
    text = re.sub(r"NotRequired\[(.*)\]$", r"\1", text)
    return f"`{text.replace('|', chr(92) + '|')}`"
