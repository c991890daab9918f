"""The plug-in for Vim, in a real Vim against a real daemon: what each command does, and what the buffers show."""

import subprocess
from pathlib import Path

import pytest

from reel.messages import NewMessage, Role
from reel.sync.client import Client
from tests.daemon import Daemon
from tests.editors import alike
from tests.editors.alike import MESSAGES, without_times
from tests.editors.documented import ROOT, blocks
from tests.editors.texts import texts
from tests.editors.vim_driver import PLUGIN, Start, Vim

pytest_plugins = ["tests.editors.vim_fixtures"]


def text(role: Role, said: str) -> NewMessage:
    return {"role": role, "content": said}


# --- what a buffer shows


def test_a_conversation_is_markdown(vim: Vim, client: Client) -> None:
    """The prompt is on top, each message has a heading with its role, seq and time, and its text as it is."""
    client.create("demo", system="Be brief.")
    client.add("demo", [text("user", "hé\n\n  wie geht's?"), text("assistant", "😀")])
    vim.run("Reel open demo")
    vim.shows("## system", "Be brief.", "## user #3", "hé", "  wie geht's?", "## assistant #4", "😀")
    time = vim.eval("strftime('%Y-%m-%d %H:%M:%S', {})".format(client.messages("demo").messages[0]["time"] // 1000))

    assert ["", f"## user #3 · {time}", "", "hé", "", "  wie geht's?", ""] == vim.lines()[3:10]
    assert ["reel://demo", "markdown", 0, 0, "nofile"] == vim.eval(
        "[bufname(), &filetype, &modifiable, &modified, &buftype]"
    )


def test_every_block(vim: Vim, client: Client) -> None:
    """A buffer shows what the other editors show, with calls, results and thinking folded."""
    alike.converse(client)
    vim.run("Reel open demo")
    vim.until(lambda: without_times(vim.lines()), alike.SHOWN)
    folded = vim.eval("map(filter(range(1, line('$')), 'foldclosed(v:val) == v:val'), 'foldtextresult(v:val)')")

    assert [
        "### thinking +2 lines ",
        "### call look c1 +3 lines ",
        "### opaque block of acme +3 lines ",
        "### result of look c1 +3 lines ",
        "### error c2 +4 lines ",
    ] == folded


def test_what_others_do_is_shown(vim: Vim, client: Client) -> None:
    """Whatever happens to the conversation, the buffer has it."""
    client.create("demo")
    client.add("demo", ["one", "two"])
    vim.run("Reel open demo")
    vim.shows("## user #2", "one", "## user #3", "two")
    client.add("demo", [{"role": "system", "content": "Be brief."}])
    vim.shows("## system", "Be brief.", "## user #2", "one", "## user #3", "two")
    client.mark("demo", "here")
    client.add("demo", "three")
    vim.shows("## system", "Be brief.", "## user #2", "one", "## user #3", "two", "## user #6", "three")
    client.rewind("demo", "here")
    vim.shows("## system", "Be brief.", "## user #2", "one", "## user #3", "two")
    client.clear("demo")
    vim.shows("## system", "Be brief.")
    client.restore("demo", 3)
    vim.shows("## user #2", "one", "## user #3", "two")
    client.restore("demo", 1)
    vim.shows()
    client.add("other", ["another"], create=True)
    client.clone("other", into="demo")
    vim.shows("## user #2", "another")
    client.change("demo", title="now follow on")
    client.add("demo", "more")
    vim.until(lambda: vim.lines()[-2], "more")

    assert [] == vim.said()


def test_drafts(vim: Vim, client: Client) -> None:
    """What others are writing stands at the end while they are writing it."""
    client.add("demo", "one", create=True)
    vim.run("Reel open demo")
    vim.until(lambda: client.agent("demo").attached, 1)
    client.draft("demo", "tw")
    vim.until(lambda: vim.lines()[-2], "tw")
    draft = "## assistant · writing… (python)"
    vim.shows("## user #2", "one", draft, "tw")
    client.draft("demo", "two\nlines")
    vim.shows("## user #2", "one", draft, "two", "lines")
    client.add("demo", "three")
    vim.shows("## user #2", "one", "## user #3", "three")


def test_who_reads_is_not_disturbed(vim: Vim, client: Client) -> None:
    """A cursor at the end stays at the end; another stays where it is, and so do folds that were opened."""
    client.add("demo", [*MESSAGES[1:], *["text"] * 100], create=True)
    vim.run("Reel open demo")
    vim.until(lambda: vim.eval("line('$') > 400"), 1)
    vim.run("split", "normal! G", "wincmd p", "normal! 3Gzo5G", "wincmd p")
    before = vim.eval("line('$')")
    client.add("demo", [{"role": "system", "content": "Be brief."}])
    client.add("demo", "more")
    vim.until(lambda: vim.lines()[-2], "more")

    assert [before + 8, before + 8] == vim.eval("[line('.'), line('$')]")
    assert [5, -1] == vim.eval("[line('.', win_getid(winnr('#'))), foldclosed(2)]")


def test_windows(vim: Vim, client: Client) -> None:
    """Opening goes to the window that shows it already; what is not saved elsewhere stays; each window folds."""
    client.add("demo", MESSAGES[1:], create=True)
    vim.run("set nohidden", "call setline(1, 'mine')", "Reel open demo")
    vim.until(lambda: vim.eval("len(getline(1, '$')) > 10"), 1)
    vim.run("tabnew", "buffer reel://demo")

    assert [["mine"], "expr"] == vim.eval("[getbufline(1, 1, '$'), &foldmethod]")
    vim.run("wincmd n", "Reel open demo")
    assert 2 == vim.eval("winnr('$')")


def test_the_end_is_seen_from_another_window(vim: Vim, client: Client) -> None:
    """A window that stands at the end scrolls with it, also while one works in another."""
    client.create("demo")
    vim.run("Reel open demo")
    vim.until(lambda: client.agent("demo").attached, 1)
    vim.run("new")
    for _ in range(2):
        client.add("demo", "\n".join("line" for _ in range(60)))
        shown = client.agent("demo").messages * 63
        vim.until(lambda: vim.eval("line('$', win_getid(2))"), shown)

        assert shown == vim.eval("line('w$', win_getid(2))")


def test_nothing_is_said_of_a_file(vim: Vim, client: Client) -> None:
    """A conversation is no file: Vim does not call it a new one."""
    client.add("demo", "this is shown", create=True)
    vim.keys(":Reel open demo\r")
    vim.until(lambda: b"this is shown" in vim.screen, True)

    assert b"[New" not in vim.screen


def test_nothing_is_said_of_lines(vim: Vim, client: Client) -> None:
    """Neither a list nor a conversation that becomes empty says that there were no lines."""
    client.add("demo", "this is shown", create=True)
    vim.keys(":Reel list\r")
    vim.until(lambda: vim.lines()[0][:5], "demo ")
    vim.keys(":Reel open demo\r")
    vim.until(lambda: b"this is shown" in vim.screen, True)
    client.clear("demo")
    vim.until(vim.lines, [""])

    assert (b"No lines" in vim.screen, vim.said()) == (False, [])


def test_edit_by_name(vim: Vim, client: Client) -> None:
    """A conversation's buffer can be edited by its name, loaded again and unloaded, after which it is not followed."""
    client.add("a/b", "one", create=True)
    vim.run("edit reel://a/b")
    vim.shows("## user #2", "one")
    vim.run("edit")
    vim.shows("## user #2", "one")
    vim.run("Reel send two")
    vim.shows("## user #2", "one", "## user #3", "two")
    vim.run("bdelete")
    vim.until(lambda: client.agent("a/b").attached, 0)

    assert "no conversation zed (:Reel new zed creates it)" in vim.run("edit reel://zed")


# --- the commands


def test_new_and_send(vim: Vim, client: Client) -> None:
    """A new agent is opened; a text, lines, and what is asked for are sent to it."""
    vim.run("Reel new demo Be brief.")
    assert "demo: added #3" == vim.run('Reel send it\'s | "this"')
    vim.run("new", "call setline(1, ['a', '  b', 'c', 'd'])", "2,3Reel send")
    vim.keys("GV:Reel send\r:Reel send\rasked\r:wincmd p\r")
    vim.shows(
        *("## system", "Be brief.", "## user #3", 'it\'s | "this"', "## user #4", "  b", "c"),
        *("## user #5", "d", "## user #6", "asked"),
    )

    assert 4 == len(client.messages("demo").messages)


def test_send_lines_below_a_text(vim: Vim, client: Client) -> None:
    """A text that is given with a range stands above its lines."""
    vim.run("Reel new demo", "new", "call setline(1, ['x = 1', 'y = 2'])", "%Reel send What is this?")

    assert ["What is this?\n\nx = 1\ny = 2"] == texts(client, "demo")


def test_send_asks_and_nothing_is_answered(vim: Vim, client: Client) -> None:
    """Nothing is sent where nothing is answered."""
    vim.run("Reel new demo")
    vim.keys(":Reel send\r\r:let g:done = 1\r")
    vim.until(lambda: vim.eval("exists('g:done')"), 1)

    assert 1 == client.agent("demo").head


def test_new_without_a_name(vim: Vim, client: Client) -> None:
    """The daemon gives a name where none was."""
    vim.run("Reel new")

    assert [vim.eval("bufname()")] == [f"reel://{agent.name}" for agent in client.agents().agents]


def test_send_goes_to_the_last_opened(vim: Vim, client: Client) -> None:
    """What is sent goes to the conversation that was opened or entered last."""
    vim.run(
        "Reel new a", "Reel new b", "new", "Reel send one", "wincmd p", "buffer reel://a", "wincmd p", "Reel send two"
    )

    assert [["two"], ["one"]] == [texts(client, name) for name in ("a", "b")]


def test_marks(vim: Vim, client: Client) -> None:
    """Marks are set and gone back to, by label and without."""
    vim.run("Reel new demo")
    assert "demo: mark here and now set (#2)" == vim.run("Reel mark here and now")
    assert "demo: mark set (#3)" == vim.run("Reel mark")
    vim.run("Reel send one")
    vim.shows("## user #4", "one")
    assert "demo: back at the newest mark (#3); 1 record set aside" == vim.run("Reel rewind")
    vim.shows()
    vim.run("Reel send two")
    assert "demo: back at mark here and now (#2); 1 record set aside" == vim.run("Reel rewind here and now")

    assert "nowhere" in vim.run("Reel rewind nowhere")
    assert 1 == len(client.agent("demo").marks)


def test_taking_back(vim: Vim) -> None:
    """Commands are taken back and brought back, and the conversation emptied."""
    vim.run("Reel new demo", "Reel send one")
    vim.shows("## user #2", "one")
    assert "demo: undid #2; :Reel redo brings it back" == vim.run("Reel undo")
    vim.shows()
    assert "demo: redid #2" == vim.run("Reel redo")
    vim.shows("## user #2", "one")
    assert "demo: cleared; :Reel undo brings it back" == vim.run("Reel clear")
    vim.shows()


def test_clone(vim: Vim, client: Client) -> None:
    """A clone is opened, and goes its own way."""
    vim.run("Reel new demo", "Reel send one", "Reel clone second", "Reel send two", "Reel clone")
    vim.shows("## user #2", "one", "## user #4", "two")

    assert 3 == len(client.agents().agents)
    assert 1 == client.agent("demo").messages


def test_list_of_nobody(vim: Vim) -> None:
    """Without agents it says how one is made."""
    vim.run("Reel list")

    assert ["no conversations (:Reel new NAME creates one)"] == vim.lines()


def test_list(vim: Vim, client: Client) -> None:
    """The living agents are listed, and one is chosen with the return key."""
    client.create("demo", title="A title")
    client.add("other", "one", create=True)
    vim.run("Reel list", "let g:listed = getline(1, '$')")
    names = [line.split()[0] for line in vim.eval("g:listed")]
    assert {"demo", "other"} == set(names)
    assert any(line.endswith("A title") for line in vim.eval("g:listed"))
    vim.run("call search('^other')", 'execute "normal \\<CR>"')
    vim.shows("## user #2", "one")
    vim.run("Reel list de")
    assert 1 == vim.eval("line('$')")
    for command in ("Reel", "Reel open"):
        vim.run(command)
        assert 2 == vim.eval("line('$')")
    vim.run("Reel list zed")
    assert ["no conversation begins with zed (:Reel list shows all)"] == vim.lines()
    for n in range(1000):
        client.create(f"x{n}")
    vim.run("Reel list x")
    assert 1000 == vim.eval("line('$')")
    vim.run("Reel list")
    assert [1001, "… and more (:Reel list PREFIX narrows them down)"] == [len(vim.lines()), vim.lines()[-1]]


def test_nothing_is_said_of_a_list(vim: Vim, client: Client) -> None:
    """A list is no file, and Vim does not say so when it is shown, when one is chosen, or when it is shown again."""
    client.add("demo", "this is shown", create=True)
    for _ in range(2):
        vim.keys(":Reel list\r")
        vim.until(lambda: vim.lines()[0][:5], "demo ")
        vim.keys("\r")
        vim.shows("## user #2", "this is shown")

    assert (b"is a directory" in vim.screen, vim.said()) == (False, [])


def test_info(vim: Vim, client: Client) -> None:
    """An agent is described: the one that is named, or the current one."""
    client.add("demo", MESSAGES[1:2], create=True)
    client.mark("demo", "here")
    client.mark("demo")
    vim.run("Reel new other")
    first, *lines = vim.run("Reel info demo").splitlines()

    assert "name         demo" == first
    assert f"id           {client.agent('demo').id}" in lines
    assert ["messages     1", "head         #4", "marks        here #3, #4", "waiting for  look c1"] == lines[1:5]
    assert vim.run("Reel info").startswith("name         other\n")
    client.kill("other")
    assert "\nstate        killed\n" in vim.run("Reel info")


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("Reel open zed", "no conversation zed (:Reel new zed creates it)"),
        ("Reel info zed", "no conversation zed (:Reel new zed creates it)"),
        ("Reel new -", "agent: "),
        ("Reel nonsense", 'no command "nonsense"; there are: clear clone info list '),
        ("Reel send hi", "no conversation is open (:Reel open NAME opens one)"),
        ("Reel rewind", "no conversation is open"),
        ("Reel info", "no conversation is open"),
    ],
)
def test_errors(vim: Vim, command: str, expected: str) -> None:
    """What goes wrong is said in one line: name, what and where."""
    (line,) = vim.run(command).splitlines()

    assert expected == line[: len(expected)]


def test_completion(vim: Vim, client: Client) -> None:
    """Commands, agents and the labels of the current conversation's marks are completed."""
    client.create("demo")
    client.create("deck")
    client.mark("demo", "here and now")
    client.mark("demo", "here and then")
    client.mark("demo")
    vim.run("Reel open demo")

    def completed(typed: str) -> list[str]:
        found: list[str] = vim.eval(f"getcompletion('{typed}', 'cmdline')")
        return found

    assert ["redo", "rewind"] == completed("Reel re")
    assert 11 == len(completed("Reel "))
    assert ["deck", "demo"] == sorted(completed("Reel open de"))
    assert ["demo"] == completed("Reel info dem")
    assert ["here and now", "here and then"] == completed("Reel rewind ")
    assert ["then"] == completed("1,2Reel mark here and t")
    client.mark("demo", "größe zwei")
    assert ["zwei"] == completed("Reel rewind größe z")
    assert [] == completed("Reel undo ")
    assert [] == completed("Reel open !")


# --- the package


def test_help(vim: Vim, directory: Path) -> None:
    """The help has its tags, one for each command."""
    doc = directory / "more" / "doc"
    doc.mkdir(parents=True)
    (doc / "reel.txt").write_text((PLUGIN / "doc" / "reel.txt").read_text())
    vim.run(f"helptags {doc}", f"set runtimepath^={doc.parent}")
    for command in [*vim.eval("getcompletion('Reel ', 'cmdline')"), ""]:
        vim.run(f"help :Reel-{command}" if command else "help reel")
        assert "help" == vim.eval("&buftype")


def test_every_function_compiles(vim: Vim, directory: Path) -> None:
    """Vim finds nothing wrong with any function, those that nothing here has called included."""
    for file in sorted((PLUGIN / "autoload" / "reel").glob("*.vim")):
        copy = directory / file.name
        copy.write_text(file.read_text().replace("'./", f"'{file.parent}/") + "\ndefcompile\n")
        vim.run(f"source {copy}")


def test_an_old_vim(start_vim: Start) -> None:
    """A Vim that lacks what is needed has no command, and no errors."""
    old = start_vim(plugin=False)
    script = (PLUGIN / "plugin" / "reel.vim").read_text().replace("v:version < 900", "v:true")
    (Path(old.eval("$HOME")) / "reel.vim").write_text(script)
    old.run("source $HOME/reel.vim")

    assert [0, []] == [old.eval("exists(':Reel')"), old.said()]


def test_the_lines_of_the_documentation(start_vim: Start, client: Client, directory: Path) -> None:
    """What the documentation has for a Vim without the plug-in works as it stands there."""
    (script,) = blocks("Vim", "vim")
    (directory / "lines.vim").write_text(script)
    vim = start_vim(plugin=False)

    assert "Hello from Vim" == vim.run(f"source {directory}/lines.vim")
    client.add("demo", "more")
    vim.until(vim.said, ["event 3"])


def test_the_installation_of_the_documentation(start_vim: Start, daemon: Daemon, environment: dict[str, str]) -> None:
    """Installed as the documentation says, the plug-in is there, with its help."""
    (lines,) = blocks("Vim", "sh")
    command = ["sh", "-ec", lines.replace("vim -c", "vim -es -c")]
    subprocess.run(command, env=environment, cwd=ROOT, check=True, timeout=60)
    vim = start_vim(plugin=False)
    vim.run("Reel new demo", "Reel send one")
    vim.shows("## user #2", "one")
    vim.run("help :Reel-send")

    assert "help" == vim.eval("&buftype")
    assert daemon.process.poll() is None
