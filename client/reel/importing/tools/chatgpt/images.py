"""The images of ChatGPT's exports: files beside the conversations, which refer to them by id."""

from base64 import b64encode

from reel.base.strict_json import Json
from reel.importing.sources.exports import Files
from reel.importing.steps import Counts, Problem, Said, Source

# The maximum size of a message's images in bytes of base64: the daemon's limit for a message is 16 MiB, with texts.
_MOST = 14 << 20
# The first bytes of files in the formats that all providers accept.
_SIGNS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
    b"RIFF": "image/webp",
}
_WEBP = slice(8, 12)
# Base64 turns three bytes into four.
_FOUR, _THREE = 4, 3


class Images:
    """The images of a conversation.

    Args:
        files: the files of the export.
        source: the export.
        counts: receives the problems.
    """

    def __init__(self, files: Files, source: Source, counts: Counts) -> None:
        self._files = files
        self._source = source
        self._counts = counts
        self._left = _MOST
        # The images that are not in the export.
        self.missing = 0

    def begin(self, last: Said | None) -> None:
        """Begin a message, which may later be joined to the last one."""
        joins = last is not None and last.role != "user"
        self._left = _MOST - (sum(size_of(part.blocks) for part in last.parts) if last and joins else 0)

    def block(self, pointer: str) -> Json | None:
        """Return an image as a block; ``None`` if it is not in the export, is unreadable, or is too large."""
        name = self._files.by_id.get(pointer.rpartition("//")[2].partition("#")[0])
        if name is None:
            self.missing += bool(self._files.by_id)
            return None
        try:
            return self._read(name)
        except OSError as error:
            what = f"{error.strerror or error}; only its name is imported"
            self._counts.problem(Problem(f"{self._source.path}: {name}", 0, what))
            return None

    def _read(self, name: str) -> Json:
        most = self._left * _THREE // _FOUR
        data = self._files.read(name, most + 1)
        if len(data) > most:
            raise OSError(0, f"the images of its message have more than {_MOST * _THREE // _FOUR:,} bytes")
        mime = next((mime for sign, mime in _SIGNS.items() if data.startswith(sign)), "")
        if not mime or (mime == "image/webp" and data[_WEBP] != b"WEBP"):
            raise OSError(0, "is not a PNG, JPEG, GIF or WebP image")
        encoded = b64encode(data).decode()
        self._left -= len(encoded)
        return {"type": "media", "mime_type": mime, "data_base64": encoded}


def size_of(blocks: list[Json]) -> int:
    """Return the size of the images in blocks, including those in results, in bytes of base64."""
    inner = [block["content"] for block in blocks if type(block.get("content")) is list]
    return sum(len(block.get("data_base64", "")) for block in blocks) + sum(map(size_of, inner))
