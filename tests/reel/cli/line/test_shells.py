"""Completion, tested in the shells themselves."""

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from reel.cli.line.table import all_commands
from tests.patience import PATIENCE
from tests.reel.cli.conftest import Reel

pytestmark = pytest.mark.slow

# Fills in what bash would, calls the function and prints what it offers.
_BASH = 'eval "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _reel; printf "%s\\n" "${COMPREPLY[@]}"'


# Makes an interactive zsh write down what it offers instead of showing it, and say when it is done.
_ZSH = """\
autoload -Uz compinit && compinit -D -u
{script}
compadd () {{
    local -a offered
    # With these options it is asked for what it would offer.
    if [[ ${{@[1,(i)(-|--)]}} != *-[OAD]* ]]; then
        builtin compadd -O offered "$@"
        print -rl -- $offered >> {directory}/offered
    fi
    builtin compadd "$@"
}}
finish () {{ : > {directory}/done }}
comppostfuncs=(finish)
: > {directory}/ready
"""


def need(shell: str) -> str:
    """Return the path of a shell, or skip the test."""
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"{shell} is not installed")
    return found


def environment() -> dict[str, str]:
    """Return an environment in which a shell finds `reel`."""
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


def run(*command: str) -> list[str]:
    """Return the lines that a shell prints that finds `reel`."""
    ended = subprocess.run(command, env=environment(), text=True, check=True, capture_output=True)
    assert "" == ended.stderr
    return [line for line in ended.stdout.splitlines() if line]


def in_bash(reel: Reel, *words: str) -> list[str]:
    """Return what bash offers for the last word."""
    return run(need("bash"), "--norc", "-c", _BASH, "bash", reel("completion", "bash").out, "reel", *words)


def in_fish(reel: Reel, line: str) -> list[str]:
    """Return what fish offers at the end of a line, without descriptions."""
    return [each.split("\t")[0] for each in described_in_fish(reel, line)]


def described_in_fish(reel: Reel, line: str) -> list[str]:
    """Return what fish offers at the end of a line, each with a tab and its description if it has one."""
    script = reel("completion", "fish").out
    return run(need("fish"), "--no-config", "-c", f"{script}\ncomplete -C '{line}'")


def in_zsh(reel: Reel, directory: Path, line: str) -> list[str]:
    """Return what zsh offers at the end of a line, without descriptions."""
    setup = directory / "setup"
    setup.write_text(_ZSH.format(script=reel("completion", "zsh").out, directory=directory))
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [need("zsh"), "-f", "-i"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        env=environment(),
    ) as zsh:
        os.close(theirs)
        try:
            os.write(ours, f"source {setup}\n".encode())
            _read_until(ours, directory / "ready")
            os.write(ours, f"{line}\t".encode())
            _read_until(ours, directory / "done")
        finally:
            zsh.kill()
            os.close(ours)
    offered = directory / "offered"
    return [each for each in offered.read_text().splitlines() if each] if offered.exists() else []


def _read_until(terminal: int, there: Path) -> None:
    """Discard the output of a terminal until a file exists."""
    deadline = time.monotonic() + PATIENCE
    while not there.exists():
        assert time.monotonic() < deadline
        if select.select([terminal], [], [], 0.05)[0]:
            os.read(terminal, 1 << 16)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["re"], ["redo", "rewind", "restore", "rename", "revive", "redact", "render", "restore-backup", "replay"]),
        (["--socket", "x", "rep"], ["replay"]),
        (["--v"], ["--version"]),
        (["log", "--in"], ["--inherited"]),
        (["add", "--role", ""], ["user", "assistant", "system"]),
        (["add", "demo", ""], []),
        (["add", "--role", "user", "demo", "--cr"], ["--create"]),
        (["completion", ""], ["bash", "zsh", "fish"]),
        (["help", "ex"], ["export", "exit-status"]),
        (["log", "--kind", "re"], ["redacted", "restore", "revived", "rewind"]),
        (["show", "--last", ""], []),
        (["add", "--file", "/etc/passw"], ["/etc/passwd"]),
        (["render", "demo", "--format", "ge"], ["gemini", "gemini-interactions"]),
        (["list", "--format", ""], ["tsv", "names"]),
        (["stats", "--format", "o"], ["openmetrics"]),
        (["follow", "--all", "demo", "--ki"], ["--kind"]),
        (["add", "demo", "not -an option", "--cr"], ["--create"]),
    ],
)
def test_bash_offers_commands_options_and_values(reel: Reel, words: list[str], expected: list[str]) -> None:
    """Commands, options and their values are offered at their positions."""
    assert expected == [each for each in in_bash(reel, *words) if each != "/etc/passwd-"]


def test_bash_offers_agents(reel: Reel, name: str) -> None:
    """Live agents are offered as the agent; killed ones only for revive."""
    reel("new", f"{name}-1")
    reel("new", f"{name}-2")
    reel("kill", f"{name}-2")

    assert [f"{name}-1"] == in_bash(reel, "show", name)
    assert [f"{name}-1"] == in_bash(reel, "add", "--agent", name)
    assert [f"{name}-2", f"{name}-1"] == in_bash(reel, "revive", name)
    # It takes a value in redact, and none in show.
    assert [f"{name}-1"] == in_bash(reel, "show", "--text", name)
    assert [f"{name}-1"] == in_bash(reel, "redact", "--text", "x", name)


@pytest.mark.parametrize("shell", ["bash", "fish", "zsh"])
def test_marks_of_an_agent_are_offered(reel: Reel, directory: Path, talk: str, shell: str) -> None:
    """After the agent, rewind offers its marks, the newest first, each once."""
    for label in ("one", "two", "one"):
        reel("mark", talk, label)
    reel("mark", talk, "of more words")
    reel("mark", talk)

    if shell == "bash":
        offered = in_bash(reel, "rewind", talk, "")
    elif shell == "fish":
        offered = in_fish(reel, f"reel rewind {talk} ")
    else:
        offered = in_zsh(reel, directory, f"reel rewind {talk} ")
    # The others quote it by themselves.
    expected = r"of\ more\ words" if shell == "bash" else "of more words"
    assert [expected, "one", "two"] == sorted(offered)
    assert "of more words\none\ntwo\n" == reel("info", talk, "--marks").out


@pytest.fixture(params=["bash", "fish", "zsh"])
def offered(
    reel: Reel, directory: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Callable[..., list[str]]:
    """What a shell offers for the last word, if there are these settings."""
    file = directory / "reel" / "reel.toml"
    file.parent.mkdir()
    file.write_text(
        '[providers.zz-claude]\ncommand = "cat"\nformat = "anthropic"\n'
        '[aliases]\nzz-last = "show --last 1"\nzz-note = "add --role user"\nzz-more = "add demo"\n'
    )
    monkeypatch.setenv("XDG_CONFIG_HOME", str(directory))

    def offered(*words: str) -> list[str]:
        if request.param == "bash":
            return in_bash(reel, *words)
        line, place = " ".join(["reel", *words]), directory / "-".join(words).replace("/", "-")
        place.mkdir()
        return in_fish(reel, line) if request.param == "fish" else in_zsh(reel, place, line)

    return offered


def test_names_of_the_settings_are_offered(offered: Callable[..., list[str]]) -> None:
    """Aliases are offered among the commands, and providers after --via."""
    assert ["zz-last"] == offered("zz-l")
    assert ["zz-claude"] == offered("ask", "--via", "")


def test_tools_and_files_are_offered(offered: Callable[..., list[str]], tmp_path: Path) -> None:
    """After import comes a tool, and after that files; backup takes a file at once."""
    file = tmp_path / "exported.zip"
    file.touch()
    typed = str(file.with_name("exp"))

    assert ["codex"] == [each for each in offered("import", "cod") if each.startswith("cod")]
    for words in (["import", "chatgpt"], ["backup"]):
        assert ["exported.zip"] == [Path(each).name for each in offered(*words, typed) if "exported" in each], words


def test_an_alias_is_completed_like_its_command(talk: str, offered: Callable[..., list[str]]) -> None:
    """After an alias comes what comes after the words that it stands for."""
    assert [talk] == offered("zz-last", talk[:-1])
    assert ["--brief"] == [each for each in offered("zz-last", talk, "--bri") if each.startswith("--bri")]
    assert [talk] == offered("zz-note", talk[:-1])
    assert [] == offered("zz-more", talk[:-1])


def test_completion_of_an_old_mac(reel: Reel, name: str, tmp_path: Path) -> None:
    """The agents are offered where there is no ``timeout``, and by a bash 3.2, which has no ``mapfile``."""
    reel("new", name)
    (tmp_path / "reel").symlink_to(Path(sys.executable).parent / "reel")
    script = (
        f"enable -n mapfile readarray; compopt() {{ return 1; }}; PATH={tmp_path}; {reel('completion', 'bash').out}"
    )

    assert [name] == run(need("bash"), "--norc", "-c", _BASH, "bash", script, "reel", "show", name[:-1])


def test_a_title_explains_an_agent(reel: Reel, name: str) -> None:
    """The title of an agent is shown beside its name, as one line of text."""
    reel("new", name, "--title", "Tapes:\t\x1b and reels")

    assert f"{name}\tTapes: \\x1b and reels" in reel("__complete", "fish", "show", name).out.splitlines()
    assert f"{name}:Tapes: \\x1b and reels" in reel("__complete", "zsh", "show", name).out.splitlines()
    assert ["agents", name] == reel("__complete", "bash", "show", name[:-1]).out.splitlines()


def test_short_forms_are_offered(reel: Reel) -> None:
    """A name with an id is offered by its short form, unless it is the name that was begun, and so are its marks."""
    session = "codex/019b0c4e-1111-7d25-bc34-aaaa5e55104e"
    reel("new", session)
    reel("mark", session, "here")

    def offered(shell: str, *words: str) -> list[str]:
        return reel("__complete", shell, *words).out.splitlines()[1:]

    assert ["codex/5e55104e"] == offered("bash", "show", "codex/5e5")
    assert [session] == offered("bash", "show", "codex/019b0c4e-1111")
    assert "codex/5e55104e" in offered("fish", "show", "")
    assert ["here"] == offered("bash", "rewind", "5e55104e", "")


@pytest.mark.parametrize("typed", ["of\\ mo", "'of mo", '"of mo', "of' 'mo"])
def test_bash_completes_what_is_quoted(reel: Reel, talk: str, typed: str) -> None:
    """What was typed with quotes is completed like what it means."""
    reel("mark", talk, "of more words")

    assert ["marks", r"of\ more\ words"] == reel("__complete", "bash", "rewind", talk, typed).out.splitlines()


@pytest.mark.parametrize("argv", [[], ["bash"], ["fish", "no-such-command", ""], ["zsh", "show", "--", "--br"]])
def test_the_hidden_command_is_never_wrong_usage(reel: Reel, argv: list[str]) -> None:
    """Whatever was typed, the answer is at least the kind of the words."""
    ran = reel("__complete", *argv)

    assert (0, "") == (ran.status, ran.err)
    assert ran.out.splitlines()[0] in ("commands", "words", "agents")


@pytest.mark.parametrize("shell", ["bash", "fish"])
def test_completion_without_a_daemon_is_silent(reel: Reel, monkeypatch: pytest.MonkeyPatch, shell: str) -> None:
    """Without a daemon no agents are offered, and nothing is printed."""
    monkeypatch.setenv("REEL_SOCKET", "/none.sock")

    assert [] == (in_bash(reel, "show", "") if shell == "bash" else in_fish(reel, "reel show "))


def test_fish_offers_commands_options_and_agents(reel: Reel, name: str) -> None:
    """Fish offers the same, with descriptions."""
    reel("new", name)

    assert {command.name for command in all_commands()} <= set(in_fish(reel, "reel "))
    assert [name] == in_fish(reel, f"reel show {name[:-1]}")
    assert [] == in_fish(reel, f"reel add {name} {name}")
    assert [name] == in_fish(reel, f"reel show --text {name[:-1]}")
    assert [name] == in_fish(reel, f"reel redact --text x {name[:-1]}")
    assert [] == in_fish(reel, f"reel show --text {name} {name[:-1]}")
    assert ["--inherited"] == in_fish(reel, "reel log --inh")
    assert ["assistant", "system", "user"] == sorted(in_fish(reel, "reel add --role "))


def test_fish_does_not_repeat_the_description_of_an_option(reel: Reel, name: str) -> None:
    """The values of an option are offered without its description."""
    reel("new", name)

    assert ["--role\trole of the message (default: user); system sets the prompt"] == described_in_fish(
        reel, "reel add --rol"
    )
    assert ["assistant", "system", "user"] == sorted(described_in_fish(reel, "reel add --role "))
    assert [name] == described_in_fish(reel, f"reel add --agent {name[:-1]}")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("rep", ["replay"]),
        ("log --inh", ["--inherited"]),
        ("log demo --inh", ["--inherited"]),
        ("--json log demo --since 3 --inh", ["--inherited"]),
        ("add demo text --cr", ["--create"]),
        ("add demo --role ", ["user", "assistant", "system"]),
        ("add demo -- --cr", []),
        ("completion ", ["bash", "zsh", "fish"]),
    ],
)
def test_zsh_offers_options_anywhere(reel: Reel, directory: Path, line: str, expected: list[str]) -> None:
    """Zsh offers options before and after the arguments."""
    found = in_zsh(reel, directory, f"reel {line}")

    assert expected == [each for each in found if each.startswith(line.rpartition(" ")[2])]


def test_zsh_loads_the_script(reel: Reel) -> None:
    """Zsh loads the script and uses it for reel."""
    script = reel("completion", "zsh").out
    setup = f"autoload -Uz compinit && compinit -D\n{script}\nprint $_comps[reel]"

    assert ["_reel"] == run(need("zsh"), "-f", "-c", setup)


def test_unknown_shell_is_refused(reel: Reel) -> None:
    """An unknown shell is wrong usage."""
    usage = "'ksh' is not a shell that reel knows; expected one of bash, zsh, fish"
    expected = f"reel: usage: {usage}; see: reel completion --help\n"

    assert (2, "", expected) == reel("completion", "ksh")
