"""Who could answer on this machine: the keys in the environment, and the servers that run here."""

import json
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from reel.base.light_typing import NamedTuple
from reel.cli.line.servers import SERVERS

# Seconds for a list of models.
_PATIENCE = 3.0
# Models that answer no questions.
_OTHERS = ("embed", "tts", "whisper", "dall-e", "image", "moderation", "realtime", "transcribe", "audio", "rerank")


class FoundServer(NamedTuple):
    """A server that can be asked: its name, and what ``reel.toml`` says of it."""

    name: str
    format: str
    model: str | None
    url: str | None = None
    key: str | None = None
    dialect: str | None = None

    @property
    def about(self) -> str:
        """What a person is told of it."""
        where = self.url or SERVERS[self.format].base
        return ", ".join(filter(None, (self.model or "no model", urlsplit(where).netloc or where, self.key)))

    def as_map(self) -> dict[str, Any]:
        """Return it without what is not known."""
        return {name: value for name, value in self._asdict().items() if value is not None}

    def as_toml(self) -> str:
        """Return its table."""
        values = (f"{name} = {json.dumps(value)}" for name, value in self.as_map().items() if name != "name")
        return "\n".join((f"[providers.{self.name}]", *values, ""))


class _Cloud(NamedTuple):
    name: str
    format: str
    model: str
    keys: tuple[str, ...]
    url: str | None = None
    dialect: str | None = None


_CLOUDS = (
    _Cloud("claude", "anthropic", "claude-opus-5", SERVERS["anthropic"].keys),
    _Cloud("openai", "openai-responses", "gpt-5.6", SERVERS["openai-responses"].keys),
    _Cloud("gemini", "gemini", "gemini-3-pro-preview", SERVERS["gemini"].keys),
    _Cloud(
        "openrouter",
        "openai-chat",
        "openrouter/auto",
        ("OPENROUTER_API_KEY",),
        "https://openrouter.ai/api/v1",
        "openrouter",
    ),
)
_LOCAL = (
    ("lm-studio", "http://localhost:1234/v1", "lm-studio"),
    ("vllm", "http://localhost:8000/v1", "vllm"),
    ("llama-cpp", "http://localhost:8080/v1", "llama.cpp"),
)


def look_around(environment: Mapping[str, str]) -> list[FoundServer]:
    """Return who can be asked, those with a key first."""
    with ThreadPoolExecutor() as pool:
        clouds = [pool.submit(_cloud, cloud, environment) for cloud in _CLOUDS]
        ollama = pool.submit(_ollama, environment)
        locals_ = [pool.submit(_local, *each) for each in _LOCAL]
        return [found for task in (*clouds, ollama, *locals_) if (found := task.result()) is not None]


def named_server(name: str, url: str, format: str, key: str | None, model: str | None) -> FoundServer:  # noqa: A002 - the protocol's name
    """Return the server at an address; the first model that it lists is asked if none is named."""
    base = SERVERS[format].address(url, os.environ)
    listed = () if model else models_of(format, base, os.environ.get(key or "") or None)
    return FoundServer(name, format, model or next(iter(listed), None), base, key)


def _cloud(cloud: _Cloud, environment: Mapping[str, str]) -> FoundServer | None:
    key = next((name for name in cloud.keys if environment.get(name)), None)
    server = SERVERS[cloud.format]
    elsewhere = cloud.url is None and any(map(environment.get, server.base_variables))
    if key is None and not elsewhere:
        return None
    # Other servers that speak OpenAI's API have Chat Completions; few have Responses.
    spoken = "openai-chat" if elsewhere and cloud.format == "openai-responses" else cloud.format
    url = cloud.url or (server.address(None, environment) if elsewhere else None)
    listed = models_of(spoken, url or server.base, environment[key] if key else None)
    model = cloud.model if cloud.model in listed or not listed else listed[0]
    return FoundServer(cloud.name, spoken, model, url, key, cloud.dialect)


def _ollama(environment: Mapping[str, str]) -> FoundServer | None:
    url = SERVERS["ollama"].address(None, environment)
    if urlsplit(url).hostname == "0.0.0.0":  # noqa: S104 - where a server listens; a client asks this machine
        url = url.replace("0.0.0.0", "localhost")  # noqa: S104 - as above
    listed = models_of("ollama", url, None)
    own = None if url == SERVERS["ollama"].base else url
    return FoundServer("ollama", "ollama", listed[0], own) if listed else None


def _local(name: str, url: str, dialect: str) -> FoundServer | None:
    listed = models_of("openai-chat", url, None)
    return FoundServer(name, "openai-chat", listed[0], url, dialect=dialect) if listed else None


def can_answer(provider: Mapping[str, Any]) -> bool:
    """Return whether a provider is a command, or a server that has its key, and that answers if it is not the API's."""
    if "command" in provider:
        return True
    server = SERVERS[provider["format"]]
    if server.missing_key(provider.get("key"), provider.get("url"), os.environ) is not None:
        return False
    url = server.address(provider.get("url"), os.environ)
    if url == server.base and server.keys:
        return True
    try:
        with urlopen(url, timeout=_PATIENCE):  # noqa: S310 - as configured
            return True
    except HTTPError:
        return True  # it refuses, so it is there
    except (OSError, HTTPException, ValueError):
        return False


def models_of(format: str, base: str, key: str | None) -> list[str]:  # noqa: A002 - the protocol's name
    """Return the models that a server lists and that answer questions; none if it does not tell."""
    server = SERVERS[format]
    headers = server.headers_with(key and key.strip())
    with suppress(OSError, HTTPException, ValueError, AttributeError, TypeError):
        with urlopen(Request(base.rstrip("/") + server.models, headers=headers), timeout=_PATIENCE) as reply:  # noqa: S310 - as configured
            found = json.load(reply)
        rows = found.get("data") or found.get("models") or []
        names = [str(row.get("id") or row.get("name") or "").removeprefix("models/") for row in rows]
        return [name for name in names if name and not any(word in name.lower() for word in _OTHERS)]
    return []
