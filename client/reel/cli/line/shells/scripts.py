"""The completion scripts: each asks ``reel __complete`` what the last word may be, and shows the answer.

The first line of the answer says whether it may be a file. Bash is written for version 3.2, which macOS has.
"""

_BASH = """\
# Completion of reel for bash.
_reel() {
    local kind= line
    COMPREPLY=()
    while IFS= read -r line; do
        if [[ $kind ]]; then COMPREPLY+=("$line"); else kind=$line; fi
    done < <(reel __complete bash "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    [[ $kind == files ]] || return 0
    while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "${COMP_WORDS[COMP_CWORD]}")
    compopt -o filenames 2>/dev/null
}
complete -F _reel reel
"""

_ZSH = """\
#compdef reel
_reel() {
    local -a offered=("${(@f)$(reel __complete zsh "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
    local kind=$offered[1]
    shift offered
    if [[ $kind == files ]]; then _files; elif (( $#offered )); then _describe -V "$kind" offered; fi
}
if [[ $funcstack[1] == _reel ]]; then _reel "$@"; else compdef _reel reel; fi
"""

_FISH = """\
# Completion of reel for fish.
function __reel_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l offered (reel __complete fish $words[2..] 2>/dev/null)
    if test "$offered[1]" = files
        __fish_complete_path "$words[-1]"
    else if set -q offered[2]
        string join -- \\n $offered[2..]
    end
end
complete -c reel -f -k -a '(__reel_complete)'
"""

SHELLS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}
