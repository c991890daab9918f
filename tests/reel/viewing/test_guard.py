"""Who is let in: nobody but the browser that had the link."""

import os
import socket
import sys
from urllib.parse import parse_qs, urlsplit

import pytest

from reel.viewing.exchange import Request, Response
from reel.viewing.guard import Guard, owner_in, owner_of

PORT = 4711
HOST = f"127.0.0.1:{PORT}"
# Two connections as Linux lists them on a little-endian machine: 127.0.0.1:8080 and 127.0.0.1:51234 to each other.
TABLE = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 656 1 0 100 0 0 10 0
   1: 0100007F:C822 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1001        0 657 1 0 20 4 30 10 -1
   2: 0100007F:1F90 0100007F:C822 01 00000000:00000000 00:00000000 00000000  1000        0 658 1 0 20 4 30 10 -1
"""


def entrance(guard: Guard) -> Request:
    """Return the request for the link."""
    address = urlsplit(guard.link)
    query = {name: values[0] for name, values in parse_qs(address.query).items()}
    return Request("GET", address.path, query, {"host": HOST})


def cookie(response: Response | None) -> str:
    """Return the cookie that a response sets."""
    assert response is not None
    return dict(response.headers)["set-cookie"].partition(";")[0]


def request(cookie: str = "", **changes: str) -> Request:
    """Return a request for the list."""
    headers = {"host": HOST, "cookie": cookie, **{name.replace("_", "-"): value for name, value in changes.items()}}
    return Request(headers.pop("method", "GET"), headers.pop("path", "/"), {}, headers)


@pytest.fixture
def guard() -> Guard:
    """A guard that nobody has passed."""
    return Guard(PORT, "/")


@pytest.fixture
def session(guard: Guard) -> str:
    """The cookie of the browser that had the link."""
    return cookie(guard.check(entrance(guard)))


def test_the_link_begins_a_session(guard: Guard, session: str) -> None:
    """With its cookie, requests are admitted."""
    assert guard.check(request(session)) is None
    assert guard.check(request(f"other=1; {session}")) is None


def test_the_cookie_is_strict(guard: Guard) -> None:
    """No other site can make the browser send it, and no script reads it."""
    answer = guard.check(entrance(guard))

    assert answer is not None
    assert dict(answer.headers)["set-cookie"].endswith("; Path=/; HttpOnly; SameSite=Strict")


def test_the_link_is_good_for_one_session(guard: Guard, session: str) -> None:
    """The second browser with the link is refused; the first one gets to the page again."""
    spent = Request("GET", "/open", {"token": ""}, {"host": HOST})

    assert_refused(guard.check(spent), 403)
    again = guard.check(spent._replace(headers={"host": HOST, "cookie": session}))
    assert again is not None
    assert (200, ()) == (again.status, again.headers)


def test_the_token_itself_is_good_once(guard: Guard) -> None:
    """Somebody who has seen the link cannot use it later."""
    link = entrance(guard)
    guard.check(link)

    assert_refused(guard.check(link), 403)


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"host": "evil.example:4711"}, 403),
        ({"host": "127.0.0.1:80"}, 403),
        ({"host": "localhost:4711"}, 403),
        ({"host": ""}, 403),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://127.0.0.1:80"}, 403),
        ({"sec_fetch_site": "cross-site"}, 403),
        ({"sec_fetch_site": "same-site"}, 403),
        ({"method": "POST"}, 405),
        ({"method": "HEAD"}, 405),
        ({"cookie": ""}, 403),
        ({"cookie": "reel-view-4711=wrong"}, 403),
        ({"cookie": "reel-view-4711=\xe9"}, 403),
        ({"path": "/live", "cookie": ""}, 403),
        ({"path": "/view.js", "cookie": ""}, 403),
    ],
)
def test_refused(guard: Guard, session: str, changes: dict[str, str], status: int) -> None:
    """Another name, another site, another port, another method or no cookie: each alone is enough to be refused."""
    assert_refused(guard.check(request(**{"cookie": session, **changes})), status)


@pytest.mark.parametrize("changes", [{"origin": f"http://{HOST}"}, {"sec_fetch_site": "none"}])
def test_admitted(guard: Guard, session: str, changes: dict[str, str]) -> None:
    """What our own pages send, and a typed address, is admitted."""
    assert guard.check(request(session, **changes)) is None


@pytest.mark.parametrize("token", ["", "wrong", "\xe9"])
def test_a_wrong_token(guard: Guard, token: str) -> None:
    """A token that was guessed does not spend the right one."""
    guessed = Request("GET", "/open", {"token": token}, {"host": HOST})

    assert_refused(guard.check(guessed), 403)
    assert cookie(guard.check(entrance(guard)))


def test_the_link_leads_to_its_page() -> None:
    """The page that was asked for comes by itself, as if our own page had a link to it."""
    guard = Guard(PORT, "/conversation?agent=0a&at=3")
    answer = guard.check(entrance(guard))

    assert answer is not None
    assert b'content="0;url=/conversation?agent=0a&amp;at=3">' in answer.body  # type: ignore[operator]


def assert_refused(response: Response | None, status: int) -> None:
    assert response is not None
    assert response.status == status
    assert "set-cookie" not in dict(response.headers)


def test_the_other_end() -> None:
    """The line of the other end counts, not that of our own."""
    assert 1001 == owner_in(TABLE, ("127.0.0.1", 0xC822), ("127.0.0.1", 0x1F90))
    assert 1000 == owner_in(TABLE, ("127.0.0.1", 0x1F90), ("127.0.0.1", 0xC822))


def test_a_connection_that_is_not_listed() -> None:
    """Nothing is said of it."""
    assert owner_in(TABLE, ("127.0.0.1", 1), ("127.0.0.1", 2)) is None


def test_a_real_connection() -> None:
    """A connection of this process belongs to its user; only Linux tells."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        assert owner_of(client.getsockname(), client.getpeername()) == (
            os.geteuid() if sys.platform == "linux" else None
        )
