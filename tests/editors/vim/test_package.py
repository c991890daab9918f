"""What Vim finds around the commands: completion, help, installation, documentation."""

import subprocess
from pathlib import Path

from reel.sync.client import Client
from tests.daemon import Daemon
from tests.editors.documented import ROOT, blocks
from tests.editors.vim.driver import PLUGIN, Start, Vim
from tests.patience import PATIENCE


def test_completion_in_vim(vim: Vim, client: Client) -> None:
    """Sub-commands, names and labels of the current conversation are completed; names have their short form."""
    client.create("demo")
    client.create("deck")
    client.create("codex/22222222-2222-4222-8222-222222222222")
    client.mark("demo", "here and now")
    client.mark("demo", "here and then")
    client.mark("demo")
    vim.run("Reel open demo")

    def completed(typed: str) -> list[str]:
        found: list[str] = vim.eval(f"getcompletion('{typed}', 'cmdline')")
        return found

    assert ["redo", "rename", "rewind"] == completed("Reel re")
    assert 19 == len(completed("Reel "))
    assert ["deck", "demo"] == sorted(completed("Reel open de"))
    assert ["demo"] == completed("Reel info dem")
    assert ["codex/22222222"] == completed("Reel open c")
    assert ["codex/22222222-2222-4222-8222-222222222222"] == completed("Reel open codex/22222222-")
    assert ["codex/22222222-2222-4222-8222-222222222222"] == completed("Reel list c")
    assert ["here and now", "here and then"] == completed("Reel rewind ")
    assert ["then"] == completed("1,2Reel mark here and t")
    client.mark("demo", "größe zwei")
    assert ["zwei"] == completed("Reel rewind größe z")
    assert [] == completed("Reel undo ")
    assert [] == completed("Reel open !")


def test_every_command_is_in_the_help_of_vim(vim: Vim) -> None:
    """Each sub-command has a tag in the help, which is found without ``:helptags``."""
    for command in [*vim.eval("getcompletion('Reel ', 'cmdline')"), ""]:
        vim.run(f"help :Reel-{command}" if command else "help reel")
        assert "help" == vim.eval("&buftype")


def test_every_function_compiles(vim: Vim, directory: Path) -> None:
    """Vim compiles every function, also those that no test calls."""
    for file in sorted((PLUGIN / "autoload" / "reel").glob("*.vim")):
        copy = directory / file.name
        copy.write_text(file.read_text().replace("'./", f"'{file.parent}/") + "\ndefcompile\n")
        vim.run(f"source {copy}")


def test_an_old_vim_loads_nothing(start_vim: Start) -> None:
    """A Vim that is too old has no command, and shows no errors."""
    old = start_vim(plugin=False)
    script = (PLUGIN / "plugin" / "reel.vim").read_text().replace("v:version < 900", "v:true")
    (Path(old.eval("$HOME")) / "reel.vim").write_text(script)
    old.run("source $HOME/reel.vim")

    assert [0, []] == [old.eval("exists(':Reel')"), old.said()]


def test_the_documented_lines_for_vim_without_the_plug_in(start_vim: Start, client: Client, directory: Path) -> None:
    """The documented lines for a Vim without the plug-in show a conversation and what is added."""
    (script,) = blocks("Vim", "vim")
    (directory / "lines.vim").write_text(script)
    vim = start_vim(plugin=False)

    vim.run(f"source {directory}/lines.vim")
    vim.shows("## user #2", "Hello from Vim")
    client.add("demo", "more")

    vim.shows("## user #2", "Hello from Vim", "## user #3", "more")


def test_the_documented_installation_for_vim(start_vim: Start, daemon: Daemon, environment: dict[str, str]) -> None:
    """The documented installation installs the plug-in with its help."""
    (lines,) = blocks("Vim", "sh")
    command = ["sh", "-ec", lines.replace("vim -c", "vim -es -c")]
    subprocess.run(command, env=environment, cwd=ROOT, check=True, timeout=PATIENCE)
    vim = start_vim(plugin=False)
    vim.run("Reel new demo", "Reel send one")
    vim.shows("## user #2", "one")
    vim.run("help :Reel-send")

    assert "help" == vim.eval("&buftype")
    assert daemon.process.poll() is None
