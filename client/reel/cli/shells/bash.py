"""The completion script for bash, which completes words without explanations."""

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
    flags_by,
    quoted,
    shared,
)
from reel.cli.table import command_names

_SCRIPT = """\
# Completion of reel for bash.
_reel() {
    local current=${COMP_WORDS[COMP_CWORD]} previous command= first= words= count=0 i
    for ((i = 1; i < COMP_CWORD; i++)); do
        # An option has no blank in it.
        case "$command ${COMP_WORDS[i]%%[[:space:]]*}" in
            @skipped@
            *" -"?*) ;;
            *)
                if [[ ! $command ]]; then
                    _reel_expand
                    command=${COMP_WORDS[i]}
                    continue
                fi
                first=${first:-${COMP_WORDS[i]}}
                ((count += 1))
                ;;
        esac
    done
    previous=${COMP_WORDS[COMP_CWORD - 1]}
    case "$command ${previous%%[[:space:]]*}" in
        @values@
        *)
            case $command in
                @commands@
            esac
            ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
_reel_expand() {
    # Put what an alias stands for in its place.
    local -a alias
    case ${COMP_WORDS[i]} in
        @known@) return ;;
    esac
    mapfile -t alias < <(timeout 5 reel completion --alias "${COMP_WORDS[i]}" 2>/dev/null)
    ((${#alias[@]})) || return
    COMP_WORDS=("${COMP_WORDS[@]:0:i}" "${alias[@]}" "${COMP_WORDS[@]:i + 1}")
    ((COMP_CWORD += ${#alias[@]} - 1))
}
_reel_offer() {
    if [[ $current == -* ]]; then words=$1; elif ((count == 0 && $# > 1)); then words=$("${@:2}"); fi
}
_reel_agents() {
    timeout 5 reel --no-start list --format names --prefix "$current" "$@" 2>/dev/null
}
_reel_marks() {
    # Quoted twice: compgen reads words as the shell does, and so will the shell what it makes of them.
    local label
    timeout 5 reel --no-start info -a "$1" --marks 2>/dev/null | while IFS= read -r label; do
        printf '%q\\n' "$(printf %q "$label")"
    done
}
_reel_names() {
    timeout 5 reel completion --names "$1" 2>/dev/null
}
_reel_commands() {
    echo "$@"
    _reel_names aliases
}
_reel_files() {
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
    compopt -o filenames 2>/dev/null
}
complete -F _reel reel
"""


def script() -> str:
    """Return the script."""
    names = [" | ".join(command_names())]
    return filled(_SCRIPT, known=names, skipped=_skipped(), values=_values(), commands=_commands())


def _skipped() -> Iterator[str]:
    """Yield the cases that skip the arguments of an option."""
    for count, flags in flags_by(lambda value: value.arguments).items():
        yield f"{_patterns(flags)}) ((i += {count})) ;;"


def _values() -> Iterator[str]:
    """Yield the cases that complete the argument of an option."""
    return (f"{_patterns(flags)}) {offer} ;;" for offer, flags in flags_by(_offer).items())


def _patterns(flags: Iterable[tuple[str, str]]) -> str:
    return " | ".join(f'{command}" {name}"' for command, name in flags)


def _offer(value: Value) -> str:
    known = {
        AGENTS: "words=$(_reel_agents)",
        FILE: "_reel_files; return",
        PROVIDERS: "words=$(_reel_names providers)",
        CHOICE: f"words={quoted(' '.join(value.choices))}",
    }
    return known.get(value.kind, "return")


def _commands() -> Iterator[str]:
    """Yield the cases that complete a command's options and its first argument."""
    yield f'"") _reel_offer {quoted(_words(shared()))} _reel_commands {" ".join(each.name for each in commands())} ;;'
    for each in commands():
        marks = '; [[ $current == -* ]] || ((count != 1)) || words=$(_reel_marks "$first")' if each.marks else ""
        yield f"{each.name}) _reel_offer {quoted(_words(each.flags))}{_first(each)}{marks}{_files(each)} ;;"


def _first(command: Completable) -> str:
    agents = f" _reel_agents{' --all' if command.dead else ''}"
    return {AGENTS: agents, CHOICE: f" echo {' '.join(command.first.choices)}"}.get(command.first.kind, "")


def _files(command: Completable) -> str:
    first, others = command.first.kind == FILE, command.files
    if not (first or others):
        return ""
    here = "" if first and others else f" || ((count {'!=' if first else '=='} 0))"
    return f"; [[ $current == -* ]]{here} || {{ _reel_files; return; }}"


def _words(flags: Iterable[Flag]) -> str:
    return " ".join(name for flag in flags for name in flag.flags)
