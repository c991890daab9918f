"""VS Code and Node: a library and an extension on vscode-jsonrpc, against a real daemon.

The extension is loaded into Node with as much of VS Code around it as it calls (client/editors/vscode/drive): the
editor itself is not here.
"""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from reel.messages import tool_call
from reel.stop_marker import mark
from reel.sync.client import Client
from tests.daemon import Daemon
from tests.editors import alike
from tests.editors.alike import without_times
from tests.editors.backup import backup
from tests.editors.documented import blocks
from tests.editors.surroundings import Require
from tests.editors.vscode_driver import PATIENCE, SOURCE, VSCode, build, laid
from tests.planted import Planted

MEGABYTE = 1 << 20


@pytest.fixture(scope="session")
def built(require: Require, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package, installed and compiled."""
    return build(require, tmp_path_factory.mktemp("node"))


@pytest.fixture
def editor(built: Path, environment: dict[str, str]) -> Iterator[VSCode]:
    """The extension, active; at its end nothing keeps it alive."""
    editor = VSCode(built, environment)
    yield editor
    assert editor.close() == 0


def node(built: Path, environment: dict[str, str], *command: str) -> str:
    """Run Node to its end."""
    done = subprocess.run(
        ["node", *command], cwd=built, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def script(built: Path, environment: dict[str, str], body: str) -> list[object]:
    """Run a program on the library, with a ``client`` and ``say``; give what it said."""
    program = f"""
        const {{Client}} = require('./out/src/client');
        const client = new Client({{command: ''}});
        const say = (value) => console.log(JSON.stringify(value));
        (async () => {{ {body} }})().finally(() => client.close());
    """
    return [json.loads(line) for line in node(built, environment, "-e", program).splitlines()]


# --- The parts


def test_the_pure_parts(built: Path, environment: dict[str, str]) -> None:
    """Node's own tests pass, and there are some."""
    said = node(built, environment, "--test", "--test-reporter=tap", "out/test/")

    assert "# fail 0" in said
    assert "# pass 0" not in said


def test_the_manifest(built: Path, environment: dict[str, str], editor: VSCode) -> None:
    """Every command is announced, and every announced one is there."""
    manifest = json.loads((built / "package.json").read_text())

    assert [row["command"] for row in manifest["contributes"]["commands"]] == editor.ask("commands")
    assert all((built / path).is_file() for path in (manifest["main"], manifest["contributes"]["grammars"][0]["path"]))
    assert "function\n" == node(built, environment, "-p", "typeof require('reel-conversations').Client")


def test_the_lock_file_names_no_machine() -> None:
    """Packages are taken from the public registry, whatever registry the lock file was made with."""
    packages = json.loads((SOURCE / "package-lock.json").read_text())["packages"]
    resolved = {package["resolved"] for package in packages.values() if "resolved" in package}

    assert set() == {address for address in resolved if not address.startswith("https://registry.npmjs.org/")}


# --- Commands


def test_every_command(daemon: Daemon, client: Client, editor: VSCode) -> None:
    """Each does what it is called, and the document shows it."""
    assert "/demo.reel" == editor.run("new", answers=["demo"])["looksAt"]
    assert ["demo: added #2"] == editor.run("send", answers=["first"])["said"]
    assert laid(("user #2", "first")) == editor.shows("demo", "first")
    assert ["demo: mark here set (#3)"] == editor.run("mark", answers=["here"])["said"]
    editor.ask("select", text="second\nwith two lines")
    editor.run("send")
    assert laid(("user #2", "first"), ("user #4", "second\nwith two lines")) == editor.shows("demo", "second")
    came = editor.run("rewind", answers=["here"])
    assert ["the newest mark", "here"] == came["asked"][0]["choices"]
    assert ["demo: back at mark here (#3); 1 record set aside"] == came["said"]
    assert laid(("user #2", "first")) == editor.shows("demo", "second", gone=True)
    assert ["demo: undid #5; Reel: Redo brings it back"] == editor.run("undo")["said"]
    editor.shows("demo", "second")
    assert ["demo: redid #5"] == editor.run("redo")["said"]
    editor.shows("demo", "second", gone=True)
    assert "/other.reel" == editor.run("clone", answers=["other"])["looksAt"]
    assert ["other: cleared; Reel: Undo brings it back"] == editor.run("clear")["said"]
    assert editor.shows("other", "first", gone=True) == ""
    came = editor.run("open", answers=["demo"])
    assert (["other", "demo"], "/demo.reel") == (came["asked"][0]["choices"], came["looksAt"])
    (line,) = editor.run("info")["said"]
    assert line.startswith(f"demo: id {client.agent('demo').id}; messages 1; head #7; marks here #3; created ")
    assert "vscode" == client.history("demo").events[1]["client"]
    assert daemon.process.poll() is None


def test_what_is_not_answered_does_nothing(client: Client, editor: VSCode) -> None:
    """Who is asked and says nothing has changed nothing."""
    client.add("demo", "here", create=True)
    editor.run("open", "demo")
    for command in ("open", "send", "new", "clone", "mark", "rewind"):
        assert [] == editor.run(command)["said"]

    assert (2, ["demo"]) == (client.agent("demo").head, [row.name for row in client.iter_agents()])


@pytest.mark.parametrize(("command", "answer"), [("send", "hi"), ("mark", "here"), ("rewind", "first")])
def test_a_command_is_about_what_was_looked_at(client: Client, editor: VSCode, command: str, answer: str) -> None:
    """Who looks at another conversation while something is asked for does not do it to that one."""
    for name in ("one", "two"):
        client.create(name)
        client.mark(name, "first")
        client.add(name, "said")
        editor.run("open", name)
    editor.run("open", "one")
    editor.ask("run", command=command, answers=[answer], meanwhile="two")

    assert [4, 3] == [client.agent(name).head for name in ("one", "two")]


def test_an_empty_text_is_not_sent(client: Client, editor: VSCode) -> None:
    """Who confirms an empty text is told that nothing was sent."""
    client.create("demo")
    editor.run("open", "demo")

    assert ["nothing sent"] == editor.run("send", answers=[""])["said"]
    assert 1 == client.agent("demo").head


def test_refusals_are_one_line(client: Client, editor: VSCode) -> None:
    """An error says its name, what is wrong and where."""
    assert editor.refused("send", "hi").startswith("no conversation is open (Reel: Open a Conversation ")
    assert "no conversation zed (Reel: New Conversation creates it)" == editor.refused("open", "zed")
    client.create("demo")
    editor.run("open", "demo")
    assert "nothing to undo" in editor.refused("undo")
    assert editor.refused("send", "x" * (17 * MEGABYTE)).startswith("add: ")
    editor.run("send", "it goes on")
    editor.shows("demo", "it goes on")


# --- Text of others

LINK = "[Approve](command:workbench.action.terminal.new)"
ICON = "$(trash)"


def test_a_text_of_others_is_no_link(client: Client, editor: VSCode) -> None:
    """No title, label, name or id becomes a link to click on, or an icon, wherever VS Code shows it."""
    client.create("demo", title=f"{LINK} {ICON}")
    client.mark("demo", LINK)
    client.add("demo", [tool_call(LINK, "run", "{}")])
    editor.run("open", "demo")
    came = [
        editor.run("info"),
        editor.run("open", answers=["demo"]),
        editor.run("mark", f"{LINK}{ICON}"),
        editor.run("rewind", LINK),
        editor.run("rewind", answers=[LINK]),
        editor.ask("run", command="rewind", given=f"{LINK} again"),
        editor.ask("run", command="open", given=LINK),
    ]

    assert [[]] * len(came) == [each["markup"] for each in came]
    assert "[Approve] (command:workbench.action.terminal.new)" in came[0]["said"][0]


def test_a_conversation_is_not_a_markdown_document(client: Client, editor: VSCode) -> None:
    """A conversation has its own language: VS Code runs the ``command:`` links of a Markdown document on a click."""
    client.add("x.md", LINK, create=True)
    editor.run("open", "x.md")

    assert LINK in editor.shows("x.md", "Approve")
    assert "reel-conversation" == editor.ask("language", name="x.md")


def test_a_conversation_is_not_shown_under_another_ending(client: Client, editor: VSCode) -> None:
    """A link to ``reel:/x.md`` would make a conversation a Markdown document: it is refused."""
    for name in ("x", "x.md"):
        client.add(name, LINK, create=True)

    assert "*reel:/x.md is not a conversation; its path ends in .reel*\n" == editor.ask("read", path="/x.md")


# --- Documents


def test_what_others_do_is_shown(client: Client, editor: VSCode) -> None:
    """Messages, drafts, the prompt, what is cleared and what comes back: the document is what the daemon has."""
    client.create("demo", system="Be brief.")
    editor.run("open", "demo")
    client.draft("demo", "I am wri")
    assert editor.shows("demo", "I am wri").startswith(
        "## system\n\nBe brief.\n\n## assistant · writing… (python)\n\nI am wri"
    )
    client.add("demo", [f"n{number}." for number in range(2500)])
    shown = [(f"user #{seq}", f"n{seq - 3}.") for seq in range(3, 2503)]
    assert laid(("system", "Be brief."), *shown) == editor.shows("demo", "n2499.")
    client.clear("demo")
    editor.shows("demo", "n0.", gone=True)
    client.undo("demo")
    assert laid(("system", "Be brief."), *shown) == editor.shows("demo", "n2499.")
    client.clone("demo", "other")
    client.change("demo", name="renamed")
    editor.run("send", "by its id")
    editor.shows("demo", "by its id")
    client.clone("other", into="renamed")
    assert laid(("system", "Be brief."), *shown) == editor.shows("demo", "by its id", gone=True)
    first, last = editor.ask("sight")
    assert first == last - 1


def test_every_block(client: Client, editor: VSCode) -> None:
    """A document shows what the other editors show."""
    alike.converse(client)
    editor.run("open", "demo")

    assert alike.SHOWN == without_times(editor.shows("demo", alike.DRAFT).splitlines())


def test_calls_can_be_folded(client: Client, editor: VSCode) -> None:
    """A call is shown in a fence, and is a part to fold."""
    client.add("demo", [tool_call("c1", "run", "{}")], create=True)
    editor.run("open", "demo")

    assert laid(("assistant #2", "### call run c1\n```json\n{}\n```")) == editor.shows("demo", "c1")
    assert [[2, 5]] == editor.ask("folds", name="demo")


def test_the_outline_has_the_messages(client: Client, editor: VSCode) -> None:
    """The outline is the messages and nothing of what they say."""
    client.create("demo", system="Be brief.")
    client.add("demo", ["# one", "two"])
    editor.run("open", "demo")
    editor.shows("demo", "two")
    names = editor.ask("outline", name="demo")

    assert ["system", "user #3", "user #4"] == [" ".join(name.split()[:2]) for name in names]


def test_a_document_that_was_closed(client: Client, editor: VSCode) -> None:
    """It is followed no longer, and whole when it is opened again."""
    client.add("demo", "one", create=True)
    editor.run("open", "demo")
    assert client.agent("demo").attached == 1
    editor.ask("close", name="demo")
    client.add("demo", "two")
    assert editor.run("info")["said"]
    assert client.agent("demo").attached == 0
    editor.run("open", "demo")

    assert laid(("user #2", "one"), ("user #3", "two")) == editor.shows("demo", "two")


def test_a_document_of_nobody(client: Client, editor: VSCode) -> None:
    """A window that comes back with a conversation that is gone says so."""
    assert client.ping()
    editor.ask("opened", name="zed")

    assert editor.ask("text", name="zed").startswith("*no conversation zed (Reel: New Conversation creates it)*")


def test_one_byte_at_a_time(built: Path, environment: dict[str, str], dripping: str, client: Client) -> None:
    """However a message is cut up, it is understood."""
    client.create("demo")
    editor = VSCode(built, environment | {"REEL_SOCKET": dripping})
    editor.run("open", "demo")
    editor.run("send", "hé")
    client.add("demo", "wörld")

    assert laid(("user #2", "hé"), ("user #3", "wörld")) == editor.shows("demo", "wörld")
    assert editor.close() == 0


def test_ten_megabytes(client: Client, editor: VSCode) -> None:
    """A long message goes there, and comes back, as it was."""
    client.create("demo")
    editor.run("open", "demo")
    long = "xé" * (5 * MEGABYTE)
    editor.run("send", f"{long}!")

    assert laid(("user #2", f"{long}!")) == editor.shows("demo", "!")


def test_who_did_not_read(client: Client, editor: VSCode) -> None:
    """What was dropped is read from the log: every message is there once, in order."""
    client.create("demo")
    editor.run("open", "demo")
    with editor.stopped():
        for number in range(60):
            client.add("demo", f"{number}." + "x" * 100_000)
    assert client.stats()

    text = editor.shows("demo", "59.")
    assert [f"{number}." for number in range(60)] == [line.rstrip("x") for line in text.splitlines() if "." in line]


# --- The daemon comes and goes


def test_no_daemon(prepared: Daemon, editor: VSCode) -> None:
    """The first command starts one."""
    editor.run("new", "demo")
    editor.run("send", "hello")

    editor.shows("demo", "hello")
    with prepared.client() as client:
        assert client.agent("demo").messages == 1


def test_no_daemon_in_a_directory_of_others(
    built: Path, environment: dict[str, str], prepared: Daemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the command nor the daemon runs a module of the directory that VS Code was started in."""
    planted = Planted(tmp_path)
    monkeypatch.chdir(tmp_path)
    editor = VSCode(built, environment | {"PYTHONPATH": Planted.PYTHONPATH})
    editor.ask("run", command="new", given="demo")

    assert editor.close() == 0
    assert [] == planted.imported()
    assert Path(prepared.socket).is_socket()


def test_the_socket_of_the_settings(configured: Daemon, built: Path, environment: dict[str, str]) -> None:
    """Without a variable, the plug-in finds the daemon where reeld.toml says."""
    editor = VSCode(built, environment)
    editor.run("new", "demo")

    with configured.client() as client:
        assert "demo" == client.agent("demo").name
    assert editor.close() == 0


def test_a_daemon_that_was_stopped_on_purpose(prepared: Daemon, editor: VSCode) -> None:
    """A command does not start it, and says who can."""
    mark(prepared.socket)

    assert "reeld was stopped with `reel stop`; start it with `reel start`" in editor.refused("open", "demo")
    assert not Path(prepared.socket).exists()


def test_no_daemon_and_no_command(built: Path, environment: dict[str, str], directory: Path) -> None:
    """It says what is missing, and what helps; what cannot start it is not tried again and again."""
    editor = VSCode(built, environment | {"SETTING_command": "reel-is-not-here"})
    tries, command = directory / "tries", directory / "command"
    command.write_text(f"#!/bin/sh\necho >> {tries}; exit 1\n")
    command.chmod(0o700)
    other = VSCode(built, environment | {"SETTING_command": str(command)})

    assert "and there is no command reel-is-not-here to start one: pip install" in editor.refused("open", "demo")
    assert other.refused("open", "demo").endswith(f": {command} start ended with status 1")
    assert tries.read_text() == "\n"
    assert other.close() == 0
    assert editor.close() == 0


def test_a_daemon_that_cannot_start(built: Path, environment: dict[str, str], directory: Path) -> None:
    """Its last words are told."""
    editor = VSCode(built, environment | {"REEL_DATABASE": str(directory)})

    assert "/s.sock: reeld ended with status " in editor.refused("open", "demo")
    assert editor.close() == 0


def test_a_restart_under_an_open_document(daemon: Daemon, editor: VSCode) -> None:
    """It says that the daemon is away, comes back by itself, and has all that was said meanwhile, once."""
    with daemon.client() as client:
        client.add("demo", "before", create=True)
        editor.run("open", "demo")
        client.add("demo", "still before")
    editor.shows("demo", "still before")
    daemon.kill()
    assert "*the daemon went away; waiting for it to come back*" in editor.shows("demo", "went away")
    daemon.start()
    with daemon.client() as client:
        client.add("demo", "after")
    said = laid(("user #2", "before"), ("user #3", "still before"), ("user #4", "after"))

    editor.shows("demo", "went away", gone=True)
    assert said == editor.shows("demo", "after")


def test_another_log(daemon: Daemon, client: Client, editor: VSCode) -> None:
    """Where an older log is put in the place of the one that was known, the conversation is read again."""
    client.add("demo", "one", create=True)
    daemon.end()
    restore = backup(daemon)
    daemon.start()
    client.add("demo", "two")
    editor.run("open", "demo")
    daemon.end()
    restore()
    daemon.start()
    editor.shows("demo", "two", gone=True)
    client.add("demo", "three")

    assert laid(("user #2", "one"), ("user #3", "three")) == editor.shows("demo", "three")


def test_somebody_elses_socket(built: Path, environment: dict[str, str], directory: Path) -> None:
    """Nobody is talked to where others may listen, and no daemon is started there."""
    directory.chmod(0o777)
    editor = VSCode(built, environment)
    line = editor.refused("open", "demo")
    directory.chmod(0o700)

    assert line == f"others may write to {directory}; chmod go-w {directory}"
    assert editor.close() == 0


# --- The library


def test_pipelined_calls_and_pushes(built: Path, environment: dict[str, str], client: Client) -> None:
    """Many calls at once are answered each, and the copy has them in their order."""
    client.create("demo")
    body = """
        let wake; const changed = () => wake && wake();
        const following = await client.follow('demo', changed);
        const calls = Array.from({length: 200}, (_, i) => client.call('add', {agent: 'demo', messages: `n${i}`}));
        say((await Promise.all(calls)).map(({head}) => head));
        while (following.copy.messages.length < 200) await new Promise((resolve) => { wake = resolve; });
        say(following.copy.messages.map(({content}) => content[0].text));
    """

    assert [list(range(2, 202)), [f"n{number}" for number in range(200)]] == script(built, environment, body)


def test_a_call_that_was_not_answered(built: Path, environment: dict[str, str], daemon: Daemon) -> None:
    """It is asked again when the daemon is back, and done once."""
    with daemon.client() as client:
        client.create("demo")
    body = """
        await client.call('ping');
        const calls = Array.from({length: 50}, (_, i) => client.call('add', {agent: 'demo', messages: `n${i}`}));
        process.kill(Number(process.env.DAEMON), 'SIGKILL');
        say('killed');
        require('child_process').spawn(process.env.PYTHON, process.env.ARGUMENTS.split(' '), {stdio: 'ignore'}).unref();
        say((await Promise.all(calls)).length);
    """
    _, *arguments = daemon.command()
    given = {"DAEMON": str(daemon.process.pid), "PYTHON": daemon.command()[0], "ARGUMENTS": " ".join(arguments)}

    assert ["killed", 50] == script(built, environment | given, body)
    daemon.process.wait(PATIENCE)
    with daemon.client() as client:
        assert 50 == client.agent("demo").messages


def test_a_client_that_is_closed_while_it_connects(built: Path, environment: dict[str, str], client: Client) -> None:
    """What it was about to do is refused, and no connection keeps the process alive."""
    assert client.ping()
    body = """
        const call = client.call('ping').catch(({message}) => say(message));
        client.close();
        await call;
    """

    assert ["not_running: this client was closed"] == script(built, environment, body)


def test_a_following_that_is_closed_just_then(built: Path, environment: dict[str, str], client: Client) -> None:
    """It leaves no subscription behind, where it was closed while it subscribed again."""
    client.create("demo")
    body = """
        const following = await client.follow('demo', () => {});
        const connection = await client.connect();
        const {subscribe} = connection.constructor.prototype;
        const subscribed = new Promise((resolve) => {
            connection.constructor.prototype.subscribe = function (params) {
                following.close();
                const reply = subscribe.call(this, params);
                resolve(reply);
                return reply;
            };
        });
        connection.close();
        await subscribed;
        await client.call('ping');
        say((await client.call('agent', {agent: 'demo'})).attached);
    """

    assert [0] == script(built, environment, body)


def test_errors_have_names_and_codes(built: Path, environment: dict[str, str], client: Client) -> None:
    """A program sees what went wrong without reading the text."""
    assert client.ping()
    body = "await client.call('agent', {agent: 'zed'}).catch(({name, code, data}) => say([name, code, data.agent]));"

    assert [["not_found", -32004, "zed"]] == script(built, environment, body)


# --- Without the library


def test_the_lines_of_the_documentation(built: Path, environment: dict[str, str], client: Client) -> None:
    """What the document has for JavaScript works as it stands there."""
    assert client.ping()
    said = [node(built, environment, "-e", program) for program in blocks("VS Code and JavaScript", "js")]

    assert ["user What is a reel?\n", {"3"}] == [said[0], {*said[1].split()}]
