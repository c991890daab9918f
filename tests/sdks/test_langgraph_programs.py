"""Our savers answer random programs as LangGraph's saver in memory does."""

from itertools import count
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from tests.daemon import Daemon

pytest.importorskip("langgraph.checkpoint.base", reason="langgraph is not installed")

from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver

from reel.integrations.langgraph import ReelSaver

_NUMBERS = count()
THREADS = st.sampled_from(["one", "two"])
SPACES = st.sampled_from(["", "inner:1"])
TASKS = st.sampled_from(["a", "b"])
IDS = st.sampled_from(["1", "2", "3", "4", "5"])
SAID = st.lists(st.sampled_from(["a", "b", "c"]), max_size=4)
SMALL = st.none() | st.integers(0, 3) | st.just("a text that is long enough for a reference") | st.just([1])


def config_of(thread: str, **more: Any) -> Any:
    return {"configurable": {"thread_id": thread, **more}}


def in_order(found: list[Any]) -> list[Any]:
    """Return checkpoints in an order that does not depend on how savers order namespaces."""
    return sorted(found, key=lambda each: (each.checkpoint["id"], each.config["configurable"]["checkpoint_ns"]))


class Programs(RuleBasedStateMachine):
    """Two savers on one log, in turns, and the framework's own."""

    socket: str

    def __init__(self) -> None:
        super().__init__()
        prefix = f"program-{next(_NUMBERS)}/"
        self.savers = [ReelSaver(socket=self.socket, prefix=prefix) for _ in range(2)]
        self.model = InMemorySaver()
        self.versions = count(1)

    def saver(self) -> ReelSaver:
        """Return the one whose turn it is."""
        self.savers.reverse()
        return self.savers[0]

    @rule(thread=THREADS, space=SPACES, name=IDS, parent=IDS, said=SAID, small=SMALL, run=IDS)
    def put(self, thread: str, space: str, name: str, parent: str, said: list[str], small: Any, run: str) -> None:
        """Put a checkpoint: messages and a value are new, another one is what it was."""
        place = config_of(thread, checkpoint_ns=space, checkpoint_id=parent)
        before = self.model.get_tuple(place)
        if before is None:
            del place["configurable"]["checkpoint_id"]
        known = {} if before is None else before.checkpoint["channel_versions"]
        kept = "x" * 40 if before is None else before.checkpoint["channel_values"]["kept"]
        state = empty_checkpoint() | {"id": name, "ts": "then"}
        state["channel_values"] = {"messages": [*map(HumanMessage, said)], "small": small, "kept": kept}
        new = {channel: next(self.versions) for channel in state["channel_values"] if channel != "kept" or not known}
        state["channel_versions"] = known | new
        metadata: Any = {"run_id": run}

        expected = self.model.put(place, state, metadata, new)
        assert expected == self.saver().put(place, state, metadata, new)

    @rule(thread=THREADS, space=SPACES, name=IDS, task=TASKS, written=st.lists(SMALL, max_size=2), failed=st.booleans())
    def write(self, thread: str, space: str, name: str, task: str, written: list[Any], failed: bool) -> None:
        """Write something after a checkpoint, or that a task failed."""
        place = config_of(thread, checkpoint_ns=space, checkpoint_id=name)
        writes = [("__error__" if failed else f"channel-{number}", value) for number, value in enumerate(written)]
        for saver in (self.model, self.saver()):
            saver.put_writes(place, writes, task, f"path of {task}")

    @rule(thread=THREADS)
    def delete(self, thread: str) -> None:
        """Delete a thread."""
        for saver in (self.model, self.saver()):
            saver.delete_thread(thread)

    @rule(
        thread=THREADS, space=st.none() | SPACES, before=st.none() | IDS, run=st.none() | IDS, limit=st.integers(0, 3)
    )
    def listed(self, thread: str, space: str | None, before: str | None, run: str | None, limit: int) -> None:
        """List the checkpoints of a namespace, or of all."""
        place = config_of(thread, **({} if space is None else {"checkpoint_ns": space}))
        options: Any = {
            "filter": None if run is None else {"run_id": run},
            "before": None if before is None else config_of(thread, checkpoint_id=before),
            "limit": None if space is None else limit,
        }
        assert in_order([*self.model.list(place, **options)]) == in_order([*self.saver().list(place, **options)])

    @rule(thread=THREADS, space=SPACES, name=IDS)
    def differences(self, thread: str, space: str, name: str) -> None:
        """Read what was written to channels before a checkpoint."""
        place = config_of(thread, checkpoint_ns=space, checkpoint_id=name)
        channels = ["channel-0", "__error__"]
        if self.model.get_tuple(place) is not None:
            expected = self.model.get_delta_channel_history(config=place, channels=channels)
            assert expected == self.saver().get_delta_channel_history(config=place, channels=channels)

    @rule(thread=THREADS, space=SPACES, name=st.none() | IDS)
    def get(self, thread: str, space: str, name: str | None) -> None:
        """Read a checkpoint, or the newest."""
        place = config_of(thread, checkpoint_ns=space, **({} if name is None else {"checkpoint_id": name}))
        assert self.model.get_tuple(place) == self.saver().get_tuple(place)

    def teardown(self) -> None:
        for saver in self.savers:
            saver.close()


@pytest.mark.sampled
def test_programs(daemon: Daemon) -> None:
    """Whatever is put, written, deleted, listed and read, by two savers on one log, is as with the saver in memory."""
    Programs.socket = daemon.socket

    run_state_machine_as_test(Programs, settings=settings(max_examples=20, stateful_step_count=25, deadline=None))
