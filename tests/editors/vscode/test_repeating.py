"""What the library for Node repeats after a lost connection; the rule is in docs/editors.md."""

from pathlib import Path

from reel.sync.client import Client
from tests.daemon import Daemon
from tests.editors.texts import texts
from tests.editors.vscode.driver import script
from tests.patience import PATIENCE

# A relay to the daemon, which is told of each message before it is passed on; without one, the connection is closed.
_RELAY = """
    const net = require('net'), path = `${process.env.REEL_SOCKET}.relay`;
    const relayed = async (asked, answered = (data) => data) => {
        const server = net.createServer((near) => {
            const far = net.connect(process.env.REEL_SOCKET);
            const pass = (from, to, look) => {
                from.on('error', () => {}).on('close', () => to.destroy());
                from.on('data', (data) => {
                    const passed = look(data);
                    if (passed) to.write(passed); else near.destroy();
                });
            };
            pass(near, far, asked);
            pass(far, near, answered);
        });
        await new Promise((ready) => server.listen(path, ready));
        return server;
    };
"""


def test_a_command_with_a_lost_reply_in_node(built: Path, environment: dict[str, str], client: Client) -> None:
    """A command whose reply is lost with its connection is repeated with its key, and applied once."""
    client.create("demo")
    body = f"""{_RELAY}
        let sent = 0, isLost = false;
        const asked = (data) => {{ if (data.includes('important')) sent += 1; return data; }};
        const server = await relayed(asked, (data) => {{
            if (sent !== 1 || isLost) return data;
            isLost = true;
        }});
        const behind = new Client({{command: '', socket: path}});
        say((await behind.call('add', {{agent: 'demo', messages: 'important'}})).head);
        say(sent);
        behind.close();
        server.close();
    """

    assert [2, 2] == script(built, environment, body)
    assert 1 == client.agent("demo").messages


def test_commands_are_repeated_in_their_order(built: Path, environment: dict[str, str], daemon: Daemon) -> None:
    """Commands without a reply are repeated when the daemon is back, in their order, and applied once."""
    with daemon.client() as client:
        client.create("demo")
    body = """
        await client.call('ping');
        process.kill(Number(process.env.DAEMON), 'SIGSTOP');
        const calls = Array.from({length: 50}, (_, i) => client.call('add', {agent: 'demo', messages: `n${i}`}));
        process.kill(Number(process.env.DAEMON), 'SIGKILL');
        require('child_process').spawn(process.env.PYTHON, process.env.ARGUMENTS.split(' '), {stdio: 'ignore'}).unref();
        say((await Promise.all(calls)).length);
    """
    _, *arguments = daemon.command()
    given = {"DAEMON": str(daemon.process.pid), "PYTHON": daemon.command()[0], "ARGUMENTS": " ".join(arguments)}

    assert [50] == script(built, environment | given, body)
    daemon.process.wait(PATIENCE)
    with daemon.client() as client:
        assert [f"n{number}" for number in range(50)] == texts(client)


def test_what_only_reads_is_not_repeated(built: Path, environment: dict[str, str], client: Client) -> None:
    """A call that only reads is sent once; the error says which call was not answered."""
    client.create("demo")
    body = f"""{_RELAY}
        let sent = 0;
        const server = await relayed((data) => {{
            if (!data.includes('history')) return data;
            sent += 1;
        }});
        const behind = new Client({{command: '', socket: path}});
        await behind.call('history', {{agent: 'demo'}}).catch(({{words}}) => say(words));
        await behind.call('ping');
        say(sent);
        behind.close();
        server.close();
    """

    assert ["the daemon went away before it answered history", 1] == script(built, environment, body)


def test_a_command_waits_for_a_while(built: Path, environment: dict[str, str], daemon: Daemon, directory: Path) -> None:
    """If the daemon does not come back, the error says what to check; waiting starts no daemon."""
    with daemon.client() as client:
        client.create("demo")
    started, command = directory / "started", directory / "command"
    command.write_text(f"#!/bin/sh\ntouch {started}; exit 1\n")
    command.chmod(0o700)
    body = f"""
        const patient = new Client({{command: '{command}', patience: 1000}});
        await patient.call('ping');
        process.kill(Number(process.env.DAEMON), 'SIGSTOP');
        const call = patient.call('add', {{agent: 'demo', messages: 'lost'}});
        process.kill(Number(process.env.DAEMON), 'SIGKILL');
        await call.catch(({{words}}) => say(words));
        patient.close();
    """
    said = script(built, environment | {"DAEMON": str(daemon.process.pid)}, body)

    assert ["the daemon went away before it answered add; check whether it was applied"] == said
    assert not started.exists()


def test_a_daemon_without_lines(built: Path, environment: dict[str, str], client: Client) -> None:
    """Of a daemon that cannot show lines it is said what to do."""
    client.create("demo")
    body = f"""{_RELAY}
        const other = (data) => Buffer.from(data.toString().replace('"facts"', '"other"'));
        const server = await relayed((data) => data, other);
        const behind = new Client({{command: '', socket: path}});
        await behind.follow('demo', () => {{}}).catch(({{words}}) => say(words));
        behind.close();
        server.close();
    """

    assert ["this reeld cannot show lines; restart the daemon: reel stop; reel start"] == script(
        built, environment, body
    )
