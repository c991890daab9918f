"""Providers that reel calls itself over HTTP, and the command that finds them: real servers on this machine."""

import json
import tomllib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from reel.cli.line.servers import SERVERS
from tests.background import in_background
from tests.reel.cli.conftest import Reel, texts
from tests.reel.streams.samples.anthropic import ANTHROPIC
from tests.reel.streams.samples.google import GEMINI
from tests.reel.streams.samples.ollama import OLLAMA
from tests.reel.streams.samples.openai_chat import CHAT
from tests.reel.streams.samples.openai_responses import RESPONSES

STREAMS = {
    "openai-chat": CHAT,
    "openai-responses": RESPONSES,
    "anthropic": ANTHROPIC,
    "gemini": GEMINI,
    "ollama": OLLAMA,
}


class Fake(ThreadingHTTPServer):
    """A provider: ``paths``, ``headers`` and ``bodies`` are what it got; ``status`` and ``data`` what it sends."""

    daemon_threads = True

    def __init__(self) -> None:
        self.status, self.data, self.cut = 200, b"", False
        self.models: Any = {"data": [{"id": "text-embedding-3"}, {"id": "small"}]}
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.bodies: list[Any] = []
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Fake
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        fake = self.server
        fake.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        fake.paths.append(self.path)
        fake.headers.append({name.lower(): value for name, value in self.headers.items()})
        self.send_response(fake.status)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for start in range(0, len(fake.data), 50):
            piece = fake.data[start : start + 50]
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.flush()
        if fake.cut:
            self.close_connection = True
        else:
            self.wfile.write(b"0\r\n\r\n")

    def do_GET(self) -> None:
        data = json.dumps(self.server.models).encode()
        self.server.paths.append(self.path)
        self.send_response(200 if self.path.endswith(("/models", "/tags")) else 404)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's word
        """Log nothing."""


@pytest.fixture
def fake() -> Iterator[Fake]:
    """A provider on this machine."""
    with in_background(Fake()) as server:
        yield server


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The path of reel.toml; there are no keys and no addresses in the environment, and no servers on localhost."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for provider in ("ANTHROPIC", "OPENAI", "GEMINI", "GOOGLE", "OPENROUTER"):
        for what in ("API_KEY", "BASE_URL"):
            monkeypatch.delenv(f"{provider}_{what}", raising=False)
    monkeypatch.delenv("GOOGLE_GEMINI_BASE_URL", raising=False)
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:1")
    # The servers that are looked for are on localhost, those of the tests on 127.0.0.1.
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    (tmp_path / "reel").mkdir()
    return tmp_path / "reel" / "reel.toml"


@pytest.mark.parametrize(
    "server",
    [
        ("openai-chat", "OPENAI_API_KEY", "/chat/completions", ("authorization", "Bearer secret")),
        ("openai-responses", "OPENAI_API_KEY", "/responses", ("authorization", "Bearer secret")),
        ("anthropic", "ANTHROPIC_API_KEY", "/v1/messages", ("x-api-key", "secret")),
        ("gemini", "GEMINI_API_KEY", "/v1beta/models/m:streamGenerateContent?alt=sse", ("x-goog-api-key", "secret")),
        ("ollama", None, "/api/chat", None),
    ],
)
def test_a_server_that_is_called(
    reel: Reel,
    name: str,
    fake: Fake,
    settings: Path,
    monkeypatch: pytest.MonkeyPatch,
    server: tuple[str, str | None, str, tuple[str, str] | None],
) -> None:
    """The request goes to the address of its API, with the key of the environment, and the answer is streamed."""
    format_, key, path, header = server
    settings.write_text(f'[providers.here]\nformat = "{format_}"\nurl = "{fake.url}/"\nmodel = "m"\n')
    if key is not None:
        monkeypatch.setenv(key, "secret")
    fake.data = STREAMS[format_].data
    ran = reel("ask", name, "What?", "--create")

    assert (0, STREAMS[format_].text) == (ran.status, ran.out.removesuffix("\n"))
    assert [path] == fake.paths
    assert header is None or header in fake.headers[0].items()
    assert "secret" not in ran.err + settings.read_text()
    assert STREAMS[format_].text in reel("show", name, "--last-answer").out


def test_what_a_request_to_anthropic_has(
    reel: Reel, name: str, fake: Fake, settings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is cached unless that is turned off, has a limit of tokens, and names a version of the API."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    settings.write_text(f'[providers.claude]\nformat = "anthropic"\nurl = "{fake.url}"\nmodel = "claude-opus-5"\n')
    fake.data = ANTHROPIC.data
    reel("ask", name, "What?", "--create", "--system", "Be brief.")
    reel("ask", name, "And?", "--cache", "off", "-m", "claude-haiku-4-5", "--set", "max_tokens=5")

    assert "2023-06-01" == fake.headers[0]["anthropic-version"]
    assert (16_000, 5) == tuple(body["max_tokens"] for body in fake.bodies)
    assert [True, False] == ["cache_control" in json.dumps(body) for body in fake.bodies]
    assert ["claude-opus-5", "claude-haiku-4-5"] == [body["model"] for body in fake.bodies]


@pytest.mark.parametrize(
    "refusal",
    [
        (529, b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}', "Overloaded"),
        (401, b'{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}', "invalid"),
        (502, b"<html>Bad Gateway</html>", "answered with the status 502"),
    ],
)
def test_a_server_that_refuses(
    reel: Reel, name: str, fake: Fake, settings: Path, monkeypatch: pytest.MonkeyPatch, refusal: tuple[int, bytes, str]
) -> None:
    """One line says what it said and with which status, one what was added; asked again, the question is there once."""
    status, data, expected = refusal
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    settings.write_text(f'[providers.claude]\nformat = "anthropic"\nurl = "{fake.url}"\nmodel = "m"\n')
    fake.status, fake.data = status, data
    ran = reel("ask", name, "What?", "--create")
    fake.status, fake.data = 200, ANTHROPIC.data

    assert 1 == ran.status
    assert expected in ran.err
    assert f"the status {status}" in ran.err
    _, added = ran.err.splitlines()
    assert added.startswith(f"reel: only the question was added to {name}; ")
    assert 0 == reel("ask", name, "What?").status
    assert ["user", "assistant"] == [message["role"] for message in reel("show", name, "--json").documents]


def test_a_stream_that_the_network_ends(reel: Reel, name: str, fake: Fake, settings: Path) -> None:
    """What came is added and marked, and stderr says that the connection was lost."""
    settings.write_text(f'[providers.here]\nformat = "openai-chat"\nurl = "{fake.url}"\nmodel = "m"\n')
    fake.data, fake.cut = CHAT.data[:600], True
    ran = reel("ask", name, "What?", "--create")

    assert 1 == ran.status
    assert "was lost" in ran.err
    assert "marked as interrupted" in ran.err


@pytest.mark.parametrize(
    ("toml", "options", "expected"),
    [
        ('format = "anthropic"\nmodel = "m"', (), "ANTHROPIC_API_KEY is not set"),
        ('format = "openai-chat"\nurl = "http://x"\nkey = "X_KEY"\nmodel = "m"', (), "X_KEY is not set"),
        ('format = "openai-chat"\nurl = "http://x"', (), "no model is named"),
        ('format = "openai-chat"\nurl = "http://127.0.0.1:1"\nmodel = "m"', (), "127.0.0.1:1 cannot be reached"),
        ('format = "openai-chat"\nurl = "http://x"\nmodel = "m"', ("--via", "hre"), "did you mean here?"),
    ],
    ids=["no key", "no key of one's own", "no model", "nobody there", "mistyped"],
)
def test_a_server_that_cannot_be_asked(
    reel: Reel, name: str, settings: Path, toml: str, options: tuple[str, ...], expected: str
) -> None:
    """stderr says what is missing."""
    settings.write_text(f"[providers.here]\n{toml}\n")
    ran = reel("ask", name, "What?", "--create", *options)

    assert expected in ran.err
    assert ran.status in (1, 2)


def test_models_by_their_aliases(reel: Reel, name: str, fake: Fake, settings: Path) -> None:
    """-m takes a model, an alias, or a provider and a model; each answers as its own."""
    table = '[providers.{}]\nformat = "openai-chat"\nurl = "{}"\nmodel = "large"\n'
    settings.write_text(
        'via = "a"\n'
        + table.format("a", fake.url)
        + table.format("b", f"{fake.url}/b")
        + '[models]\nfast = "b/small"\nslow = "huge"\n'
    )
    fake.data = CHAT.data
    for given in ([], ["-m", "fast"], ["-m", "slow"], ["-m", "b/other"], ["--via", "b"]):
        reel("ask", name, f"What about {given}?", "--create", *given)

    assert ["large", "small", "huge", "other", "large"] == [body["model"] for body in fake.bodies]
    assert ["", "/b", "", "/b", "/b"] == [path.removesuffix("/chat/completions") for path in fake.paths]


def test_setup_and_the_first_answer(reel: Reel, fake: Fake, settings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two commands lead to the first answer; what is configured stays as it is."""
    monkeypatch.setenv("OPENAI_BASE_URL", fake.url)
    fake.data = CHAT.data
    ran = reel("setup")
    before = settings.read_text()
    asked = reel("ask", "What is 2+2?", "--json")

    assert 0 == ran.status
    assert "small" in ran.out
    assert "openai" in before
    assert ["What is 2+2?", CHAT.text] == texts(reel, asked.documents[0]["agent"])[:2]
    assert CHAT.text == asked.documents[0]["text"]
    assert "reel.toml has it already" in reel("setup").out
    assert before == settings.read_text()


def test_setup_beside_what_there_is(reel: Reel, fake: Fake, settings: Path) -> None:
    """A server is named by its address; comments and providers stay, and who answered before still does."""
    given = '# mine\n[providers.own]\ncommand = "cat"\nformat = "gemini"\n'
    settings.write_text(given)
    shown = reel("setup", "box", "--url", fake.url, "--dry-run").out

    assert given == settings.read_text()
    assert 0 == reel("setup", "box", "--url", fake.url).status
    written = settings.read_text()
    assert written.strip() == shown.strip()
    assert given in written
    assert written.startswith('via = "own"\n')
    assert f'[providers.box]\nformat = "openai-chat"\nmodel = "small"\nurl = "{fake.url}"\n' in written


def test_setup_of_a_name_that_has_another_address(reel: Reel, fake: Fake, settings: Path) -> None:
    """It is refused: stderr says which address stays, and which line to edit."""
    given = f'# mine\n[providers.box]\nformat = "openai-chat"\nmodel = "m"\nurl = "{fake.url}"\n'
    settings.write_text(given)
    ran = reel("setup", "box", "--url", f"{fake.url}/other")

    assert (1, given) == (ran.status, settings.read_text())
    assert f"box is there already with the url {fake.url}, and was not changed" in ran.err
    assert f"edit line 2 of {settings}" in ran.err
    assert 0 == reel("setup", "box", "--url", fake.url).status


def test_setup_in_a_file_with_a_byte_order_mark(reel: Reel, fake: Fake, settings: Path) -> None:
    """What an editor on Windows has written is still TOML afterwards, and a message knows its lines."""
    settings.write_text('\ufeff[providers.a]\nformat = "ollama"\nmodel = "m"\nurl = "http://127.0.0.1:1"\n')
    reel("setup", "mine", "--url", fake.url)
    refused = reel("setup", "a", "--url", fake.url)

    assert {"a", "mine"} == tomllib.loads(settings.read_text())["providers"].keys()
    assert "edit line 3 of" in refused.err


def test_setup_of_a_server_that_is_not_there(reel: Reel, fake: Fake, settings: Path) -> None:
    """stderr says so, and the one that answers is named by via."""
    alone = reel("setup", "dead", "--url", "http://127.0.0.1:1/v1")
    assert "dead cannot be reached" in alone.err
    assert "via" not in settings.read_text()
    reel("setup", "box", "--url", fake.url)
    assert settings.read_text().startswith('via = "box"\n')


@pytest.mark.usefixtures("settings")
def test_setup_of_a_server_whose_key_is_not_set(reel: Reel, fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    """stderr says so although the server is there: a question would be refused."""
    monkeypatch.delenv("BOX_KEY", raising=False)
    refused = reel("setup", "box", "--url", fake.url, "--key", "BOX_KEY")

    assert "box cannot be reached, or its key is not set" in refused.err
    assert "BOX_KEY is not set" in reel("ask", "What is 2+2?").err


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, "http://localhost:11434"),
        ("box", "http://box:11434"),
        ("box:80/a/", "http://box:80/a"),
        ("[::1]", "http://[::1]:11434"),
        ("HTTPS://box", "HTTPS://box"),
    ],
)
def test_the_address_of_ollama(given: str | None, expected: str) -> None:
    """$OLLAMA_HOST may leave out the scheme, and then the port, as for Ollama itself."""
    assert expected == SERVERS["ollama"].address(None, {"OLLAMA_HOST": given} if given else {})


def test_setup_if_via_names_nobody(reel: Reel, fake: Fake, settings: Path) -> None:
    """stderr says so in place of naming the command that asks."""
    settings.write_text('via = "no-such-provider"\n')

    assert "via is no-such-provider, but there is no such" in reel("setup", "box", "--url", fake.url).err


def test_setup_of_a_name_that_was_not_found(
    reel: Reel, fake: Fake, settings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """stderr names the servers that were found, and nothing is written."""
    monkeypatch.setenv("OPENAI_BASE_URL", fake.url)
    ran = reel("setup", "foo", "--dry-run")

    assert (1, True) == (ran.status, "no server is called foo; found: openai" in ran.err)
    assert not settings.exists()


def test_setup_of_an_address_that_is_not_http(reel: Reel, settings: Path) -> None:
    """It is refused, and nothing is written."""
    ran = reel("setup", "foo", "--url", "ftp://foo")

    assert (2, True) == (ran.status, "begins with http:// or https://" in ran.err)
    assert not settings.exists()


def test_setup_with_a_key_of_openai(reel: Reel, settings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The provider speaks the format and has the model of the tour."""
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:1")  # nothing leaves this machine
    reel("setup", "openai")

    assert '[providers.openai]\nformat = "openai-responses"\nmodel = "gpt-5.6"\n' in settings.read_text()


def test_setup_if_there_is_nothing(reel: Reel, settings: Path) -> None:
    """It says what one can do, and writes nothing."""
    ran = reel("setup", "openai")

    assert 1 == ran.status
    assert "no key and no server was found" in ran.err
    assert not settings.exists()


def test_templates(reel: Reel, name: str, fake: Fake, settings: Path) -> None:
    """A template has a prompt, a text around the question, and a model; the command line wins."""
    settings.write_text(
        f'[providers.a]\nformat = "openai-chat"\nurl = "{fake.url}"\nmodel = "m"\n'
        '[templates.review]\nsystem = "You review."\ntext = "Review this: {text}."\nmodel = "reviewer"\n'
    )
    fake.data = CHAT.data
    reel("ask", name, "x = 1", "-t", "review", "--create")
    reel("ask", name, "y = 1", "-t", "review", "-m", "other")
    missing = reel("ask", name, "z", "-t", "reviw")

    assert ["You review.", "Review this: x = 1."] == [message["content"] for message in fake.bodies[0]["messages"]]
    assert ["reviewer", "other"] == [body["model"] for body in fake.bodies]
    assert (2, True) == (missing.status, "did you mean review?" in missing.err)


@pytest.mark.parametrize(("said", "status"), [('{"sum": 4}', 0), ('{"sum": "4"}', 1), ("four", 1)])
def test_a_schema(reel: Reel, name: str, fake: Fake, settings: Path, said: str, status: int) -> None:
    """The provider is asked for it, and the answer is checked."""
    settings.write_text(f'[providers.a]\nformat = "openai-chat"\nurl = "{fake.url}"\nmodel = "m"\n')
    answer = {"index": 0, "message": {"role": "assistant", "content": said}, "finish_reason": "stop"}
    fake.data = json.dumps({"object": "chat.completion", "choices": [answer]}).encode()
    schema = '{"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]}'
    ran = reel("ask", name, "2+2?", "--create", "--schema", schema)

    assert json.loads(schema) == fake.bodies[0]["response_format"]["json_schema"]["schema"]
    assert (status, bool(status)) == (ran.status, "does not match the schema" in ran.err)
