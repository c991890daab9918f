"""A Claude Code without a model: it speaks its SDK's protocol, mirrors its transcript, and repeats what was said."""

import json
import os
import sys
from pathlib import Path
from typing import Any
from uuid import uuid4


def main() -> None:
    """Answer each prompt on stdin with all prompts of the session so far."""
    session = str(uuid4())
    for flag, value in zip(sys.argv, [*sys.argv[1:], ""], strict=True):
        session = value if flag == "--resume" else flag.partition("=")[2] if flag.startswith("--resume=") else session
    place = Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude") / "projects"
    known = next(place.glob(f"*/{session}.jsonl"), None)
    entries = [json.loads(line) for line in known.read_text().splitlines()] if known else []
    directory = "".join(char if char.isalnum() else "-" for char in str(Path.cwd()))
    path = known or place / directory / f"{session}.jsonl"
    for line in sys.stdin:
        said = json.loads(line)
        if said["type"] == "control_request":
            write({"type": "control_response", "response": {"subtype": "success", "request_id": said["request_id"]}})
        elif said["type"] == "user":
            answer(said["message"], entries, session, path)


def answer(message: Any, entries: list[Any], session: str, path: Path) -> None:
    """Mirror a prompt and the answer to it."""
    prompts = [*(entry["message"]["content"] for entry in entries if entry["type"] == "user"), message["content"]]
    content = [{"type": "text", "text": " ".join(map(text_of, prompts))}]
    said = {"id": f"msg_{uuid4()}", "role": "assistant", "model": "none", "content": content}
    new: list[Any] = []
    for kind, spoken in (("user", message), ("assistant", said)):
        parent = [*entries, *new][-1]["uuid"] if entries or new else None
        about = {"sessionId": session, "cwd": str(Path.cwd()), "isSidechain": False}
        new.append({"parentUuid": parent, "type": kind, "uuid": str(uuid4()), "message": spoken, **about})
    entries += new
    write({"type": "transcript_mirror", "filePath": str(path), "entries": new})
    write({"type": "assistant", "message": said, "session_id": session, "parent_tool_use_id": None})
    about = {"duration_ms": 1, "duration_api_ms": 1, "is_error": False, "num_turns": 1, "session_id": session}
    write({"type": "result", "subtype": "success", **about})


def text_of(content: Any) -> str:
    """Return the text of a prompt."""
    return content if isinstance(content, str) else "".join(block["text"] for block in content)


def write(frame: Any) -> None:
    """Send a frame to the SDK."""
    sys.stdout.write(json.dumps(frame) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
