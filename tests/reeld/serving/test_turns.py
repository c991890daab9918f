"""The order of one connection's calls if several daemons share a database."""

from types import SimpleNamespace
from typing import Any, cast

import anyio

from reel.base.errors import Storage
from reeld.core.batch import Batch
from reeld.serving.turns import Rest, Turns


class Connection:
    """Calls by their letters, which become jobs that are overtaken or done; and looks that are answered by hand."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.failed: list[str] = []
        self.looks: list[Any] = []
        self.calls: dict[str, Any] = {}
        self.batch = Batch()
        looks = SimpleNamespace(ask=self.looks.append)
        store = SimpleNamespace(is_shared=True, poller=SimpleNamespace(batch=self.batch), looks=looks)
        registry = cast(Any, SimpleNamespace(store=store, pump=lambda: None))
        self.turns = Turns(registry, self._begin, self._finish, self._fail, lambda _: True)

    def _begin(self, call: Any) -> Rest | None:
        self.begun.append(call.name)
        self.turns.note_posted(call)
        return None

    async def _finish(self, _call: Any, _rest: Rest) -> None:
        """Await nothing: all are jobs."""

    def _fail(self, call: Any, _: Exception) -> None:
        self.failed.append(call.name)

    def take(self, name: str) -> None:
        self.calls[name] = call = SimpleNamespace(name=name, place=0, is_posted=False)
        self.turns.take(cast(Any, call))

    def overtake(self, name: str) -> None:
        self.turns.note_outcome(self.calls[name])
        self.turns.again(self.calls[name])


async def test_overtaken_calls_begin_again_in_their_places() -> None:
    """In whatever order they are overtaken, they begin again as they arrived, and before those that come later."""
    connection = Connection()
    async with anyio.create_task_group() as tasks:
        connection.turns.open(tasks)
        with connection.batch:
            for name in "abc":
                connection.take(name)
        connection.looks.pop()(None)
        connection.turns.note_outcome(connection.calls["b"])
        for name in "ca":
            connection.overtake(name)
        connection.take("d")
        await anyio.wait_all_tasks_blocked()
        connection.looks.pop()(None)
        tasks.cancel_scope.cancel()

    assert ["a", "b", "c", "a", "c", "d"] == connection.begun


async def test_a_look_serves_only_what_had_arrived() -> None:
    """A call that arrives while a look is under way begins after the next one."""
    connection = Connection()
    with connection.batch:
        connection.take("a")
        connection.take("b")
    connection.take("c")
    connection.looks.pop()(None)

    assert ["a", "b"] == connection.begun
    connection.looks.pop()(None)
    assert ["a", "b", "c"] == connection.begun


async def test_a_look_that_fails_refuses_all_that_wait_for_it() -> None:
    """All calls that wait for a look are refused if it fails, and later ones are not."""
    connection = Connection()
    with connection.batch:
        connection.take("a")
        connection.take("b")
    connection.take("c")
    connection.looks.pop()(Storage("the server is gone"))
    connection.looks.pop()(None)

    assert (["a", "b"], ["c"]) == (connection.failed, connection.begun)
