"""From the command line to an exit status: parse the arguments, run the command, and print a failure in one line."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from reel.base.light_typing import TYPE_CHECKING
from reel.cli.line.arguments import VARIABLE, SettingsError, UsageError, is_lone, resolve, words_of
from reel.cli.line.command import Command
from reel.cli.line.exits import BROKEN_PIPE, INTERRUPTED, OK, REFUSED, USAGE, Ended
from reel.cli.line.parsing import find_command, parse_arguments, parse_beginning, split_at_dashes
from reel.cli.line.table import look_up
from reel.cli.screen.output import is_interactive, open_streams
from reel.reading.wording import safe

if TYPE_CHECKING:
    from reel.cli.line.options import Options
    from reel.cli.line.settings import Settings

_HELP = {"--help", "-h"}
# What a tool runs when something happens to its session. Of its exit status, tools take 2 for the order to stop what
# they were about to do, such as a compaction.
_HOOK = {"mcp", "--hook"}


def run(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status. Nothing that a user can cause is raised."""
    words = sys.argv[1:] if argv is None else argv
    open_streams()
    status = _outcome(words)
    return REFUSED if status == USAGE and {*words} >= _HOOK else status


def _outcome(argv: Sequence[str]) -> int:
    try:
        status = _status(argv)
        sys.stdout.flush()
    except UsageError as error:
        return _fail("usage", f"{error.message}; see: {f'reel {error.command}'.rstrip()} --help", USAGE)
    except SettingsError as error:
        return _fail("settings", str(error), USAGE)
    except KeyboardInterrupt:
        if sys.stderr.isatty():
            print(file=sys.stderr)  # the terminal has printed ^C; the shell's prompt belongs on a new line
        return INTERRUPTED
    except Ended as end:
        return end.status
    except BrokenPipeError:
        return _leave_stdout(BROKEN_PIPE)
    except OSError as error:
        return _leave_stdout(_fail("system", _describe(error), REFUSED))
    return status


def _status(argv: Sequence[str]) -> int:
    try:
        return _parse_and_run(argv)
    except SystemExit as end:
        # argparse exits after --help and --version.
        return end.code if isinstance(end.code, int) else REFUSED


def _parse_and_run(argv: Sequence[str]) -> int:
    if argv[:1] == ["__complete"]:
        from reel.cli.line.shells.completing import complete  # noqa: PLC0415 - only the scripts of shells ask

        return complete(argv[1:])
    before, after = split_at_dashes(argv)
    args = parse_beginning(before)
    if not args.command and not args.json and is_interactive(sys.stdin, sys.stdout):
        args.command = "pick"
    if not args.command:
        from reel.cli.line.parser import top_parser  # noqa: PLC0415 - a command that runs needs no parser

        top_parser().print_help()
        return OK
    command, settings = _command_and_settings(args)
    args = parse_arguments(command, args)
    args.words = words_of(command.name, command.positionals, [*args.words, *after])
    from reel.cli.line.dispatch import dispatch  # noqa: PLC0415 - --help and --version need no client

    try:
        # An empty variable names no agent, whatever the file says.
        positionals, default = _positionals(command, args), os.environ.get(VARIABLE, settings.agent)
        if command.picks and default is None and _may_choose(args):
            return dispatch(command, args, "", [], settings, picks=True)
        agent, words = resolve(positionals, args.words, args.agent, default, agent_optional=command.agent_optional)
        lone = is_lone(positionals, args.words, args.agent, default)
        return dispatch(command, args, agent, words, settings, lone=lone)
    except UsageError as error:
        raise UsageError(error.message, command.name) from None


def _command_and_settings(args: Options) -> tuple[Command, Settings]:
    """Return the intended command, and the settings; an alias is replaced by its words."""
    from reel.cli.line.settings import Settings, load  # noqa: PLC0415 - --version needs none

    command = look_up(args.command)
    if command is not None and (command.without_socket or _HELP & {*args.rest}):
        try:
            return command, load()
        except SettingsError:
            return command, Settings()
    settings = load()
    if command is None and args.command in settings.aliases:
        from shlex import split  # noqa: PLC0415 - only for an alias

        args.command, *first = split(settings.aliases[args.command])
        args.rest = [*first, *args.rest]
    return find_command(args.command), settings


def _may_choose(args: Options) -> bool:
    """Return whether nothing on the line says which conversation is meant, and a person can be asked."""
    is_named = args.words or args.agent is not None or args.all or args.directory is not None
    return not is_named and not args.json and is_interactive(sys.stdin, sys.stdout)


def _positionals(command: Command, args: Options) -> str:
    """Return the positional arguments that a command takes together with these options."""
    if any(getattr(args, name) for name in command.replaces_text):
        return command.positionals.split()[0]
    return command.positionals


def _fail(name: str, text: str, status: int) -> int:
    """Print what went wrong in one line, with its name for programs, and return the exit status."""
    known = "" if sys.stderr.isatty() else f"{name}: "
    print(safe(" ".join(f"reel: {known}{text}".split())), file=sys.stderr)
    return status


def _describe(error: OSError) -> str:
    return f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error)


def _leave_stdout(status: int) -> int:
    """Discard unprinted output; otherwise the interpreter tries again at exit, and complains."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    return status
