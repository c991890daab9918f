"""The method table: every method with its parameters and its handler."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

from reel.base.light_typing import NamedTuple
from reeld.agents import families, tree
from reeld.agents.agent import Agent
from reeld.agents.executor import Command, More, execute, job
from reeld.agents.executor import Work as Attempt
from reeld.agents.idempotency import CommandOptions
from reeld.agents.jobs import Job
from reeld.core.stage import Reply
from reeld.protocol import converters, params
from reeld.protocol.signature import AGENT, KEY, OPTIONS, P, Param, Signature, declared, given
from reeld.serving.call import Call, Deferred, Result, Services, Work
from reeld.serving.handlers import async_call, commands, late, on_demand, queries, subscriptions

_ANY_AGENT = Param("agent", converters.string)


class Method(NamedTuple):
    """A method of the protocol, and its handler.

    The handler takes the services, the call, the agent if the method ``needs_agent``, the command's options if it
    ``is_command``, and the method's own parameters. If it ``may_create`` an agent, or the agent ``may_be_gone``, it
    takes the address of a missing one in its place. A command that ``has_parts`` has no head of its own. A method that
    ``is_about_the_daemon`` needs no conversation.
    """

    name: str
    signature: Signature
    summary: str
    handler: Callable[..., Work]
    params: type[tuple[Any, ...]] = params.Nothing
    needs_agent: bool = False
    is_command: bool = False
    may_create: bool = False
    may_be_gone: bool = False
    has_parts: bool = False
    is_about_the_daemon: bool = False

    def asks_to_create(self, values: Sequence[Any]) -> bool:
        """Return whether a command with these values after the agent's creates the agent if it is missing."""
        return self.may_create and bool(getattr(given(self.params, values[: -len(OPTIONS)]), "create", False))


# mypy checks in these functions that a handler takes the parameters that its method declares.
def _plain(
    own: type[P], handler: Callable[[Services, Call, P], Work], summary: str, *, is_about_the_daemon: bool = False
) -> Method:
    signature = Signature(declared(own))
    return Method(_name(handler), signature, summary, handler, own, is_about_the_daemon=is_about_the_daemon)


def _read(own: type[P], handler: Callable[[Services, Call, Agent, P], Work], summary: str) -> Method:
    signature = Signature((AGENT, *declared(own)))
    return Method(_name(handler), signature, summary, handler, own, needs_agent=True)


def _command(
    own: type[P],
    handler: Callable[[Services, Call, Agent, CommandOptions, P], Work],
    summary: str,
) -> Method:
    signature = Signature((AGENT, *declared(own), *OPTIONS))
    return Method(
        *(_name(handler), signature, summary, handler, own),
        needs_agent=True,
        is_command=True,
    )


def _moving(own: type[P], stage: Callable[[Attempt, P], Awaitable[Reply]], summary: str) -> Method:
    """Return a command that moves the tip of an agent other than forward: the agent's own task carries it out."""

    def handler(services: Services, call: Call, _: Agent, options: CommandOptions, asked: P) -> Job:
        return job(services.registry, options, Command(lambda work: stage(work, asked)), call.answer)

    return _command(own, handler, summary)._replace(name=stage.__name__)


def _about(
    own: type[P], stage: Callable[[Attempt, P], Awaitable[Reply]], summary: str, cascade: More | None = None
) -> Method:
    """Return a command on one agent, and on those that ``cascade`` finds if it is asked for; later requests wait."""

    def handler(services: Services, _: Call, agent: Agent, options: CommandOptions, asked: P) -> Deferred:
        command = Command(lambda work: stage(work, asked), [agent])
        if cascade is not None and getattr(asked, "cascade", False):
            command = command._replace(more=cascade)
        return Deferred(partial(execute, services.registry, options, command))

    return _command(own, handler, summary)._replace(name=stage.__name__)


def _command_on_any(
    own: type[P],
    handler: Callable[[Services, Call, Agent | str, CommandOptions, P], Work],
    summary: str,
) -> Method:
    """Return a command whose agent may be missing: its handler then takes the address."""
    return _command(own, handler, summary)


def _name(handler: Callable[..., Work]) -> str:
    name: str = handler.__name__
    return name


def methods(_services: Services, _call: Call, _: params.Nothing) -> Result:
    """Return the method table as data."""
    return {
        "methods": [
            {"name": method.name, "params": method.signature.shown(), "summary": method.summary}
            for method in METHODS.values()
        ]
    }


_ALL = (
    _plain(
        params.Hello,
        queries.hello,
        "Introduce the client and agree on a protocol version",
        is_about_the_daemon=True,
    ),
    _plain(params.Nothing, queries.ping, "Check that the daemon answers", is_about_the_daemon=True),
    _plain(params.Nothing, methods, "List the methods", is_about_the_daemon=True),
    Method(
        "create",
        Signature((*declared(params.Create), *OPTIONS)),
        "Create an agent",
        commands.create,
        params.Create,
        is_command=True,
    ),
    _command_on_any(
        params.Add,
        commands.add,
        "Add messages, or a provider's items, all or none",
    )._replace(may_create=True),
    _command(params.Append, on_demand.append, "Append a stretch of a log as it is, all or none"),
    _moving(params.Nothing, tree.clear, "Remove all messages; the system prompt stays"),
    _command(params.Clone, commands.clone, "Start a new agent from the current state, or from an earlier one"),
    _command(params.Mark, commands.mark, "Set a mark to rewind to"),
    _moving(params.Mark, tree.rewind, "Go back to a mark"),
    _moving(params.Restore, tree.restore, "Go back to the state at a seq"),
    _moving(params.Nothing, tree.undo, "Undo the newest command"),
    _moving(params.Nothing, tree.redo, "Redo what the newest undo undid"),
    _about(params.Kill, families.kill, "Kill an agent; it can be revived", families.live_clones),
    _about(params.Revive, families.revive, "Revive a killed agent", families.killed_clones),
    _about(params.Change, families.change, "Change the name, title or tags of an agent"),
    Method(
        "commit",
        Signature((*declared(params.Commit), KEY)),
        "Carry out commands on several agents, all or none",
        on_demand.commit,
        params.Commit,
        is_command=True,
        has_parts=True,
    ),
    _command(params.Redact, on_demand.redact, "Replace what was said with a marker, for good"),
    _command(params.Prune, on_demand.prune, "Remove what nothing can reach any more before a seq, for good"),
    _command_on_any(params.Purge, on_demand.purge, "Remove agents and their events, for good")._replace(
        may_be_gone=True
    ),
    _plain(params.Retention, on_demand.retention, "Purge the agents that are older than the settings allow"),
    _plain(params.Gone, on_demand.purged, "Tell which agents were purged"),
    _plain(params.Agents, on_demand.agents, "List agents, the oldest or the most recently changed first"),
    _read(params.Described, queries.agent, "Describe an agent and its current state"),
    _read(params.Nothing, on_demand.facts, "Describe an agent in lines for people"),
    _read(params.Messages, queries.messages, "Read the current conversation, or an earlier state"),
    _read(params.Answer, on_demand.answer, "Read the last answer, or the last code block of one"),
    _read(params.History, on_demand.history, "Read the log, including what was cleared, rewound or undone"),
    _plain(params.Histories, on_demand.histories, "Read the logs of several agents, one after the other"),
    _read(params.State, on_demand.state, "Read the values that are kept beside the conversation"),
    _read(params.Replay, on_demand.replay, "Rebuild the state from the log, and compare it with the live one"),
    _plain(
        params.Search,
        on_demand.search,
        "Find what was said in all conversations, including what was cleared or rewound",
    ),
    _plain(params.Edits, on_demand.edits, "List what calls read, wrote and ran, the newest first"),
    _plain(params.Hits, on_demand.hits, "Find what was said, and lay it out in lines for people"),
    _read(params.Render, late.render, "Render the conversation as the body of a provider's request"),
    _command_on_any(params.Ingest, late.ingest, "Add a provider's response and its token usage")._replace(
        may_create=True
    ),
    _plain(params.Parse, late.parse, "Read a provider's response as a message, and add nothing"),
    _command_on_any(params.Load, late.load, "Add the history of a whole provider request")._replace(may_create=True),
    _read(params.Wait, subscriptions.wait, "Wait for events after a seq"),
    Method(
        "subscribe",
        Signature((_ANY_AGENT, *declared(params.Subscribe))),
        "Push the events of one agent, or of all, as they happen",
        subscriptions.subscribe,
        params.Subscribe,
        needs_agent=True,
    ),
    _plain(params.Unsubscribe, subscriptions.unsubscribe, "End a subscription", is_about_the_daemon=True),
    _read(params.Draft, subscriptions.draft, "Show subscribers a text that is being typed"),
    _plain(params.CallAsync, async_call.call_async, "Call a method; the reply comes as a push"),
    _plain(params.Verify, on_demand.verify, "Check the database file, the logs and the live states"),
    _plain(params.Stats, queries.stats, "Return counters, sizes and latencies", is_about_the_daemon=True),
    _plain(params.Backup, on_demand.backup, "Write a copy of the database to a new file"),
    _plain(params.Nothing, queries.shutdown, "Finish what is in flight, commit and stop", is_about_the_daemon=True),
)
METHODS = {method.name: method for method in _ALL}
