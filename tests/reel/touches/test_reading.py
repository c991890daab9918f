"""What calls of the known coding agents did, as their blocks and results say it."""

from typing import Any

import pytest

from reel.touches.reading import touches
from reel.touches.touch import Touch
from tests.reel.touches.blocks import call, result

PATCH = """*** Begin Patch
*** Add File: new.py
+import os
+
*** Update File: src/a.py
@@ def f():
 def f():
-    return 1
+    return 2

@@
-x
*** End of File
*** Update File: old.py
*** Move to: moved.py
@@
-a
+b
*** Delete File: gone.py
*** End Patch"""
SCRIPT = f"""const patch = `{PATCH}`;
text(await tools.apply_patch(patch));
const made = await tools.exec_command({{cmd: "make", workdir: '/p'}});"""
PATCHED = [
    Touch("wrote", "new.py", after="import os\n\n", whole=True),
    Touch("wrote", "src/a.py", "def f():\n    return 1\n\n", "def f():\n    return 2\n\n"),
    Touch("wrote", "src/a.py", "x\n", ""),
    Touch("wrote", "old.py", whole=True),
    Touch("wrote", "moved.py", "a\n", "b\n"),
    Touch("wrote", "gone.py", whole=True),
]


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("Read", {"file_path": "/p/a.py", "offset": 10, "limit": 5}, [Touch("read", "/p/a.py")]),
        ("read", {"filePath": "/p/a.py"}, [Touch("read", "/p/a.py")]),
        ("read", {"path": "a.py"}, [Touch("read", "a.py")]),
        ("read_file", {"absolute_path": "/p/a.py"}, [Touch("read", "/p/a.py")]),
        ("Write", {"file_path": "/p/a.py", "content": "x\n"}, [Touch("wrote", "/p/a.py", after="x\n", whole=True)]),
        ("write", {"path": "a.py", "content": ""}, [Touch("wrote", "a.py", after="", whole=True)]),
        ("write_file", {"file_path": "a.py", "content": "x"}, [Touch("wrote", "a.py", after="x", whole=True)]),
        (
            "Edit",
            {"file_path": "/p/a.py", "old_string": "x", "new_string": "y", "replace_all": True},
            [Touch("wrote", "/p/a.py", "x", "y", every=True)],
        ),
        (
            "edit",
            {"path": "a.py", "oldString": "x", "newString": "y", "replaceAll": "true"},
            [Touch("wrote", "a.py", "x", "y")],
        ),
        (
            "Edit",
            {"file_path": "/p/a.py", "old_string": "", "new_string": "y"},
            [Touch("wrote", "/p/a.py", after="y", whole=True)],
        ),
        ("edit", {"filePath": "/p/a.py", "oldString": "x", "newString": "y"}, [Touch("wrote", "/p/a.py", "x", "y")]),
        ("edit", {"path": "a.py", "oldText": "x", "newText": "y"}, [Touch("wrote", "a.py", "x", "y")]),
        (
            "edit",
            {"path": "a.py", "edits": [{"oldText": "x", "newText": "y"}, {"oldText": "1", "newText": "2"}]},
            [Touch("wrote", "a.py", "x", "y"), Touch("wrote", "a.py", "1", "2")],
        ),
        (
            "edit",
            {"path": "a.py", "edits": '[{"oldText": "x", "newText": "y"}]'},
            [Touch("wrote", "a.py", "x", "y")],
        ),
        (
            "MultiEdit",
            {"file_path": "a.py", "edits": [{"old_string": "x", "new_string": "y"}, "z"]},
            [Touch("wrote", "a.py", "x", "y")],
        ),
        ("replace", {"file_path": "a.py", "old_string": "x", "new_string": "y"}, [Touch("wrote", "a.py", "x", "y")]),
        ("NotebookEdit", {"notebook_path": "/n.ipynb", "new_source": "1"}, [Touch("wrote", "/n.ipynb", after="1")]),
        (
            "str_replace_based_edit_tool",
            {"command": "str_replace", "path": "a.py", "old_str": "x", "new_str": "y"},
            [Touch("wrote", "a.py", "x", "y")],
        ),
        (
            "str_replace_editor",
            {"command": "create", "path": "a.py", "file_text": "x"},
            [Touch("wrote", "a.py", after="x", whole=True)],
        ),
        ("str_replace_editor", {"command": "view", "path": "a.py"}, [Touch("read", "a.py")]),
        (
            "str_replace_editor",
            {"command": "insert", "path": "a.py", "insert_text": "x"},
            [Touch("wrote", "a.py", after="x")],
        ),
        ("apply_patch", {"input": PATCH}, PATCHED),
        ("apply_patch", PATCH, PATCHED),
        ("apply_patch", {"patchText": PATCH}, PATCHED),
        ("patch", {"patchText": PATCH}, PATCHED),
        (
            "apply_patch",
            {"type": "update_file", "path": "a.py", "diff": "@@\n x\n-y\n+z"},
            [Touch("wrote", "a.py", "x\ny\n", "x\nz\n")],
        ),
        (
            "apply_patch",
            {"type": "create_file", "path": "a.py", "diff": "+x"},
            [Touch("wrote", "a.py", after="x\n", whole=True)],
        ),
        ("apply_patch", {"type": "delete_file", "path": "a.py"}, [Touch("wrote", "a.py", whole=True)]),
    ],
)
def test_files(name: str, arguments: Any, expected: list[Touch]) -> None:
    """Each tool says in its own words which file it read, or what it wrote."""
    assert expected == touches(call(name, arguments), result())


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("Bash", {"command": "make test", "description": "Run"}, Touch("ran", "", command="make test")),
        ("run_shell_command", {"command": "make", "dir_path": "sub"}, Touch("ran", "sub", command="make")),
        ("shell", {"command": ["bash", "-lc", "ls -l"], "workdir": "/p"}, Touch("ran", "/p", command="ls -l")),
        ("shell", {"command": ["git", "status"]}, Touch("ran", "", command="git status")),
        ("shell_command", {"command": "ls", "workdir": "/p"}, Touch("ran", "/p", command="ls")),
        ("exec_command", {"cmd": "ls", "workdir": "/p"}, Touch("ran", "/p", command="ls")),
        ("local_shell", {"type": "exec", "command": ["ls"]}, Touch("ran", "", command="ls")),
        ("shell", {"commands": ["ls"]}, Touch("ran", "", command="ls")),
    ],
)
def test_commands(name: str, arguments: Any, expected: Touch) -> None:
    """Each shell says in its own words what it ran, and where; without a result no status is known."""
    assert [expected] == touches(call(name, arguments))


@pytest.mark.parametrize(
    ("name", "content", "is_error", "status"),
    [
        ("Bash", "fine", False, 0),
        ("Bash", "User rejected: 0", False, 0),
        ("Bash", "Exit code: 3", False, 0),  # the command printed it
        ("Bash", "Exit code 127\nnot found", True, 127),
        ("Bash", "Command running in background with ID: b1. Output is in /tmp/b1", False, None),
        ("Bash", "a b\nCommand was manually backgrounded by the user", False, None),
        ("Bash", "a Process running with session ID 7", False, 0),  # the command printed it
        ("Bash", 'a\n{"llmContent":"x"}', False, 0),  # and this
        ("Bash", "Command timed out", True, None),
        ("bash", "(no output)", False, 0),
        ("bash", "\nno tests\n\n\nCommand exited with code 2", True, 2),
        ("bash", [{"type": "text", "text": "x\n\nCommand exited with code 2"}], True, 2),
        ("run_shell_command", "Command: make\nOutput: x\nExit Code: 2\nProcess Group PGID: 7", False, 2),
        ("run_shell_command", "Output: x\nProcess Group PGID: 7", False, 0),
        ("run_shell_command", "Command: make\nOutput: x\nExit Code: (none)\nSignal: 15", False, None),
        ("run_shell_command", '{"llmContent":"Output: x\\nExit Code: 1"}', False, None),
        ("shell", "Exit code: 1\nWall time: 0.2 seconds\nOutput:\nx", False, 1),
        ("shell", '{"output":"x","metadata":{"exit_code":4,"duration_seconds":0.1}}', False, 4),
        ("exec_command", "Chunk ID: a\nWall time: 0.1 seconds\nProcess exited with code 5\nOutput:\nx", False, 5),
        ("exec_command", "Chunk ID: a\nProcess running with session ID 7\nOutput:\nx", False, None),
        ("exec_command", "Output:\nProcess exited with code 5", False, None),  # the command printed it
        ("shell", "anything", False, None),
    ],
)
def test_exit_status(name: str, content: Any, is_error: bool, status: int | None) -> None:
    """The exit status is what the tool says, and not what the command printed; it is 0 if the tool marks failures."""
    assert [Touch("ran", "", command="x", status=status)] == touches(
        call(name, {"command": "x"}), result(content, is_error=is_error)
    )


def test_a_shell_that_marks_no_failure() -> None:
    """A shell of opencode does not mark a command that failed, so that nothing in its output says how it ended."""
    assert [Touch("ran", "", command="x")] == touches(call("bash", {"command": "x", "description": "X"}), result("out"))


@pytest.mark.parametrize(("known", "status"), [(3, 3), (0, 0), ("3", None), (None, None), (True, None)])
def test_an_exit_status_beside_the_output(known: Any, status: int | None) -> None:
    """What an importer knows of how a command ended counts before its output."""
    ended = {**result("out"), "provider_metadata": {"provider": "opencode", "exit_status": known}}

    assert [Touch("ran", "", command="x", status=status)] == touches(
        call("bash", {"command": "x", "description": "X"}), ended
    )


@pytest.mark.parametrize(
    "content",
    [
        "Permission to use Bash has been auto-denied in dontAsk mode.",
        "The user doesn't want to proceed with this tool use. The tool use was rejected",
        "<tool_use_error>Blocked</tool_use_error>",
    ],
)
def test_a_command_that_was_denied(content: str) -> None:
    """A command that was never run did nothing."""
    assert [] == touches(call("Bash", {"command": "x"}), result(content, is_error=True))


@pytest.mark.parametrize(
    ("name", "arguments", "content", "is_error"),
    [
        ("Edit", {"file_path": "a", "old_string": "x", "new_string": "y"}, "String to replace not found", True),
        ("Write", {"file_path": "a", "content": "x"}, "you haven't granted it yet", True),
        ("Read", {"file_path": "a"}, "File does not exist.", True),
        ("exec", {"input": SCRIPT}, "Script failed\nWall time 0.1 seconds\nOutput:\nScript error: no such file", False),
        ("apply_patch", {"input": PATCH}, "apply_patch verification failed: Failed to find expected lines", False),
        ("apply_patch", {"input": PATCH}, "Exit code: 1\nWall time: 0 seconds\nOutput:\nFailed", False),
        ("apply_patch", {"input": PATCH}, '{"output":"Failed","metadata":{"exit_code":1}}', False),
        ("apply_patch", {"input": PATCH}, "patch rejected by user", False),
        ("apply_patch", {"input": PATCH}, "aborted by user after 2.3s", False),
        ("replace", {"file_path": "a", "old_string": "x", "new_string": "y"}, "Failed to edit, 0 occurrences", False),
    ],
)
def test_what_failed(name: str, arguments: Any, content: str, is_error: bool) -> None:
    """A change that was refused wrote nothing, also where the tool does not mark it as an error."""
    assert [] == touches(call(name, arguments), result(content, is_error=is_error))


@pytest.mark.parametrize(
    "content",
    ["Success. Updated the following files:\nA new.py", "Done!", "", '{"output":"Success","metadata":{"exit_code":0}}'],
)
def test_a_patch_that_was_applied(content: str) -> None:
    """A patch wrote its files, however the tool says so."""
    assert PATCHED == touches(call("apply_patch", {"input": PATCH}), result(content))


def test_a_script_of_codex() -> None:
    """A script did what it calls, as far as it had come: as long as it runs, nothing is certain but its commands."""
    done, ran = call("exec", {"input": SCRIPT}), Touch("ran", "/p", command="make")
    blocks = [{"type": "text", "text": each} for each in ("Script completed\nWall time 0.1 seconds\nOutput:\n", "x")]

    assert [*PATCHED, ran] == touches(done, result(blocks))
    assert [ran] == touches(done, result("Script running with cell ID 7\nWall time 1 seconds\nOutput:\n"))
    assert [] == touches(call("exec", {"input": "await tools.apply_patch(7); await tools.write_stdin({});"}))


def test_a_file_that_begins_like_an_error() -> None:
    """What was read is not a report: a file may begin with any word."""
    assert [Touch("read", "a.log")] == touches(call("Read", {"file_path": "a.log"}), result("Error: failed\n"))


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("Grep", {"pattern": "x", "path": "/p"}),
        ("unknown", {"path": "a.py"}),
        ("Read", {}),
        ("Read", "{damaged"),
        ("Read", "[1]"),
        ("Read", {"file_path": 7}),
        ("Edit", {"file_path": "a.py"}),
        ("edit", {"path": "a.py", "edits": "["}),
        ("edit", {"path": "a.py", "edits": 7}),
        ("Bash", {"command": " "}),
        ("shell", {"command": 7}),
        ("apply_patch", {"input": "no patch"}),
        ("apply_patch", {"type": "update_file", "path": "a.py"}),
        ("str_replace_editor", {"command": "view"}),
        ("str_replace_editor", {"command": "undo_edit", "path": "a.py"}),
    ],
)
def test_nothing_is_touched(name: str, arguments: Any) -> None:
    """A tool that is not known, and a call without what it needs, touch nothing and raise nothing."""
    assert [] == touches(call(name, arguments), result())


def test_arguments_as_a_map() -> None:
    """Who has the arguments as a map need not write them as JSON first."""
    assert [Touch("read", "a")] == touches({"name": "Read", "arguments": {"path": "a"}}, result())
    assert [] == touches({"name": "Read", "arguments": None}, result())


def test_half_a_character() -> None:
    """What JSON can write and no text can have is replaced."""
    assert [Touch("read", "a\ufffd")] == touches(call("Read", '{"path": "a\\ud800"}'))


def test_a_result_without_content() -> None:
    """A result that is damaged says nothing about its call."""
    assert [Touch("ran", "", command="x")] == touches(call("shell", {"command": "x"}), {"content": None})


@pytest.mark.parametrize(
    "text", ['{"damaged', '{"output": 1}', '{"output":"x","metadata":{"exit_code":"1"}}', "{" * 100_000]
)
def test_json_without_a_status(text: str) -> None:
    """A result that looks like JSON need not be any."""
    assert [Touch("ran", "", command="x")] == touches(call("shell", {"command": "x"}), result(text))
