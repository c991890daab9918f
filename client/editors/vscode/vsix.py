"""Make the package of the extension for VS Code: ``python client/editors/vscode/vsix.py FILE``; it needs Node and npm.

A .vsix is a zip with the extension, its dependencies and two lists. Nothing is made in the source tree.
"""

import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.sax.saxutils import escape, quoteattr

_HERE = Path(__file__).parent
# What the extension needs at run time, beside its dependencies.
_OURS = ("package.json", "README.md", "media", "syntaxes", "out/src")
_TYPES = {
    "js": "application/javascript",
    "json": "application/json",
    "vsixmanifest": "text/xml",
    "svg": "image/svg+xml",
}
_MANIFEST = """\
<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
  <Metadata>
    <Identity Language="en-US" Id={id} Version={version} Publisher={publisher} />
    <DisplayName>{name}</DisplayName>
    <Description xml:space="preserve">{description}</Description>
    <Categories>{categories}</Categories>
    <Properties>
      <Property Id="Microsoft.VisualStudio.Code.Engine" Value={engine} />
      <Property Id="Microsoft.VisualStudio.Code.ExtensionKind" Value="workspace" />
      <Property Id="Microsoft.VisualStudio.Code.ExecutesCode" Value="true" />
    </Properties>
  </Metadata>
  <Installation><InstallationTarget Id="Microsoft.VisualStudio.Code" /></Installation>
  <Dependencies />
  <Assets>
    <Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true" />
    <Asset Type="Microsoft.VisualStudio.Services.Content.Details" Path="extension/README.md" Addressable="true" />
  </Assets>
</PackageManifest>
"""


def make(target: Path) -> None:
    """Compile the extension in a directory of its own, and pack it."""
    with TemporaryDirectory() as place:
        built = Path(place, "vscode")
        shutil.copytree(_HERE, built, ignore=shutil.ignore_patterns("node_modules", "out"))
        for command in ("ci --ignore-scripts --no-audit --no-fund", "run build"):
            subprocess.run(["npm", *command.split()], cwd=built, check=True, stdout=sys.stderr)  # noqa: S603, S607
        pack(built, target)


def pack(built: Path, target: Path) -> None:
    """Write the package of a compiled extension."""
    files = sorted(_files(built))
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("extension.vsixmanifest", _manifest(json.loads((built / "package.json").read_text())))
        archive.writestr("[Content_Types].xml", _content_types({path.suffix[1:] for path in files}))
        for path in files:
            archive.write(path, f"extension/{path.relative_to(built)}")


def _files(built: Path) -> Iterator[Path]:
    locked = json.loads((built / "package-lock.json").read_text())["packages"]
    needed = [path for path, package in locked.items() if path and not package.get("dev")]
    for place in (*_OURS, *needed):
        path = built / place
        yield from (path,) if path.is_file() else (each for each in path.rglob("*") if each.is_file())


def _manifest(package: dict[str, object]) -> str:
    engines, categories = package["engines"], package["categories"]
    assert isinstance(engines, dict)  # noqa: S101 - of our own file
    assert isinstance(categories, list)  # noqa: S101
    return _MANIFEST.format(
        id=quoteattr(str(package["name"])),
        version=quoteattr(str(package["version"])),
        publisher=quoteattr(str(package["publisher"])),
        engine=quoteattr(engines["vscode"]),
        name=escape(str(package["displayName"])),
        description=escape(str(package["description"])),
        categories=escape(",".join(categories)),
    )


def _content_types(endings: set[str]) -> str:
    types = "".join(
        f'<Default Extension=".{ending}" ContentType="{_TYPES.get(ending, "application/octet-stream")}"/>'
        for ending in sorted(endings | {"vsixmanifest"})
        if ending
    )
    xmlns = "http://schemas.openxmlformats.org/package/2006/content-types"
    return f'<?xml version="1.0" encoding="utf-8"?>\n<Types xmlns="{xmlns}">{types}</Types>\n'


if __name__ == "__main__":
    wanted = Path(sys.argv[1]).absolute()
    wanted.parent.mkdir(parents=True, exist_ok=True)
    make(wanted)
