"""The completion script for zsh, which explains each argument and option."""

from collections.abc import Iterable, Iterator

from reel.cli.shells.completable import (
    AGENTS,
    CHOICE,
    FILE,
    PROVIDERS,
    Completable,
    Flag,
    Value,
    commands,
    filled,
    quoted,
    shared,
)

_SCRIPT = """\
#compdef reel
_reel() {
    local -a commands=(
        @names@
    )
    local state line
    _arguments -C @options@ '1:command:->command' '*::word:->words'
    case $state in
        command)
            commands+=(${(f)"$(timeout 5 reel completion --names aliases 2>/dev/null)"})
            _describe command commands
            ;;
        words)
            # An alias is completed like what it stands for.
            local -a alias
            if (( ! $#commands[(r)$line[1]:*] )); then
                alias=("${(@f)$(timeout 5 reel completion --alias "$line[1]" 2>/dev/null)}")
            fi
            if [[ $alias ]]; then
                line[1]=$alias[1] words=("${alias[@]}" "${words[@]:1}")
                (( CURRENT += $#alias - 1 ))
            fi
            case $line[1] in
                @commands@
            esac
            ;;
    esac
}
_reel_agents() {
    local -a names=(${(f)"$(timeout 5 reel --no-start list --format names "$@" 2>/dev/null)"})
    compadd -a names
}
_reel_marks() {
    local -a labels=(${(f)"$(timeout 5 reel --no-start info -a "$words[2]" --marks 2>/dev/null)"})
    compadd -a labels
}
_reel_providers() {
    local -a names=(${(f)"$(timeout 5 reel completion --names providers 2>/dev/null)"})
    compadd -a names
}
if [[ $funcstack[1] == _reel ]]; then _reel "$@"; else compdef _reel reel; fi
"""


def script() -> str:
    """Return the script."""
    names = (quoted(f"{each.name}:{each.summary}") for each in commands())
    # With -S what comes after -- is not an option.
    cases = (f"{each.name}) _arguments -S {' '.join(_arguments(each))} ;;" for each in commands())
    return filled(_SCRIPT, names=names, options=[" ".join(_flags(shared()))], commands=cases)


def _arguments(command: Completable) -> Iterator[str]:
    yield from _flags(command.flags)
    if action := _action(command.first, dead=command.dead):
        yield quoted(f"1:{command.first.kind}:{action}")
    if command.marks:
        yield quoted("2:mark: _reel_marks")
    # With two colons the words would end here, and the options with them.
    yield quoted("*:path:_files" if command.files else "*: : ")


def _flags(flags: Iterable[Flag]) -> Iterator[str]:
    for flag in flags:
        about = "".join(f"\\{char}" if char in "[]:" else char for char in flag.help)
        takes = f":{flag.flags[-1].lstrip('-')}:{_action(flag.value)}" * flag.value.arguments
        yield from (quoted(f"*{name}[{about}]{takes}") for name in flag.flags)


def _action(value: Value, *, dead: bool = False) -> str:
    # The blank in front keeps zsh from adding arguments of its own.
    agents = f" _reel_agents{' --all' if dead else ''}"
    actions = {
        AGENTS: agents,
        CHOICE: f"({' '.join(value.choices)})",
        FILE: "_files",
        PROVIDERS: " _reel_providers",
    }
    return actions.get(value.kind, "")
