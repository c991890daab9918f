"""The command ``reel view``: its process, its server, and its pages in a real browser."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest

from reel.sync.client import Client
from tests.daemon import Daemon, until
from tests.end_to_end.browser import CHROMIUM, Browser, Page
from tests.end_to_end.test_pages import HOSTILE
from tests.forkserver import running_daemon
from tests.patience import PATIENCE

_VIEW = [sys.executable, "-c", "from reel.cli import process; process()", "view", "--no-browser"]
pytestmark = pytest.mark.large
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")


class Answer(NamedTuple):
    """What the server answered."""

    status: int
    headers: dict[str, str]
    text: str


class View:
    """A running ``reel view``."""

    def __init__(self, process: "subprocess.Popen[str]", link: str) -> None:
        self.process = process
        self.link = link
        self.host = urlsplit(link).netloc

    def ask(self, target: str, method: str = "GET", **headers: str) -> Answer:
        """Send a request, and return the answer."""
        connection = http.client.HTTPConnection(self.host, timeout=PATIENCE)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.putrequest(method, target, skip_host="Host" in named)
        for name, value in named.items():
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        found = Answer(answer.status, dict(answer.getheaders()), answer.read().decode())
        connection.close()
        return found

    def enter(self) -> str:
        """Use the link, and return the cookie."""
        address = urlsplit(self.link)
        return self.ask(f"{address.path}?{address.query}").headers["set-cookie"].partition(";")[0]


@contextmanager
def viewing(path: str, *argv: str) -> Iterator[View]:
    """Run the command for the duration of the block, and ask it to end."""
    environment = {**os.environ, "REEL_SOCKET": path}
    environment.pop("REEL_AGENT", None)
    with subprocess.Popen([*_VIEW, *argv], stdout=subprocess.PIPE, env=environment, text=True) as process:
        assert process.stdout is not None
        try:
            yield View(process, process.stdout.readline().strip())
            process.terminate()
            assert process.wait(PATIENCE) in (0, -signal.SIGINT)
        finally:
            process.kill()


@pytest.fixture(scope="module")
def running() -> Iterator[Daemon]:
    """A daemon that the tests of this file share."""
    with running_daemon() as daemon:
        with daemon.client() as client:
            client.create("demo", title="Tapes")
            client.add("demo", "What is a tape deck?")
            client.add("demo", [{"role": "assistant", "content": "A **machine**."}])
        yield daemon


@pytest.fixture(scope="module")
def view(running: Daemon) -> Iterator[View]:
    """A server whose link is used once, by this fixture's cookie."""
    with viewing(running.socket) as view:
        yield view


@pytest.fixture(scope="module")
def cookie(view: View) -> str:
    """The cookie of the session."""
    return view.enter()


@pytest.mark.slow
def test_the_session(view: View, cookie: str) -> None:
    """With the cookie, pages are served, which load nothing from elsewhere; the link is good for one cookie."""
    page = view.ask("/", Cookie=cookie)

    assert (200, True) == (page.status, "demo" in page.text)
    assert "default-src 'none'; script-src 'self'; style-src 'self';" in page.headers["content-security-policy"]
    assert "no-store" == page.headers["cache-control"]
    assert 403 == view.ask("/").status
    assert 403 == view.ask(view.link.removeprefix(f"http://{view.host}")).status


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "method", "headers", "status"),
    [
        ("/", "GET", {"Host": "evil.example"}, 403),
        ("/", "GET", {"Origin": "https://evil.example"}, 403),
        ("/", "GET", {"Sec_Fetch_Site": "cross-site"}, 403),
        ("/", "POST", {}, 405),
        ("/", "HEAD", {}, 405),
        ("/../../etc/passwd", "GET", {}, 404),
        ("/%2e%2e/%2e%2e/etc/passwd", "GET", {}, 404),
        ("/static/../guard.py", "GET", {}, 404),
        ("//evil.example/", "GET", {}, 404),
        ("/conversation?agent=nobody", "GET", {}, 404),
        ("/conversation?agent=", "GET", {}, 404),
        ("/differences?one=demo@x&other=demo", "GET", {}, 400),
        ("/conversation?agent=demo&at=99999999999999999999", "GET", {}, 200),
        ("/parts?agent=demo&before=0", "GET", {}, 200),
        ("/usage", "GET", {}, 200),
        ("/list?q=tape", "GET", {}, 200),
    ],
)
def test_requests(view: View, cookie: str, target: str, method: str, headers: dict[str, str], status: int) -> None:
    """Nothing but the pages is there, whatever is asked for."""
    assert view.ask(target, method, **{"Cookie": cookie, **headers}).status == status


@pytest.mark.slow
def test_what_was_taken_over(view: View, cookie: str, client: Client) -> None:
    """A conversation that was taken over is shown, also if its seqs are far from those of the agent that took it."""
    client.create("far")
    client.add("far", [f"Message {number}" for number in range(300)])
    client.clone("far", "copy")
    client.create("taker")
    client.add("taker", "mine")
    client.clone("far", into="taker")
    client.add("taker", "later")

    copy, taker = (view.ask(f"/conversation?agent={name}", Cookie=cookie).text for name in ("copy", "taker"))

    assert "Message 299" in copy
    assert "Message 299" in taker
    assert ">later<" in taker
    beginning = view.ask("/parts?agent=taker&before=4", Cookie=cookie).text
    assert '<article id="gone2"' in beginning
    assert '<article id="m2"' in beginning


@pytest.mark.slow
@pytest.mark.parametrize("since", ["9" * 30, "-1", "x", "%D9%A1"])
def test_live_from_what_is_no_seq(view: View, cookie: str, since: str) -> None:
    """A page cannot be followed from what is not the number of an event; the browser does not ask again."""
    assert 400 == view.ask(f"/live?agent=demo&since={since}", Cookie=cookie).status


@pytest.mark.slow
def test_what_is_not_http(view: View) -> None:
    """It is refused, and the server goes on."""
    host, port = view.host.split(":")
    with socket.create_connection((host, int(port)), PATIENCE) as stream:
        stream.sendall(b"\x00\xff not http\r\n\r\n")
        assert stream.recv(100).startswith(b"HTTP/1.1 400 ")
    assert 403 == view.ask("/").status


@pytest.mark.slow
def test_ctrl_c(running: Daemon) -> None:
    """It ends at once, also while a page listens."""
    with viewing(running.socket, "demo") as view:
        connection = http.client.HTTPConnection(view.host, timeout=PATIENCE)
        connection.request("GET", "/live", headers={"Cookie": view.enter()})
        with connection.getresponse() as events:
            assert b"retry" == events.read(5)
            view.process.send_signal(signal.SIGINT)
            assert view.process.wait(PATIENCE) == -signal.SIGINT
        connection.close()


@pytest.fixture(scope="module")
def shown(running: Daemon, browser: Browser) -> Iterator[tuple[View, Page]]:
    """A page that was opened with the link, for all tests of this file."""
    with viewing(running.socket, "demo") as view, browser.page() as page:
        page.look(1280)
        page.open(view.link)
        page.until("document.querySelectorAll('article').length === 2")
        yield view, page


@pytest.fixture
def page(shown: tuple[View, Page]) -> Page:
    """The page, which the tests take where they want."""
    return shown[1]


@pytest.fixture
def client(running: Daemon) -> Iterator[Client]:
    """A client of the daemon."""
    with running.client() as client:
        yield client


def show(shown: tuple[View, Page], client: Client, agent: str) -> None:
    """Show an agent, and wait until what happens to it is heard."""
    view, page = shown
    page.open(f"http://{view.host}/conversation?agent={client.agent(agent).id}")
    page.until(f"document.body.dataset.agent === '{client.agent(agent).id}' && document.readyState === 'complete'")


@needs_chromium
@pytest.mark.slow
def test_a_conversation_grows(shown: tuple[View, Page], page: Page, client: Client) -> None:
    """What is written, added and taken back is shown at once; a page that was left follows nothing."""
    client.create("grows")
    client.add("grows", "one")
    show(shown, client, "grows")

    client.draft("grows", "being **written**")
    page.until("document.querySelector('#drafts strong')?.textContent === 'written'")
    client.add("grows", [{"role": "assistant", "content": "was **added**"}])
    page.until("document.querySelector('#parts article:last-child strong')?.textContent === 'added'")
    page.until("document.querySelector('#drafts').children.length === 0")
    client.undo("grows")
    page.until("document.querySelector('#parts .gone') !== null")
    assert 1 == client.agent("grows").attached
    page.open(f"http://{shown[0].host}/")
    until(lambda: not client.agent("grows").attached)


@needs_chromium
@pytest.mark.slow
def test_what_a_conversation_waits_for(shown: tuple[View, Page], page: Page, client: Client) -> None:
    """It stands below the messages of a page that is opened, and comes and goes while it is read."""
    asked: Any = {"type": "function_approval_request", "function_call": {"type": "function_call", "name": "delete"}}
    block: Any = {"type": "opaque", "provider": "x", "data_json": json.dumps(asked)}
    waits = "document.getElementById('waits')"
    client.add("waits", ["Tidy up.", {"role": "assistant", "content": [block]}], create=True)
    show(shown, client, "waits")

    assert "waiting for an approval: delete" == page.run(f"{waits}.textContent")
    assert not page.run(f"{waits}.hidden")
    client.add("waits", "No.")
    page.until(f"{waits}.hidden")
    client.undo("waits")
    page.until(f"!{waits}.hidden && {waits}.textContent === 'waiting for an approval: delete'")


@needs_chromium
@pytest.mark.slow
def test_what_is_erased_leaves_the_page(shown: tuple[View, Page], page: Page, client: Client) -> None:
    """A text that is redacted, and a conversation that is purged, are gone from the page at once."""
    client.create("erased")
    client.add("erased", "The password is swordfish.")
    show(shown, client, "erased")

    client.redact("erased", text="swordfish")
    page.until("document.getElementById('parts').textContent.includes('The password is [redacted')")
    client.purge("erased")
    page.until("document.body.textContent.includes('This cannot be shown')")


@needs_chromium
@pytest.mark.slow
def test_the_daemon_is_restarted(shown: tuple[View, Page], page: Page, running: Daemon) -> None:
    """The page says that the daemon is away, and shows what was added when it is back."""
    with running.client() as client:
        client.create("away")
        show(shown, client, "away")
        page.until("!document.getElementById('notice').textContent")
    running.end()
    page.until("document.getElementById('notice').textContent.startsWith('The daemon does not answer')")
    running.start()
    with running.client() as client:
        client.add("away", "back again")

    page.until("document.getElementById('notice').hidden")
    page.until("document.querySelector('#parts article')?.textContent.includes('back again') === true")


# Counts the connections of a page for its updates, and keeps the newest one.
_COUNTED = """
window.asked = 0;
window.EventSource = class extends EventSource {
  constructor(address) {
    super(address);
    window.asked += 1;
    window.source = this;
  }
};
"""


@needs_chromium
@pytest.mark.slow
def test_a_page_that_cannot_be_followed(shown: tuple[View, Page], page: Page, client: Client) -> None:
    """It says why, and what to do, and does not ask again for what would be refused again."""
    client.create("refused")
    script = page.send("Page.addScriptToEvaluateOnNewDocument", source=_COUNTED)
    show(shown, client, "refused")
    page.until("source.readyState === EventSource.OPEN")
    page.send("Page.removeScriptToEvaluateOnNewDocument", **script)
    # What the server sends (tests/reel/viewing/test_live.py); no page can ask for what the daemon refuses.
    page.run("source.dispatchEvent(new MessageEvent('failed', {data: JSON.stringify({why: 'too <b>far</b>'})}))")

    assert "This page is no longer live: too <b>far</b>. Reload it to try again." == page.run(
        "document.getElementById('notice').textContent"
    )
    assert [1, True] == [page.run("asked"), page.run("source.readyState === EventSource.CLOSED")]


@needs_chromium
@pytest.mark.slow
def test_hostile_texts_live(shown: tuple[View, Page], page: Page, client: Client) -> None:
    """No text runs anything, whether it is in a page, appended, drafted, in the list or found."""
    all_of_them = "\n\n".join(HOSTILE)
    call: Any = {"type": "tool_call", "id": all_of_them, "name": all_of_them, "arguments": all_of_them}
    client.create("hostile", title=all_of_them, tags={"a": all_of_them}, system=all_of_them)
    client.add("hostile", all_of_them)
    show(shown, client, "hostile")
    client.draft("hostile", all_of_them)
    page.until("document.querySelector('#drafts article') !== null")
    client.add("hostile", [{"role": "assistant", "content": [{"type": "text", "text": all_of_them}, call]}])
    page.until("document.querySelectorAll('#parts article').length === 2")
    page.press("/", *"script")
    page.until("document.querySelector('#list h3') !== null")
    # If something was not escaped, the policy would still keep it from running.
    page.run(f"document.body.insertAdjacentHTML('beforeend', {json.dumps(HOSTILE[2] + HOSTILE[3])})")
    page.until("[...document.images].at(-1).complete")

    assert 0 == page.run("document.querySelectorAll('hacked, .page :is(script, svg, iframe, img)').length")
    assert 1 == page.run("document.querySelectorAll('script').length")


@needs_chromium
@pytest.mark.slow
def test_keys(shown: tuple[View, Page], page: Page, client: Client) -> None:
    """Keys move through the messages, unfold them, open the views, and search."""
    show(shown, client, "demo")
    page.press("k", "k")
    assert "m2" == page.run("document.activeElement.id")
    page.press("j")
    assert "m3" == page.run("document.activeElement.id")
    page.press("?")
    assert page.run("document.getElementById('keys').open") is True
    page.press("Escape")
    page.press("b")
    page.until("document.querySelector('.branches a') !== null && document.readyState === 'complete'")
    page.press("l", "Enter")
    page.until("location.pathname === '/conversation' && document.readyState === 'complete'")
    page.press("/", *"machine", "Enter")
    page.until("document.activeElement.getAttribute('href')?.endsWith('#m3') === true")
    page.press("Escape")
    assert "main" == page.run("document.activeElement.id")


@needs_chromium
@pytest.mark.slow
def test_a_long_conversation(shown: tuple[View, Page], page: Page, client: Client) -> None:
    """Its end is shown first, and scrolling up brings what was said before, without moving what is shown."""
    client.create("long")
    client.add("long", [{"role": "user", "content": f"Message {number}"} for number in range(400)])
    show(shown, client, "long")

    page.until("document.querySelector('#parts article:last-child')?.textContent.includes('Message 399') === true")
    page.until("innerHeight + scrollY >= document.documentElement.scrollHeight - 60")
    assert page.run("document.getElementById('m2')") is None
    page.run(
        "first = document.querySelector('#parts article'); scrollTo(0, 0); place = first.getBoundingClientRect().top"
    )
    page.until("document.querySelector('#parts article') !== first")
    assert abs(page.run("first.getBoundingClientRect().top - place")) < 50
    page.press("g")
    page.until("(scrollBy(0, -5000), document.getElementById('m2') !== null)")
    page.until("document.getElementById('older').hidden")
    assert 400 == page.run("document.querySelectorAll('#parts article').length")
    assert [] == page.complaints

    # To the end and back before the browser has told the page that it was there.
    page.run("scrollTo(0, 0), new Promise(requestAnimationFrame).then(() => new Promise(requestAnimationFrame))")
    page.run("document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'G', bubbles: true})), scrollTo(0, 0)")
    client.add("long", "one more")
    page.until("!document.getElementById('to-end').hidden")
    assert 0 == page.run("scrollY")
