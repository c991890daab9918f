"""The servers that ``reel`` calls itself: for each format the address, the key, and what a request needs."""

from __future__ import annotations

from reel.base.light_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


class Server(NamedTuple):
    """An API.

    Args:
        base: its address.
        base_variables: the variables that name another one, as the provider's own libraries read them.
        path: what follows the address; ``{model}`` is the model.
        keys: the variables that may have the key.
        header: the header with the key; ``{key}`` is the key.
        headers: further headers.
        fields: fields that the body must have.
        models: the path of the list of models.
        port: the port of an address that has neither a scheme nor a port.
    """

    base: str
    base_variables: tuple[str, ...]
    path: str
    keys: tuple[str, ...]
    header: tuple[str, str]
    headers: Mapping[str, str] = {}
    fields: Mapping[str, Any] = {}
    models: str = "/models"
    port: str | None = None

    def address(self, url: str | None, environment: Mapping[str, str]) -> str:
        """Return its address: the one that is configured, else that of the environment, else its own."""
        given = (url or self._elsewhere(environment) or self.base).rstrip("/")
        if given.lower().startswith(("http://", "https://")):
            return given
        host, slash, path = given.partition("/")
        if self.port is not None and ":" not in host.rpartition("]")[2]:
            host = f"{host}:{self.port}"
        return f"http://{host}{slash}{path}"

    def _elsewhere(self, environment: Mapping[str, str]) -> str | None:
        return next(filter(None, map(environment.get, self.base_variables)), None)

    def key(self, variable: str | None, environment: Mapping[str, str]) -> str | None:
        """Return the key, from the variable that is configured, else from its own."""
        found = next(filter(None, map(environment.get, self._key_variables(variable))), None)
        return (found or "").strip() or None

    def missing_key(self, variable: str | None, url: str | None, environment: Mapping[str, str]) -> str | None:
        """Return which variable should have the key, in words; ``None`` if one has, or at an address that needs none.

        Args:
            variable: the variable that is configured.
            url: the address that is configured.
            environment: the variables.
        """
        needed = variable or (url is None and self._elsewhere(environment) is None)
        if not needed or self.key(variable, environment) is not None:
            return None
        return " or ".join(self._key_variables(variable)) or None

    def _key_variables(self, variable: str | None) -> tuple[str, ...]:
        return (variable,) if variable else self.keys

    def headers_with(self, key: str | None) -> dict[str, str]:
        """Return the headers of a request."""
        name, value = self.header
        return {**self.headers, **({name: value.format(key=key)} if key else {})}


_BEARER = ("Authorization", "Bearer {key}")
_OPENAI = Server("https://api.openai.com/v1", ("OPENAI_BASE_URL",), "/chat/completions", ("OPENAI_API_KEY",), _BEARER)
SERVERS: dict[str, Server] = {
    "openai-chat": _OPENAI,
    "openai-responses": _OPENAI._replace(path="/responses"),
    "anthropic": Server(
        "https://api.anthropic.com",
        ("ANTHROPIC_BASE_URL",),
        "/v1/messages",
        ("ANTHROPIC_API_KEY",),
        ("x-api-key", "{key}"),
        {"anthropic-version": "2023-06-01"},
        # The API requires it; an answer may be shorter.
        {"max_tokens": 16_000},
        "/v1/models",
    ),
    "gemini": Server(
        "https://generativelanguage.googleapis.com",
        ("GEMINI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"),
        "/v1beta/models/{model}:streamGenerateContent?alt=sse",
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        ("x-goog-api-key", "{key}"),
        models="/v1beta/models",
    ),
    "ollama": Server(
        "http://localhost:11434", ("OLLAMA_HOST",), "/api/chat", (), _BEARER, models="/api/tags", port="11434"
    ),
}
