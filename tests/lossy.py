"""A socket between a daemon and its PostgreSQL server that loses what it is told to lose."""

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from urllib.parse import parse_qs, quote, urlsplit

from tests.daemon import short_directory

# What libpq calls a server's socket.
_NAME = ".s.PGSQL.5432"
_SIZE = 1 << 16
# How an answer ends after which there is no transaction.
_IS_OVER = b"Z\0\0\0\5I"


def _nothing() -> None:
    """Do nothing."""


class Lossy:
    """Forwards everything, unless it is told otherwise.

    Args:
        directory: for its socket.
        url: of the server.
    """

    def __init__(self, directory: Path, url: str) -> None:
        (host,) = parse_qs(urlsplit(url).query)["host"]
        # Of the same database, through this socket.
        self.url = url.replace(quote(host, safe=""), quote(str(directory), safe=""))
        self._target = os.path.join(host, _NAME)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(directory / _NAME))
        self._listener.listen()
        self._threads: list[Thread] = []
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._loses_answer = False
        self._is_armed = False
        self._meanwhile = _nothing
        # Set while everything is forwarded; what was said meanwhile arrives later.
        self.is_open = Event()
        self.is_open.set()
        # What is in the request of a commit that is lost.
        self.sign = b"UPDATE log"
        # Whether notifications are lost.
        self.is_deaf = False
        # Whether new connections are refused.
        self.refuses = False

    def lose_commit(self, meanwhile: Callable[[], None] = _nothing, *, answer: bool) -> None:
        """Lose the next commit, and with it the connection.

        Args:
            meanwhile: is called before the daemon notices.
            answer: whether only the answer is lost: the server commits.
        """
        self._loses_answer, self._meanwhile, self._is_armed = answer, meanwhile, True

    def cut_all(self) -> None:
        """End all connections, and take new ones."""
        for pair in self._pairs:
            _end(*pair)

    def run(self) -> None:
        """Take connections until the socket is closed."""
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            self._pairs.append((client, server))
            try:
                if self.refuses:
                    raise ConnectionRefusedError
                server.connect(self._target)
            except OSError:
                _end(client, server)
                continue
            losing = Event()
            self._start(self._take_requests, client, server, losing)
            self._start(self._take_answers, client, server, losing)

    def _start(self, function: Callable[..., None], *arguments: object) -> None:
        self._threads.append(Thread(target=function, args=arguments))
        self._threads[-1].start()

    def _take_requests(self, client: socket.socket, server: socket.socket, losing: Event) -> None:
        with suppress(OSError):
            while data := client.recv(_SIZE):
                self.is_open.wait()
                if self._is_armed and self.sign in data:
                    self._is_armed = False
                    losing.set()
                    if not self._loses_answer:
                        # The server rolls back before anybody else does something.
                        server.shutdown(socket.SHUT_WR)
                        return
                server.sendall(data)
        if not losing.is_set():
            _end(client, server)

    def _take_answers(self, client: socket.socket, server: socket.socket, losing: Event) -> None:
        lost = b""
        with suppress(OSError):
            while data := server.recv(_SIZE):
                self.is_open.wait()
                if losing.is_set():
                    lost += data
                    if lost.endswith(_IS_OVER):
                        break
                else:
                    client.sendall(_without_notifications(data) if self.is_deaf else data)
        if losing.is_set():
            self._meanwhile()
        _end(client, server)

    def close(self) -> None:
        """End all connections."""
        self.is_open.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self.cut_all()

    def wait(self) -> None:
        """Wait until all connections have ended."""
        for thread in self._threads:
            thread.join()
        for pair in (*self._pairs, (self._listener,)):
            for each in pair:
                each.close()


def _without_notifications(data: bytes) -> bytes:
    """Return what comes after the notifications that the server sends by itself."""
    while data[:1] == b"A":
        data = data[1 + int.from_bytes(data[1:5]) :]
    return data


def _end(*sockets: socket.socket) -> None:
    """Cut connections off at once."""
    for each in sockets:
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)


@contextmanager
def lossy(url: str) -> Iterator[Lossy]:
    """Open a socket in front of a server until the block ends."""
    with ExitStack() as stack:
        made = Lossy(stack.enter_context(short_directory()), url)
        thread = Thread(target=made.run)
        thread.start()
        stack.callback(made.wait)
        stack.callback(thread.join)
        stack.callback(made.close)
        yield made
