"""``reel follow`` and ``reel wait``, as processes beside other clients."""

import json
import select
import signal
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from reel.base.errors import Storage
from reel.cli.line.exits import NOT_FOUND
from reel.said.new_messages import tool_call, tool_result
from reel.sync.client import Client
from tests.daemon import short_directory
from tests.forkserver import ForkedDaemon
from tests.patience import PATIENCE
from tests.postgres import own_schema
from tests.reel.cli.conftest import Reel, attached
from tests.reel.cli.running import started
from tests.reeld.store.making import lose_newest

pytestmark = pytest.mark.slow


def test_follow_shows_messages_in_full(client: Client, daemon: str, name: str) -> None:
    """Messages are shown in full, other events as in the log."""
    client.add(name, "before", create=True)
    with started(daemon, "follow", name) as running:
        attached(client, name)
        client.add(name, ["first line\nsecond line"])
        client.mark(name, "here")

        text = running.until("mark          here")

    assert "first line\n  second line" in text
    assert "before" not in text


def test_what_was_shown_is_redacted(client: Client, daemon: str, name: str) -> None:
    """If what was shown is redacted, the output says why it may be wrong."""
    client.add(name, "a secret", create=True)
    with started(daemon, "follow", name, "--last", "1") as running:
        running.until("a secret")
        attached(client, name)
        client.redact(name, text="secret")

        text = running.until("repaired")

    assert "reel: the lines above may be wrong: something was redacted or purged, or the daemon's log" in text


def test_follow_goes_on_after_a_loss(name: str) -> None:
    """If the database server comes back with less, the output says what is gone, and goes on with what comes then."""
    with own_schema() as url, short_directory() as directory, closing(ForkedDaemon(directory)) as daemon:
        daemon.database = url
        daemon.start()
        with daemon.client() as client:
            client.create(name)
        with daemon.client() as client, started(daemon.socket, "follow", name) as running:
            attached(client, name)
            client.add(name, ["one", "two"])
            running.until("two")
            lose_newest(url)
            with suppress(Storage):  # unless the daemon finds out before it
                client.add(name, "perhaps refused")
            client.add(name, "three")

            text = running.until("three")

    assert "by the database server" in text


@pytest.mark.parametrize("options", [[], ["--json"], ["--exec", "true"]])
def test_follow_ends_when_the_agent_is_purged(client: Client, daemon: str, name: str, options: list[str]) -> None:
    """Nothing can happen to an agent that was purged, so the command ends, and says why."""
    client.create(name)
    with started(daemon, "follow", name, *options) as running:
        attached(client, name)
        client.purge(name)

        assert f"reel: not_found: conversation {name} was purged" in running.until("was purged")
        assert NOT_FOUND == running.process.wait(PATIENCE)


def test_follow_begins_with_the_last(client: Client, daemon: str, name: str) -> None:
    """With --last the newest messages come first, and nothing between them and the following ones is lost."""
    client.add(name, ["one", "two", "three"], create=True)
    with started(daemon, "follow", name, "--last", "2") as running:
        attached(client, name)
        client.add(name, "four")

        text = running.until("four")

    assert "one" not in text
    assert text.index("two") < text.index("three") < text.index("four")


def test_follow_with_last_0_shows_nothing_old(client: Client, daemon: str, name: str) -> None:
    """With --last 0 no old message is shown."""
    client.add(name, "one", create=True)
    with started(daemon, "follow", name, "--last", "0") as running:
        attached(client, name)
        client.add(name, "two")

        text = running.until("two")

    assert "one" not in text


def test_follow_since_a_seq(client: Client, daemon: str, name: str) -> None:
    """With --since the log is shown first; with --json each event is one line of the protocol's JSON."""
    info = client.create(name)
    client.add(name, ["one", "two"])
    with started(daemon, "follow", name, "--since", "0", "--json") as running:
        lines = running.until('"two"').splitlines()

    told: list[dict[str, Any]] = [json.loads(line) for line in lines]
    assert [("created", 0, 0), ("user", 0, 1), ("user", 1, 2)] == [
        (push["kind"], push["keep"], push["count"]) for push in told
    ]
    assert {info.id} == {push["agent"] for push in told}


def test_follow_all_agents(client: Client, daemon: str, name: str) -> None:
    """With all agents there is one line per event, with the agent's name in front."""
    with started(daemon, "follow", "--all") as running:
        for number in range(1000):  # whoever follows all is attached to nobody: until it is there
            client.add(f"{name}-{number}", f"hi {number}", create=True)
            if select.select([running.shown], [], [], 0.05)[0]:
                break
        text = running.until("hi")

    assert any(line.startswith(f"{name}-") and "user" in line for line in text.splitlines())


def test_follow_survives_a_rename(client: Client, daemon: str, name: str) -> None:
    """A prefix is resolved once, and the agent is followed even if it is renamed."""
    client.create(f"{name}-one")
    with started(daemon, "follow", name) as running:
        attached(client, f"{name}-one")
        client.change(f"{name}-one", name=f"other-{name}")
        client.add(f"other-{name}", "still here")

        text = running.until("still here")

    assert f"name other-{name}" in text


def test_follow_chosen_kinds(client: Client, daemon: str, name: str) -> None:
    """Only events of the chosen kinds are shown."""
    client.create(name)
    with started(daemon, "follow", name, "--kind", "mark", "--kind", "assistant") as running:
        attached(client, name)
        client.add(name, "asked")
        client.add(name, [{"role": "assistant", "content": "answered"}])
        client.mark(name, "m")

        text = running.until("mark          m")

    assert "asked" not in text
    assert "answered" in text


def test_follow_exec_runs_a_command_for_each_event(client: Client, daemon: str, name: str) -> None:
    """A command runs for each event, in order, with the event on stdin; a failure does not end it."""
    client.create(name)
    command = 'echo "$REEL_AGENT $REEL_KIND $REEL_SEQ"; grep -o \'"text":"[^"]*"\'; exit 3'
    with started(daemon, "follow", name, "--exec", command) as running:
        attached(client, name)
        client.add(name, ["one", "two"])

        text = running.until(f"{name} #3: the command exited with status 3")

    assert f'{name} user 2\n"text":"one"\n' in text
    assert f'{name} user 3\n"text":"two"\n' in text


def test_follow_shows_a_draft_until_its_message(client: Client, daemon: str, name: str) -> None:
    """On a terminal a draft grows, under the name of its client, until its message arrives."""
    client.create(name)
    with started(daemon, "follow", name, terminal=True) as running:
        attached(client, name)
        client.draft(name, "so far " + "and so on " * 9 + "up to here")
        text = running.until("up to here")
        assert "assistant · writing… (python)\r\n  so far and so on" in text
        client.draft(name, "so far so good")
        text = running.until("so good")
        assert "up to here\r\x1b[2A\x1b[Jassistant · writing… (python)" in text
        client.add(name, "all of it")

        text = running.until("all of it")

    assert "\r\x1b[1A\x1b[J" in text[text.index("so good") :]


def test_follow_names_the_agent_of_a_draft(client: Client, daemon: str, name: str) -> None:
    """If all agents are followed, a draft has the name of its agent."""
    client.create(name)
    with started(daemon, "follow", "--all", terminal=True) as running:
        running.until("following all agents; Ctrl-C ends it")
        client.draft(name, "so far")

        running.until(f"{name} · writing… (python)\r\n  so far")


def test_follow_shows_what_a_rewind_took_away(client: Client, daemon: str, name: str) -> None:
    """The messages that left the conversation are listed below the event, and those that come back as well."""
    client.create(name)
    client.mark(name, "here")
    client.add(name, ["one"] * 8)
    with started(daemon, "follow", name, terminal=True) as running:
        attached(client, name)
        client.add(name, "What is a reel?")
        running.until("What is a reel?")
        client.rewind(name, "here")
        taken = running.until("- #11  user  What is a reel?")
        client.undo(name)
        brought = running.until("+ #11  user  What is a reel?")

    assert "rewind        to here (#2)\r\n  - 1 more message\r\n  - #4  user  one\r\n" in taken
    assert "restore       to #11, undoes #12\r\n  + 1 more message\r\n  + #4  user  one\r\n" in brought


def test_follow_survives_a_crash_of_the_daemon(directory: Path) -> None:
    """After kill -9 of the daemon it continues with the new events."""
    daemon = ForkedDaemon(directory).start()
    with daemon.client() as client:
        client.create("demo")
        with started(daemon.socket, "follow", "demo") as running:
            attached(client, "demo")
            client.add("demo", "one")
            running.until("one")
            daemon.kill()
            daemon.start()
            client.add("demo", "two")
            text = running.until("two")
    daemon.close()

    assert 1 == text.count("one")


def test_follow_survives_a_crash_during_a_request(directory: Path) -> None:
    """A request that the daemon's end has interrupted is sent again."""
    daemon = ForkedDaemon(directory).start()
    with daemon.client() as client:
        client.create("demo")
    with daemon.client() as client, started(daemon.socket, "follow", "--all", terminal=True) as running:
        while not select.select([running.shown], [], [], 0.05)[0]:  # whoever follows all is attached to nobody
            client.draft("demo", "so far")
        running.process.send_signal(signal.SIGSTOP)
        client.mark("demo", "seen")
        daemon.end()
        running.process.send_signal(signal.SIGCONT)
        running.until("lost the connection")
        daemon.start()
        running.until("reel: the daemon is back")

        assert "mark          seen" in running.until("seen")
    daemon.close()


def test_follow_ends_with_control_c(client: Client, daemon: str, name: str) -> None:
    """Ctrl-C ends it by the signal, so that a loop of the shell ends as well, and prints nothing."""
    client.create(name)
    with started(daemon, "follow", name) as running:
        attached(client, name)
        running.process.send_signal(signal.SIGINT)

        assert -signal.SIGINT == running.process.wait(PATIENCE)
        assert not running.text


def test_control_c_on_a_terminal(client: Client, daemon: str, name: str) -> None:
    """After Ctrl-C the shell's prompt is on a new line."""
    client.create(name)
    with started(daemon, "follow", name, terminal=True) as running:
        attached(client, name)
        running.until("ends it\r\n")
        running.process.send_signal(signal.SIGINT)

        assert -signal.SIGINT == running.process.wait(PATIENCE)
        assert f"following {name}; Ctrl-C ends it\r\n\r\n" == running.until("it\r\n\r\n")


@pytest.mark.parametrize(
    "argv", [("--all", "-a", "x"), ("--last", "3", "--all"), ("demo", "--last", "3", "--since", "1")]
)
def test_follow_with_contradictory_options(reel: Reel, name: str, argv: tuple[str, ...]) -> None:
    """Options that contradict each other are refused."""
    reel("new", "demo")

    ran = reel("follow", *argv)

    assert (2, "") == (ran.status, ran.out)
    assert "usage: " in ran.err
    assert name


def test_follow_an_agent_that_does_not_exist(reel: Reel) -> None:
    """A missing agent is an error at once."""
    ran = reel("follow", "nobody-of-this-name")

    assert 4 == ran.status


def test_wait_for_an_event_in_the_log(reel: Reel, client: Client, name: str) -> None:
    """An event after the seq is shown at once."""
    client.create(name)
    client.add(name, ["one", "two"])

    ran = reel("wait", name, "--since", "2")

    assert (0, True, False) == (ran.status, "two" in ran.out, "one" in ran.out)


def test_wait_for_a_new_event(client: Client, daemon: str, name: str) -> None:
    """It ends with the chosen event, and not with another one."""
    client.create(name)
    with started(daemon, "wait", name, "--kind", "assistant", "--since", "1", "--json") as running:
        client.add(name, "asked")
        client.add(name, [{"role": "assistant", "content": "answered"}])

        text = running.until("answered")
        assert 0 == running.process.wait(PATIENCE)

    assert "asked" not in text


def test_wait_times_out(reel: Reel, client: Client, name: str) -> None:
    """If nothing happens in time, the output says so, and the status is 1."""
    client.create(name)

    ran = reel("wait", name, "--timeout", "0.05")

    assert (1, "", f"reel: {name}: nothing happened within 0.05 s\n") == ran


def test_wait_refuses_an_invalid_timeout(reel: Reel, name: str) -> None:
    """A timeout that is not a duration is refused."""
    ran = reel("wait", name, "--timeout", "-1")

    assert 2 == ran.status


def test_follow_folds_what_a_tool_returned(client: Client, daemon: str, name: str) -> None:
    """A long result does not push the conversation off the screen; the note says how to see all of it."""
    client.add(name, [tool_call("c1", "run", "{}")], create=True)
    with started(daemon, "follow", name, terminal=True) as running:
        attached(client, name)
        client.add(name, [tool_result("c1", "\n".join(map(str, range(60))))])

        running.until(f"    4\r\n    … 55 more lines: reel show {name} 3\r\n")
