"""The package for VS Code and Node: its own tests, its manifest, its lock file."""

import json
from pathlib import Path

from tests.editors.vscode.driver import SOURCE, VSCode, node


def test_the_tests_for_node(built: Path, environment: dict[str, str]) -> None:
    """Node's own tests pass, and there are some."""
    said = node(built, environment, "--test", "--test-reporter=tap", "out/test/")

    assert "# fail 0" in said
    assert "# pass 0" not in said


def test_the_manifest_lists_every_command(built: Path, environment: dict[str, str], editor: VSCode) -> None:
    """The manifest lists exactly the commands of the extension, and its files exist."""
    manifest = json.loads((built / "package.json").read_text())

    assert [row["command"] for row in manifest["contributes"]["commands"]] == editor.ask("commands")
    assert all((built / path).is_file() for path in (manifest["main"], manifest["contributes"]["grammars"][0]["path"]))
    assert "function\n" == node(built, environment, "-p", "typeof require('reel-conversations').Client")


def test_the_lock_file_uses_the_public_registry() -> None:
    """The lock file takes every package from the public registry."""
    packages = json.loads((SOURCE / "package-lock.json").read_text())["packages"]
    resolved = {package["resolved"] for package in packages.values() if "resolved" in package}

    assert set() == {address for address in resolved if not address.startswith("https://registry.npmjs.org/")}
