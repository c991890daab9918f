"""Handlers that are imported when they are first called, which takes a few milliseconds.

Many daemons are never asked for most of it, and what the handlers need would take a fifth of the time of a start. The
formats of the providers take longer (:mod:`reeld.serving.handlers.late`).
"""
# ruff: noqa: PLC0415 - that is what it is for

from reeld.agents.agent import Agent
from reeld.agents.idempotency import CommandOptions
from reeld.protocol import params
from reeld.serving.call import Call, Deferred, Detached, Posted, Services, Work


def append(services: Services, call: Call, agent: Agent, options: CommandOptions, asked: params.Append) -> Work:
    """Append a stretch of a log."""
    from reeld.serving.handlers import appending

    return appending.append(services, call, agent, options, asked)


def commit(services: Services, call: Call, options: CommandOptions, asked: params.Commit) -> Deferred | Posted:
    """Carry out commands on several agents."""
    from reeld.serving.handlers import together

    return together.commit(services, call, options, asked)


def redact(services: Services, call: Call, agent: Agent, options: CommandOptions, asked: params.Redact) -> Deferred:
    """Replace content with a marker."""
    from reeld.serving.handlers import erasing

    return erasing.redact(services, call, agent, options, asked)


def prune(services: Services, call: Call, agent: Agent, options: CommandOptions, asked: params.Prune) -> Deferred:
    """Remove what nothing can reach any more."""
    from reeld.serving.handlers import erasing

    return erasing.prune(services, call, agent, options, asked)


def purge(
    services: Services, call: Call, target: Agent | str, options: CommandOptions, asked: params.Purge
) -> Deferred:
    """Remove an agent for good, or several; one that is gone from backups."""
    from reeld.serving.handlers import erasing

    return erasing.purge(services, call, target, options, asked)


def retention(services: Services, call: Call, asked: params.Retention) -> Deferred:
    """Purge the agents that are older than the settings allow, and prune the others of what is."""
    from reeld.serving.handlers import erasing

    return erasing.retention(services, call, asked)


def purged(services: Services, call: Call, asked: params.Gone) -> Deferred:
    """List the agents that any client has purged."""
    from reeld.serving.handlers import erasing

    return erasing.purged(services, call, asked)


def agents(services: Services, call: Call, asked: params.Agents) -> Deferred:
    """List agents."""
    from reeld.serving.handlers import listing

    return listing.agents(services, call, asked)


def facts(services: Services, call: Call, agent: Agent, asked: params.Nothing) -> Deferred:
    """Describe one agent in lines."""
    from reeld.serving.handlers import people

    return people.facts(services, call, agent, asked)


def answer(services: Services, call: Call, agent: Agent, asked: params.Answer) -> Deferred:
    """Return the last answer, or the last code block of an answer."""
    from reeld.serving.handlers import people

    return people.answer(services, call, agent, asked)


def history(services: Services, call: Call, agent: Agent, asked: params.History) -> Deferred:
    """Return events of the log."""
    from reeld.serving.handlers import log

    return log.history(services, call, agent, asked)


def histories(services: Services, call: Call, asked: params.Histories) -> Deferred:
    """Return events of the logs of several agents."""
    from reeld.serving.handlers import log

    return log.histories(services, call, asked)


def state(services: Services, call: Call, agent: Agent, asked: params.State) -> Deferred:
    """Return the values of an agent."""
    from reeld.serving.handlers import log

    return log.state(services, call, agent, asked)


def replay(services: Services, call: Call, agent: Agent, asked: params.Replay) -> Deferred:
    """Rebuild the state from the log."""
    from reeld.serving.handlers import log

    return log.replay(services, call, agent, asked)


def search(services: Services, call: Call, asked: params.Search) -> Detached:
    """Search the content of all conversations."""
    from reeld.serving.handlers import searching

    return searching.search(services, call, asked)


def hits(services: Services, call: Call, asked: params.Hits) -> Detached:
    """Search, and lay out the hits in lines."""
    from reeld.serving.handlers import searching

    return searching.hits(services, call, asked)


def edits(services: Services, call: Call, asked: params.Edits) -> Detached:
    """List what calls read, wrote and ran."""
    from reeld.serving.handlers import editing

    return editing.edits(services, call, asked)


def verify(services: Services, call: Call, asked: params.Verify) -> Detached:
    """Check the database, the logs and the live states."""
    from reeld.serving.handlers import database

    return database.verify(services, call, asked)


def backup(services: Services, call: Call, asked: params.Backup) -> Detached:
    """Write a copy of everything that was committed, and check it."""
    from reeld.serving.handlers import database

    return database.backup(services, call, asked)
