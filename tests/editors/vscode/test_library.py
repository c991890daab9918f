"""The library for Node, and the documented programs without it."""

from pathlib import Path

from reel.sync.client import Client
from tests.editors.documented import blocks
from tests.editors.vscode.driver import node, script


def test_pipelined_calls_and_pushes(built: Path, environment: dict[str, str], client: Client) -> None:
    """Each of many concurrent calls gets its reply, and the lines have the messages in order."""
    client.create("demo")
    body = """
        let wake; const changed = () => wake && wake();
        const following = await client.follow('demo', changed);
        const calls = Array.from({length: 200}, (_, i) => client.call('add', {agent: 'demo', messages: `n${i}`}));
        say((await Promise.all(calls)).map(({head}) => head));
        while (following.sheet.headings.length < 200) await new Promise((resolve) => { wake = resolve; });
        say(following.sheet.headings.map(([row]) => following.sheet.lines[row + 2]));
    """

    assert [list(range(2, 202)), [f"n{number}" for number in range(200)]] == script(built, environment, body)


def test_a_client_closed_while_it_connects(built: Path, environment: dict[str, str], client: Client) -> None:
    """The call is refused, and no connection keeps the process alive."""
    assert client.ping()
    body = """
        const call = client.call('ping').catch(({message}) => say(message));
        client.close();
        await call;
    """

    assert ["not_running: this client was closed"] == script(built, environment, body)


def test_a_following_closed_while_it_subscribes(built: Path, environment: dict[str, str], client: Client) -> None:
    """A following that is closed while it subscribes again leaves no subscription."""
    client.create("demo")
    body = """
        const following = await client.follow('demo', () => {});
        const connection = await client.connect();
        const {subscribe} = connection.constructor.prototype;
        const subscribed = new Promise((resolve) => {
            connection.constructor.prototype.subscribe = function (...given) {
                following.close();
                const reply = subscribe.apply(this, given);
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
    """An error has a name, a code and data for programs."""
    assert client.ping()
    body = "await client.call('agent', {agent: 'zed'}).catch(({name, code, data}) => say([name, code, data.agent]));"

    assert [["not_found", -32004, "zed"]] == script(built, environment, body)


def test_the_documented_lines_for_javascript(built: Path, environment: dict[str, str], client: Client) -> None:
    """The documented programs without the library work as they are."""
    assert client.ping()
    said = [node(built, environment, "-e", program) for program in blocks("VS Code and JavaScript", "js")]

    assert ["## user #2\n\nWhat is a reel?\n\n", {"3"}] == [said[0], {*said[1].split()}]
