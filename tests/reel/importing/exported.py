"""Exports of chat services, made for tests."""

import json
import zipfile
from pathlib import Path
from typing import Any

from reel.importing.steps import Reading, Step, Tool

CONVERSATION = "33333333-3333-4333-8333-333333333333"


class Tree:
    """A conversation of ChatGPT; each message follows the one before it unless it is told otherwise."""

    def __init__(self, conversation: str = CONVERSATION) -> None:
        self.conversation = conversation
        self.nodes: dict[str, Any] = {"root": {"id": "root", "message": None, "parent": None, "children": []}}
        self.last = "root"

    def said(self, key: str, role: str, content: Any = "", *, after: str = "", **fields: Any) -> "Tree":
        """Append a message; a string is a text."""
        name, metadata = fields.pop("name", None), fields.pop("metadata", {})
        content = {"content_type": "text", "parts": [content]} if isinstance(content, str) else content
        author = {"role": role, "name": name, "metadata": {}}
        parent = after or self.last
        message = {"id": key, "author": author, "create_time": 1700000000 + len(self.nodes), "content": content}
        message |= {"metadata": metadata, "recipient": "all", **fields}
        self.nodes[key] = {"id": key, "message": message, "parent": parent, "children": []}
        self.nodes[parent]["children"].append(key)
        self.last = key
        return self

    def exported(self, **fields: Any) -> dict[str, Any]:
        """Return the conversation."""
        about = {"title": "A title", "create_time": 1700000000.5, "mapping": self.nodes}
        return {**about, "current_node": self.last, "conversation_id": self.conversation, **fields}


def write(path: Path, *conversations: Any) -> Path:
    """Write an export, as an archive if the name says so."""
    text = json.dumps(list(conversations))
    if path.suffix != ".zip":
        path.write_text(text)
        return path
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("chat.html", "<html>")
        archive.writestr("conversations.json", text)
    return path


def reading_of(tool: Tool, path: Path) -> Reading:
    """Return the reader of the only export at a path."""
    (source,) = tool.discover(path).sources
    return tool.open(source)


def read(tool: Tool, path: Path, *conversations: Any) -> list[Step]:
    """Return the steps of an export of these conversations."""
    return list(reading_of(tool, write(path / "conversations.json", *conversations)).steps())
