"""The images in exports of ChatGPT."""

import json
import zipfile
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from reel.importing.steps import Reading, Said
from reel.importing.tools.chatgpt import images as chatgpt_images
from reel.importing.tools.chatgpt.tool import TOOL
from tests.reel.importing.exported import Tree, reading_of, write

_PNG = b"\x89PNG\r\n\x1a\n and so on"
_CAT, _DOG = "file-Cat1", "file_00d06"


def pointer(file: str, scheme: str = "file-service") -> dict[str, Any]:
    """Return a part of a message that is an image."""
    return {"content_type": "image_asset_pointer", "asset_pointer": f"{scheme}://{file}", "width": 5}


def showing(*parts: Any) -> dict[str, Any]:
    """Return an export in which a user shows images."""
    files = {"attachments": [{"id": _CAT, "name": "cat.png"}]}
    content = {"content_type": "multimodal_text", "parts": list(parts)}
    return Tree().said("u", "user", content, metadata=files).exported()


def blocks_of(reading: Reading) -> list[Any]:
    """Return the blocks of all messages."""
    return [block for step in reading.steps() if isinstance(step, Said) for part in step.parts for block in part.blocks]


def shown(block: Any) -> str:
    """Return the text of a block, or the bytes of its image."""
    return str(block.get("text") or block["data_base64"])


def saved(tmp_path: Path, form: str, files: dict[str, bytes], export: Any) -> Path:
    """Write an export with files, as an archive or as a directory."""
    path = write(tmp_path / ("export.zip" if form == "zip" else "conversations.json"), export)
    for name, data in files.items():
        if form == "zip":
            with zipfile.ZipFile(path, "a") as archive:
                archive.writestr(name, data)
        else:
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_bytes(data)
    return path


@pytest.mark.parametrize("form", ["zip", "directory"])
def test_an_image_is_in_its_message(tmp_path: Path, form: str) -> None:
    """An image is found by its id, whatever its name ends with, and its kind by its bytes."""
    webp = b"RIFF\0\0\0\0WEBP"
    files = {f"{_CAT}-cat.png": _PNG, f"dalle-generations/{_DOG}.dat": webp, "file_00": _PNG}
    path = saved(tmp_path, form, files, showing(pointer(_CAT), "See", pointer(f"{_DOG}#p_1", "sediment")))
    reading = reading_of(TOOL, path)

    cat, text, dog = blocks_of(reading)

    kept = cat.pop("provider_metadata")
    assert cat == {
        "type": "media",
        "mime_type": "image/png",
        "data_base64": b64encode(_PNG).decode(),
        "name": "cat.png",
    }
    assert json.loads(kept["part_json"]) == {"part": pointer(_CAT)}
    assert (text["text"], dog["mime_type"], dog["data_base64"]) == ("See", "image/webp", b64encode(webp).decode())
    assert [] == reading.counts.problems


@pytest.mark.parametrize("form", ["zip", "directory"])
def test_what_is_no_image_is_reported(tmp_path: Path, form: str) -> None:
    """Of a file of another kind, and of one that is missing, the name is left."""
    path = saved(tmp_path, form, {f"{_CAT}.png": b"<svg>"}, showing(pointer(_CAT), pointer(_DOG)))
    reading = reading_of(TOOL, path)

    assert ["[image: cat.png]", f"[image: {_DOG}]"] == [block["text"] for block in blocks_of(reading)]
    assert [str(problem).removeprefix(f"{path}: ")[:60] for problem in reading.counts.problems] == [
        f"{_CAT}.png: is not a PNG, JPEG, GIF or WebP image; only its n"[:60],
        "conversation 33333333-3333-4333-8333-333333333333: images that are not in the export: 1"[:60],
    ]


def test_images_that_are_too_large_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The images of a message have a limit; those that would exceed it are reported."""
    monkeypatch.setattr(chatgpt_images, "_MOST", 4 * len(_PNG) // 3 + 4)
    path = saved(tmp_path, "zip", {f"{_CAT}.png": _PNG, f"{_DOG}.png": _PNG}, showing(pointer(_CAT), pointer(_DOG)))
    reading = reading_of(TOOL, path)

    assert [b64encode(_PNG).decode(), f"[image: {_DOG}]"] == [shown(block) for block in blocks_of(reading)]
    assert "more than" in str(reading.counts.problems[0])


def test_answers_that_become_one_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is that of the message that several results become."""
    monkeypatch.setattr(chatgpt_images, "_MOST", 4 * len(_PNG) // 3 + 4)
    made = Tree().said("c", "assistant", "draw", recipient="dalle").said("r", "tool", "Here", name="dalle")
    for file in (_CAT, _DOG):
        content = {"content_type": "multimodal_text", "parts": [pointer(file)]}
        made.said(f"r{file}", "tool", content, name="dalle")
    path = saved(tmp_path, "zip", {f"{_CAT}.png": _PNG, f"{_DOG}.png": _PNG}, made.exported())

    _, result = blocks_of(reading_of(TOOL, path))

    assert ["Here", b64encode(_PNG).decode(), f"[image: {_DOG}]"] == [shown(block) for block in result["content"]]


def test_nothing_outside_is_read(tmp_path: Path) -> None:
    """Neither a link nor an id that is a path leads out of the directory."""
    (tmp_path / "outside.png").write_bytes(_PNG)
    inside = tmp_path / "in"
    inside.mkdir()
    (inside / f"{_CAT}.png").symlink_to(tmp_path / "outside.png")
    (inside / "linked").symlink_to(tmp_path)
    ids = (_CAT, "../outside.png", "file-x/../../outside.png", str(tmp_path / "outside.png"), "\0", "🦦" * 3000)
    path = saved(inside, "directory", {}, showing(*map(pointer, ids)))

    assert ["text"] * len(ids) == [block["type"] for block in blocks_of(reading_of(TOOL, path))]


def test_a_damaged_archive(tmp_path: Path) -> None:
    """An image that cannot be decompressed is reported, and the conversation is imported."""
    path = saved(tmp_path, "zip", {f"{_CAT}.png": _PNG}, showing(pointer(_CAT), "See"))
    data = path.read_bytes()
    path.write_bytes(data.replace(_PNG, b"?" * len(_PNG)))
    reading = reading_of(TOOL, path)

    assert ["[image: cat.png]", "See"] == [block["text"] for block in blocks_of(reading)]
    assert f"{path}: {_CAT}.png: the archive is damaged: Bad CRC" in str(reading.counts.problems[0])
