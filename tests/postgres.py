"""A PostgreSQL server of the tests' own: in a temporary directory, with a socket there and without a network."""

import atexit
import fcntl
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache, partial
from itertools import count
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

from reeld.store.postgres.connection import ServerConnection, connect
from tests.adapters.programs import PROGRAMS
from tests.patience import PATIENCE
from tests.places import FILES

MISSING = "a PostgreSQL server is not installed"
# Debian keeps the programs of each version apart, and not on the path.
_DEBIAN = Path("/usr/lib/postgresql")
# What is on the disk after a power cut is no matter here.
_FAST = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "autovacuum=off")
_numbers = count(1)


def programs() -> Path | None:
    """Return the directory of the newest server's programs; ``None`` if there is no server."""
    found = sorted(_DEBIAN.glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    on_path = shutil.which("initdb")
    if found:
        return found[-1].parent
    return Path(on_path).parent if on_path else None


class Server:
    """A server.

    Args:
        directory: for its files.
        options: settings in place of those that make it fast.
        primary: of which it is a standby; otherwise it has an empty database.
    """

    def __init__(self, directory: Path, *options: str, primary: "Server | None" = None) -> None:
        self.directory = directory
        self._options = options or _FAST
        self._process: subprocess.Popen[bytes] | None = None
        found = programs()
        if found is None:
            pytest.skip(MISSING)
        self._programs = found
        # A server refuses to run as root.
        self.user = pwd.getpwnam("nobody") if os.getuid() == 0 else None
        if self.user is not None:
            os.chown(directory, self.user.pw_uid, self.user.pw_gid)
        data = directory / "data"
        if primary is None:
            command = ["cp", "-a", str(self._new()), str(data)]
        else:
            copying = ["-h", str(primary.directory), "-U", "reel", "-R", "-c", "fast"]
            command = [*self.run("pg_basebackup"), *copying, "-D", str(data)]
        subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE)

    def _new(self) -> Path:
        """Return the files of a server that has never run; they are made once for each installed version.

        To make them takes a second of a core, to copy them a tenth of that.
        """
        PROGRAMS.mkdir(exist_ok=True)
        which = f"{self._programs} {(self._programs / 'initdb').stat().st_mtime_ns} {self.user}"
        made = PROGRAMS / f"postgres-{zlib.crc32(which.encode()):08x}"
        with (PROGRAMS / "postgres.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not made.exists():
                making = self.directory / "new"
                options = ["-U", "reel", "-A", "trust", "-N", "-E", "UTF8", "--no-locale", "-D", str(making)]
                command = [*self.run("initdb"), *options]
                subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE)
                copied = made.with_suffix(".new")  # of a process that failed, if it is there
                shutil.rmtree(copied, ignore_errors=True)
                subprocess.run(["cp", "-a", str(making), str(copied)], check=True, timeout=PATIENCE)
                shutil.rmtree(making)
                copied.rename(made)
        return made

    def run(self, program: str | Path) -> list[str]:
        """Return the command that runs a program, which ends with this process."""
        become = []
        if self.user is not None:
            become = [f"--reuid={self.user.pw_uid}", f"--regid={self.user.pw_gid}", "--clear-groups"]
        return ["setpriv", "--pdeathsig=QUIT", *become, str(self._programs / program)]

    def back_up(self, directory: Path) -> None:
        """Copy the running server, as pg_basebackup does."""
        copying = [*self.run("pg_basebackup"), "-h", str(self.directory), "-U", "reel", "-c", "fast", "-D"]
        subprocess.run([*copying, str(directory)], check=True, capture_output=True, timeout=PATIENCE)

    def restore(self, directory: Path) -> None:
        """Put a copy in the place of the stopped server."""
        shutil.rmtree(self.directory / "data")
        shutil.move(directory, self.directory / "data")

    @property
    def url(self) -> str:
        """The URL of the empty database."""
        return f"postgresql://reel@/postgres?host={quote(str(self.directory), safe='')}"

    def start(self, *, largest_file: int | None = None) -> None:
        """Start it, and wait until it answers.

        Args:
            largest_file: the bytes beyond which none of its files can grow, as if the disk were full.
        """
        settings = (*self._options, "listen_addresses=", f"unix_socket_directories={self.directory}")
        settings += ("shared_buffers=16MB", "max_connections=200")
        limit = [] if largest_file is None else ["prlimit", f"--fsize={largest_file}"]
        command = [*limit, *self.run("postgres"), "-D", str(self.directory / "data")]
        with (self.directory / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*command, *(part for setting in settings for part in ("-c", setting))],
                stdout=log,
                stderr=log,
                cwd=self.directory,
            )
        self.wait_for(self._process, self.url, self.directory / "log")

    @staticmethod
    def wait_for(process: "subprocess.Popen[bytes]", url: str, log: Path) -> None:
        """Wait until a process answers."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                psycopg.connect(url).close()
            except psycopg.OperationalError:
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < deadline, log.read_text()
                time.sleep(0.01)  # between two polls
            else:
                return

    def stop(self, *, at_once: bool = True) -> None:
        """Stop it: at once, as a crash would, or after its clients were cut off."""
        if self._process is not None:
            self._process.send_signal(3 if at_once else 2)
            self._process.wait(PATIENCE)
            self._process = None

    def wal_writer(self) -> int:
        """Return the number of the process that writes what no commit waits for."""
        with closing(psycopg.connect(self.url)) as connection:
            query = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'"
            ((number,),) = connection.execute(query).fetchall()
        return int(number)

    def crash(self) -> None:
        """Kill one of its processes, and wait until it has ended all others and begun again."""
        with closing(psycopg.connect(self.url)) as connection:
            os.kill(self.wal_writer(), signal.SIGKILL)
            with suppress(psycopg.OperationalError):
                connection.execute("SELECT pg_sleep(%s)", (PATIENCE,))  # until it is cut off
        assert self._process is not None
        self.wait_for(self._process, self.url, self.directory / "log")


@cache
def shared() -> Server:
    """Return the server of this process, which runs until its end."""
    directory = Path(tempfile.mkdtemp(prefix="reel-pg-", dir=FILES))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    server = Server(directory)
    server.start()
    atexit.register(server.stop)
    return server


@contextmanager
def own_server(*options: str, primary: Server | None = None) -> Iterator[Server]:
    """Start a server of a test's own, which the test may stop and start again."""
    directory = Path(tempfile.mkdtemp(prefix="reel-pg-", dir=FILES))
    server = Server(directory, *options, primary=primary)
    server.start()
    try:
        yield server
    finally:
        server.stop()
        shutil.rmtree(directory, ignore_errors=True)


@contextmanager
def pooler(mode: str) -> Iterator[str]:
    """Put a PgBouncer before the shared server; yield the URL that goes through it.

    Args:
        mode: when it takes a session from a connection; further lines of its settings may follow.
    """
    program = shutil.which("pgbouncer") or pytest.skip("pgbouncer is not installed")
    server = shared()
    directory = Path(tempfile.mkdtemp(prefix="reel-pgb-", dir=FILES))
    settings = directory / "pgbouncer.ini"
    settings.write_text(
        f"[databases]\npostgres = host={server.directory} user=reel\n"
        f"[pgbouncer]\nauth_type = any\nlisten_addr =\nunix_socket_dir = {directory}\npool_mode = {mode}\n"
    )
    if server.user is not None:
        os.chown(directory, server.user.pw_uid, server.user.pw_gid)
    url = f"postgresql://reel@:6432/postgres?host={quote(str(directory), safe='')}"
    with (directory / "log").open("wb") as log:
        process = subprocess.Popen([*server.run(program), "--quiet", str(settings)], stdout=log, stderr=log)
    try:
        server.wait_for(process, url, directory / "log")
        yield url
    finally:
        process.kill()
        process.wait(PATIENCE)
        shutil.rmtree(directory, ignore_errors=True)


def server_connection(url: str) -> ServerConnection:
    """Open a connection as the daemon has it."""
    return ServerConnection(partial(connect, url, readonly=False, settings={}))


@contextmanager
def own_schema() -> Iterator[str]:
    """Make room for tables of a test's own on the shared server; yield its URL."""
    server = shared()
    name = f"t{next(_numbers)}"
    yield f"{server.url}&options=-csearch_path%3D{name}"
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(f"DROP SCHEMA IF EXISTS {name} CASCADE")
