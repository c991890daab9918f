"""A daemon that dies while a thread of LangGraph is pruned: the call goes on with the next one."""

from threading import Thread
from typing import Any, TypedDict

import pytest

from tests.crash.crashing_daemon import CrashingDaemon
from tests.crash.test_deaths import death_at
from tests.crash.test_erasing import _ONLY_PURGE, PIECE, ends_without_a_trace, points

pytest.importorskip("langgraph.checkpoint.base", reason="langgraph is not installed")

from langgraph.graph import START, StateGraph

from reel.integrations.langgraph import ReelSaver

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning:langgraph", "ignore::PendingDeprecationWarning"),
]


# What no message has is not in the index, so no word of it is deleted there.
_NOT_REACHED = {*_ONLY_PURGE, "before words are deleted"}


class State(TypedDict):
    draft: str
    kept: str


def graph(saver: ReelSaver) -> Any:
    """Return a graph that keeps what it is given, one value for many steps."""
    builder = StateGraph(State).add_node("nothing", lambda _: {}).add_edge(START, "nothing")
    return builder.compile(checkpointer=saver)


def test_death_while_a_thread_is_pruned(crashing: CrashingDaemon) -> None:
    """After kill -9 at any step, the newest checkpoint is as before, and what the others had is in no file."""
    for number, point in enumerate(points(without=_NOT_REACHED)):
        thread = f"t-{number}"
        config: Any = {"configurable": {"thread_id": thread}}
        crashing.start()
        saver = ReelSaver(socket=crashing.socket)
        live = graph(saver)
        for text in (f"{PIECE.decode()} {'long ' * 300}", f"{PIECE.decode()} again", "at last"):
            live.invoke({"draft": text, **({} if "last" in text else {"kept": "a value that stays"})}, config)
        before = live.get_state(config)
        with death_at(crashing, point):
            pruning = Thread(target=saver.prune, args=([thread],))
            pruning.start()
        crashing.start()
        pruning.join()

        assert before == live.get_state(config)
        assert [before] == [*graph(saver).get_state_history(config)]
        ends_without_a_trace(crashing)
        assert before == live.get_state(config)
        saver.close()
        crashing.end()
