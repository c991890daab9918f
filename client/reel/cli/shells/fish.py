"""The completion script for fish, one line per option."""

from collections.abc import Iterator

from reel.cli.shells.completable import (
    AGENTS,
    CHOICE,
    FILE,
    PROVIDERS,
    Flag,
    Value,
    commands,
    filled,
    flags_by,
    quoted,
    shared,
)
from reel.cli.table import command_names

_SCRIPT = """\
# Completion of reel for fish.
function __reel_agents
    timeout 5 reel --no-start list --format names $argv 2>/dev/null
end
# Values with an empty description, in place of which fish would repeat that of their option.
function __reel_values
    set -q argv[1]; and string replace -r '$' \\t -- $argv
end
# The words before the cursor; in place of an alias, what it stands for.
function __reel_words
    set -l words (commandline -opc)
    set -l name $words[2]
    if string match -q -- '-*' "$name"; or contains -- "$name" '' @names@
        string join -- \\n $words
        return
    end
    # This is asked for each thing that may be offered.
    if test "$name" != "$__reel_alias"
        set -g __reel_alias $name
        set -g __reel_expansion (timeout 5 reel completion --alias $name 2>/dev/null)
        set -q __reel_expansion[1]; or set -g __reel_expansion $name
    end
    string join -- \\n $words[1] $__reel_expansion $words[3..]
end
function __reel_runs
    contains -- $argv[1] (__reel_words)
end
# The words before the cursor that are neither options nor their values.
function __reel_arguments
    set -l skip 0
    set -l words (__reel_words)
    for word in $words
        if test $skip -gt 0
            set skip (math $skip - 1)
            continue
        end
        # An option has no blank in it.
        switch "$words[2] "(string replace -r '(?s)\\s.*' '' -- "$word")
            @skipped@
            case '* -?*'
            case '*'
                echo $word
        end
    end
end
function __reel_first
    test (count (__reel_arguments)) -eq 2
end
function __reel_second
    test (count (__reel_arguments)) -eq 3
end
function __reel_marks
    timeout 5 reel --no-start info -a (__reel_arguments)[3] --marks 2>/dev/null
end
function __reel_names
    timeout 5 reel completion --names $argv 2>/dev/null
end
complete -c reel -f
complete -c reel -n __fish_use_subcommand -a '(__reel_names aliases)' -d alias
@commands@
"""
_NO_COMMAND = "__fish_use_subcommand"


def script() -> str:
    """Return the script."""
    return filled(_SCRIPT, names=[" ".join(command_names())], skipped=_skipped(), commands=_commands())


def _skipped() -> Iterator[str]:
    """Yield the cases that skip the values of an option."""
    for count, flags in flags_by(lambda value: value.arguments).items():
        patterns = " ".join(quoted(f"{command} {name}") for command, name in flags)
        yield from (f"case {patterns}", f"    set skip {count}")


def _commands() -> Iterator[str]:
    for flag in shared():
        yield _flag(_NO_COMMAND, flag)
    for each in commands():
        here = f"__reel_runs {each.name}"
        yield f"complete -c reel -n {_NO_COMMAND} -a {each.name} -d {quoted(each.summary)}"
        if action := _action(each.first, dead=each.dead):
            yield f"complete -c reel -n {quoted(f'{here}; and __reel_first')} -a {action}"
        if each.first.kind == FILE:
            yield f"complete -c reel -n {quoted(f'{here}; and __reel_first')} -F"
        if each.files:
            yield f"complete -c reel -n {quoted(f'{here}; and not __reel_first')} -F"
        if each.marks:
            yield f"complete -c reel -n {quoted(f'{here}; and __reel_second')} -a '(__reel_marks)'"
        for flag in each.flags:
            yield _flag(here, flag)


def _flag(condition: str, flag: Flag) -> str:
    names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in flag.flags)
    takes = " -rF" if flag.value.kind == FILE else " -x" if flag.value.arguments else ""
    action = _values(flag.value)
    offer = f" -a {action}" if action else ""
    return f"complete -c reel -n {quoted(condition)} {names}{takes}{offer} -d {quoted(flag.help)}"


def _values(value: Value) -> str:
    words = {
        AGENTS: "(__reel_values (__reel_agents))",
        CHOICE: f"(__reel_values {' '.join(value.choices)})",
        PROVIDERS: "(__reel_values (__reel_names providers))",
    }
    return quoted(words[value.kind]) if value.kind in words else ""


def _action(value: Value, *, dead: bool) -> str:
    agents = f"(__reel_agents{' --all' if dead else ''})"
    known = {AGENTS: agents, CHOICE: " ".join(value.choices), PROVIDERS: "(__reel_names providers)"}
    return quoted(known[value.kind]) if value.kind in known else ""
