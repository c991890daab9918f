"""What becomes of keys and passwords in what is imported, whichever tool has kept it."""

import json
from base64 import b64encode
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from reel.importing import tool_named
from reel.importing.adding.fingerprints import Fingerprints
from reel.importing.adding.importer import Importer, Totals
from reel.importing.adding.masking import Masking
from reel.importing.adding.pipeline import Pipeline
from reel.importing.adding.seen import Seen
from reel.importing.adding.target import CLIENT
from reel.importing.steps import About, Compacted, Kept, Part, Said
from reel.said.messages import Event
from reel.sync.client import Client
from tests.reel.importing.samples import SAMPLES
from tests.reel.importing.transcripts import Transcript

GITHUB = "ghp_aB3dE5fG7hJ9kL2mN4pQ6rS8tU1vW3xY5zA7"
PASSWORD = "postgres://app:Tr0ub4dor-and-3@db.internal/app"
SECRETS = ("aB3dE5fG7hJ9", "Tr0ub4dor")
NUMBERS = count()


def fingerprint(_secret: str) -> str:
    """Return the same for every secret."""
    return "0123456789abcdef"


def masked(step: Any) -> Any:
    """Return a step as an import masks it."""
    (made,) = Masking("mask", fingerprint).steps([step])
    return made


def said(*blocks: dict[str, Any], role: str = "user") -> Said:
    """Return a message."""
    return Said(role, (Part("r", list(blocks)),), {}, None)


def test_all_of_a_conversation_is_masked() -> None:
    """Texts, calls, results, blocks of a provider, titles, tags, notes and their data lose their secrets."""
    arguments = json.dumps({"command": f"curl -H 'X: {GITHUB}'"})
    steps = [
        said({"type": "text", "text": f"use {GITHUB}"}),
        said({"type": "tool_call", "id": "c", "name": "sh", "arguments": arguments}, role="assistant"),
        said({"type": "tool_result", "tool_call_id": "c", "content": PASSWORD}, role="tool"),
        said({"type": "tool_result", "tool_call_id": "c", "content": [{"type": "text", "text": GITHUB}]}, role="tool"),
        said({"type": "opaque", "provider": "x", "data_json": json.dumps({"a": [GITHUB]})}),
        said({"type": "media", "mime_type": "text/plain", "data_base64": b64encode(GITHUB.encode()).decode()}),
        said({"type": "text", "text": "a", "provider_metadata": {"x": {"password": "Tr0ub4dor-and-3"}}}),
        Said("user", (Part("r", [{"type": "text", "text": "a"}]),), {"token": GITHUB}, None),
        Compacted(said({"type": "text", "text": GITHUB})),
        Kept("note", "r", f"export T={GITHUB}", {"env": {"DATABASE": PASSWORD}}, None),
        About(title=f"What is {GITHUB}?", tags={"command": PASSWORD}),
    ]

    made = [masked(step) for step in steps]
    assert [] == [step for step in made if any(secret in repr(step) for secret in SECRETS)]
    arguments = made[1].parts[0].blocks[0]["arguments"]
    assert {"command": "curl -H 'X: [masked:github-token.0123456789abcdef]'"} == json.loads(arguments)


def test_what_has_no_secret_is_the_same() -> None:
    """Blocks without a secret are not copied, and nothing is done with what a provider has encrypted."""
    blocks = [
        {"type": "text", "text": "Hi"},
        {"type": "thinking", "text": "Well", "signature": "c2lnbmVk" * 9},
        {"type": "redacted_thinking", "data": "ZW5jcnlwdGVk" * 9},
        {"type": "tool_result", "tool_call_id": "c", "content": ""},
    ]

    made = masked(said(*blocks)).parts[0].blocks
    assert [True, True, True, True] == [block is was for block, was in zip(made, blocks, strict=True)]


def test_masked_thinking_has_no_signature() -> None:
    """The signature of thinking is that of other words, which its provider would refuse."""
    thought = {"type": "thinking", "text": f"It is {GITHUB}", "signature": "c2ln", "provider": "anthropic"}

    assert [{"type": "thinking", "text": "It is [masked:github-token.0123456789abcdef]"}] == (
        masked(said(thought)).parts[0].blocks
    )


def test_secrets_are_counted() -> None:
    """The report can say how many different secrets there are, of which kinds; with ``keep`` nothing is looked for."""
    steps = [said({"type": "text", "text": text}) for text in (GITHUB, f"again {GITHUB}", PASSWORD)]
    counted = {mode: Masking(mode, fingerprint) for mode in ("mark", "mask", "keep")}
    for masking in counted.values():
        masking.steps(steps)

    both = {"github-token": 1, "password": 1}
    assert {"mark": both, "mask": both, "keep": {}} == {mode: dict(one.found) for mode, one in counted.items()}
    assert steps == counted["mark"].steps(steps)


class Imports:
    """Imports of one source into a daemon, each by a new process that remembers nothing.

    Args:
        client: a client of the daemon.
        sample: which tool's.
        root: where the tool's files are.
    """

    def __init__(self, client: Client, sample: str, root: Path) -> None:
        self._client = client
        self._root = root
        self.tool = tool_named(SAMPLES[sample].tool)
        self.ident = f"secret{next(NUMBERS)}"
        root.mkdir()
        SAMPLES[sample].write(root, [f"use {GITHUB}", f"as {PASSWORD} says", "Thanks"], self.ident)

    def run(self, masking: Masking) -> Totals:
        """Import what there is."""
        sources = self.tool.discover(self._root).sources
        with Pipeline(Client(self._client.path, name=CLIENT)) as pipeline:
            seen = Seen(str(self._root / "nothing"))
            importer = Importer(pipeline, seen, masking=masking)
            importer.look()
            *_, totals = importer.run(self.tool, sources)
        return totals

    def events(self) -> list[Event]:
        """Return the events of all agents of the tool."""
        rows = [row for row in self._client.iter_agents() if self._is_own(row)]
        return [event for row in rows for event in self._client.iter_history(row.id)]

    def _is_own(self, row: Any) -> bool:
        return str(self._root) in json.dumps(row.tags) or self.ident in row.name


@pytest.mark.parametrize("sample", [sample for sample in SAMPLES if sample != "reel"])
def test_every_tool_is_masked_at_one_place(sample: str, client: Client, tmp_path: Path) -> None:
    """With ``mask`` no secret comes in, and what is in stays as it is, whatever the setting and the key are later."""
    imports = Imports(client, sample, tmp_path / "files")
    first = imports.run(Masking("mask", fingerprint))
    events = imports.events()

    assert 2 <= first.messages
    assert 2 <= json.dumps(events).count("[masked:")
    assert [] == [event for event in events if any(secret in json.dumps(event) for secret in SECRETS)]

    for masking in (Masking("mask", fingerprint), Masking("mask", lambda _: "f" * 16), Masking("mark"), Masking()):
        again = imports.run(masking)
        assert (0, 0, 0) == (again.messages, again.new, again.changed)
    assert events == imports.events()


@pytest.mark.parametrize("sample", ["claude-code", "aider", "jsonl"])
def test_masking_begins_later(sample: str, client: Client, tmp_path: Path) -> None:
    """What was imported as it is, is known again when secrets are masked; it stays as it is."""
    imports = Imports(client, sample, tmp_path / "files")
    imports.run(Masking("mark"))
    events = imports.events()
    again = imports.run(Masking("mask", fingerprint))

    assert (0, 0, 0) == (again.messages, again.new, again.changed)
    assert events == imports.events()
    assert any(SECRETS[0] in json.dumps(event) for event in events)


def test_an_older_copy_of_what_was_masked(client: Client, tmp_path: Path) -> None:
    """A copy that ends inside a masked answer is known, also if nothing is masked any more; so are its tags."""
    imports = Imports(client, "claude-code", tmp_path / "files")
    made = Transcript(imports.ident).user("u1", "Hi", gitBranch=f"try/{GITHUB}")
    made.answer("a1", f"It is {GITHUB}", "m1", gitBranch=f"try/{GITHUB}").answer("a2", "or not", "m1")
    made.records[-1]["gitBranch"] = f"try/{GITHUB}"
    path = made.write(tmp_path / "files" / "s.jsonl")
    imports.run(Masking("mask", fingerprint))
    events = imports.events()
    path.write_text("".join(made.lines()[:-1]))
    again = imports.run(Masking("mark"))

    assert "try/[masked:github-token." in json.dumps(events)
    assert (0, 0) == (again.messages, again.new)
    assert events == imports.events()


@pytest.fixture
def key(tmp_path: Path) -> str:
    """The path of a key, whose directory is not there."""
    return str(tmp_path / "state" / "secrets.key")


def test_the_key_of_fingerprints(key: str) -> None:
    """It is made once: 32 bytes that only their owner can read; the same secret has the same fingerprint later."""
    made = [Fingerprints(key)(secret) for secret in ("a", "b", "a")]
    path = Path(key)

    assert (32, 0o600) == (path.stat().st_size, path.stat().st_mode & 0o777)
    assert [made[0], made[1], made[0]] == made
    assert made[:2] == [Fingerprints(key)("a"), Fingerprints(key)("b")]
    assert ["secrets.key"] == [file.name for file in path.parent.iterdir()]


def test_a_damaged_key(key: str) -> None:
    """A key of another length is not used: the error says what to do."""
    Path(key).parent.mkdir()
    Path(key).write_bytes(b"short")

    with pytest.raises(OSError, match="has 5 bytes, not the 32 of a key; remove it"):
        Fingerprints(key)
