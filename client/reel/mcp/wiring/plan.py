"""What a wiring changes: files, with their text before and after. Nothing is written here.

A hook is ours if its command ends as ours does, wherever the program was installed at that time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from shlex import join
from typing import Any

from reel.base.light_typing import NamedTuple
from reel.mcp.wiring import json_text, toml_text
from reel.mcp.wiring.json_text import NotChangeable
from reel.mcp.wiring.tools import TOOLS, Started, Wired

# What the command of a hook ends with; the name of the tool follows.
HOOK = "--hook"
_OURS = re.compile(rf"\bmcp {HOOK} [\w-]+$")
_SKILL = "reel-recall/SKILL.md"


class Change(NamedTuple):
    """A file, its text, and the text that it is to have; ``None`` for no file."""

    file: Path
    before: str | None
    after: str | None

    @property
    def is_skill(self) -> bool:
        """Whether it is the file of the skill, which has a directory of its own."""
        return self.file.match(_SKILL)


class Refused(Exception):
    """A file cannot be changed; the words say which, and why."""


def installed(tool: Wired, environment: Mapping[str, str], started: Started, *, hooks: bool) -> list[Change]:
    """Return what makes a tool start the server, with the skill, and with the hooks if these are wanted."""
    texts = _Texts()
    entry = tool.entry(started)
    texts.change(tool.file(environment), lambda text: _with_server(tool, text, entry))
    if tool.skills is not None:
        texts.put(tool.skills(environment) / _SKILL, skill())
    if hooks and tool.hooks is not None:
        for event, matcher in tool.hooks.events.items():
            hook = _hook(tool, started, matcher)
            path = ["hooks", event]
            file = tool.hooks.file(environment)
            texts.change(file, lambda text, path=path: json_text.without_elements(text, path, _is_ours))
            texts.change(file, lambda text, path=path, hook=hook: json_text.with_element(text, path, hook))
    return texts.changes()


def uninstalled(tool: Wired, environment: Mapping[str, str]) -> list[Change]:
    """Return what takes a wiring back, and removes settings that say nothing else.

    The skill stays as long as another tool reads it as well.
    """
    texts = _Texts()
    texts.change(tool.file(environment), lambda text: _without_server(tool, text), only_if_there=True)
    if tool.hooks is not None:
        file = tool.hooks.file(environment)
        for event in tool.hooks.events:
            path = ["hooks", event]
            texts.change(
                file, lambda text, path=path: json_text.without_elements(text, path, _is_ours), only_if_there=True
            )
    if tool.skills is not None and not any(_shares_skill(tool, other, environment) for other in TOOLS):
        texts.put(tool.skills(environment) / _SKILL, None)
    return [change._replace(after=None) if _is_empty(change.after) else change for change in texts.changes()]


def _is_empty(text: str | None) -> bool:
    """Return whether settings are those of a file that was not there before."""
    return text is not None and text.strip() in ("", "{}")


def skill() -> str:
    """Return the text of the skill."""
    return Path(__file__).with_name("SKILL.md").read_text(encoding="utf-8")


def _shares_skill(tool: Wired, other: Wired, environment: Mapping[str, str]) -> bool:
    if other is tool or other.skills is None or tool.skills is None:
        return False
    if other.skills(environment) != tool.skills(environment):
        return False
    text = _read(other.file(environment))
    return text is not None and _without_server(other, text) != text


def _with_server(tool: Wired, text: str, entry: dict[str, Any]) -> str:
    if tool.keys[0] == "mcp_servers":
        return toml_text.with_table(text, tool.keys, entry)
    return json_text.with_value(text, tool.keys, entry)


def _without_server(tool: Wired, text: str) -> str:
    if tool.keys[0] == "mcp_servers":
        return toml_text.without_table(text, tool.keys)
    return json_text.without_value(text, tool.keys)


def _hook(tool: Wired, started: Started, matcher: str) -> dict[str, Any]:
    command = join([*started.program, "mcp", HOOK, tool.name])
    found: dict[str, Any] = {"matcher": matcher} if matcher else {}
    return {**found, "hooks": [{"type": "command", "command": command}]}


def _is_ours(element: Any) -> bool:
    hooks = element.get("hooks") if isinstance(element, dict) else None
    commands = [hook.get("command") for hook in hooks or [] if isinstance(hook, dict)]
    return bool(commands) and all(isinstance(each, str) and _OURS.search(each) for each in commands)


class _Texts:
    """The texts of files while they are changed."""

    def __init__(self) -> None:
        self._before: dict[Path, str | None] = {}
        self._after: dict[Path, str | None] = {}

    def change(self, file: Path, edit: Any, *, only_if_there: bool = False) -> None:
        """Change a file by a function of its text."""
        text = self._after[file] if file in self._after else self._load(file)
        if text is None and only_if_there:
            return
        try:
            self._after[file] = edit(text or "")
        except NotChangeable as error:
            raise Refused(f"{file} was not changed: {error}; correct it there, or add the server by hand") from None

    def put(self, file: Path, text: str | None) -> None:
        """Give a file a text, or remove it."""
        self._load(file)
        self._after[file] = text

    def changes(self) -> list[Change]:
        """Return the files that differ."""
        return [
            Change(file, self._before[file], after)
            for file, after in self._after.items()
            if after != self._before[file]
        ]

    def _load(self, file: Path) -> str | None:
        if file not in self._before:
            self._before[file] = _read(file)
        return self._before[file]


def _read(file: Path) -> str | None:
    """Return the text of a file; ``None`` if there is no file."""
    try:
        return file.read_bytes().decode()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise Refused(f"{file} cannot be read: {error}") from None


def lines_of(change: Change) -> Iterator[str]:
    """Yield the difference that a change makes, as ``diff -u`` shows it, with the name of the file above."""
    from difflib import unified_diff  # noqa: PLC0415 - only for a person

    before, after = ((text or "").splitlines() for text in (change.before, change.after))
    what = "new" if change.before is None else "removed" if change.after is None else "changed"
    yield f"{change.file} ({what})"
    for line in list(unified_diff(before, after, n=1, lineterm=""))[2:]:
        yield f"  {line}"
