"""The sub-commands of :Reel in Vim."""

import pytest

from reel.sync.client import Client
from tests.editors.alike import MESSAGES
from tests.editors.texts import texts
from tests.editors.vim.driver import Vim


def test_send_a_text_a_range_and_an_answer_in_vim(vim: Vim, client: Client) -> None:
    """A text, a range and an answer to the prompt are sent to the new conversation."""
    vim.run("Reel new demo Be brief.")
    assert "demo: added #3" == vim.run('Reel send it\'s | "this"')
    vim.run("new", "call setline(1, ['a', '  b', 'c', 'd'])", "2,3Reel send")
    vim.keys("GV:Reel send\r:Reel send\rasked\r:wincmd p\r")
    vim.shows(
        *("## system", "Be brief.", "## user #3", 'it\'s | "this"', "## user #4", "  b", "c"),
        *("## user #5", "d", "## user #6", "asked"),
    )

    assert 4 == len(client.messages("demo").messages)


def test_send_puts_the_text_above_the_lines(vim: Vim, client: Client) -> None:
    """``:Reel send`` with a text and a range sends the text above the lines."""
    vim.run("Reel new demo", "new", "call setline(1, ['x = 1', 'y = 2'])", "%Reel send What is this?")

    assert ["What is this?\n\nx = 1\ny = 2"] == texts(client, "demo")


def test_send_without_an_answer_sends_nothing(vim: Vim, client: Client) -> None:
    """``:Reel send`` sends nothing if its prompt is not answered."""
    vim.run("Reel new demo")
    vim.keys(":Reel send\r\r:let g:done = 1\r")
    vim.until(lambda: vim.eval("exists('g:done')"), 1)

    assert 1 == client.agent("demo").head


def test_new_without_a_name_in_vim(vim: Vim, client: Client) -> None:
    """The daemon chooses the name of a conversation that is created without one."""
    vim.run("Reel new")

    assert [vim.eval("bufname()")] == [f"reel://{agent.name}" for agent in client.agents().agents]


def test_send_goes_to_the_last_entered_conversation(vim: Vim, client: Client) -> None:
    """A text goes to the conversation that was opened or entered last."""
    vim.run(
        "Reel new a", "Reel new b", "new", "Reel send one", "wincmd p", "buffer reel://a", "wincmd p", "Reel send two"
    )

    assert [["two"], ["one"]] == [texts(client, name) for name in ("a", "b")]


def test_mark_and_rewind_in_vim(vim: Vim, client: Client) -> None:
    """``:Reel rewind`` goes back to a mark, by its label or to the newest."""
    vim.run("Reel new demo")
    assert "demo: marked as here and now (#2)" == vim.run("Reel mark here and now")
    assert "demo: marked (#3)" == vim.run("Reel mark")
    vim.run("Reel send one")
    vim.shows("## user #4", "one")
    assert "demo: back at mark #3; 1 message set aside" == vim.run("Reel rewind")
    vim.shows()
    vim.run("Reel send two")
    assert "demo: back at here and now (#2); 1 message set aside" == vim.run("Reel rewind here and now")

    assert "nowhere" in vim.run("Reel rewind nowhere")
    assert 1 == len(client.agent("demo").marks)


def test_undo_redo_and_clear_in_vim(vim: Vim) -> None:
    """Undo, redo and clear change the buffer and say what they did."""
    vim.run("Reel new demo", "Reel send one")
    vim.shows("## user #2", "one")
    assert "demo: undid #2; :Reel redo does it again" == vim.run("Reel undo")
    vim.shows()
    assert "demo: redid #2" == vim.run("Reel redo")
    vim.shows("## user #2", "one")
    assert "demo: cleared; :Reel undo brings it back" == vim.run("Reel clear")
    vim.shows()


def test_clone_is_shown_in_vim(vim: Vim, client: Client) -> None:
    """A clone is shown, and its messages do not go into the original."""
    vim.run("Reel new demo", "Reel send one", "Reel clone second", "Reel send two", "Reel clone")
    vim.shows("## user #2", "one", "## user #4", "two")

    assert 3 == len(client.agents().agents)
    assert 1 == client.agent("demo").messages


def test_an_empty_list_says_how_to_create_one(vim: Vim) -> None:
    """Without conversations, the list says what creates one."""
    vim.run("Reel list")

    assert ["no conversations (:Reel new NAME creates one)"] == vim.lines()


def test_list_opens_with_the_return_key(vim: Vim, client: Client) -> None:
    """The list has the live conversations; the return key opens one, a prefix filters them."""
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


def test_the_list_is_not_called_a_directory(vim: Vim, client: Client) -> None:
    """Vim does not report the list as a file or directory, also when it is shown again."""
    client.add("demo", "this is shown", create=True)
    for _ in range(2):
        vim.keys(":Reel list\r")
        vim.until(lambda: vim.lines()[0][:5], "demo ")
        vim.keys("\r")
        vim.shows("## user #2", "this is shown")

    assert (False, []) == (b"is a directory" in vim.screen, vim.said())


def test_info_in_vim(vim: Vim, client: Client) -> None:
    """``:Reel info`` shows the facts about the named or the current conversation."""
    client.add("demo", MESSAGES[1:2], create=True)
    client.mark("demo", "here")
    client.mark("demo")
    vim.run("Reel new other")
    first, *lines = vim.run("Reel info demo").splitlines()

    assert "name         demo" == first
    assert f"id           {client.agent('demo').id}" in lines
    assert ["messages     1", "head         #4", "marks        here #3, #4", "turn         look c1"] == lines[1:5]
    assert vim.run("Reel info").startswith("name         other\n")
    client.kill("other")
    assert "\nstate        killed\n" in vim.run("Reel info")


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("Reel open zed", "no conversation zed (:Reel new zed creates it)"),
        ("Reel info zed", "no conversation zed (:Reel new zed creates it)"),
        ("Reel new -", "agent: "),
        ("Reel nonsense", 'no command "nonsense"; there are: answer ask clear clone code compose info '),
        ("Reel send hi", "no conversation is open (:Reel open NAME opens one)"),
        ("Reel rewind", "no conversation is open"),
        ("Reel info", "no conversation is open"),
    ],
)
def test_an_error_is_one_line_in_vim(vim: Vim, command: str, expected: str) -> None:
    """A mistake shows one line with what is wrong and what to do."""
    (line,) = vim.run(command).splitlines()

    assert expected == line[: len(expected)]
