"""The tools of the known coding agents: how each says which file it touches, and with which texts."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeAlias

from reel.base.light_typing import NamedTuple
from reel.base.strict_json import parse
from reel.touches.commands import PATCHES, below, written
from reel.touches.patches import added, hunks, patched, removed
from reel.touches.scripts import called
from reel.touches.touch import Deed, Touch

Arguments: TypeAlias = Mapping[str, Any]
_SHELLS = (
    "bash",
    "sh",
    "zsh",
    "dash",
    "/bin/bash",
    "/bin/sh",
    "/bin/zsh",
    "/usr/bin/bash",
    "/usr/bin/zsh",
    "/usr/bin/sh",
)


class Tool(NamedTuple):
    """A tool.

    Args:
        read: yields what a call does if it succeeds, from its arguments.
        marks_failures: says from the arguments whether its results mark each command that failed.
    """

    read: Callable[[Arguments], Iterator[Touch]]
    marks_failures: Callable[[Arguments], bool] = lambda _: False


class FileTool(NamedTuple):
    """A tool that reads or writes a file: the names of its arguments, the first that a call has counting.

    Args:
        deed: what it does.
        path: the argument with the path.
        before: the one with the text that is replaced.
        after: the one with the text that is written.
        whole: whether that text is the whole file.
        edits: the one with a list of changes, each with both texts.
    """

    deed: Deed
    path: tuple[str, ...]
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    whole: bool = False
    edits: tuple[str, ...] = ()

    def read(self, arguments: Arguments) -> Iterator[Touch]:
        """Yield what a call does if it succeeds."""
        path = text_in(arguments, self.path)
        if not path:
            return
        if self.deed == "read":
            yield Touch("read", path)
            return
        for change in [arguments, *self._edits(arguments)]:
            before, after = text_in(change, self.before), text_in(change, self.after)
            if after is not None:
                # With nothing to replace, the text becomes the file.
                whole, every = self.whole or before == "", any(change.get(name) is True for name in _EVERY)
                yield Touch("wrote", path, before or None, after, whole, every=every and bool(before))

    def _edits(self, arguments: Arguments) -> list[Arguments]:
        given: Any = next((arguments[name] for name in self.edits if name in arguments), [])
        if isinstance(given, str):  # some models write the list as a text
            try:
                given = parse(given)
            except (ValueError, RecursionError):
                return []
        return [each for each in given if isinstance(each, Mapping)] if isinstance(given, list) else []


def text_in(arguments: Arguments, names: Sequence[str]) -> str | None:
    """Return the first argument that is a text; ``None`` if there is none."""
    return next((value for name in names if isinstance(value := arguments.get(name), str)), None)


def _patch(arguments: Arguments) -> Iterator[Touch]:
    """Read ``apply_patch``: with a patch, or with one operation of the Responses API."""
    path, diff = text_in(arguments, ("path",)), text_in(arguments, ("diff",))
    kind = arguments.get("type")
    if path and kind == "delete_file":
        yield removed(path)
    elif path and diff is not None and kind in ("create_file", "update_file"):
        lines = diff.split("\n")
        yield from [added(path, lines)] if kind == "create_file" else hunks(path, lines)
    else:
        yield from patched(text_in(arguments, ("input", "patch", "patchText", "patch_text", "command")) or "")


def _command(arguments: Arguments) -> Iterator[Touch]:
    directory = text_in(arguments, ("workdir", "working_directory", "cwd", "dir_path", "directory")) or ""
    for words in _commands_in(arguments):
        command = _line_of(words)
        if command.strip():
            yield Touch("ran", directory, command=command)
            found = patched(words[1]) if len(words) > 1 and words[0] in PATCHES else written(command)
            yield from (below(directory, touch) for touch in found)


def _script(arguments: Arguments) -> Iterator[Touch]:
    """Read a script of Codex: what the tools do that it certainly calls."""
    for tool, argument in called(text_in(arguments, ("input",)) or ""):
        given = {"input": argument} if isinstance(argument, str) else argument
        if tool in _IN_SCRIPTS and isinstance(given, dict):
            yield from _IN_SCRIPTS[tool](given)


def _commands_in(arguments: Arguments) -> list[list[str]]:
    given = next((arguments[name] for name in ("command", "cmd", "commands", "input") if name in arguments), None)
    if isinstance(given, str):
        return [[given]]
    words = [word for word in given if isinstance(word, str)] if isinstance(given, list) else []
    return [[word] for word in words] if "commands" in arguments else [words]


def _line_of(words: Sequence[str]) -> str:
    """Return a command as one types it: of a shell that is given a line, the line."""
    if len(words) == 3 and words[0] in _SHELLS and words[1] in ("-c", "-lc", "-ic", "-lic"):  # noqa: PLR2004
        return words[2]
    return " ".join(words)


def _editor(arguments: Arguments) -> Iterator[Touch]:
    """Read Anthropic's text editor, whose commands are an argument."""
    path = text_in(arguments, ("path",))
    kind = arguments.get("command")
    before, after = text_in(arguments, ("old_str",)), text_in(arguments, ("new_str", "insert_text"))
    if not path:
        return
    if kind == "view":
        yield Touch("read", path)
    elif kind == "create":
        yield Touch("wrote", path, after=text_in(arguments, ("file_text",)) or "", whole=True)
    elif kind == "str_replace":
        yield Touch("wrote", path, before, after or "")
    elif kind == "insert":
        yield Touch("wrote", path, after=after or "")


_IN_SCRIPTS: Mapping[str, Callable[[Arguments], Iterator[Touch]]] = {
    "apply_patch": _patch,
    **dict.fromkeys(("exec_command", "shell_command", "shell"), _command),
}
_PATH = ("file_path", "filePath", "path", "absolute_path", "target_file")
_BEFORE = ("old_string", "oldString", "oldText", "old_text")
_EVERY = ("replace_all", "replaceAll", "allow_multiple")
_AFTER = ("new_string", "newString", "newText", "new_text")
_EDIT = FileTool("wrote", _PATH, _BEFORE, _AFTER, edits=("edits",))
_READ = FileTool("read", _PATH)
_WRITE = FileTool("wrote", _PATH, after=("content", "contents", "file_text"), whole=True)
_NOTEBOOK = FileTool("wrote", ("notebook_path",), after=("new_source",))
_MARKED = Tool(_command, lambda _: True)
_FILES = {
    **dict.fromkeys(("read", "read_file", "readfile", "view"), _READ),
    "notebookread": FileTool("read", ("notebook_path",)),
    **dict.fromkeys(("write", "write_file", "writefile", "create_file"), _WRITE),
    **dict.fromkeys(("edit", "edit_file", "multiedit", "multi_edit", "replace"), _EDIT),
    "notebookedit": _NOTEBOOK,
}
# By the name of the tool in lower case.
KNOWN: Mapping[str, Tool] = MappingProxyType(
    {
        **{name: Tool(tool.read) for name, tool in _FILES.items()},
        **dict.fromkeys(("apply_patch", "applypatch", "patch"), Tool(_patch)),
        **dict.fromkeys(("str_replace_editor", "str_replace_based_edit_tool"), Tool(_editor)),
        # Claude Code and pi mark a command that failed; opencode, whose calls have a description and no capital, does
        # not.
        "bash": Tool(_command, lambda arguments: "description" not in arguments),
        "Bash": _MARKED,
        "run_shell_command": _MARKED,
        **dict.fromkeys(
            (
                "shell",
                "shell_command",
                "exec_command",
                "unified_exec",
                "local_shell",
                "container.exec",
                "run_terminal_cmd",
            ),
            Tool(_command),
        ),
        "exec": Tool(_script),
    }
)


def tool_named(name: str, tools: Mapping[str, Tool] = KNOWN) -> Tool | None:
    """Return the tool of a name, however it is written; ``None`` if it is not known."""
    return tools.get(name) or tools.get(name.lower())
