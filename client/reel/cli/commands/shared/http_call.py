"""A request to a provider over HTTP, with the standard library: its answer as it arrives.

The key comes from the environment, and is in no message. Proxies are those of the environment, too.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from http.client import HTTPException
from typing import TYPE_CHECKING
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import Request, urlopen

from reel.cli.line.arguments import UsageError
from reel.cli.line.servers import SERVERS
from reel.replies import Rendered
from reel.version import __version__

if TYPE_CHECKING:
    from http.client import HTTPResponse

    from reel.cli.commands.shared.provider import Provider

_CHUNK = 1 << 16
# Seconds without a byte; some models think for minutes before they say anything.
_SILENCE = 900.0
# Statuses after which the same request may succeed later.
_LATER = (408, 409, 425, 429, 500, 502, 503, 504, 529)


class HttpCall:
    """A request that was sent.

    Args:
        provider: who is asked.
        rendered: the request.
    """

    def __init__(self, provider: Provider, rendered: Rendered) -> None:
        self._problem = ""
        self._response: HTTPResponse | None = None
        self._request = _request(provider, rendered)

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


def _request(provider: Provider, rendered: Rendered) -> Request:
    server = SERVERS[provider.format]
    path = server.path.format(model=quote((provider.model or "").removeprefix("models/"), safe=""))
    headers = {
        "Content-Type": "application/json",
        "User-Agent": f"reel/{__version__}",
        **server.headers_with(server.key(provider.key, os.environ)),
    }
    if rendered.betas:
        headers["anthropic-beta"] = ",".join(rendered.betas)
    return Request(server.address(provider.url, os.environ) + path, rendered.body.encode(), headers)  # noqa: S310 - the user's own address


def require_callable(provider: Provider) -> None:
    """Refuse a provider that cannot be asked, before anything is added.

    Raises:
        UsageError: it has no key or no model.
    """
    if provider.model is None:
        raise UsageError(f"{provider.name}: no model is named; name one with -m, or set model in reel.toml")
    missing = SERVERS[provider.format].missing_key(provider.key, provider.url, os.environ)
    if missing is not None:
        raise UsageError(f"{provider.name}: {missing} is not set; it should have the key")
