"""Access control: only the browser that was opened with the token, and no page of another site in it.

The server listens on a port of this machine, which every program on it can reach, and to which every page in a browser
can send requests. So four things are checked:

- The user. Connections of other users are not answered on Linux, which lists every TCP connection with its user. On
  other systems, the other checks must suffice. Another user could find the link in the list of processes, or receive
  the cookie: browsers send it to all ports of a host, including a server of that user's that is visited.
- A session. The first request has a token, which is valid for one session. Its cookie is needed from then on.
- The names. A page of another site whose name was made to resolve to this host sends a different ``Host``. Another
  page's script sends its own ``Origin``, or ``Sec-Fetch-Site`` says that it comes from another site, or from another
  port of this machine.
- The method. Nothing can be changed here, so only GET is answered.
"""

import secrets
import sys
from hmac import compare_digest
from html import escape
from pathlib import Path
from socket import inet_aton

from reel.viewing.exchange import Request, Response, html_response, message_page

# The only path that needs no session.
ENTRANCE = "/open"
# Bytes of the token: a link of 60 characters stays on one line of a terminal.
_TOKEN = 16
_AGAIN = "End reel view with Ctrl-C and run it again: it prints a new link."

Address = tuple[str, int]
# The connections, and its columns for the two ends and the user; see proc(5).
_TABLE = Path("/proc/net/tcp")
_LOCAL, _REMOTE, _UID = 1, 2, 7


class Guard:
    """Admits requests.

    Args:
        port: the port on which the server listens.
        page: the path and query of the first page of the session.
    """

    def __init__(self, port: int, page: str) -> None:
        self._host = f"127.0.0.1:{port}"
        # Cookies are shared by all ports of a host.
        self._cookie = f"reel-view-{port}"
        self._page = page
        self._token: str | None = secrets.token_urlsafe(_TOKEN)
        self._session: str | None = None

    @property
    def origin(self) -> str:
        """The address of the server."""
        return f"http://{self._host}"

    @property
    def link(self) -> str:
        """The address that begins the session."""
        return f"{self.origin}{ENTRANCE}?token={self._token}"

    def check(self, request: Request) -> Response | None:
        """Return the response to a request that is refused or begins the session; ``None`` for one that is admitted."""
        if request.headers.get("host") != self._host:
            return _refusal(403, "Not this address", f"This server is {self.origin}, and answers to no other name.")
        if request.headers.get("origin", self.origin) != self.origin:
            return _refusal(403, "Not from here", "The request comes from the page of another site.")
        if request.method != "GET":
            refused = _refusal(405, "Only GET", "Nothing can be changed here.")
            return refused._replace(headers=(("allow", "GET"),))
        if request.path == ENTRANCE:
            return self._enter(request)
        # A browser that leaves this header out is old, and is protected by the cookie's SameSite.
        if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return _refusal(403, "Not from here", "A page of another site leads here. Use the link of reel view.")
        if not self._has_session(request):
            return _refusal(403, "No session", f"This browser was not opened by reel view. {_AGAIN}")
        return None

    def _enter(self, request: Request) -> Response:
        """Begin the session if the token is right, and unused."""
        # Not a redirect: after a link on another site, as in a terminal in a browser, a redirect would count as coming
        # from there, too, and SameSite=Strict would withhold the cookie. This page is ours, and so is its refresh.
        refresh = f'<meta http-equiv="refresh" content="0;url={escape(self._page)}">\n'
        forward = html_response(message_page("reel view", "", refresh))
        if self._has_session(request):
            return forward
        token = request.query.get("token", "")
        if self._token is None or not compare_digest(token.encode(), self._token.encode()):
            return _refusal(403, "This link is not valid", f"It can be used once. {_AGAIN}")
        self._token, self._session = None, secrets.token_urlsafe(_TOKEN)
        cookie = f"{self._cookie}={self._session}; Path=/; HttpOnly; SameSite=Strict"
        return forward._replace(headers=(("set-cookie", cookie),))

    def _has_session(self, request: Request) -> bool:
        if self._session is None:
            return False
        pairs = [pair.strip().partition("=") for pair in request.headers.get("cookie", "").split(";")]
        return any(
            name == self._cookie and compare_digest(value.encode(), self._session.encode()) for name, _, value in pairs
        )


def _refusal(status: int, title: str, text: str) -> Response:
    return html_response(message_page(title, text), status)


def owner_of(theirs: Address, ours: Address) -> int | None:
    """Return the user of the other end of a connection; ``None`` if that is unknown.

    Args:
        theirs: the address and port of the other end.
        ours: the address and port of our end.
    """
    try:
        return owner_in(_TABLE.read_text(encoding="ascii"), theirs, ours)
    except OSError:
        return None


def owner_in(table: str, theirs: Address, ours: Address) -> int | None:
    """Return the user of the connection from ``theirs`` to ``ours`` in the kernel's table; ``None`` if not listed."""
    wanted = [_hexadecimal(theirs), _hexadecimal(ours)]
    for line in table.splitlines()[1:]:
        fields = line.split()
        if fields[_LOCAL : _REMOTE + 1] == wanted:
            return int(fields[_UID])
    return None


def _hexadecimal(address: Address) -> str:
    host, port = address
    return f"{int.from_bytes(inet_aton(host), sys.byteorder):08X}:{port:04X}"
