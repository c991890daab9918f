"""Carrying out a command: its function is imported, and nothing that only others need."""

import os
import sys
from argparse import Namespace
from importlib import import_module

from reel.address import default_socket, standard_socket
from reel.cli.context import Context
from reel.cli.exits import OK, status_of
from reel.cli.failures import explain
from reel.cli.output import Output
from reel.cli.table import Command
from reel.errors import NotRunning, ReelError


def dispatch(command: Command, args: Namespace, agent: str, words: list[str], *, lone: bool = False) -> int:
    """Run a command's function and give the exit status; what the daemon refuses becomes one line on stderr.

    Args:
        command: what is run.
        args: its options.
        agent: the agent that is meant.
        words: the other words.
        lone: whether the only word may be the agent after all.
    """
    module, _, function = command.function.partition(".")
    out = Output(sys.stdout, sys.stderr, as_json=args.json)
    changes = command.writes or bool(vars(args).get("add"))  # a draft changes something where it is added
    ctx: Context | None = None
    try:
        ctx = Context(args, agent, words, _socket(command, args), out, changes=changes)
        with ctx.client:
            if lone:
                from reel.cli.lone_argument import resolve_lone_argument  # noqa: PLC0415 - most command lines have nothing to resolve_lone_argument

                resolve_lone_argument(ctx, command)
            return getattr(import_module(f"reel.cli.{module}"), function)(ctx) or OK
    except ReelError as error:
        # What was printed so far comes before what went wrong.
        sys.stdout.flush()
        out.warn(explain(error, ctx.agent if ctx else agent, command=command.name))
        return status_of(error.name)


def _socket(command: Command, args: Namespace) -> str:
    try:
        return os.path.abspath(args.socket or default_socket())  # noqa: PTH100 - pathlib costs 4 ms
    except NotRunning:
        if not command.without_socket:
            raise
        return standard_socket()
