"""What Neovim finds around the commands: options, completion, health, help."""

from reel.sync.client import Client
from tests.daemon import Daemon
from tests.editors.nvim.driver import Nvim


def test_setup_refuses_unknown_options(nvim: Nvim) -> None:
    """``setup`` refuses an unknown option or a wrong type, and then sets nothing."""
    for options, line in (
        ("{command = 'x', port = 1}", "no option port; there are ask, command, picker and socket"),
        ("{socket = 1}", "socket must be a string, not 1"),
        ("{picker = 'x'}", 'picker must be one of buffer, fzf-lua, select, snacks, telescope, not "x"'),
        ("{ask = {}}", "ask must be a string or a list of strings, not {}"),
    ):
        raised = nvim.lua(f"return {{pcall(require('reel').setup, {options})}}")
        assert [False, f"invalid_params: setup: {line}"] == raised
    assert "reel" == nvim.lua("return require('reel.config').command")


def test_completion_in_nvim(demo: Nvim, client: Client) -> None:
    """Sub-commands, names and labels are completed; of a name that has one, the short form."""
    client.create("dodo")
    client.create("other")
    client.create("codex/22222222-2222-4222-8222-222222222222")
    for label in ("here", "hither", "here", "größe zwei"):
        client.mark("demo", label)

    for line, words in {
        "Reel re": ["redo", "rename", "rewind"],
        "Reel open d": ["demo", "dodo"],
        "Reel open c": ["codex/22222222"],
        "Reel open codex/22222222-": ["codex/22222222-2222-4222-8222-222222222222"],
        "Reel list c": ["codex/22222222-2222-4222-8222-222222222222"],
        "Reel rewind h": ["here", "hither"],
        "Reel mark hi": ["hither"],
        "Reel rewind größe z": ["zwei"],
        "Reel send d": [],
        "Reel open demo d": [],
    }.items():
        assert words == demo.call("nvim_eval", f"getcompletion('{line}', 'cmdline')")


def test_checkhealth_finds_the_daemon(demo: Nvim, daemon: Daemon) -> None:
    """``:checkhealth reel`` reports the daemon and its socket, and no problems."""
    demo.command("checkhealth reel")

    text = "\n".join(demo.lines())
    assert f"(pid {daemon.process.pid}) answers on {daemon.socket}" in text
    assert "Neovim is 0.7 or newer" in text
    assert "ERROR" not in text
    assert "WARN" not in text


def test_every_command_is_in_the_help_of_nvim(nvim: Nvim) -> None:
    """Each sub-command has a tag in the help, which is found without ``:helptags``."""
    names = nvim.lua("return require('reel.commands').names()")

    for tag in ("reel", "reel-lua", *(f":Reel-{name}" for name in names)):
        nvim.command(f"help {tag}")
        assert f"*{tag}*" in nvim.call("nvim_get_current_line")
