"""Commands that only read: show, log, list, info, replay."""

from collections.abc import Iterator
from typing import Any

from reel import requests
from reel.cli import agent_list, event_lines
from reel.cli.context import Invocation
from reel.cli.exits import OK, REFUSED
from reel.cli.output import Line
from reel.cli.pager import paged
from reel.cli.terminal import flat
from reel.cli.transcript import Transcript
from reel.replies import AgentInfo, ConversationPage, MessagesPage, ReplayPage

_LARGE = 10_000


def show(run: Invocation) -> None:
    """Show the conversation, page by page."""
    args = run.args
    with paged(run):
        if args.records:
            _show_records(run, run.client.pages(requests.conversation(run.agent, last=args.last, at=args.at)))
        else:
            _show_messages(run, run.client.pages(requests.messages(run.agent, last=args.last, at=args.at)))


def _show_messages(run: Invocation, pages: Iterator[MessagesPage]) -> None:
    paper = Transcript(run.out.width, run.clock)
    for number, page in enumerate(pages):
        if run.out.as_json:
            run.out.documents(page.messages)
            continue
        # The prompt is no message: who asks for the last three wants three.
        if number == 0 and page.system is not None and run.args.last is None:
            run.out.lines(paper.prompt(page.system))
        for message in page.messages:
            run.out.lines(paper.message(message))
        if number == 0 and not page.messages:
            run.out.hint(f"no messages; add one with: {run.command('add', run.agent, 'TEXT')}")


def _show_records(run: Invocation, pages: Iterator[ConversationPage]) -> None:
    paper = Transcript(run.out.width, run.clock)
    for page in pages:
        if run.out.as_json:
            run.out.documents(page.conversation)
            continue
        for record in page.conversation:
            run.out.lines(paper.record(record))


def log(run: Invocation) -> None:
    """Show the log, one line an event."""
    args = run.args
    call = requests.history(run.agent, since=args.since, kinds=args.kind, inherited=args.inherited or None)
    with paged(run):
        for page in run.client.pages(call):
            if run.out.as_json:
                run.out.documents(page.events)
            else:
                run.out.lines(event_lines.layout(event, run.out.width, run.clock) for event in page.events)


def list_agents(run: Invocation) -> None:
    """List the agents, or show who was cloned from whom."""
    agents = run.client.iter_agents(run.args.prefix, alive=None if run.args.all else True)
    if run.out.as_json:
        run.out.documents(agents)
        return
    rows = agent_list.table(agents, run.clock, tree=run.args.tree)
    if not rows:
        run.out.hint(_why_nobody(run))
        return
    run.out.lines(agent_list.layout(rows, run.out.width))


def _why_nobody(run: Invocation) -> str:
    """Say why a list of agents is empty."""
    prefix, all_of_them = run.args.prefix, run.command("list", "--all")
    if not run.args.all and run.client.agents(prefix, limit=1).agents:
        about = f" whose names begin with {prefix!r}" if prefix else ""
        return f"all agents{about} are killed; list them with: {all_of_them}"
    if prefix:
        return f"no agent's name begins with {prefix!r}; list all with: {all_of_them}"
    return f"no agents; make one with: {run.command('new', 'NAME')}"


def info(run: Invocation) -> None:
    """Describe an agent and its state."""
    reply = run.client.agent(run.agent)
    if run.out.as_json:
        run.out.document(reply)
        return
    for name, value in describe(reply, run):
        if value:
            run.out.line((f"{name:<13}", "dim"), value)


def describe(info: AgentInfo, run: Invocation) -> list[tuple[str, str]]:
    """Put what is known about an agent into words; what there is nothing of has none."""
    return [
        ("name", info.name),
        ("id", info.id),
        ("title", flat(info.title or "")),
        ("tags", "  ".join(f"{name}={value}" for name, value in info.tags.items())),
        ("state", "alive" if info.alive else "killed"),
        ("source", f"{info.source.agent} at {info.source.at}" if info.source else ""),
        ("head", str(info.head)),
        ("messages", f"{info.messages} ({info.conversation} records)"),
        ("prompt", flat(info.system or "", 200)),
        ("marks", "  ".join(f"{mark.label or '(no label)'} #{mark.seq}" for mark in info.marks)),
        ("open calls", "  ".join(f"{call.name} {call.id} #{call.seq}" for call in info.open_calls)),
        ("ready", "yes" if info.ready else "no: it wants a user's message"),
        ("attached", str(info.attached)),
        ("created", run.clock(info.created)),
        ("updated", run.clock(info.updated)),
    ]


def replay(run: Invocation) -> int:
    """Read the conversation anew from the log and say whether the running state was the same."""
    # The daemon reads the whole log for each page: large ones, and no more of them than are shown.
    call = requests.replay(run.agent, at=run.args.at, strict=run.args.strict or None, limit=_LARGE)
    if run.out.as_json:
        pages = list(run.client.pages(call))
        messages: list[Any] = [message for page in pages for message in page.messages or []]
        found = pages[0]._replace(messages=messages, more=False)
        run.out.document(found)
    else:
        found = run.client.call(call)
        run.out.lines(verdict(found, run.agent))
    return REFUSED if found.matched is False else OK


def verdict(page: ReplayPage, agent: str) -> list[Line]:
    """Say what a replay found."""
    state = {
        None: "",
        True: "; the running state is the same",
        False: "; the running state DIFFERED and was mended",
    }[page.matched]
    count = f"{'more than ' if page.more else ''}{len(page.messages or [])}"
    lines: list[Line] = [[f"{agent}: {count} messages at {page.at}{state}"]]
    lines += [[(f"  skipped #{skipped.seq}: {skipped.reason}", "error")] for skipped in page.skipped]
    return lines
