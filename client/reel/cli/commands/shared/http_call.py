"""A request to a provider over HTTP, with the standard library: its answer as it arrives.

The key comes from the environment, and is in no message. Proxies are those of the environment, too.
"""

import os
from collections.abc import Iterator
from http.client import HTTPException
from typing import TYPE_CHECKING, NamedTuple
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import Request, urlopen

from reel.cli.line.arguments import UsageError
from reel.cli.line.servers import SERVERS
from reel.replies import Rendered
from reel.version import __version__

if TYPE_CHECKING:
    from http.client import HTTPResponse


_CHUNK = 1 << 16
# Seconds without a byte; some models think for minutes before they say anything.
_SILENCE = 900.0
# Statuses after which the same request may succeed later.
_LATER = (408, 409, 425, 429, 500, 502, 503, 504, 529)


class Target(NamedTuple):
    """Who is asked: the name of the provider, its format and model, and its own address and variable of the key."""

    name: str
    format: str
    model: str | None
    url: str | None
    key: str | None


class HttpCall:
    """A request that was sent.

    Args:
        target: who is asked.
        rendered: the request.

    Raises:
        UsageError: there is no key.
    """

    def __init__(self, target: Target, rendered: Rendered) -> None:
        self._problem = ""
        self._response: HTTPResponse | None = None
        self._request = request_of(target, rendered)

    def __iter__(self) -> Iterator[bytes]:
        try:
            with urlopen(self._request, timeout=_SILENCE) as self._response:  # noqa: S310 - the user's own address
                assert self._response is not None  # noqa: S101 - it was opened
                while piece := self._response.read1(_CHUNK):
                    yield piece
        except HTTPError as error:
            later = "; ask again later" if error.code in _LATER else ""
            self._problem = f"{self._host} answered with the status {error.code} {error.reason}{later}"
            yield error.read()
        except URLError as error:
            self._problem = f"{self._host} cannot be reached: {error.reason}"
        except (HTTPException, OSError) as error:
            self._problem = f"the connection to {self._host} was lost: {error or type(error).__name__}"

    @property
    def _host(self) -> str:
        return urlsplit(self._request.full_url).netloc

    def close(self) -> tuple[int, str]:
        """End the connection; return what went wrong."""
        if self._response is not None:
            self._response.close()
        return 0, self._problem


def request_of(target: Target, rendered: Rendered) -> Request:
    """Return the request to a target.

    Raises:
        UsageError: there is no key.
    """
    server = SERVERS[target.format]
    base = server.address(target.url, os.environ)
    if urlsplit(base).scheme not in ("http", "https"):
        base = f"http://{base}"
    url = base + server.path.format(model=quote((target.model or "").removeprefix("models/"), safe=""))
    headers = {"Content-Type": "application/json", "User-Agent": f"reel/{__version__}", **server.headers}
    if key := key_of(target.name, target.format, target.key, target.url):
        name, value = server.header
        headers[name] = value.format(key=key)
    if rendered.betas:
        headers["anthropic-beta"] = ",".join(rendered.betas)
    return Request(url, rendered.body.encode(), headers)  # noqa: S310 - the user's own address


def require_callable(target: Target) -> None:
    """Refuse a provider that cannot be asked, before anything is added.

    Raises:
        UsageError: it has no key or no model.
    """
    if target.model is None:
        raise UsageError(f"{target.name}: no model is named; name one with -m, or set model in reel.toml")
    key_of(target.name, target.format, target.key, target.url)


def key_of(name: str, format: str, variable: str | None, url: str | None) -> str | None:  # noqa: A002 - the protocol's name
    """Return a provider's key; ``None`` if its server needs none.

    Raises:
        UsageError: the variable that has it is not set.
    """
    variables = (variable,) if variable else SERVERS[format].keys
    key = next(filter(None, map(os.environ.get, variables)), None)
    needed = bool(variable) or (url is None and not any(map(os.environ.get, SERVERS[format].base_variables)))
    if key is None and needed and variables:
        raise UsageError(f"{name}: {' or '.join(variables)} is not set; it should have the key")
    return key.strip() if key else None
