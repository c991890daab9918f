"""A daemon whose database is on a PostgreSQL server: its settings, what it says, and what it refuses."""

import random
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import anyio
import psycopg
import pytest

from reel import aio
from reel.aio.subscription import Subscription
from reel.base.errors import InvalidParams, Storage
from reel.cli import main
from reel.wire.pushes import DraftPush, EventPush
from reeld.startup import FAILED
from tests.daemon import Daemon, until
from tests.forkserver import ForkedDaemon
from tests.lossy import lossy
from tests.patience import PATIENCE
from tests.postgres import own_server

SECRET = "rosebud"
# Bytes of a file of the server's WAL, which it makes at once.
_SEGMENT = 16 << 20


# The daemon itself, which waits a second and not fifteen for a server that was lost during a commit.
_IMPATIENT = """
import sys
from reeld.__main__ import main
from reeld.store.postgres import writer
writer._GIVES_UP = 1.0
sys.exit(main())
"""


class ImpatientDaemon(Daemon):
    """A daemon that soon gives up a commit without a reply."""

    def command(self) -> list[str]:
        """Return the command line."""
        return [sys.executable, "-c", _IMPATIENT, *super().command()[3:]]


def check(*arguments: str, variable: str = "") -> subprocess.CompletedProcess[str]:
    """Run ``reeld --check``."""
    environment = {"REEL_DATABASE": variable, "HOME": "/nowhere"} if variable else {"HOME": "/nowhere"}
    command = [sys.executable, "-m", "reeld", "--check", *arguments]
    return subprocess.run(
        command, text=True, capture_output=True, check=False, timeout=PATIENCE, env=environment, cwd="/"
    )


def test_what_there_is_is_told(url: str, prepared: Daemon) -> None:
    """``--check`` says what it finds on the server, before the first start and after it."""
    before = check("--database", url)
    prepared.database = url
    with prepared.start().client() as client:
        client.add("demo", "hello", create=True)
    after = check("--database", url)

    assert (0, 0) == (before.returncode, after.returncode), before.stderr
    assert re.search(
        r"^# server: PostgreSQL \d+.*, database postgres, user reel, schema t\d+$", before.stdout, re.MULTILINE
    )
    assert "# server: there are no tables yet; the first start makes them" in before.stdout
    assert "# server: the tables are of version 2, with events up to 2" in after.stdout


def test_status_names_the_server(url: str, prepared: Daemon, capsys: pytest.CaptureFixture[str]) -> None:
    """The version that is shown is the server's."""
    prepared.database = url
    prepared.start()
    assert 0 == main(["--socket", prepared.socket, "status"])

    assert re.search(r"^engine +PostgreSQL \d+\.\d+$", capsys.readouterr().out, re.MULTILINE)


def test_what_the_doctor_tells(url: str, prepared: Daemon, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a server that a running daemon uses as much is told as of the one that the settings name."""
    prepared.database = url
    prepared.start()
    main(["--socket", prepared.socket, "doctor"])
    told = capsys.readouterr().out

    assert re.search(
        r"^ok    database +postgresql:.*: PostgreSQL \d+.*; the tables are of version 2", told, re.MULTILINE
    )


def test_a_server_that_is_not_there(prepared: Daemon) -> None:
    """Without a server the daemon ends with a status that may pass, and says why; no message has the password."""
    prepared.database = "postgresql://ada@/reel?host=/nowhere"
    with_password = f"postgresql://ada:{SECRET}@/reel?host=/nowhere"
    checked, refused = check(variable=with_password), prepared.refused()

    assert (4, FAILED) == (checked.returncode, refused.returncode)
    assert "# problem: connection" in checked.stdout
    assert "cannot use postgresql://ada@/reel?host=/nowhere: connection" in refused.stderr
    assert SECRET not in checked.stdout + checked.stderr


def test_a_clone_of_an_agent_of_a_later_daemon(url: str, prepared: Daemon) -> None:
    """What an agent inherits from one that a later daemon made is all there, and nothing is wrong with it."""
    later = ForkedDaemon(prepared.log.parent)
    prepared.database = later.database = url
    later.socket = f"{later.socket}2"
    with prepared.start().client() as client, later.start().client() as other:
        other.add("source", ["one", "two"], create=True)
        client.clone("source", "copy")
        client.add("copy", "three")
        inherited = [event["content"] for event in client.history("copy", inherited=True).events if event["content"]]
        texts = [record["content"] for record in client.iter_conversation("copy")]
        problems = client.verify().problems
    later.close()

    assert ["one", "two", "three"] == inherited == texts
    assert [] == problems


def test_a_password_on_the_command_line() -> None:
    """It is refused, because everybody sees it who lists processes."""
    refused = check("--database", f"postgresql://ada:{SECRET}@/reel")

    assert 2 == refused.returncode
    assert "contains a password, which everybody who lists processes can see; put it into ~/.pgpass" in refused.stderr
    assert SECRET not in refused.stderr


def test_backups_are_the_servers(url: str, prepared: Daemon) -> None:
    """What copies files is refused, and names what makes backups there."""
    prepared.database = url
    with prepared.start().client() as client, pytest.raises(InvalidParams, match="pg_dump"):
        client.backup(str(prepared.log.with_name("copy.db")))
    scheduled = check("--database", url, "--backup-directory", "/nowhere")

    assert (2, True) == (scheduled.returncode, "pg_dump" in scheduled.stderr)


def test_the_server_restarts(directory: Path) -> None:
    """While the server is down, commands are refused and name the reason; when it is back, everything works again."""
    daemon = ImpatientDaemon(directory)
    with own_server() as server, ExitStack() as stack:
        daemon.database = server.url
        client = stack.enter_context(daemon.start().client())
        client.add("demo", "before", create=True)
        server.stop()
        unread = client.stats(details=True)
        with pytest.raises(Storage) as error:
            client.add("demo", "meanwhile")
        refused = error.value.message
        server.start()

        client.add("demo", "after")
        texts = [record["content"] for record in client.iter_conversation("demo")]
        stack.close()
        daemon.close()

    assert "connection" in refused
    assert (2, None, None) == (unread["newest_event"], unread["agents"], unread["living_agents"])
    # The daemon may have tried to write something of its own meanwhile, such as a milestone.
    problem = "(the database cannot be read|the last commit failed): .*; look at the server, see docs"
    assert re.match(problem, unread["storage_problem"])
    assert ["before", "after"] == texts


async def test_followers_at_another_daemon(prepared: Daemon) -> None:
    """They see a draft until its daemon is killed, and each event once when that and the server have started again."""
    other = ForkedDaemon(prepared.log.parent)
    with own_server() as server:
        prepared.database = other.database = server.url
        other.socket = f"{other.socket}2"
        await anyio.to_thread.run_sync(prepared.start)
        await anyio.to_thread.run_sync(other.start)
        try:
            with anyio.fail_after(PATIENCE):
                async with aio.connect(other.socket) as reader:
                    await reader.create("demo")
                    async with reader.subscribe("demo") as subscription:
                        async with aio.connect(prepared.socket) as writer:
                            await writer.draft("demo", "A machine th")
                            assert "A machine th" == (await next_push(subscription, DraftPush)).text
                            prepared.kill()
                        assert "" == (await next_push(subscription, DraftPush)).text
                        await anyio.to_thread.run_sync(server.stop)
                        await anyio.to_thread.run_sync(server.start)
                        await anyio.to_thread.run_sync(prepared.start)
                        async with aio.connect(prepared.socket) as writer:
                            for text in ("one", "two", "three"):
                                await writer.add("demo", text)
                            seqs = [(await next_push(subscription, EventPush)).seq for _ in range(3)]
                            await writer.draft("demo", "Again")
                            assert "Again" == (await next_push(subscription, DraftPush)).text
        finally:
            other.close()
            prepared.close()

    assert [2, 3, 4] == seqs


async def test_anybody_may_notify(url: str, prepared: Daemon) -> None:
    """Whatever other programs notify on the channels of the daemons, these go on, and hear what makes sense."""
    prepared.database = url
    await anyio.to_thread.run_sync(prepared.start)
    nonsense = ["", "x", "0", "-1", "[" * 7000, f'["draft",99,{10**22},1,"u",null,0,"x",true]', '["all",-1]', "é\ud7ff"]
    said = ['["all",99]', *nonsense * 2, '["draft",99,1,1,"u","\\ud83d",0,"heard \\ud83d",true,"newer"]']
    with anyio.fail_after(PATIENCE), psycopg.connect(url, autocommit=True) as stranger:
        (identity,) = stranger.execute("SELECT id FROM log").fetchone() or ("",)
        until(lambda: listens(stranger, f"reel_{identity}"))
        async with aio.connect(prepared.socket) as client, client.subscribe() as subscription:
            for channel in ("reel", f"reel_{identity}"):
                for text in said:
                    stranger.execute("SELECT pg_notify(%s, %s)", (channel, text))
            draft = await next_push(subscription, DraftPush)
            added = await client.add("demo", "still here", create=True)

    assert ("heard \ufffd", "\ufffd", 2) == (draft.text, draft.client, added.head)


def listens(stranger: "psycopg.Connection[Any]", channel: str) -> bool:
    """Return whether a daemon answers on a channel; it is ready to serve a little before that."""
    stranger.execute(f'LISTEN "{channel}"')
    stranger.execute("SELECT pg_notify(%s, %s)", (channel, '["ask",98]'))
    answers = stranger.notifies(timeout=0.1)  # asked again until it answers
    return any(heard.payload.startswith('["all"') for heard in answers)


P = TypeVar("P", EventPush, DraftPush)


async def next_push(subscription: Subscription, kind: type[P]) -> P:
    """Return the next push of a kind."""
    async for push in subscription:
        if isinstance(push, kind):
            return push
    raise AssertionError("the subscription has ended")


@pytest.mark.parametrize("key", [None, "k"])
def test_the_server_crashes_before_it_answers(prepared: Daemon, key: str | None) -> None:
    """A command that the server has committed and not answered is acknowledged, once, when the server is back."""
    with own_server() as server, lossy(server.url) as between, ExitStack() as stack:
        prepared.database = between.url
        client = stack.enter_context(prepared.start().client())
        client.add("demo", "before", create=True)
        is_down = threading.Event()

        def crash() -> None:
            server.stop()
            is_down.set()

        between.lose_commit(crash, answer=True)
        adding = stack.enter_context(ThreadPoolExecutor(1)).submit(client.add, "demo", "meanwhile", key=key)
        is_down.wait(PATIENCE)
        server.start()
        done = adding.result(PATIENCE)
        after = client.add("demo", "after")
        texts = [record["content"] for record in client.iter_conversation("demo")]
        stack.close()
        prepared.close()

    assert not done.repeated
    assert done.head + 1 == after.head
    assert ["before", "meanwhile", "after"] == texts
    assert "the commit goes on when it is back" in prepared.log.read_text()


def test_the_disk_of_the_server_is_full(prepared: Daemon) -> None:
    """What has no room is refused and names the reason; what is there can be read, and later all goes on."""
    large = [random.Random(number).randbytes(400 << 10).hex() for number in range(30)]
    with own_server() as server, ExitStack() as stack:
        server.stop()
        server.start(largest_file=_SEGMENT)
        prepared.database = server.url
        client = stack.enter_context(prepared.start().client())
        client.create("demo")
        waiting = iter(enumerate(large))
        refused = None
        while refused is None:
            added, text = next(waiting)
            try:
                client.add("demo", text)
            except Storage as error:
                refused = error.message
        problem = client.stats()["storage_problem"]
        seen = [record["content"] for record in client.iter_conversation("demo")]
        server.stop()
        server.start()
        client.add("demo", "after")
        texts = [record["content"] for record in client.iter_conversation("demo")]
        stack.close()
        prepared.close()

    assert "nothing was written: could not extend file" in refused
    assert "could not extend file" in problem
    assert large[:added] == seen
    assert [*large[:added], "after"] == texts


def test_a_fail_over(directory: Path) -> None:
    """If the URL names both hosts, the daemon goes on at the standby that became the primary, and nothing is lost."""
    daemon = ImpatientDaemon(directory)
    with own_server("fsync=off") as first, own_server("fsync=off", primary=first) as second, ExitStack() as stack:
        with psycopg.connect(first.url, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            connection.execute("SELECT pg_reload_conf()")
        hosts = quote(f"{first.directory},{second.directory}", safe="")
        daemon.database = f"postgresql://reel@/postgres?host={hosts}&target_session_attrs=read-write"
        client = stack.enter_context(daemon.start().client())
        for number in range(5):
            client.add("demo", f"{number}", create=True)
        first.stop()
        with pytest.raises(Storage):
            client.add("demo", "meanwhile")
        with psycopg.connect(second.url, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET synchronous_standby_names = ''")
            connection.execute("SELECT pg_promote(), pg_reload_conf()")
        client.add("demo", "after")
        texts = [record["content"] for record in client.iter_conversation("demo")]
        stack.close()
        daemon.close()

    assert [*map(str, range(5)), "after"] == texts
