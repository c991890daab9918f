"""The pages: what is shown at each address."""

from collections.abc import Awaitable, Callable, Iterable, Iterator
from functools import cache
from html import escape
from importlib.resources import files

from reel.aio import Client
from reel.base.errors import NotFound, NotRunning, ReelError
from reel.exporting.page import style
from reel.reading.failures import explain
from reel.replies import AgentInfo
from reel.viewing import contents
from reel.viewing.conversation import body, head
from reel.viewing.exchange import Request, Response, Send, as_seq, html_response, message_page
from reel.viewing.frame import closing, link, opening
from reel.viewing.guard import Guard
from reel.viewing.live import Live
from reel.viewing.sidebar import found, listed, search_form
from reel.viewing.views import branches, differences, form, usage

# The number of seqs initially on a page, and in each piece that is loaded later.
_FIRST, _MORE = 60, 120
# The maximum number of seqs on a page when it is reloaded.
_MOST = 1000
# The number of seqs before a linked message at which its page begins.
_ABOVE = 20


@cache
def _asset(name: str) -> str:
    return files("reel.viewing").joinpath("static", name).read_text(encoding="utf-8")


class Site:
    """Answers requests.

    Args:
        client: reads from the daemon.
        guard: decides who may look.
    """

    def __init__(self, client: Client, guard: Guard) -> None:
        self._client = client
        self._guard = guard
        # There are no other addresses: no file is looked up by a name in a request.
        self._pages: dict[str, Callable[[Request], Awaitable[Response]]] = {
            "/": self._home,
            "/conversation": self._conversation,
            "/parts": self._parts,
            "/branches": self._branches,
            "/differences": self._differences,
            "/usage": self._usage,
            "/list": self._list,
            "/live": self._live,
            "/view.css": self._style,
            "/view.js": self._script,
        }

    async def answer(self, request: Request) -> Response:
        """Answer a request."""
        if (refusal := self._guard.check(request)) is not None:
            return refusal
        page = self._pages.get(request.path)
        if page is None:
            return html_response(message_page("Not found", f"There is no page {request.path}."), 404)
        try:
            return await page(request)
        except NotRunning as error:
            why = f"{error.message}. Reload this page when it is back."
            return html_response(message_page("The daemon does not answer", why), 503)
        except ReelError as error:
            status = 404 if isinstance(error, NotFound) else 400
            why = explain(error, request.query.get("agent", ""))
            return html_response(message_page("This cannot be shown", why), status)

    async def _home(self, request: Request) -> Response:
        query = request.query.get("q", "")
        others = f"{link('compare two of them', '/differences')}, or see the {link('usage', '/usage')} of all"
        main = (
            '<header id="head"><h1>Conversations</h1></header>\n<main id="main" tabindex="-1">\n'
            f"<p>Choose one from the list or search in all of them; {others}.</p>\n"
            '<p class="note">The key <kbd>?</kbd> lists the keys.</p>\n</main>\n'
        )
        return await self._page("Conversations", [main], None, kind="home", query=query)

    async def _conversation(self, request: Request) -> Response:
        agent = await self._agent(request)
        at, last, system = await self._moment(agent, request)
        around, first = request.number("around"), request.number("first")
        if around is not None and around < last:
            shown = await contents.piece(
                self._client, agent.id, max(around - _ABOVE, 1), min(around + _FIRST, last), last
            )
        elif first is not None:
            shown = await contents.piece(self._client, agent.id, max(first, last - _MOST, 1), last, last)
        else:
            shown = await contents.piece_before(self._client, agent.id, last, last, _FIRST)
        waits = await contents.waits_for(self._client, agent.id) if at is None else ""
        main = [*head(request.path, agent, at, system), *body(shown, last, waits)]
        return await self._page(agent.title or agent.name, main, agent, at=at, since=last if at is None else None)

    async def _parts(self, request: Request) -> Response:
        """Answer with the parts before a seq, or after one."""
        agent = await self._agent(request)
        _, end, _ = await self._moment(agent, request)
        before, after = request.number("before"), request.number("after")
        if after is not None:
            shown = await contents.piece(self._client, agent.id, after + 1, min(after + _MORE, end), end)
        else:
            last = end if before is None else max(before - 1, 1)
            shown = await contents.piece_before(self._client, agent.id, last, end, _MORE)
        return html_response("".join(shown.html(end)))

    async def _branches(self, request: Request) -> Response:
        agent = await self._agent(request)
        tree = await self._client.tree(agent.id)
        main = [*head(request.path, agent, None, agent.system), *branches(agent.id, tree.stretches())]
        return await self._page(f"Branches of {agent.name}", main, agent)

    async def _differences(self, request: Request) -> Response:
        agent = await self._agent(request) if request.query.get("agent") else None
        at = request.number("at")
        default = "" if agent is None else agent.name
        one = request.query.get("one", default if at is None else f"{default}@{at}")
        other = request.query.get("other", default if at is not None else "")
        main = [_heading("Differences") if agent is None else "".join(head(request.path, agent, None, None))]
        main.append(f'<main id="main" tabindex="-1">\n{form(one, other, None if agent is None else agent.id)}')
        status = 200
        if one and other:
            try:
                main += differences(await contents.comparison(self._client, one, other))
            except NotRunning:
                raise
            except ReelError as error:
                main.append(f'<p class="bad" role="alert">{escape(explain(error, default))}</p>\n')
                status = 400
        main.append("</main>\n")
        return await self._page("Differences", main, agent, status=status)

    async def _usage(self, request: Request) -> Response:
        agent = await self._agent(request) if request.query.get("agent") else None
        by = request.query.get("by", "")
        by = by if by in ("model", "day") or by.startswith("tag:") else "model"
        sums = await self._client.usage(None if agent is None else agent.id, by)
        top = _heading("Usage") if agent is None else "".join(head(request.path, agent, None, None))
        return await self._page("Usage", [top, *usage(None if agent is None else agent.id, by, sums)], agent)

    async def _list(self, request: Request) -> Response:
        sidebar = self._sidebar(request.query.get("q", ""), request.query.get("current"), request.query.get("after"))
        return html_response("".join(await sidebar))

    async def _live(self, request: Request) -> Response:
        """Answer with a stream of updates."""
        given = request.headers.get("last-event-id") or request.query.get("since", "")
        since = as_seq(given)
        if given and since is None:
            return html_response(
                message_page("This cannot be shown", f"since={given} is not the number of an event."), 400
            )
        # A page that shows the past has no since, and only its list is live.
        agent = None if since is None else request.query.get("agent") or None

        async def send_events(send: Send) -> None:
            await Live(self._client, send, agent, since or 0).run()

        return Response(200, "text/event-stream", send_events)

    async def _style(self, _request: Request) -> Response:
        return Response(200, "text/css; charset=utf-8", (style() + _asset("view.css")).encode())

    async def _script(self, _request: Request) -> Response:
        return Response(200, "text/javascript; charset=utf-8", _asset("view.js").encode())

    async def _agent(self, request: Request) -> AgentInfo:
        return await self._client.agent(request.query.get("agent", ""))

    async def _moment(self, agent: AgentInfo, request: Request) -> tuple[int | None, int, str | None]:
        """Return the requested position, the position that is shown, and the system prompt there."""
        at = request.number("at")
        if at is None or at > agent.head:
            return None, agent.head, agent.system
        page = await self._client.messages(agent.id, last=1, at=at)
        return at, at, page.system

    async def _page(
        self,
        title: str,
        main: Iterable[str],
        agent: AgentInfo | None,
        *,
        at: int | None = None,
        since: int | None = None,
        kind: str | None = None,
        query: str = "",
        status: int = 200,
    ) -> Response:
        """Return a page, with the list beside it."""
        agent_id = None if agent is None else agent.id
        data = {"agent": agent_id, "at": at, "since": since, "kind": kind}
        sidebar = [search_form(query), '<div id="list">\n', *await self._sidebar(query, agent_id, None), "</div>\n"]
        return html_response("".join([opening(title, data), *main, *closing(sidebar)]), status)

    async def _sidebar(self, query: str, current: str | None, after: str | None) -> Iterator[str]:
        if not query.strip():
            rows = await contents.rows(self._client, after)
            return listed(rows.agents, current, rows.following)
        hits = await contents.find(self._client, query)
        return found(hits.agents, hits.page, hits.late)


def _heading(text: str) -> str:
    return f'<header id="head">\n<p class="back"><a href="/">← Conversations</a></p>\n<h1>{text}</h1>\n</header>\n'
