"""Carrying out a command: its function is imported, and nothing that only others need."""

import os
import sys
from argparse import Namespace
from importlib import import_module

from reel.address import default_socket
from reel.cli.context import Invocation
from reel.cli.exits import OK, status_of
from reel.cli.failures import explain
from reel.cli.output import Output
from reel.cli.table import Command
from reel.errors import ReelError


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
    socket = os.path.abspath(args.socket or default_socket())  # noqa: PTH100 - pathlib costs 4 ms
    out = Output(sys.stdout, sys.stderr, as_json=args.json)
    changes = command.writes or bool(vars(args).get("add"))  # a draft changes something where it is added
    run = Invocation(args, agent, words, socket, out, changes=changes)
    try:
        with run.client:
            if lone:
                from reel.cli.lone_argument import settle  # noqa: PLC0415 - most command lines have nothing to settle

                settle(run, command)
            return getattr(import_module(f"reel.cli.{module}"), function)(run) or OK
    except ReelError as error:
        # What was printed so far comes before what went wrong.
        sys.stdout.flush()
        run.out.warn(explain(error, run.agent, command=command.name))
        return status_of(error.name)
