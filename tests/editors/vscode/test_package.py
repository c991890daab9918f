"""The package for VS Code and Node: its own tests, its manifest, its lock file."""

import json
import zipfile
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree as ET

from tests.editors.vscode.driver import SOURCE, VSCode, node

SCHEMA = "http://schemas.microsoft.com/developer/vsx-schema/2011"


def _script() -> ModuleType:
    """Return the script that makes the package."""
    spec = spec_from_file_location("vsix", SOURCE / "vsix.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


vsix = _script()


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


def test_the_vsix(built: Path, environment: dict[str, str], tmp_path: Path) -> None:
    """The package has what runs, with its dependencies, and no more; and the extension in it can be loaded."""
    vsix.pack(built, tmp_path / "reel.vsix")
    with zipfile.ZipFile(tmp_path / "reel.vsix") as archive:
        names = archive.namelist()
        archive.extractall(tmp_path)
    (identity,) = ET.parse(tmp_path / "extension.vsixmanifest").iter(f"{{{SCHEMA}}}Identity")
    manifest = json.loads((SOURCE / "package.json").read_text())
    tops = {"/".join(name.split("/")[:3]) for name in names if name.count("/") > 1}

    assert (manifest["name"], manifest["version"]) == (identity.get("Id"), identity.get("Version"))
    assert {"extension.vsixmanifest", "[Content_Types].xml", "extension/package.json", "extension/media/reel.svg"} <= {
        *names
    }
    assert {"extension/out/src", "extension/node_modules/vscode-jsonrpc"} <= tops
    assert not any("/drive/" in name or "/test/" in name or "typescript" in name for name in names)
    client = tmp_path / "extension" / "out" / "src" / "client" / "index.js"
    assert "function\n" == node(built, environment, "-p", f"typeof require({json.dumps(str(client))}).Client")
    assert manifest["contributes"]["viewsContainers"]["activitybar"][0]["icon"] in {
        name[len("extension/") :] for name in names
    }


def test_the_lock_file_uses_the_public_registry() -> None:
    """The lock file takes every package from the public registry."""
    packages = json.loads((SOURCE / "package-lock.json").read_text())["packages"]
    resolved = {package["resolved"] for package in packages.values() if "resolved" in package}

    assert set() == {address for address in resolved if not address.startswith("https://registry.npmjs.org/")}
