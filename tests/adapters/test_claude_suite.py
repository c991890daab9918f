"""The Claude Agent SDK's own tests of session stores pass with ours in the place of its in-memory store."""

import anyio
import pytest

from tests.adapters.vendor_suites import run_suite, sources_of
from tests.daemon import Daemon

pytest.importorskip("claude_agent_sdk", reason="claude-agent-sdk is not installed")

from claude_agent_sdk.testing import run_session_store_conformance

from reel.integrations.claude_agent_sdk import ReelSessionStore

FILES = (
    "session_helpers_store",
    "session_import",
    "session_resume",
    "session_store_conformance",
    "session_summary",
    "transcript_mirror",
)
# They let the event loop turn some fixed number of times, and expect that a call which needs none is done by then.
COUNT_TURNS = {
    "session_helpers_store": "TestListSessionsFromStore::test_load_concurrency_is_bounded",
    "session_resume": "TestTimeoutsAndErrors::test_cancelled_after_mkdtemp_cleans_temp_dir",
    "session_summary": "TestListSessionsFromStoreFastPath::test_gap_fill_bounded_concurrency",
    "transcript_mirror": "TestReceiveLoopFramePeeling::test_eager_flush_mode_appends_per_frame_before_result",
}


@pytest.mark.parametrize("library", ["asyncio", "trio"])
def test_contracts(library: str, daemon: Daemon) -> None:
    """The 14 contracts of a store hold, on asyncio and on trio, those of optional methods included."""
    made: list[ReelSessionStore] = []

    def make() -> ReelSessionStore:
        made.append(ReelSessionStore(socket=daemon.socket, prefix=f"{library}-{len(made)}/"))
        return made[-1]

    anyio.run(run_session_store_conformance, make, backend=library)
    for store in made:
        store.close()

    optional = ("list_sessions", "list_session_summaries", "delete", "list_subkeys")
    assert all(callable(getattr(ReelSessionStore, method)) for method in optional)


@pytest.mark.parametrize("file", FILES)
def test_suite(file: str, daemon: Daemon) -> None:
    """The SDK's tests that use a store pass."""
    path = f"tests/test_{file}.py"
    left_out = [f"{path}::{COUNT_TURNS[file]}"] if file in COUNT_TURNS else []

    run_suite(sources_of("claude-agent-sdk"), "tests.adapters.claude_suite_store", daemon.socket, [path], left_out)
